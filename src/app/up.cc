#include "app/up.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <utility>

#include "app/folder.h"
#include "app/listener.h"
#include "app/master_process.h"
#include "base/shell_words.h"
#include "client/cluster/data_folder.h"
#include "client/cluster/which_master.h"
#include "loop/descriptor.h"

namespace cadre::app {
namespace {

constexpr long stop_max_ms = 30'000;
constexpr long stop_at_once_max_ms = 8'000;
constexpr long stop_look_ms = 10;
constexpr long soon_ms = 10'000;
constexpr int falls_at_once = 3;  // then it is started again only after a pause
constexpr int falls_max = 6;      // of a master that was never up

volatile std::sig_atomic_t told_to_stop = 0;

void note_stop(int) { told_to_stop = told_to_stop + 1; }

void pause_ms(long ms) {
  const timespec wait{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&wait, nullptr);
}

long now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// A part of the cluster as a process, begun anew when it dies.
class Part {
 public:
  Part(const char* name, std::function<Result<void>()> run) : name_(name), run_(std::move(run)) {}

  void start() {
    const pid_t parent = ::getpid();
    started_ = now_ms();
    pid_ = ::fork();
    if (pid_ < 0) {
      std::fprintf(stderr, "cadre up: cannot start the %s now: %s\n", name_, std::strerror(errno));
      pid_ = 0;
      return fell();
    }
    if (pid_ != 0) return;
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::setpgid(0, 0);  // so that Ctrl-C reaches only the parent
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    const Result<void> ended = run_();
    if (!ended) std::fprintf(stderr, "cadre %s: %s\n", name_, ended.error().message.c_str());
    std::fflush(nullptr);
    ::_exit(ended ? 0 : 1);
  }

  /// Restarts a part that was killed, after a pause if that repeats; a part that failed is not restarted.
  /// Gives whether it runs or will.
  bool keep_up() {
    if (pid_ == 0) {
      if (now_ms() >= start_at_) start();
      return true;
    }
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
    pid_ = 0;
    if (!WIFSIGNALED(status)) return false;
    std::fprintf(stderr, "cadre up: the %s was killed; restarting it\n", name_);
    fell();
    return true;
  }
  /// How often it fell soon after it had begun.
  int falls() const { return falls_; }

  /// Asks it to end; a second signal to us is passed on and means: at once. It is killed when it takes too long.
  void stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    long left_ms = stop_max_ms;
    for (bool is_urgent = false; ::waitpid(pid_, nullptr, WNOHANG) == 0; left_ms -= stop_look_ms) {
      if (told_to_stop > 1 && !std::exchange(is_urgent, true)) {
        ::kill(pid_, SIGTERM);
        left_ms = std::min(left_ms, stop_at_once_max_ms);
      }
      if (left_ms <= 0) ::kill(pid_, SIGKILL);
      pause_ms(stop_look_ms);
    }
    pid_ = 0;
  }

  const char* name() const { return name_; }

 private:
  void fell() {
    falls_ = now_ms() - started_ < soon_ms ? falls_ + 1 : 1;
    const int slow = std::clamp(falls_ - falls_at_once, 0, 6);
    start_at_ = now_ms() + (slow == 0 ? 0 : 500L << slow);
  }

  const char* name_;
  std::function<Result<void>()> run_;
  pid_t pid_ = 0;
  long started_ = 0;
  long start_at_ = 0;
  int falls_ = 0;
};

}  // namespace

Result<void> run_both(const master::Config& config, AgentOptions agent, const LogOptions& logging) {
  const auto log = make_log("up", logging);
  TRY_ASSIGN(data, open_data_folder(config.data, *log));
  agent.master = data;
  agent.data = data + "/agent";
  agent.end_tasks = true;
  struct sigaction action {};
  action.sa_handler = note_stop;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);

  // Held here, so that no other process takes the port while a killed master is restarted.
  TRY(lock_folder(data));  // a folder in use is reported first
  TRY_ASSIGN(listener, open_listener(config.http, cluster::DataFolder{data}, *log));

  std::array<int, 2> news{};
  if (::pipe2(news.data(), O_CLOEXEC) != 0) return loop::system_failure("pipe");
  const loop::Descriptor hears(news[0]);
  const loop::Descriptor says(news[1]);
  Part master_part("master", [&]() -> Result<void> {
    const auto own_log = make_log("master", logging);
    const auto say_up = [&] { [[maybe_unused]] const ssize_t said = ::write(says.get(), "!", 1); };
    return run_master(config, *own_log, {say_up, listener.get(), {}});
  });
  Part agent_part("agent", [&]() -> Result<void> {
    listener.close();
    const auto own_log = make_log("agent", logging);
    return run_agent(agent, *own_log);
  });
  master_part.start();
  pollfd is_up{hears.get(), POLLIN, 0};
  while (told_to_stop == 0 && ::poll(&is_up, 1, 20) <= 0) {
    if (!master_part.keep_up() || master_part.falls() > falls_max) {
      return fail(Errc::unavailable, "the master did not start");
    }
  }
  agent_part.start();
  const bool is_default = data == client::default_data_folder();
  const auto known = client::find_master(data);
  std::fprintf(stderr, "cadre is up at %s. In another shell, try: cadre run%s -- hostname\nCtrl-C stops it.\n",
               known ? known->url.c_str() : data.c_str(),
               is_default ? "" : (" --master " + shell_words({data})).c_str());
  while (told_to_stop == 0) {
    for (Part* part : {&master_part, &agent_part}) {
      if (part->keep_up()) continue;
      const std::string name = part->name();
      agent_part.stop();
      master_part.stop();
      return fail(Errc::unavailable, "the " + name + " has ended");
    }
    pause_ms(100);
  }
  std::fprintf(stderr, "\nstopping cadre\n");
  agent_part.stop();
  master_part.stop();
  return {};
}

}  // namespace cadre::app
