#include "supervisor/forking/nursery_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "supervisor/forking/nursery_talk.h"
#include "supervisor/isolation/view.h"
#include "supervisor/supervisor.h"

namespace cadre::supervisor {

using namespace nursery_talk;

namespace {

/// What the agent has open is none of our business, its standard streams included: who waits for their end must not
/// wait for tasks.
void drop_all_but(int socket) {
  const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int stream : {0, 1, 2}) ::dup2(nothing.get(), stream);
  close_all_but(socket);
}

struct Question {
  std::string folder;
  Descriptor agent;  ///< the supervisor's end
};

/// Without a folder when there will be no more.
Question receive_question(int socket) {
  std::array<char, PATH_MAX> folder;
  Letter letter(folder.data(), folder.size());
  ssize_t size = 0;
  while ((size = ::recvmsg(socket, &letter.header, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (size <= 0) return {};
  int agent = -1;
  if (letter.header.msg_controllen >= CMSG_LEN(sizeof(int)) && letter.packet().cmsg_type == SCM_RIGHTS) {
    std::memcpy(&agent, CMSG_DATA(&letter.packet()), sizeof(int));
  }
  return {{folder.data(), static_cast<std::size_t>(size)}, Descriptor(agent)};
}

/// The user namespace that what tasks see is locked by. As root one is enough for all: it is root's, tasks have no
/// rights in it, and it counts the processes of a user together. Others need one in each of theirs.
Descriptor shared_users(const IsolationFeatures& features) {
  if (!features.mount_namespace || features.user_namespace || ::geteuid() != 0) return {};
  Result<Descriptor> users = make_users();
  return users ? *std::move(users) : Descriptor();
}

}  // namespace

void run_nursery(const std::optional<IsolationFeatures>& given) {
  const int socket = nursery_socket;
  ::setsid();
  ::prctl(PR_SET_NAME, "cadre-nursery");
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_IGN);
  drop_all_but(socket);
  const IsolationFeatures features = given ? *given : probe();
  const Descriptor users = shared_users(features);
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps supervisors
  if (::send(socket, &features, sizeof(features), 0) < 0) ::_exit(1);
  for (;;) {
    Question question = receive_question(socket);
    if (question.folder.empty()) ::_exit(0);  // the agent is gone
    Answer answer;
    answer.pid = ::fork();
    if (answer.pid == 0) {
      ::close(socket);
      ::_exit(supervise(question.folder, features, users, std::move(question.agent)));
    }
    if (answer.pid < 0) answer.error_number = errno;
    if (::send(socket, &answer, sizeof(answer), 0) < 0) ::_exit(0);
  }
}

}  // namespace cadre::supervisor
