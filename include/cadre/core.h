/// What a task asks and tells the cluster while it runs: whether to stop, that it is alive, what it has to report. All
/// of it may be called from any thread. Off the cluster the same code runs and is never asked to stop.
///
///   cadre::core::Context context;
///   while (!context.should_stop() && step < steps) train(step++);
///   save_checkpoint();
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cadre::core {

/// What a task knows of itself. Off the cluster: the only one of its gang.
struct Task {
  std::string task;                ///< 17.0: the first task of job 17; empty off the cluster
  std::string lease;               ///< 17.0/3: its third lease
  std::uint64_t epoch = 0;         ///< numbers the leases of a task; what an older one reports is refused
  std::string role;                ///< of its gang
  std::uint32_t rank = 0;          ///< among the tasks of its gang, from 0
  std::uint32_t size = 1;          ///< how many tasks the gang has
  std::vector<std::string> slots;  ///< that are its own
  std::string master;              ///< where the master can be reached
};

/// Read from the environment; attaches nothing.
[[nodiscard]] Task this_task();

/// For a program of which agents keep some ready before there is a task for them (`warm` in its command). Called when
/// all that takes long is done, it waits until this process is told which task it is; from then on this_task() and the
/// environment tell of that one. Gives the variables that it has set; nothing when nobody is left who could tell, so
/// that the process should end. In a process that was started as a task, and off the cluster, it comes back at once
/// and sets none. Call it before there are other threads, which might look at the environment meanwhile, and before
/// there is a Context.
[[nodiscard]] std::optional<std::map<std::string, std::string>> wait_until_begun();

/// Why the task is to stop, and by when.
struct Stop {
  std::string why;                      ///< killed_by_user, preempted, …
  std::chrono::nanoseconds grace_left;  ///< until it is killed; not below 0
};

/// What became of a report or an announcement.
struct Reported {
  enum class Outcome : std::uint8_t {
    accepted,
    refused,  ///< it does not count, for instance since the task runs somewhere else by now
    unknown,  ///< no answer came: it may or may not count
  };
  Outcome outcome = Outcome::accepted;
  std::string why;  ///< when it was not accepted

  explicit operator bool() const { return outcome == Outcome::accepted; }
};

constexpr std::size_t report_bytes_max = 32'768;

class Attachment;

/// The task's line to the cluster. Making one attaches: from then on the task is asked to stop here, not by a signal,
/// and must look. One is enough for a process. After fork() the child gets a line of its own when it first uses it.
class Context {
 public:
  /// Never fails: should the line be cut, it is made anew by later calls.
  Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  bool on_cluster() const { return on_cluster_; }
  const Task& task() const { return task_; }

  /// Whether the task has been asked to stop. Does not wait: call it as often as you like.
  [[nodiscard]] bool should_stop() { return stop().has_value(); }
  /// Nothing while the task may go on. Does not wait.
  [[nodiscard]] std::optional<Stop> stop();

  /// Promises that should_stop, stop, report or beat will be called again and again: a task that then does none of it
  /// for too long (60 s, as its policy say) is taken for stuck, and is ended. Without a promise nobody minds.
  void promise_liveness();
  /// A sign of life. Does nothing before promise_liveness.
  void beat();
  /// How many calls the task has answered so far, and how many of these ended in an error: shown with what it uses.
  /// Told with the signs of life, so only after promise_liveness; call it as often as you like.
  void tally(std::uint64_t calls, std::uint64_t errors);

  /// Reports a text of at most report_bytes_max, and waits for what becomes of it. Off the cluster it goes to standard
  /// error.
  [[nodiscard]] Reported report(std::string_view text, std::chrono::milliseconds wait_max = std::chrono::minutes(1));
  /// Announces where this task can be reached: JSON of at most report_bytes_max, which replaces what was announced
  /// before and is shown with the task until it is started again. Reports do not change it. An actor announces its
  /// address itself; do not call this in one. Otherwise as report().
  [[nodiscard]] Reported announce(std::string_view json, std::chrono::milliseconds wait_max = std::chrono::minutes(1));

 private:
  Attachment& attachment();

  Task task_;
  bool on_cluster_;
  std::string socket_;
  std::atomic<Attachment*> attachment_{nullptr};  ///< of this process, or, right after fork(), of its parent
};

}  // namespace cadre::core
