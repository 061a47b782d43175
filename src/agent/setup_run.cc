#include "agent/setup_run.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "loop/file.h"

namespace cadre::agent {

namespace {

constexpr Duration look_first = std::chrono::milliseconds(2);
constexpr Duration look_longest = std::chrono::milliseconds(100);
constexpr std::int64_t shown_bytes_max = 2'000;
constexpr std::int64_t output_bytes_max = std::int64_t{16} << 20;  // then it begins anew: only the end is of use

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// A process in a session of its own, killed with it.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { kill_all(); }

  Result<void> start(const SetupCommand& command) {
    TRY_ASSIGN(output, loop::File::open(command.output, O_WRONLY | O_CREAT | O_APPEND));
    TRY_ASSIGN(nothing, loop::File::open("/dev/null", O_RDONLY));
    std::vector<std::string> arguments{"/bin/sh", "-c", command.command};
    std::vector<std::string> variables;
    for (const auto& [name, value] : command.variables) variables.emplace_back(name).append("=").append(value);
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> environment = pointers(variables);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) return loop::system_failure("/bin/sh");
    if (pid_ > 0) return {};
    // Between fork and exec only what is safe in a process of many threads.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    signal(SIGPIPE, SIG_DFL);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (dup2(nothing.fd(), 0) < 0 || dup2(output.fd(), 1) < 0 || dup2(output.fd(), 2) < 0) _exit(127);
    if (chdir(command.folder.c_str()) != 0) _exit(127);
    umask(022);  // tasks of other users read what it makes
    execve(argv[0], argv.data(), environment.data());
    _exit(127);
  }

  /// How it ended, once it has.
  std::optional<int> ended() {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
    kill(-pid_, SIGKILL);  // what it left running
    pid_ = -1;
    return status;
  }

 private:
  void kill_all() {
    if (pid_ <= 0) return;
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // should it have no session yet
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid_ = -1;
};

std::string last_lines(const std::string& path) {
  const auto file = loop::File::open(path, O_RDONLY);
  if (!file) return "";
  const std::int64_t size = file->size().value_or(0);
  Bytes bytes(static_cast<std::size_t>(std::min(size, shown_bytes_max)));
  bytes.resize(file->read_at(size - static_cast<std::int64_t>(bytes.size()), bytes).value_or(0));
  std::string_view text = as_text(bytes);
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (size > shown_bytes_max && text.find('\n') < text.size()) text.remove_prefix(text.find('\n') + 1);
  return std::string(text);
}

void keep_short(const std::string& path) {
  auto file = loop::File::open(path, O_WRONLY);
  if (file && file->size().value_or(0) > output_bytes_max) static_cast<void>(file->truncate(0));
}

Failure failure(Errc code, const SetupCommand& command, const std::string& how) {
  const std::string lines = last_lines(command.output);
  return fail(code, "setup command `" + command.command + "` " + how +
                        (lines.empty() ? " and wrote nothing" : "; its last output:\n" + lines));
}

}  // namespace

loop::Task<Result<void>> run_setup(loop::Loop& loop, SetupCommand command) {
  const TimePoint end = loop.now() + command.time_max;
  Session session;
  CO_TRY(session.start(command));
  for (Duration pause = look_first; loop.now() < end; pause = std::min(2 * pause, look_longest)) {
    const std::optional<int> status = session.ended();
    if (status && *status == 0) co_return Result<void>();
    if (status && WIFEXITED(*status)) {
      co_return failure(Errc::invalid, command, "ended with exit code " + std::to_string(WEXITSTATUS(*status)));
    }
    if (status) co_return failure(Errc::invalid, command, "was ended by signal " + std::to_string(WTERMSIG(*status)));
    keep_short(command.output);
    co_await loop::sleep(loop, pause);
  }
  co_return failure(Errc::timed_out, command, "did not end within " + to_string(command.time_max));
}

}  // namespace cadre::agent
