#include "supervisor/forking/forks.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "supervisor/forking/descriptor_packet.h"
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
      hear_template();
      changed();
    });
  }
  for (auto one = asking_.begin(); one != asking_.end(); ++one) {
    watch.add(one->get(), POLLIN, [this, one, &changed] {
      if (pass_on(one->get())) return;
      asking_.erase(one);
      changed();
    });
  }
}

void Forks::accept_all() {
  while (Descriptor next = accept_one(listener_.get())) {
    if (is_of_own_user(next.get())) asking_.push_back(std::move(next));
  }
}

bool Forks::pass_on(int asking) {
  std::array<std::byte, 16> word;
  const DescriptorPacket came = receive_descriptors(asking, word);
  if (came.descriptors.size() == 1 && ours_) {
    const int line = came.descriptors.front().get();
    static_cast<void>(
        send_descriptors(ours_.get(), as_bytes("fork"), {&line, 1}));  // else who asked hears that it is closed
  }
  return !came.is_closed;
}

void Forks::hear_template() {
  std::array<std::byte, 16> word;
  const DescriptorPacket came = receive_descriptors(ours_.get(), word);
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
