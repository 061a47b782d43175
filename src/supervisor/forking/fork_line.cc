#include "supervisor/forking/fork_line.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "describe/describe.h"
#include "supervisor/forking/descriptor_packet.h"
#include "supervisor/isolation/mounts.h"
#include "supervisor/messages.h"

namespace cadre::supervisor {

using fork_talk::FromForked;
using fork_talk::Gone;

namespace {

/// However long the path of the folder is.
Result<Descriptor> connect_to(const std::string& folder) {
  const Descriptor place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place) return system_failure("the template has ended");
  const std::string path = "/proc/self/fd/" + std::to_string(place.get()) + "/fork.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return system_failure("the template accepts no connections");
  }
  return socket;
}

struct Line {
  Descriptor ours;
  Descriptor theirs;
};

Result<Line> make_line() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_failure("socketpair");
  Line line{Descriptor(ends[0]), Descriptor(ends[1])};
  const int yes = 1;
  if (::setsockopt(line.ours.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) != 0) return system_failure("socket");
  return line;
}

/// By a process that may mount.
Result<void> send_request(int socket, const Birth& birth, std::vector<int> descriptors) {
  std::vector<Descriptor> mounts;
  for (const auto& [source, target] : birth.shown) {
    TRY_ASSIGN(mount, clone_writable(source));
    descriptors.push_back(mount.get());
    mounts.push_back(std::move(mount));
  }
  const Bytes packet = describe::write_msgpack(birth.request);
  if (packet.size() > cluster::supervision::packet_bytes_max)
    return fail(Errc::invalid, "its environment is too large");
  if (!send_descriptors(socket, packet, descriptors)) return system_failure("request for a process");
  return {};
}

/// An ordinary user may mount only in a user namespace, which this process must not enter: it would lose sight of the
/// one that the template is in.
Result<void> send_in_namespace(int socket, const Birth& birth, const std::vector<int>& descriptors) {
  TRY_ASSIGN(fault, make_pipe());
  const pid_t child = ::fork();
  if (child < 0) return system_failure("fork");
  if (child == 0) {
    Result<void> sent = enter_user_namespace();
    if (sent && ::unshare(CLONE_NEWNS) != 0) sent = system_failure("mount namespace");
    if (sent) sent = send_request(socket, birth, descriptors);
    const std::string why = sent ? "" : sent.error().message;
    [[maybe_unused]] const ssize_t written = ::write(fault.write.get(), why.data(), why.size());
    ::_exit(0);
  }
  fault.write.close();
  std::string why(512, '\0');
  ssize_t size = 0;
  while ((size = ::read(fault.read.get(), why.data(), why.size())) < 0 && errno == EINTR) {
  }
  ::waitpid(child, nullptr, 0);
  if (size <= 0) return {};
  why.resize(static_cast<std::size_t>(size));
  return fail(Errc::unavailable, why);
}

}  // namespace

Result<ForkLine::Asked> ForkLine::ask(Birth birth) {
  TRY_ASSIGN(held, connect_to(birth.from));
  TRY_ASSIGN(line, make_line());
  TRY_ASSIGN(out, make_pipe());
  TRY_ASSIGN(err, make_pipe());
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing) return system_failure("/dev/null");
  TRY_ASSIGN(lists, birth.group->open_lists());
  std::vector<int> descriptors{nothing.get(), out.write.get(), err.write.get()};
  for (const Descriptor& list : lists) descriptors.push_back(list.get());
  birth.request.groups = static_cast<std::int32_t>(lists.size());
  for (const auto& [source, target] : birth.shown) birth.request.targets.push_back(target);
  TRY(birth.features.user_namespace ? send_in_namespace(line.ours.get(), birth, descriptors)
                                    : send_request(line.ours.get(), birth, std::move(descriptors)));
  const int theirs = line.theirs.get();  // by now all is in it that the process needs
  if (!send_descriptors(held.get(), as_bytes("fork"), {&theirs, 1}))
    return system_failure("the template accepts no connections");
  for (const int fd : {line.ours.get(), out.read.get(), err.read.get()}) set_nonblocking(fd);
  return Asked{ForkLine(std::move(line.ours), std::move(held)), std::move(out.read), std::move(err.read)};
}

std::optional<ForkLine::Heard> ForkLine::receive() {
  const DescriptorPacket came = receive_descriptors(socket_.get(), packet_buffer());
  std::optional<Heard> heard;
  if (came.is_closed) {
    heard.emplace().message = Gone{};
  } else if (auto message = describe::read_msgpack<FromForked>(came.bytes, packet_bounds)) {
    heard.emplace().message = *std::move(message);
    heard->sender = came.sender;
  }
  return heard;  // what cannot be read takes a turn, too: otherwise it could take them all
}

void ForkLine::kill() { ::shutdown(socket_.get(), SHUT_WR); }

}  // namespace cadre::supervisor
