#include "net/pipe/pipe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "loop/asio_context.h"
#include "loop/call.h"
#include "loop/readable.h"

namespace cadre::net {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::size_t pieces_max = 64;
constexpr std::size_t gathered_max = 4 << 10;  // so much goes at once: who hears it has something to do meanwhile
constexpr std::size_t chunk_max = 64 << 10;
constexpr int reads_max = 16;  // before others have their turn
constexpr int backlog = 1024;
constexpr Duration accept_again_after = std::chrono::milliseconds(100);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

Result<SocketAddress> socket_address(const PipeAddress& from) {
  SocketAddress to;
  if (!from.name.empty()) {
    auto& address = reinterpret_cast<sockaddr_un&>(to.storage);
    if (from.name.size() + 1 > sizeof address.sun_path)
      return fail(Errc::invalid, "the name of the socket is too long");
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, from.name.data(), from.name.size());  // the first byte is 0: no file
    to.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + from.name.size());
    return to;
  }
  auto& four = reinterpret_cast<sockaddr_in&>(to.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(to.storage);
  if (inet_pton(AF_INET, from.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(from.port);
    to.size = sizeof four;
  } else if (inet_pton(AF_INET6, from.host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(from.port);
    to.size = sizeof six;
  } else {
    return fail(Errc::invalid, from.host + " is no numeric address");
  }
  return to;
}

/// For TCP: what is said goes at once, and a host that is gone is noticed within seconds.
void set_manners(int socket) {
  const auto set = [socket](int level, int option, int value) {
    ::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 5'000);  // milliseconds
}

Result<loop::Descriptor> make_socket(int family) {
  loop::Descriptor made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made) return loop::system_failure("socket");
  if (family != AF_UNIX) set_manners(made.get());
  return made;
}

/// One sendmsg; how many bytes it took, or -1 and errno.
ssize_t send_once(int socket, std::span<const BytesView> pieces, std::span<const int> files) {
  std::array<iovec, pieces_max> vectors;
  std::size_t count = 0;
  for (const BytesView& piece : pieces) {
    if (piece.empty()) continue;
    if (count == vectors.size()) break;
    vectors[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  msghdr message{};
  message.msg_iov = vectors.data();
  message.msg_iovlen = count;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(Pipe::files_max * sizeof(int))> control;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(head), files.data(), files.size_bytes());
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != EINTR) return sent;
  }
}

ssize_t receive_once(int socket, std::span<std::byte> room, std::vector<loop::Descriptor>& files) {
  iovec vector{room.data(), room.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(Pipe::files_max * sizeof(int))> control;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return size;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(head) + i * sizeof(int), sizeof file);
      files.emplace_back(file);
    }
  }
  return size;
}

}  // namespace

struct Pipe::Inside : std::enable_shared_from_this<Inside> {
  struct Chunk {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<loop::Descriptor> files;  // copies: their owner may close his
  };

  Inside(PipeGround g, User& u) : ground(std::move(g)), user(&u) {}

  void call(const PipeAddress& address);
  void connected();
  void shake();
  void read();
  void have_read();
  bool read_plain();
  bool read_coded();
  bool hand_over(std::string_view plain, std::vector<loop::Descriptor> files);
  void put(std::span<const BytesView> pieces, std::size_t skipped, std::span<const int> files);
  void flush();
  void flush_soon();
  void wait_to_write();
  void end_with(Errc code, const std::string& why);
  void fail_soon(Errc code, const std::string& why);
  void end();

  /// Nothing may throw into the loop; what ended meanwhile is not called.
  template <class Fn>
  auto guarded(Fn fn) {
    return [self = shared_from_this(), fn](const error_code& problem) {
      if (self->user == nullptr || problem == asio::error::operation_aborted) return;
      loop::Call call([&] { fn(problem); });
      call();
    };
  }

  PipeGround ground;
  User* user;  // null once it is over
  std::optional<Caller> caller;
  std::shared_ptr<const Called> called;
  Cover cover = Cover::none;
  std::optional<stream_descriptor> descriptor;
  loop::Timer late;
  loop::Timer soon;
  bool is_open = false;

