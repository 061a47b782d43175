#include "cli/exit_code.h"

namespace cadre::cli {

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case Errc::invalid:
    case Errc::conflict:
    case Errc::denied: return refused;
    case Errc::unavailable:
    case Errc::timed_out: return unreachable;
    case Errc::not_found:
    case Errc::corrupt: break;
  }
  return failed;
}

ExitCode exit_code_of_usage(const Error& error) {
  return error.code == Errc::invalid ? bad_usage : exit_code_of(error);
}

}  // namespace cadre::cli
