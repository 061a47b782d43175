#include "supervisor/forks.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "supervisor/cargo.h"
#include "supervisor/packet.h"

namespace cadre::supervisor {

Result<void> Forks::open() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_failure("socketpair");
  ours_ = Descriptor(ends[0]);
  theirs_ = Descriptor(ends[1]);
  set_nonblocking(ours_.get());
  TRY_ASSIGN(listener, listen_here("fork.sock"));
  listener_ = std::move(listener);
  return {};
}

void Forks::watch(Watch& watch, const std::function<void()>& changed) {
  if (listener_) watch.add(listener_.get(), POLLIN, [this] { accept_all(); });
  if (ours_) {
    watch.add(ours_.get(), POLLIN, [this, &changed] {
      receive();
      changed();
    });
  }
  for (auto line = lines_.begin(); line != lines_.end(); ++line) {
    watch.add(line->get(), 0, [this, line, &changed] {  // who asked is gone
      lines_.erase(line);
      changed();
    });
  }
}

void Forks::accept_all() {
  while (Descriptor next = accept_one(listener_.get())) {
    ::fcntl(next.get(), F_SETFL, 0);  // who is forked waits for what comes over it
    const int fd = next.get();
    if (!send_cargo(ours_.get(), as_bytes("fork"), {&fd, 1})) continue;
    lines_.push_back(std::move(next));
  }
}

void Forks::receive() {
  std::array<std::byte, 16> word;
  const Cargo came = receive_cargo(ours_.get(), word);
  if (came.is_closed) return close();
  ready_ = ready_ || !came.bytes.empty();
}

void Forks::close() {
  listener_.close();
  ours_.close();
  theirs_.close();
  ready_ = false;
}

}  // namespace cadre::supervisor
