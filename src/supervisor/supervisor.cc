#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>

#include "base/log.h"
#include "cluster/ending.h"
#include "describe/describe.h"
#include "supervisor/descriptor.h"
#include "supervisor/task_run.h"

namespace cadre::supervisor {

using cluster::supervision::Launch;

namespace {

/// Signals wait until they are asked for: what is sent to a whole group or session must not end a supervisor.
void hold_signals() {
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
}

/// Makes its file only when there is something to say: most supervisors never have.
class FolderLog final : public Log {
 public:
  void write(Level level, std::string_view message) override {
    if (!opened_) {
      const Descriptor file(::open("supervisor.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
      if (file) ::dup2(file.get(), 2);
      opened_ = true;
    }
    lines_.write(level, message);
  }

 private:
  bool opened_ = false;
  StderrLog lines_{Level::info};
};

Result<Launch> read_launch() {
  TRY_ASSIGN(bytes, read_file("launch"));
  auto launch = describe::read_msgpack<Launch>(as_bytes(bytes));
  if (!launch) return Failure(describe::to_error(launch.error(), "launch"));
  if (auto why = protocol::mismatch("the agent", launch->protocols, "its program cadre-supervisor")) {
    return fail(Errc::invalid, *std::move(why));
  }
  return *std::move(launch);
}

}  // namespace

int supervise(const std::string& folder, const IsolationFeatures& features, const Descriptor& users, Descriptor agent) {
  std::array<char, PATH_MAX> real;
  if (::chdir(folder.c_str()) != 0 || ::getcwd(real.data(), real.size()) == nullptr) return 1;
  Result<Descriptor> locked = lock_file("launch");
  if (!locked && locked.error().code == Errc::conflict) return 1;
  Descriptor lock = locked ? *std::move(locked) : Descriptor();
  ::setsid();
  ::prctl(PR_SET_NAME, "cadre-task");
  hold_signals();
  FolderLog log;
  const auto launch = read_launch();
  if (launch) {
    TaskRun task_run({real.data(), *launch, features, users.get(), std::move(lock)}, std::move(agent), log);
    task_run.run();
    return 0;
  }
  log.error(launch.error().message);
  Evidence seen;
  seen.start_error = launch.error().message;
  const cluster::TaskEnding ending = judge(seen);
  return write_whole("ending", cluster::seal(ending)) ? 0 : 1;
}

}  // namespace cadre::supervisor
