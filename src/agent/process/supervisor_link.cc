#include "agent/process/supervisor_link.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "agent/process/task_folder.h"
#include "describe/describe.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
namespace supervision = cluster::supervision;

constexpr std::size_t waiting_max = 10'000;
constexpr int attempts_max = 60;

Duration pause_after(int attempt) { return std::min<Duration>(1ms * (1 << std::min(attempt, 8)), 100ms); }

}  // namespace

SupervisorLink::SupervisorLink(loop::RealLoop& loop, loop::Descriptor socket, Handler handler)
    : loop_(loop), handler_(std::move(handler)) {
  begin(std::move(socket));
}

SupervisorLink::SupervisorLink(loop::RealLoop& loop, std::string folder, Handler handler)
    : loop_(loop), folder_(std::move(folder)), handler_(std::move(handler)) {
  again_ = loop_.after(0s, [this] { connect(0); });
}

void SupervisorLink::begin(loop::Descriptor socket) {
  socket_ = std::move(socket);
  was_connected_ = true;
  readable_ = std::make_unique<loop::Readable>(loop_, socket_.get(), [this] { read(); });
  flush();
}

void SupervisorLink::connect(int attempt) {
  if (loop::Descriptor socket = try_connect()) return begin(std::move(socket));
  if (attempt >= attempts_max && !is_supervised(folder_)) return give_up();
  again_ = loop_.after(pause_after(attempt), [this, attempt] { connect(attempt + 1); });
}

loop::Descriptor SupervisorLink::try_connect() const {
  const loop::Descriptor folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  loop::Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // By way of the descriptor, however deep the folder lies: the name of a socket has little room.
  const std::string name = "/proc/self/fd/" + std::to_string(folder.get()) + "/agent.sock";
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const bool done = socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool is_ours = done && ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
                       peer.uid == ::geteuid();  // a task of another user must not pose as its supervisor
  return is_ours ? std::move(socket) : loop::Descriptor();
}

void SupervisorLink::send(const supervision::FromAgent& message) {
  if (waiting_.size() >= waiting_max) return;  // a supervisor that does not read is as good as gone
  waiting_.push_back(describe::write_msgpack(message));
  flush();
}

void SupervisorLink::flush() {
  while (socket_ && !waiting_.empty()) {
    const Bytes& packet = waiting_.front();
    const ssize_t sent = ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      again_ = loop_.after(10ms, [this] { flush(); });
      return;
    }
    waiting_.pop_front();
  }
}

void SupervisorLink::read() {
  static thread_local std::array<std::byte, supervision::packet_bytes_max> packet;
  constexpr int turn_max = 64;
  int resets = 0;
  for (int turn = 0; turn < turn_max; ++turn) {
    const ssize_t size = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // A supervisor that ends without having read all is reported before the last words it has sent.
    if (size < 0 && errno == ECONNRESET && ++resets == 1) continue;
    if (size <= 0) return give_up();
    const auto message =
        describe::read_msgpack<supervision::FromSupervisor>(BytesView(packet).first(static_cast<std::size_t>(size)));
    if (message) handler_.heard(*message);
  }
}

void SupervisorLink::give_up() {
  readable_.reset();
  socket_.close();
  handler_.gone();
}

}  // namespace cadre::agent
