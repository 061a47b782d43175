#include "tests/servers/switch.h"

#include <linux/if_ether.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace cadre::servers {
namespace {

constexpr std::size_t header_bytes = 10;  // of a virtio_net_hdr, whose own header is not for C++
constexpr std::size_t frame_bytes_max = header_bytes + ETH_HLEN + 65'536;
constexpr int frames_at_once = 64;  // before other ports are looked at

/// ARP or IPv4, with a whole header.
bool is_carried(std::string_view frame) {
  if (frame.size() < header_bytes + ETH_HLEN || frame[header_bytes + 12] != 8) return false;
  return frame[header_bytes + 13] == 0 || frame[header_bytes + 13] == 6;
}

}  // namespace

Switch::Switch() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), buffer_(frame_bytes_max, '\0') {
  if (!wake_) throw std::runtime_error("no event for the switch");
  thread_ = std::thread([this] { run(); });
}

Switch::~Switch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void Switch::plug(int port, loop::Descriptor frames) {
  const std::lock_guard lock(mutex_);
  ports_[port].frames = std::move(frames);
  eventfd_write(wake_.get(), 1);
}

void Switch::unplug(int port) {
  const std::lock_guard lock(mutex_);
  ports_[port].frames.close();
}

void Switch::cut(int port) {
  const std::lock_guard lock(mutex_);
  ports_[port].is_cut = true;
}

void Switch::heal(int port) {
  const std::lock_guard lock(mutex_);
  ports_[port].is_cut = false;
}

void Switch::drop(int from, int to) {
  const std::lock_guard lock(mutex_);
  dropped_pairs_.emplace(from, to);
}

void Switch::undrop(int from, int to) {
  const std::lock_guard lock(mutex_);
  dropped_pairs_.erase({from, to});
}

void Switch::loss(int port, double probability, std::uint64_t seed) {
  const std::lock_guard lock(mutex_);
  ports_[port].loss = probability;
  ports_[port].dice = Dice(seed);
}

void Switch::delay(int port, std::chrono::microseconds time) {
  const std::lock_guard lock(mutex_);
  ports_[port].delay = time;
}

Switch::Counts Switch::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Switch::run() {
  while (true) {
    const std::vector<int> ready = wait();
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (const int port : ready) take_frames(port);
    send_what_is_due();
  }
}

std::vector<int> Switch::wait() {
  std::vector<pollfd> events{{wake_.get(), POLLIN, 0}};
  std::vector<int> ports{0};
  timespec longest{60, 0};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, port] : ports_) {
      if (!port.frames) continue;
      events.push_back({port.frames.get(), POLLIN, 0});
      ports.push_back(number);
    }
    if (!late_.empty()) {
      const auto left = std::max(late_.top().due - Clock::now(), Clock::duration(0));
      longest = {left / std::chrono::seconds(1), (left % std::chrono::seconds(1)).count()};
    }
  }
  ppoll(events.data(), events.size(), &longest, nullptr);
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  std::vector<int> ready;
  for (std::size_t i = 1; i < events.size(); ++i) {
    if (events[i].revents != 0) ready.push_back(ports[i]);
  }
  return ready;
}

void Switch::take_frames(int number) {
  const Port& port = ports_[number];
  for (int taken = 0; taken < frames_at_once && port.frames; ++taken) {
    const ssize_t size = recv(port.frames.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
    if (size < 0) return;
    const std::string_view frame(buffer_.data(), std::min(static_cast<std::size_t>(size), buffer_.size()));
    if (is_carried(frame)) route(number, frame);
  }
}

void Switch::route(int from, std::string_view frame) {
  const auto* receiver = reinterpret_cast<const std::uint8_t*>(frame.data() + header_bytes);
  const bool to_all = (receiver[0] & 1) != 0;
  for (const auto& [to, port] : ports_) {
    if (to != from && (to_all || to == receiver[5])) pass(from, to, frame);
  }
}

void Switch::pass(int from, int to, std::string_view frame) {
  Port& sender = ports_[from];
  Port& receiver = ports_[to];
  const bool lost = is_lost(sender) || is_lost(receiver);
  const auto delay = sender.delay + receiver.delay;
  if (lost || sender.is_cut || receiver.is_cut || dropped_pairs_.contains({from, to})) {
    ++counts_.dropped;
  } else if (delay.count() == 0) {
    send(to, frame);
  } else if (late_bytes_ + frame.size() > late_bytes_max) {
    ++counts_.dropped;
  } else {
    late_bytes_ += frame.size();
    late_.push({Clock::now() + delay, ++late_number_, to, std::string(frame)});
  }
}

void Switch::send(int to, std::string_view frame) {
  const ssize_t sent = ::send(ports_[to].frames.get(), frame.data(), frame.size(), MSG_NOSIGNAL);
  ++(sent < 0 ? counts_.dropped : counts_.forwarded);
}

void Switch::send_what_is_due() {
  for (const Clock::time_point now = Clock::now(); !late_.empty() && late_.top().due <= now; late_.pop()) {
    const Late& late = late_.top();
    late_bytes_ -= late.frame.size();
    if (ports_[late.to].is_cut) {
      ++counts_.dropped;
    } else {
      send(late.to, late.frame);
    }
  }
}

bool Switch::is_lost(Port& port) {
  constexpr int sides = 1'000'000;
  return port.loss > 0 && port.dice.between(0, sides - 1) < port.loss * sides;
}

}  // namespace cadre::servers