  // Also for send(), with the lock held.
  mutable std::mutex mutex;
  int socket = -1;  // -1 before it is connected and once it is over
  std::unique_ptr<Guard> guard;
  std::deque<Chunk> out;
  std::size_t out_bytes = 0;
  bool waits_to_write = false;
  bool goes_soon = false;  // somebody will look after what is in `out`
};

void Pipe::Inside::call(const PipeAddress& address) {
  late = ground.loop.after(open_wait, [this] { end_with(Errc::unavailable, "no connection in time"); });
  cover = address.name.empty() ? Cover::tls : Cover::none;
  const Result<SocketAddress> to = socket_address(address);
  if (!to) return fail_soon(to.error().code, to.error().message);
  Result<loop::Descriptor> made = make_socket(to->family());
  if (!made) return fail_soon(made.error().code, made.error().message);
  const int result = ::connect(made->get(), to->get(), to->size);
  if (result < 0 && errno != EINPROGRESS) {
    return fail_soon(errno == ECONNREFUSED ? Errc::not_found : Errc::unavailable, strerrordesc_np(errno));
  }
  const bool is_there = result == 0;
  descriptor.emplace(loop::asio_context(ground.loop), made->release());
  if (is_there) return connected();
  descriptor->async_wait(stream_descriptor::wait_write, guarded([this](const error_code&) {
                           int problem = 0;
                           socklen_t size = sizeof problem;
                           ::getsockopt(descriptor->native_handle(), SOL_SOCKET, SO_ERROR, &problem, &size);
                           if (problem == 0) return connected();
                           end_with(problem == ECONNREFUSED ? Errc::not_found : Errc::unavailable,
                                    strerrordesc_np(problem));
                         }));
}

void Pipe::Inside::connected() {
  {
    const std::lock_guard lock(mutex);
    socket = descriptor->native_handle();
    guard = caller ? make_guard(*caller, cover) : make_guard(*called, cover);
    std::string greeting;
    guard->begin(greeting);
    if (!greeting.empty()) out_bytes += greeting.size(), out.push_back({std::move(greeting), 0, {}});
    flush();
  }
  read();
}

void Pipe::Inside::read() {
  descriptor->async_wait(stream_descriptor::wait_read, guarded([this](const error_code& problem) {
                           if (problem) return end_with(Errc::unavailable, problem.message());
                           have_read();
                         }));
}

void Pipe::Inside::have_read() {
  for (int reads = 0; reads < reads_max; ++reads) {
    const bool goes_on = is_open && guard->is_plain() ? read_plain() : read_coded();
    if (user == nullptr) return;
    if (!goes_on) break;
  }
  read();
}

/// Whether there may be more.
bool Pipe::Inside::read_plain() {
  const std::span<std::byte> room = user->room();
  std::vector<loop::Descriptor> files;
  const ssize_t size = receive_once(socket, room, files);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (size <= 0) {
    end_with(Errc::unavailable, size == 0 ? "the other side has closed the connection" : strerrordesc_np(errno));
    return false;
  }
  user->took(static_cast<std::size_t>(size), std::move(files));
  return static_cast<std::size_t>(size) == room.size();
}

bool Pipe::Inside::read_coded() {
  std::array<std::byte, 64 << 10> bytes;
  std::vector<loop::Descriptor> files;
  const ssize_t size = receive_once(socket, bytes, files);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (size <= 0) {
    const bool was_refused = size == 0 && !is_open;
    end_with(was_refused ? Errc::denied : Errc::unavailable,
             was_refused ? "the other side did not believe who we are, or is another"
             : size == 0 ? "the other side has closed the connection"
                         : strerrordesc_np(errno));
    return false;
  }
  std::string plain;
  Guard::State state{};
  {
    const std::lock_guard lock(mutex);
    std::string answer;
    guard->take(as_text(std::span(bytes).first(static_cast<std::size_t>(size))), plain, answer);
    if (!answer.empty()) out_bytes += answer.size(), out.push_back({std::move(answer), 0, {}});
    flush();
    state = guard->state();
  }
  if (state == Guard::State::failed) {
    end_with(is_open ? Errc::unavailable : Errc::denied,
             is_open ? "the other side has closed the connection" : "the other side did not prove who it is");
    return false;
  }
  if (state == Guard::State::open && !is_open) {
    is_open = true;
    late.cancel();
    user->opened();
  }
  return user != nullptr && hand_over(plain, std::move(files)) && static_cast<std::size_t>(size) == bytes.size();
}

