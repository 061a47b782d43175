#include "cli/secret_input.h"

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

namespace cadre::cli {
namespace {

/// Turns off the echo of the terminal during its lifetime.
class NoEcho {
 public:
  NoEcho() {
    if (::tcgetattr(0, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    is_on_ = ::tcsetattr(0, TCSAFLUSH, &silent) == 0;
  }
  NoEcho(const NoEcho&) = delete;
  NoEcho& operator=(const NoEcho&) = delete;
  ~NoEcho() {
    if (!is_on_) return;
    ::tcsetattr(0, TCSAFLUSH, &before_);
    std::fputc('\n', stderr);
  }

 private:
  termios before_{};
  bool is_on_ = false;
};

Result<std::string> read_line() {
  std::string line;
  if (!std::getline(std::cin, line)) return fail(Errc::invalid, "there is no password on standard input");
  return line;
}

}  // namespace

Result<std::string> read_secret(const std::string& question, From from) {
  if (from == From::standard_input) return read_line();
  if (::isatty(0) != 1) {
    return fail(Errc::invalid, "cannot ask for a password without a terminal; use --password-stdin");
  }
  std::fputs((question + ": ").c_str(), stderr);
  const NoEcho silent;
  return read_line();
}

Result<std::string> read_new_secret(const std::string& question, From from) {
  Result<std::string> first = read_secret(question, from);
  if (!first || from == From::standard_input) return first;
  const Result<std::string> second = read_secret("repeat the password", from);
  if (!second) return second;
  if (*first != *second) return fail(Errc::invalid, "the passwords do not match; nothing was changed");
  return first;
}

}  // namespace cadre::cli
