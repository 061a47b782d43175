#include "supervisor/forking/nursery.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "supervisor/forking/nursery_talk.h"

namespace cadre::supervisor {

using namespace nursery_talk;

namespace {

bool send_question(int socket, const std::string& folder, int agent) {
  Letter letter(const_cast<char*>(folder.data()), folder.size());
  letter.packet().cmsg_level = SOL_SOCKET;
  letter.packet().cmsg_type = SCM_RIGHTS;
  letter.packet().cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(&letter.packet()), &agent, sizeof(int));
  return ::sendmsg(socket, &letter.header, MSG_NOSIGNAL) >= 0;
}

struct SocketPair {
  Descriptor ours;
  Descriptor theirs;
};

Result<SocketPair> make_socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_failure("socketpair");
  return SocketPair{Descriptor(ends[0]), Descriptor(ends[1])};
}

template <class T>
bool receive(int socket, T& value) {
  ssize_t size = 0;
  while ((size = ::recv(socket, &value, sizeof(value), 0)) < 0 && errno == EINTR) {
  }
  return size == static_cast<ssize_t>(sizeof(value));
}

char digit(bool yes) { return yes ? '1' : '0'; }

/// Between fork and exec only what is safe in a process that has threads.
[[noreturn]] void become_nursery(const char* program, int socket, const char* features) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (socket == nursery_socket) ::fcntl(socket, F_SETFD, 0);
  if (socket != nursery_socket) ::dup2(socket, nursery_socket);
  ::execl(program, program, features, nullptr);
  ::_exit(127);
}

}  // namespace

std::string program_beside_us() {
  std::error_code unknown;
  return (std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path() / "cadre-supervisor").string();
}

Result<std::unique_ptr<Nursery>> Nursery::open(const std::string& program, std::optional<IsolationFeatures> features) {
  if (::access(program.c_str(), X_OK) != 0) return system_failure("cannot run " + program + ", which comes with cadre");
  std::string chosen = "auto";
  if (features)
    chosen = {digit(features->mount_namespace), digit(features->pid_namespace), digit(features->user_namespace)};
  std::unique_ptr<Nursery> nursery(new Nursery(program, std::move(chosen)));
  TRY(nursery->begin());
  return nursery;
}

Result<void> Nursery::begin() {
  TRY_ASSIGN(pair, make_socket_pair());
  const pid_t child = ::fork();
  if (child < 0) return system_failure("nursery");
  if (child == 0) become_nursery(program_.c_str(), pair.theirs.get(), chosen_.c_str());
  pair.theirs.close();
  pid_ = child;
  socket_ = std::move(pair.ours);
  IsolationFeatures features;
  if (!receive(socket_.get(), features)) {
    end();
    return fail(Errc::unavailable, program_ + " does not work; check that it has the same version as this program");
  }
  features_ = features;
  return {};
}

void Nursery::end() {
  socket_.close();
  const pid_t child = pid_.exchange(0);
  if (child == 0) return;
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Nursery::~Nursery() { end(); }

Result<Nursery::Born> Nursery::start(const std::string& folder) {
  if (folder.size() >= PATH_MAX) return fail(Errc::invalid, "too long for a path: " + folder);
  Answer answer;
  const std::scoped_lock lock(mutex_);
  // One that died may have forked the supervisor before: then the second finds the folder locked and ends, and the
  // first waits for its agent at agent.sock.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!socket_) TRY(begin());
    TRY_ASSIGN(pair, make_socket_pair());
    if (send_question(socket_.get(), folder, pair.theirs.get()) && receive(socket_.get(), answer)) {
      if (answer.pid < 0) return Failure(system_error("cannot fork a supervisor", answer.error_number));
      return Born{answer.pid, std::move(pair.ours)};
    }
    end();
  }
  return fail(Errc::unavailable, program_ + " fails whenever it starts a supervisor");
}

}  // namespace cadre::supervisor
