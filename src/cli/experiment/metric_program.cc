#include "cli/experiment/metric_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>

#include "base/rounded.h"
#include "describe/describe.h"
#include "describe/utf8.h"
#include "loop/descriptor.h"

namespace cadre::cli {
namespace {

using Clock = std::chrono::steady_clock;
using loop::Descriptor;

/// Environment variables have a limit of 128 KiB each; larger ones are on standard input alone.
constexpr std::size_t most_in_environment = 100'000;

Result<Descriptor> file_with(const std::string& text) {
  Descriptor file(::memfd_create("hyperparameters", MFD_CLOEXEC));
  for (std::size_t written = 0; file && written < text.size();) {
    const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
    if (count <= 0) return fail(Errc::unavailable, std::string("cannot write to memory: ") + std::strerror(errno));
    written += static_cast<std::size_t>(count);
  }
  if (!file) return fail(Errc::unavailable, std::string("cannot write to memory: ") + std::strerror(errno));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

/// In the child: becomes the program.
[[noreturn]] void execute(const char* command, int input, int output) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, 0);
  ::dup2(output, 1);
  ::execl("/bin/sh", "sh", "-c", command, nullptr);
  ::_exit(127);
}

/// A running program. When this goes, so do all of its processes.
class Running {
 public:
  explicit Running(pid_t pid) : pid_(pid) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    ::kill(-pid_, SIGKILL);
    if (!has_ended_) ::waitpid(pid_, &status_, 0);
  }

  bool has_ended() {
    if (!has_ended_) has_ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
    return has_ended_;
  }
  [[nodiscard]] int status() const { return status_; }

 private:
  pid_t pid_;
  int status_ = 0;
  bool has_ended_ = false;
};

/// What the program prints until it has ended.
Result<std::string> output_of(Running& running, int output, const MetricProgram& program) {
  const auto deadline = Clock::now() + program.timeout;
  constexpr int look_every_ms = 20;
  std::string text;
  for (bool is_open = true;;) {
    pollfd ready{is_open ? output : -1, POLLIN, 0};
    const int count = ::poll(&ready, 1, is_open || !running.has_ended() ? look_every_ms : 0);
    if (count > 0) {
      std::array<char, 4096> block{};
      const ssize_t read = ::read(output, block.data(), block.size());
      if (read > 0) text.append(block.data(), static_cast<std::size_t>(read));
      is_open = read > 0;
    } else if (running.has_ended()) {
      return text;  // a process that it has left behind may still hold its output
    }
    if (text.size() > MetricProgram::most_output) {
      return fail(Errc::invalid, "has printed more than 64 KiB; it must print numbers only");
    }
    if (Clock::now() >= deadline) {
      return fail(Errc::timed_out, "has not ended after " + rounded(program.timeout) + "; raise --timeout");
    }
  }
}

Result<std::vector<double>> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto number = describe::read_yaml<double>(word);
    if (!number)
      return fail(Errc::invalid,
                  "has printed " + describe::quoted(describe::shortened(word, 40)) + ", which is not a number");
    numbers.push_back(*number);
  }
  if (numbers.empty()) return fail(Errc::invalid, "has printed no number");
  return numbers;
}

Result<std::vector<double>> run(const MetricProgram& program, const std::string& hyperparameters) {
  TRY_ASSIGN(input, file_with(hyperparameters));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(Errc::unavailable, std::strerror(errno));
  Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(Errc::unavailable, std::string("cannot be started: ") + std::strerror(errno));
  if (pid == 0) execute(program.command.c_str(), input.get(), writing.get());
  ::setpgid(pid, pid);  // here too, so that it is done before the group is killed
  Running running(pid);
  writing = Descriptor();
  TRY_ASSIGN(text, output_of(running, reading.get(), program));
  if (WIFSIGNALED(running.status())) {
    return fail(Errc::unavailable, "was killed by signal " + std::to_string(WTERMSIG(running.status())));
  }
  if (const int code = WEXITSTATUS(running.status()); code != 0) {
    return fail(Errc::unavailable, "has failed with exit code " + std::to_string(code));
  }
  return numbers_in(text);
}

}  // namespace

Result<std::vector<double>> run_metric_program(const MetricProgram& program, const search::Moment& trial) {
  const std::string hyperparameters = describe::to_json(trial.hyperparameters);
  ::unsetenv("CADRE_TRIAL");  // a program that uses cadre.core must run by itself
  ::setenv("CADRE_TRIAL_NUMBER", std::to_string(trial.trial).c_str(), 1);
  ::setenv("CADRE_TRIAL_SEED", std::to_string(trial.seed).c_str(), 1);
  if (hyperparameters.size() <= most_in_environment) {
    ::setenv("CADRE_HYPERPARAMETERS", hyperparameters.c_str(), 1);
  } else {
    ::unsetenv("CADRE_HYPERPARAMETERS");
  }
  Result<std::vector<double>> numbers = run(program, hyperparameters + "\n");
  if (numbers) return numbers;
  return fail(numbers.error().code, "the program of trial " + std::to_string(trial.trial) + " " +
                                        numbers.error().message + "; its hyperparameters are " +
                                        describe::shortened(hyperparameters, 1'000));
}

}  // namespace cadre::cli
