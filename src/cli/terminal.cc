#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "loop/file.h"

namespace cadre::cli {
namespace {

termios mode_before;
volatile std::sig_atomic_t is_raw = 0;

void restore() {
  if (is_raw == 0) return;
  is_raw = 0;
  ::tcsetattr(0, TCSANOW, &mode_before);  // may be called in a handler, and must not wait for the terminal
}

/// What would end the process without running anything else of it.
constexpr std::array fatal = {SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGQUIT, SIGSEGV, SIGTERM, SIGINT};

extern "C" void restore_and_die(int signal) {
  restore();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Whoever watches a signal later takes it from here, and ends in an orderly way.
void restore_at_the_end() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit(restore); });
  for (const int signal : fatal) {
    struct sigaction present {};
    ::sigaction(signal, nullptr, &present);
    if ((present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL) ::signal(signal, restore_and_die);
  }
}

}  // namespace

std::optional<cluster::Terminal> terminal_here() {
  for (const int stream : {0, 1, 2}) {
    winsize size{};
    if (::isatty(stream) != 1 || ::ioctl(stream, TIOCGWINSZ, &size) != 0) continue;
    cluster::Terminal terminal;
    if (size.ws_row > 0) terminal.rows = std::min<std::int32_t>(size.ws_row, 10'000);
    if (size.ws_col > 0) terminal.columns = std::min<std::int32_t>(size.ws_col, 10'000);
    if (const char* type = std::getenv("TERM"); type != nullptr && *type != '\0') {
      terminal.type = std::string(type).substr(0, 64);
    }
    return terminal;
  }
  return std::nullopt;
}

Result<RawMode> RawMode::begin() {
  if (::tcgetattr(0, &mode_before) != 0) return loop::system_failure("cannot read the mode of the terminal");
  restore_at_the_end();
  termios raw = mode_before;
  ::cfmakeraw(&raw);
  is_raw = 1;
  if (::tcsetattr(0, TCSADRAIN, &raw) != 0) return loop::system_failure("cannot change the mode of the terminal");
  return RawMode();
}

RawMode::RawMode(RawMode&& other) noexcept : active_(std::exchange(other.active_, false)) {}

RawMode::~RawMode() {
  if (active_) restore();
}

}  // namespace cadre::cli
