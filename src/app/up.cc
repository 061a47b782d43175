#include "app/up.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "agent/local_provider.h"
#include "app/folder.h"
#include "app/listener.h"
#include "app/master_process.h"
#include "base/shell_words.h"
#include "client/cluster/data_folder.h"
#include "client/cluster/which_master.h"
#include "loop/child_process.h"
#include "loop/descriptor.h"
#include "loop/real_loop.h"

namespace cadre::app {
namespace {

using namespace std::chrono_literals;

constexpr loop::ChildProcess::Patience patience{30s, 8s};
constexpr Duration signal_look = 10ms;
constexpr Duration start_look = 20ms;
constexpr Duration look = 100ms;
constexpr Duration soon = 10s;
constexpr int falls_at_once = 3;  // then it is started again only after a pause
constexpr int falls_max = 6;      // of a master that was never up

volatile std::sig_atomic_t told_to_stop = 0;

void note_stop(int) { told_to_stop = told_to_stop + 1; }

/// Exit status of a process of the cluster.
int status_of(const Result<void>& ended, const char* name) {
  if (!ended) std::fprintf(stderr, "cadre %s: %s\n", name, ended.error().message.c_str());
  return ended ? 0 : 1;
}

/// When a process that was killed is started again: at once, or after a pause if it falls repeatedly.
class Restarts {
 public:
  Restarts(const char* name, const loop::Loop& loop) : name_(name), loop_(loop) {}

  const char* name() const { return name_; }
  bool is_due() const { return loop_.now() >= start_at_; }
  void note_start() { started_ = loop_.now(); }
  void note_killed() {
    std::fprintf(stderr, "cadre up: the %s was killed; restarting it\n", name_);
    note_fall();
  }
  void note_no_start(const Error& error) {
    std::fprintf(stderr, "cadre up: cannot start the %s now: %s\n", name_, error.message.c_str());
    note_fall();
  }
  /// How often it fell soon after it had begun.
  int falls() const { return falls_; }

 private:
  void note_fall() {
    falls_ = loop_.now() - started_ < soon ? falls_ + 1 : 1;
    const int slow = std::clamp(falls_ - falls_at_once, 0, 6);
    start_at_ = loop_.now() + (slow == 0 ? 0ms : 500ms * (1 << slow));
  }

  const char* name_;
  const loop::Loop& loop_;
  TimePoint started_;
  TimePoint start_at_;
  int falls_ = 0;
};

/// The master as a process, started again when it was killed. One that failed is not.
class MasterPart {
 public:
  MasterPart(loop::Loop& loop, std::function<int()> run) : loop_(loop), run_(std::move(run)) {}

  /// Whether it runs or will.
  bool keep_up() {
    if (child_ && !child_->ending()) return true;
    if (child_ && !child_->ending()->was_killed) return false;
    if (child_) restarts_.note_killed();
    child_.reset();
    if (!restarts_.is_due()) return true;
    restarts_.note_start();
    if (Result<loop::ChildProcess> child = loop::ChildProcess::start(run_)) {
      child_.emplace(*std::move(child));
    } else {
      restarts_.note_no_start(child.error());
    }
    return true;
  }
  bool never_starts() const { return restarts_.falls() > falls_max; }
  loop::Task<void> stop() {
    if (child_) co_await child_->stop(loop_, patience);
  }
  void hurry() {
    if (child_) child_->hurry();
  }

 private:
  loop::Loop& loop_;
  const std::function<int()> run_;
  Restarts restarts_{"master", loop_};
  std::optional<loop::ChildProcess> child_;
};

/// The agent of this host, by the provider of local agents; started again when it was killed.
class AgentPart {
 public:
  AgentPart(loop::Loop& loop, agent::Provider& provider) : provider_(provider), restarts_("agent", loop) {}

  /// Whether it runs or will.
  loop::Task<bool> keep_up() {
    const Result<std::vector<agent::Instance>> all = co_await provider_.list();
    if (all && !all->empty() && all->front().ending) {
      if (all->front().ending->cause != agent::Instance::Ending::Cause::killed) co_return false;
      restarts_.note_killed();
      co_await stop(agent::Stop::graceful);
    } else if (all && !all->empty()) {
      co_return true;
    }
    if (!restarts_.is_due()) co_return true;
    restarts_.note_start();
    const Result<void> started = co_await provider_.start(id_);
    if (!started) restarts_.note_no_start(started.error());
    co_return true;
  }
  loop::Task<void> stop(agent::Stop how) {
    const Result<void> stopped = co_await provider_.stop(id_, how);
    if (!stopped) std::fprintf(stderr, "cadre up: cannot stop the agent: %s\n", stopped.error().message.c_str());
  }

