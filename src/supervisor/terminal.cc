#include "supervisor/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <cstdlib>

namespace cadre::supervisor {

Result<TerminalPair> make_terminal(const cluster::Terminal& terminal) {
  TerminalPair pair;
  pair.ours = Descriptor(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!pair.ours) return system_failure("cannot make a terminal");
  if (::grantpt(pair.ours.get()) != 0 || ::unlockpt(pair.ours.get()) != 0) {
    return system_failure("cannot unlock a terminal");
  }
  set_size(pair.ours.get(), terminal);
  pair.programs = Descriptor(::ioctl(pair.ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!pair.programs) return system_failure("cannot open a terminal");
  return pair;
}

void set_size(int ours, const cluster::Terminal& terminal) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(terminal.rows);
  size.ws_col = static_cast<unsigned short>(terminal.columns);
  ::ioctl(ours, TIOCSWINSZ, &size);
}

}  // namespace cadre::supervisor
