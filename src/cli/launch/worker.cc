#include "cli/launch/worker.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace cadre::cli {
namespace {

using loop::Descriptor;
using loop::system_failure;

/// The variables of this process with others in their place, as a new program gets them.
std::vector<std::string> merged_variables(std::map<std::string, std::string> variables) {
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    const std::size_t sign = text.find('=');
    if (sign != std::string_view::npos) variables.try_emplace(std::string(text.substr(0, sign)), text.substr(sign + 1));
  }
  std::vector<std::string> all;
  for (const auto& [name, value] : variables) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

struct PipeEnds {
  Descriptor from;
  Descriptor to;
};
Result<PipeEnds> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure("cannot make a pipe");
  return PipeEnds{Descriptor(ends[0]), Descriptor(ends[1])};
}

Error not_started(const std::string& program, int number) {
  return loop::system_error("cannot start " + program, number);
}

}  // namespace

std::string WorkerEnding::text() const {
  if (signal != 0) return "was killed by signal " + std::to_string(signal);
  return "failed with exit code " + std::to_string(code);
}

Result<std::unique_ptr<Worker>> Worker::start(loop::RealLoop& loop, const std::vector<std::string>& argv,
                                              const std::map<std::string, std::string>& variables, OnLine on_line) {
  TRY_ASSIGN(out, make_pipe());
  TRY_ASSIGN(err, make_pipe());
  TRY_ASSIGN(fault, make_pipe());
  std::vector<std::string> words = argv;
  std::vector<std::string> settings = merged_variables(variables);
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> setting_pointers = pointers_to(settings);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_failure("cannot start " + argv.front());
  if (pid == 0) {  // only what is safe beside other threads
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD}) ::signal(number, SIG_DFL);
    const int input = ::open("/dev/null", O_RDONLY);
    if (input >= 0) ::dup2(input, 0);
    ::dup2(out.to.get(), 1);
    ::dup2(err.to.get(), 2);
    ::execvpe(word_pointers.front(), word_pointers.data(), setting_pointers.data());
    const int why = errno;
    static_cast<void>(!::write(fault.to.get(), &why, sizeof why));
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // whoever of both is first
  fault.to.close();
  int why = 0;
  if (::read(fault.from.get(), &why, sizeof why) == sizeof why) {
    ::waitpid(pid, nullptr, 0);
    return Failure(not_started(argv.front(), why));
  }
  std::unique_ptr<Worker> worker(new Worker(pid, std::move(on_line)));
  worker->streams_[0].from = std::move(out.from);
  worker->streams_[1].from = std::move(err.from);
  worker->streams_[0].kind = logs::Stream::out;
  worker->streams_[1].kind = logs::Stream::err;
  for (Stream& stream : worker->streams_) {
    ::fcntl(stream.from.get(), F_SETFL, O_NONBLOCK);
    stream.readable.emplace(loop, stream.from.get(), [self = worker.get(), &stream] { self->read(stream); });
  }
  return worker;
}

void Worker::read(Stream& stream) {
  std::array<char, 65'536> block;
  const ssize_t size = ::read(stream.from.get(), block.data(), block.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size > 0) stream.open_line.append(block.data(), static_cast<std::size_t>(size));
  hand_on(stream, size <= 0);
  if (size <= 0) stream.readable.reset();
}

/// Whole lines, and of a line that is too long what is there; at the end all that is left.
void Worker::hand_on(Stream& stream, bool is_end) {
  std::string_view rest = stream.open_line;
  for (;;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > logs::line_bytes_max) {
      on_line_({stream.kind, true, {}, rest.substr(0, logs::line_bytes_max)});
      rest.remove_prefix(logs::line_bytes_max);
      continue;
    }
    if (end == rest.size()) break;
    on_line_({stream.kind, false, {}, rest.substr(0, end)});
    rest.remove_prefix(end + 1);
  }
  if (is_end && !rest.empty()) {
    on_line_({stream.kind, false, {}, rest});
    rest = {};
  }
  stream.open_line.erase(0, stream.open_line.size() - rest.size());
}

const std::optional<WorkerEnding>& Worker::ending() {
  int status = 0;
  if (!ending_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    ending_ = WIFSIGNALED(status) ? WorkerEnding{128 + WTERMSIG(status), WTERMSIG(status)}
                                  : WorkerEnding{WEXITSTATUS(status), 0};
  }
  return ending_;
}

void Worker::signal(int number) const { ::kill(-pid_, number); }

Error become(const std::vector<std::string>& argv, const std::map<std::string, std::string>& variables) {
  std::vector<std::string> words = argv;
  std::vector<std::string> settings = merged_variables(variables);
  ::execvpe(words.front().c_str(), pointers_to(words).data(), pointers_to(settings).data());
  return not_started(argv.front(), errno);
}

}  // namespace cadre::cli