 private:
  agent::Provider& provider_;
  Restarts restarts_;
  const agent::InstanceId id_{"agent"};
};

/// Looks after both.
class Both {
 public:
  Both(loop::RealLoop& loop, MasterPart& master, AgentPart& agent, int news)
      : loop_(loop), master_(master), agent_(agent), news_(news) {}

  /// Until a signal, or until one of them has ended. `greet` is called when the master is up.
  Result<void> run(const std::function<void()>& greet) {
    loop_.spawn(look_after(greet));
    loop_.run();
    loop_.destroy_tasks();
    return ended_;
  }

 private:
  loop::Task<void> look_after(const std::function<void()>& greet) {
    const bool is_up = co_await wait_for_master();
    if (!is_up) {
      ended_ = fail(Errc::unavailable, "the master did not start");
      co_return loop_.stop();
    }
    watch_signals();
    bool agent_goes_on = true;
    if (told_to_stop == 0) {
      agent_goes_on = co_await agent_.keep_up();
      greet();
    }
    bool master_goes_on = true;
    while (told_to_stop == 0 && master_goes_on && agent_goes_on) {
      co_await loop::sleep(loop_, look);
      master_goes_on = master_.keep_up();
      if (master_goes_on) agent_goes_on = co_await agent_.keep_up();
    }
    if (!master_goes_on || !agent_goes_on) {
      ended_ = fail(Errc::unavailable, std::string("the ") + (master_goes_on ? "agent" : "master") + " has ended");
    } else {
      std::fprintf(stderr, "\nstopping cadre\n");
    }
    co_await agent_.stop(agent::Stop::graceful);
    co_await master_.stop();
    loop_.stop();
  }

  loop::Task<bool> wait_for_master() {
    pollfd is_up{news_, POLLIN, 0};
    while (told_to_stop == 0 && ::poll(&is_up, 1, 0) <= 0) {
      if (!master_.keep_up() || master_.never_starts()) co_return false;
      co_await loop::sleep(loop_, start_look);
    }
    co_return true;
  }

  /// A second signal means: at once.
  void watch_signals() {
    if (told_to_stop <= 1) {
      watch_ = loop_.after(signal_look, [this] { watch_signals(); });
      return;
    }
    master_.hurry();
    loop_.spawn(agent_.stop(agent::Stop::at_once));
  }

  loop::RealLoop& loop_;
  MasterPart& master_;
  AgentPart& agent_;
  const int news_;  ///< readable once the master is up
  Result<void> ended_;
  loop::Timer watch_;
};

}  // namespace

Result<void> run_both(const master::Config& config, AgentOptions agent, const LogOptions& logging) {
  const auto log = make_log("up", logging);
  TRY_ASSIGN(data, open_data_folder(config.data, *log));
  agent.config.master = data;
  agent.config.data = data + "/agent";
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
  loop::RealLoop loop;
  MasterPart master_part(loop, [&] {
    const auto own_log = make_log("master", logging);
    const auto say_up = [&] { [[maybe_unused]] const ssize_t said = ::write(says.get(), "!", 1); };
    return status_of(run_master(config, *own_log, {say_up, listener.get(), {}}), "master");
  });
  agent::LocalProvider agents(loop, {[&](const agent::InstanceId&) {
                                       listener.close();
                                       const auto own_log = make_log("agent", logging);
                                       return status_of(run_agent(agent, *own_log), "agent");
                                     },
                                     patience});
  AgentPart agent_part(loop, agents);
  Both both(loop, master_part, agent_part, hears.get());
  return both.run([&] {
    const bool is_default = data == client::default_data_folder();
    const auto known = client::find_master(data);
    std::fprintf(stderr, "cadre is up at %s. In another shell, try: cadre run%s -- hostname\nCtrl-C stops it.\n",
                 known ? known->url.c_str() : data.c_str(),
                 is_default ? "" : (" --master " + shell_words({data})).c_str());
  });
}

}  // namespace cadre::app
