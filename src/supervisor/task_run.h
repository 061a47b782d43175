/// The course of one task: starts it, watches it, passes on what is said, ends it. For the supervisor's only thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "cluster/supervision.h"
#include "loop/boot_clock.h"
#include "supervisor/agent_side.h"
#include "supervisor/capture.h"
#include "supervisor/ending_file.h"
#include "supervisor/environment.h"
#include "supervisor/execs.h"
#include "supervisor/forking/fork_line.h"
#include "supervisor/forking/forks.h"
#include "supervisor/isolation/enclosure.h"
#include "supervisor/judge.h"
#include "supervisor/life.h"
#include "supervisor/socket_path.h"
#include "supervisor/task_side.h"
#include "supervisor/termination.h"

namespace cadre::supervisor {

class TaskRun {
 public:
  struct Task {
    std::string folder;  ///< without symbolic links; it is the current one, too
    cluster::supervision::Launch launch;
    IsolationFeatures features;
    int users;        ///< see supervise(); -1: none
    Descriptor lock;  ///< held on its launch
  };
  TaskRun(Task task, Descriptor agent, Log& log);

  /// Comes back when the task has ended and nothing is left of it but its folder.
  void run();

 private:
  enum class Phase : std::uint8_t {
    running,
    killing,  ///< the leading process has ended or must; until the whole tree is gone
    closing,  ///< until the output is on disk
    closed,
  };

  static constexpr Duration fork_wait = std::chrono::seconds(10);  ///< for a template that is busy
  static Life life_of(const cluster::supervision::Launch& launch);

  // task_run_start.cc
  Result<void> start();
  Result<void> start_forked();
  Result<void> start_program();
  /// Where the task sees its folder.
  [[nodiscard]] const std::string& seen_folder() const;
  [[nodiscard]] Places places() const;
  Result<Program> program_of(std::vector<std::string> argv, const std::optional<cluster::Terminal>& terminal,
                             Program around) const;
  void hear_forked();
  /// There will be none: it is started instead.
  void not_forked(const std::string& why);
  void adopt(const cluster::supervision::Launch& launch);
  Result<void> become(cluster::supervision::Launch launch);
  void run_beside(const cluster::supervision::Exec& request);

  /// Looks from now on whether it keeps within its limits.
  void watch_limits();
  void turn();
  void look_at_fault();
  void leader_ended(int wait_status);
  void reap();
  void look_at_time();
  void look_at_output(TimePoint at);
  void look_for_agents();
  void measure(TimePoint at);
  void kill_tree();
  void send_news();
  void end();
  [[nodiscard]] TimePoint next_time() const;

  void take(const cluster::supervision::FromAgent& message);
  void stop(const cluster::supervision::Stop& request);
  [[nodiscard]] cluster::supervision::StopNotice stop_notice() const;

  [[nodiscard]] std::int64_t refused() const { return agent_.refused() + tasks_.refused(); }
  [[nodiscard]] cluster::supervision::Status status() const;
  [[nodiscard]] cluster::Usage with_tally(cluster::Usage usage) const;
  void condemn(Verdict verdict);

  Task task_;
  Log& log_;
  Descriptor signals_;
  Enclosure enclosure_;
  SocketPath socket_path_;
  AgentSide agent_;
  AgentSide::Calls agent_calls_;
  TaskSide tasks_;
  TaskSide::Calls task_calls_;
  Execs execs_{agent_};
  Forks forks_;  ///< of a template
  std::function<void()> forks_changed_;
  ForkLine forked_;  ///< to a leading process that is not a child of this one
  TimePoint forked_by_ = TimePoint::max();
  TimePoint reported_by_ = TimePoint::max();  ///< how a forked process that has ended has done so
  Input input_;                               ///< of the leading process
  std::optional<Capture> capture_;
  Life life_;

  Phase phase_ = Phase::running;
  pid_t leader_ = 0;  ///< 0 before it has started and after it was waited for
  Descriptor fault_;  ///< open until it is known whether the leading process could start
  bool running_ = false;
  cluster::supervision::Begin begin_;  ///< what it was told when it was adopted
  bool terminated_ = false;
  Termination termination_;
  Evidence seen_;
  std::optional<cluster::TaskEnding> ending_;
  EndingFile ending_file_;
  TimePoint closing_since_;
  std::int64_t output_lost_ = 0;

  bool news_ = true;  ///< something that the agent should hear at once
  TimePoint told_at_;
  Duration suspended_ = loop::suspended();  ///< that the life knows of
  std::int64_t told_output_end_ = 0;
  std::int64_t told_refused_ = 0;
  TimePoint listen_at_ = TimePoint::max();  ///< again, when it could not
  TimePoint measure_at_;
  TimePoint oom_check_at_ = TimePoint::max();
  TimePoint kill_at_ = TimePoint::max();
  Duration kill_pause_{};
};

}  // namespace cadre::supervisor