bool Pipe::Inside::hand_over(std::string_view plain, std::vector<loop::Descriptor> files) {
  while (!plain.empty()) {
    const std::span<std::byte> room = user->room();
    const std::size_t size = std::min(room.size(), plain.size());
    std::memcpy(room.data(), plain.data(), size);
    plain.remove_prefix(size);
    user->took(size, std::exchange(files, {}));
    if (user == nullptr) return false;
  }
  return true;
}

/// With the lock held: to be sent behind what waits already.
void Pipe::Inside::put(std::span<const BytesView> pieces, std::size_t skipped, std::span<const int> files) {
  const bool begins_another = out.empty() || !files.empty() || out.back().bytes.size() >= chunk_max;
  if (begins_another) out.emplace_back();
  Chunk& last = out.back();
  const std::size_t before = last.bytes.size();
  for (const BytesView& piece : pieces) {
    const std::size_t gone = std::min(skipped, piece.size());
    skipped -= gone;
    const std::string_view text = as_text(piece.subspan(gone));
    guard->is_plain() ? void(last.bytes += text) : guard->put(text, last.bytes);
  }
  for (const int file : files) last.files.emplace_back(::fcntl(file, F_DUPFD_CLOEXEC, 0));
  out_bytes += last.bytes.size() - before;
}

/// With the lock held.
void Pipe::Inside::flush_soon() {
  if (std::exchange(goes_soon, true)) return;
  ground.soon([self = shared_from_this()] {
    const std::lock_guard lock(self->mutex);
    self->goes_soon = false;
    self->flush();
  });
}

/// With the lock held.
void Pipe::Inside::flush() {
  while (!waits_to_write && socket >= 0 && !out.empty()) {
    Chunk& first = out.front();
    const BytesView left = as_bytes(first.bytes).subspan(first.sent);
    std::vector<int> files;
    for (const loop::Descriptor& file : first.files) files.push_back(file.get());
    const ssize_t sent = send_once(socket, std::span(&left, 1), files);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_to_write();
    if (sent < 0) {
      ::shutdown(socket, SHUT_RDWR);  // what can be read will tell that it is over
      out.clear();
      out_bytes = 0;
      return;
    }
    first.files.clear();
    first.sent += static_cast<std::size_t>(sent);
    out_bytes -= static_cast<std::size_t>(sent);
    if (first.sent == first.bytes.size()) out.pop_front();
  }
}

void Pipe::Inside::wait_to_write() {
  waits_to_write = true;
  ground.post([self = shared_from_this()] {
    if (self->user == nullptr) return;
    self->descriptor->async_wait(stream_descriptor::wait_write, self->guarded([inside = self.get()](const error_code&) {
      {
        const std::lock_guard lock(inside->mutex);
        inside->waits_to_write = false;
        inside->flush();
        if (!inside->out.empty()) return;
      }
      inside->user->drained();
    }));
  });
}

/// For what is found in the midst of a call of the user's.
void Pipe::Inside::fail_soon(Errc code, const std::string& why) {
  soon = ground.loop.after(Duration::zero(), [this, code, why] { end_with(code, why); });
}

void Pipe::Inside::end_with(Errc code, const std::string& why) {
  const std::shared_ptr<Inside> self = shared_from_this();
  User* const told = user;
  end();
  if (told != nullptr) told->lost(Error{code, why});
}

void Pipe::Inside::end() {
  user = nullptr;
  late.cancel();
  soon.cancel();
  const std::lock_guard lock(mutex);
  socket = -1;
  out.clear();
  out_bytes = 0;
  descriptor.reset();  // closes
}

Pipe::Pipe(PipeGround ground, Caller caller, const PipeAddress& address, User& user)
    : inside_(std::make_shared<Inside>(std::move(ground), user)) {
  inside_->caller = std::move(caller);
  inside_->call(address);
}

