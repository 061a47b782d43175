#include "supervisor/input.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "supervisor/terminal.h"

namespace cadre::supervisor {

using cluster::supervision::ExecInput;
using cluster::supervision::ExecTaken;
using cluster::supervision::input_kept_max;

void Input::open(Descriptor to, Into into) {
  to_ = std::move(to);
  into_ = into;
  was_opened_ = true;
}

ExecTaken Input::take(const ExecInput& message) {
  if (!was_opened_) return {message.number, 0, "the task accepts no input; start it with -i"};
  if (message.terminal && into_ == Into::terminal && to_) set_size(to_.get(), *message.terminal);
  const auto size = static_cast<std::int64_t>(message.bytes.size());
  // What was sent again was taken before; what follows a gap is to be sent again.
  if (message.offset <= taken_ && message.offset + size > taken_) {
    const std::string_view fresh = as_text(message.bytes).substr(static_cast<std::size_t>(taken_ - message.offset));
    // Nobody reads it any more: it is taken and dropped, as a pipe without a reader would.
    const std::size_t room = to_ ? input_kept_max - kept_.size() : fresh.size();
    const std::string_view fits = fresh.substr(0, room);
    if (to_ && !ends_) kept_ += fits;
    taken_ += static_cast<std::int64_t>(fits.size());
  }
  if (message.end && !ends_ && message.offset + size == taken_) {
    ends_ = true;
    if (into_ == Into::terminal) kept_ += '\4';
  }
  flush();
  return {message.number, taken_, ""};
}

void Input::watch(Watch& watch) {
  if (to_ && !kept_.empty()) watch.add(to_.get(), POLLOUT, [this] { flush(); });
}

void Input::flush() {
  while (to_ && !kept_.empty()) {
    const ssize_t written = ::write(to_.get(), kept_.data(), kept_.size());
    if (written > 0) {
      kept_.erase(0, static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      return;
    } else if (written < 0 && errno != EINTR) {
      to_.close();  // its reader is gone
    }
  }
  if (!to_) kept_.clear();
  if (ends_ && kept_.empty() && into_ == Into::pipe) to_.close();
}

}  // namespace cadre::supervisor
