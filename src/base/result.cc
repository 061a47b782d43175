#include "base/result.h"

namespace cadre {

std::string_view to_string(Errc code) {
  switch (code) {
    case Errc::invalid: return "invalid";
    case Errc::not_found: return "not found";
    case Errc::conflict: return "conflict";
    case Errc::unavailable: return "unavailable";
    case Errc::timed_out: return "timed out";
    case Errc::denied: return "denied";
    case Errc::corrupt: return "corrupt";
  }
  return "unknown error";
}

}  // namespace cadre
