#include "client/attachment.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "describe/describe.h"

namespace cadre::core {

using namespace cluster::supervision;

namespace {

constexpr std::chrono::seconds between_connects{1};
constexpr std::chrono::seconds between_beats{1};
constexpr std::chrono::seconds supervisor_lost_after{3};
constexpr describe::Bounds packet_bounds{.size_bytes = packet_bytes_max, .depth = 8, .nodes = 10'000, .copies = 0};

/// Connects to a socket of whole packets; below 0, with errno, when nobody answers there.
int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return errno = ENAMETOOLONG, -1;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return fd;
  const timeval patience{1, 0};  // with a supervisor that has no time to accept
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return errno = error, -1;
}

Reported unknown(std::string why) { return {Reported::Outcome::unknown, std::move(why)}; }

}  // namespace

Attachment::Attachment(std::string socket) : socket_(std::move(socket)), pid_(getpid()), buffer_(packet_bytes_max) {
  const Lock lock(mutex_);
  connect_if_due();
}

Attachment::~Attachment() {
  if (fd_ < 0) return;
  const bool untold = beat_.calls != told_beat_.calls || beat_.errors != told_beat_.errors;
  if (promised_ && untold) send(beat_);
  ::close(fd_);
}

void Attachment::disown() {
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

void Attachment::connect_if_due() {
  const Clock::time_point now = Clock::now();
  if (fd_ >= 0 || now < next_connect_) return;
  next_connect_ = now + between_connects;
  fd_ = connect_to(socket_);
  if (fd_ < 0) {
    lost_why_ = socket_ + ": " + std::strerror(errno);
    return;
  }
  if (!send(Attach{static_cast<std::int32_t>(pid_), protocol::own()})) return;
  if (promised_) send(beat_);
  if (waits_) send(Ready{});
}

void Attachment::lose(std::string why) {
  ::close(fd_.exchange(-1));
  lost_why_ = std::move(why);
  for (const std::uint64_t number : asked_) {
    answered_.try_emplace(number, unknown("the supervisor was lost before it answered: " + lost_why_));
  }
  asked_.clear();
}

bool Attachment::send(const FromTask& message) {
  const Bytes packet = describe::write_msgpack(message);
  while (::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    // A polling thread uses the descriptor, so it must not be closed here: that thread sees the end and closes it.
    if (errno != EAGAIN) ::shutdown(fd_, SHUT_RDWR);
    return false;
  }
  return true;
}

void Attachment::beat_if_due() {
  const Clock::time_point now = Clock::now();
  if (!promised_ || fd_ < 0 || now < next_beat_) return;
  if (!send(beat_)) return;
  told_beat_ = beat_;
  next_beat_ = now + between_beats;
}

void Attachment::receive_all() {
  while (fd_ >= 0) {
    const ssize_t size = ::recv(fd_, buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return lose(size == 0 ? "it closed the connection" : std::strerror(errno));
    if (static_cast<std::size_t>(size) <= buffer_.size())
      take(BytesView(buffer_).first(static_cast<std::size_t>(size)));
  }
}

void Attachment::take(BytesView packet) {
  const auto message = describe::read_msgpack<ToTask>(packet, packet_bounds);
  if (message) std::visit([this](const auto& news) { take(news); }, *message);
}

void Attachment::take(const StopNotice& notice) {
  constexpr Duration longest = std::chrono::hours(24 * 365);
  const Clock::time_point now = Clock::now();
  const Clock::time_point sent = notice.at ? std::min(now, Clock::time_point(*notice.at)) : now;
  const Clock::time_point time = sent + std::clamp(notice.grace, Duration(0), longest);
  if (stop_ && stop_->time <= time) return;
  stop_ = Deadline{std::string(describe::name_of(notice.why)), time};
}

void Attachment::take(const ReportAnswer& answer) {
  if (asked_.erase(answer.number) == 0) return;
  const auto outcome = answer.accepted ? Reported::Outcome::accepted : Reported::Outcome::refused;
  answered_[answer.number] = Reported{outcome, answer.why};
}

void Attachment::take(const Begin& begin) {
  if (!begun_) begun_ = begin.variables;
}

void Attachment::take(const AttachRefused& no) { std::fprintf(stderr, "cadre: %s\n", no.why.c_str()); }

std::optional<Stop> Attachment::stop() {
  const Lock lock(mutex_);
  connect_if_due();
  beat_if_due();
  if (!somebody_polls_) receive_all();
  if (!stop_) return std::nullopt;
  const std::chrono::nanoseconds left = stop_->time - Clock::now();
  return Stop{stop_->why, std::max(left, std::chrono::nanoseconds(0))};
}

void Attachment::promise_liveness() {
  const Lock lock(mutex_);
  promised_ = true;
  connect_if_due();
  beat_if_due();
}

void Attachment::beat() {
  const Lock lock(mutex_);
  connect_if_due();
  beat_if_due();
}

void Attachment::tally(std::uint64_t calls, std::uint64_t errors) {
  const Lock lock(mutex_);
  beat_ = {calls, errors};
  connect_if_due();
  beat_if_due();
}

std::optional<std::map<std::string, std::string>> Attachment::wait_until_begun() {
  Lock lock(mutex_);
  waits_ = true;
  if (fd_ >= 0) send(Ready{});
  for (Clock::time_point reached = Clock::now(); !begun_;) {
    connect_if_due();
    const Clock::time_point now = Clock::now();
    if (fd_ >= 0) {
      reached = now;
      wait_for_news(lock, POLLIN, now + std::chrono::hours(1));
    } else {
      if (now - reached > supervisor_lost_after) return std::nullopt;
      news_.wait_until(lock, next_connect_);
    }
  }
  waits_ = false;
  return begun_;
}

Reported Attachment::report(Report report, std::chrono::milliseconds wait_max) {
  constexpr std::chrono::milliseconds longest = std::chrono::hours(24);
  const Clock::time_point until = Clock::now() + std::clamp(wait_max, std::chrono::milliseconds(0), longest);
  Lock lock(mutex_);
  connect_if_due();
  beat_if_due();
  const std::uint64_t number = report.number = ++last_report_;
  asked_.insert(number);
  if (!send_in_time(lock, report, until)) {
    asked_.erase(number);
    answered_.erase(number);
    return unknown(fd_ < 0 ? "the supervisor cannot be reached: " + lost_why_ : "the supervisor does not listen");
  }
  while (!answered_.contains(number) && Clock::now() < until) wait_for_news(lock, POLLIN, until);
  asked_.erase(number);
  if (const auto answer = answered_.extract(number)) return answer.mapped();
  return unknown("no answer came in time");
}

bool Attachment::send_in_time(Lock& lock, const Report& report, Clock::time_point until) {
  while (true) {
    if (fd_ >= 0 && send(report)) return true;
    if (answered_.contains(report.number) || fd_ < 0 || Clock::now() >= until) return false;
    wait_for_news(lock, POLLOUT, until);
  }
}

// One thread polls, the others wait for it: a packet that one of them took would leave the others polling in vain.
void Attachment::wait_for_news(Lock& lock, short events, Clock::time_point until) {
  constexpr std::chrono::milliseconds longest{500};  // so that beats go on
  const Clock::time_point wake = promised_ ? std::min(until, Clock::now() + longest) : until;
  if (somebody_polls_) {
    news_.wait_until(lock, wake);
    return;
  }
  if (fd_ < 0) return;
  somebody_polls_ = true;
  pollfd entry{fd_, static_cast<short>(events | POLLIN), 0};
  lock.unlock();
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(wake - Clock::now());
  ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
  lock.lock();
  somebody_polls_ = false;
  receive_all();
  beat_if_due();
  news_.notify_all();
}

}  // namespace cadre::core