Pipe::Pipe(PipeGround ground, std::shared_ptr<const Called> called, loop::Descriptor socket, Cover cover, User& user)
    : inside_(std::make_shared<Inside>(std::move(ground), user)) {
  Inside& inside = *inside_;
  inside.called = std::move(called);
  inside.cover = cover;
  inside.late = inside.ground.loop.after(
      open_wait, [&inside] { inside.end_with(Errc::denied, "the other side did not say who it is"); });
  inside.descriptor.emplace(loop::asio_context(inside.ground.loop), socket.release());
  inside.connected();
}

Pipe::~Pipe() {
  if (inside_->user != nullptr) inside_->end();  // else it is over, and this may be any thread
}

void Pipe::close() { inside_->end(); }

bool Pipe::hands_over_files() const { return inside_->cover == Cover::none; }

std::size_t Pipe::unsent() const {
  const std::lock_guard lock(inside_->mutex);
  return inside_->out_bytes;
}

void Pipe::flush() {
  const std::lock_guard lock(inside_->mutex);
  inside_->flush();
}

void Pipe::send(std::span<const BytesView> pieces, std::span<const int> files, Urgency urgency) {
  Inside& inside = *inside_;
  const std::lock_guard lock(inside.mutex);
  if (inside.socket < 0) return;
  std::size_t size = 0;
  for (const BytesView& piece : pieces) size += piece.size();
  const bool goes_through =
      inside.guard->is_plain() && (size >= gathered_max || (urgency == Urgency::now && inside.out.empty()));
  if (!goes_through) {
    inside.put(pieces, 0, files);
    const bool is_enough = urgency == Urgency::now || inside.out_bytes >= gathered_max;
    return is_enough ? inside.flush() : inside.flush_soon();
  }
  inside.flush();
  std::size_t sent = 0;
  if (inside.out.empty() && inside.socket >= 0) {
    const ssize_t taken = send_once(inside.socket, pieces, files);
    if (taken < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
      ::shutdown(inside.socket, SHUT_RDWR);  // what can be read will tell that it is over
      return;
    }
    if (taken >= 0) sent = static_cast<std::size_t>(taken), files = {};
  }
  if (sent == size) return;
  inside.put(pieces, sent, files);
  inside.flush();
}

struct PipeDoor::Inside {
  void listen();
  void accept();

  loop::RealLoop& loop;
  loop::Descriptor socket;
  Cover cover;
  Take take;
  std::optional<loop::Readable> readable;
  loop::Timer pause;
};

void PipeDoor::Inside::listen() {
  readable.emplace(loop, socket.get(), [this] { accept(); });
}

void PipeDoor::Inside::accept() {
  loop::Descriptor came(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!came) {  // perhaps there are too many descriptors: in a while there may be fewer
    pause = loop.after(accept_again_after, [this] { listen(); });
    return readable.reset();
  }
  if (cover == Cover::tls) set_manners(came.get());
  take(std::move(came), cover);
}

PipeDoor::PipeDoor(loop::RealLoop& loop, loop::Descriptor socket, Cover cover, std::uint16_t port, Take take)
    : inside_(new Inside{loop, std::move(socket), cover, std::move(take), {}, {}}), port_(port) {
  inside_->listen();
}

PipeDoor::~PipeDoor() = default;

Result<std::unique_ptr<PipeDoor>> PipeDoor::open(loop::RealLoop& loop, const PipeAddress& address, Take take) {
  TRY_ASSIGN(at, socket_address(address));
  TRY_ASSIGN(socket, make_socket(at.family()));
  const std::string where = address.name.empty() ? address.host + ":" + std::to_string(address.port) : address.name;
  if (::bind(socket.get(), at.get(), at.size) != 0) return loop::system_failure("cannot listen at " + where);
  if (::listen(socket.get(), backlog) != 0) return loop::system_failure("cannot listen at " + where);
  std::uint16_t port = 0;
  if (address.name.empty()) {
    SocketAddress bound;
    bound.size = sizeof bound.storage;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
    port = ntohs(reinterpret_cast<const sockaddr_in&>(bound.storage).sin_port);  // both families have it there
  }
  const Cover cover = address.name.empty() ? Cover::tls : Cover::none;
  return std::unique_ptr<PipeDoor>(new PipeDoor(loop, std::move(socket), cover, port, std::move(take)));
}

}  // namespace cadre::net
