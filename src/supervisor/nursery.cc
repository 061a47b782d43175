#include "supervisor/nursery.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>

#include "supervisor/supervisor.h"

namespace cadre::supervisor {

namespace {

struct Answer {
  pid_t pid = 0;
  int error_number = 0;
};

/// What the agent has open is none of our business, its standard streams included: who waits for their end must not
/// wait for tasks.
void drop_all_but(int socket) {
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int stream : {0, 1, 2}) ::dup2(nothing.get(), stream);
  close_all_but(socket);
}

[[noreturn]] void tend(int socket, const std::optional<Means>& given) {
  ::setsid();
  ::prctl(PR_SET_NAME, "cadre-nursery");
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_IGN);
  drop_all_but(socket);
  const Means means = given ? *given : probe();
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps supervisors
  if (::send(socket, &means, sizeof(means), 0) < 0) ::_exit(1);
  for (;;) {
    std::array<char, PATH_MAX> folder;
    const ssize_t size = ::recv(socket, folder.data(), folder.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) ::_exit(0);  // the agent is gone
    Answer answer;
    answer.pid = ::fork();
    if (answer.pid == 0) {
      ::close(socket);
      ::_exit(supervise({folder.data(), static_cast<std::size_t>(size)}, means));
    }
    if (answer.pid < 0) answer.error_number = errno;
    if (::send(socket, &answer, sizeof(answer), 0) < 0) ::_exit(0);
  }
}

template <class T>
bool receive(int socket, T& value) {
  ssize_t size = 0;
  while ((size = ::recv(socket, &value, sizeof(value), 0)) < 0 && errno == EINTR) {
  }
  return size == static_cast<ssize_t>(sizeof(value));
}

}  // namespace

Result<std::unique_ptr<Nursery>> Nursery::open(std::optional<Means> means) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_failure("nursery");
  Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return system_failure("nursery");
  if (child == 0) tend(theirs.get(), means);
  Means found;
  theirs.close();
  if (!receive(ours.get(), found)) return fail(Errc::unavailable, "the nursery of supervisors has died");
  return std::unique_ptr<Nursery>(new Nursery(child, std::move(ours), found));
}

Nursery::~Nursery() {
  socket_.close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<pid_t> Nursery::start(const std::string& folder) {
  const std::scoped_lock lock(mutex_);
  Answer answer;
  if (folder.size() >= PATH_MAX) return fail(Errc::invalid, "too long for a path: " + folder);
  if (::send(socket_.get(), folder.data(), folder.size(), MSG_NOSIGNAL) < 0 || !receive(socket_.get(), answer)) {
    return fail(Errc::unavailable, "the nursery of supervisors has died");
  }
  if (answer.pid < 0) return Failure(system_error("cannot fork a supervisor", answer.error_number));
  return answer.pid;
}

}  // namespace cadre::supervisor
