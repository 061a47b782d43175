#include "net/pipe/pipe.h"

#include <fcntl.h>
#include <sys/socket.h>
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
#include "net/pipe/sockets.h"

namespace cadre::net {
namespace {

namespace asio = boost::asio;
using asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::size_t gathered_max = 4 << 10;  // so much goes at once: who hears it has something to do meanwhile
constexpr std::size_t chunk_max = 64 << 10;
constexpr int reads_max = 16;  // before others have their turn

}  // namespace

struct Pipe::Inside : std::enable_shared_from_this<Inside> {
  struct Chunk {
    std::string bytes;
    std::size_t sent = 0;
    std::vector<loop::Descriptor> files;  // copies, because their owner may close the originals
  };

  Inside(PipeDependencies g, User& u) : deps(std::move(g)), user(&u) {}

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

  PipeDependencies deps;
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
  late = deps.loop.after(open_wait, [this] { end_with(Errc::unavailable, "not connected in time"); });
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
  descriptor.emplace(loop::asio_context(deps.loop), made->release());
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
             was_refused ? "the other side refused our key, or has a different one"
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
             is_open ? "the other side has closed the connection" : "the other side did not authenticate");
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
  deps.soon([self = shared_from_this()] {
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
  deps.post([self = shared_from_this()] {
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
  soon = deps.loop.after(Duration::zero(), [this, code, why] { end_with(code, why); });
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

Pipe::Pipe(PipeDependencies deps, Caller caller, const PipeAddress& address, User& user)
    : inside_(std::make_shared<Inside>(std::move(deps), user)) {
  inside_->caller = std::move(caller);
  inside_->call(address);
}

Pipe::Pipe(PipeDependencies deps, std::shared_ptr<const Called> called, loop::Descriptor socket, Cover cover,
           User& user)
    : inside_(std::make_shared<Inside>(std::move(deps), user)) {
  Inside& inside = *inside_;
  inside.called = std::move(called);
  inside.cover = cover;
  inside.late = inside.deps.loop.after(
      open_wait, [&inside] { inside.end_with(Errc::denied, "the other side did not authenticate in time"); });
  inside.descriptor.emplace(loop::asio_context(inside.deps.loop), socket.release());
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

}  // namespace cadre::net
