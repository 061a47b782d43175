/// The interface of a task to the cluster: stop requests, heartbeats and reports. All functions are thread-safe. Off
/// the cluster the same code runs and never gets a stop request.
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

/// Information about a task. Off the cluster: the only task of its gang.
struct Task {
  std::string task;                ///< 17.0: the first task of job 17; empty off the cluster
  std::string lease;               ///< 17.0/3: the third lease of the task
  std::uint64_t epoch = 0;         ///< number of the lease; reports with an older epoch are refused
  std::string role;                ///< role in the gang
  std::uint32_t rank = 0;          ///< index among the tasks of the gang, from 0
  std::uint32_t size = 1;          ///< number of tasks in the gang
  std::vector<std::string> slots;  ///< slots assigned to the task
  std::string master;              ///< address of the master
};

/// Reads the task from the environment; does not attach it.
[[nodiscard]] Task this_task();

/// For warm processes, which an agent starts before there is a task for them (`warm` in the command). Call this when
/// the slow part of the startup is done. It waits until the process is assigned a task, sets the variables of the task
/// in the environment, and returns them; from then on this_task() describes that task. It returns nothing if the
/// process is no longer needed and should exit. In a process that was started as a task, and off the cluster, it
/// returns at once and sets no variables. Call it before you start threads, which might read the environment meanwhile,
/// and before you create a Context.
[[nodiscard]] std::optional<std::map<std::string, std::string>> wait_until_begun();

/// A stop request: the reason and the remaining time.
struct Stop {
  std::string why;                      ///< killed_by_user, preempted, …
  std::chrono::nanoseconds grace_left;  ///< time until the task is killed; at least 0
};

/// The outcome of a report or an announcement.
struct Reported {
  enum class Outcome : std::uint8_t {
    accepted,
    refused,  ///< rejected, for example because the task now runs elsewhere
    unknown,  ///< no response came: it may or may not have been accepted
  };
  Outcome outcome = Outcome::accepted;
  std::string why;  ///< the reason, if it was not accepted

  explicit operator bool() const { return outcome == Outcome::accepted; }
};

constexpr std::size_t report_bytes_max = 32'768;

class Attachment;

/// The connection of the task to the cluster. Creating a Context attaches the task: from then on it gets stop requests
/// here instead of a signal, and must check for them. One Context is enough for a process. After fork() a child opens
/// its own connection when it first uses the Context.
class Context {
 public:
  /// Never fails. If the connection is lost, later calls reconnect.
  Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  bool on_cluster() const { return on_cluster_; }
  const Task& task() const { return task_; }

  /// Whether there is a stop request. Does not block; call it as often as you like.
  [[nodiscard]] bool should_stop() { return stop().has_value(); }
  /// The stop request, or nothing if there is none. Does not block.
  [[nodiscard]] std::optional<Stop> stop();

  /// Promises regular calls of should_stop, stop, report or beat. A task that then makes no such call for 60 s
  /// (`liveness` in `policy` of the job file) is considered stuck and is ended. Without this promise there is no such
  /// timeout.
  void promise_liveness();
  /// Sends a heartbeat. Does nothing before promise_liveness.
  void beat();
  /// Sets how many calls the task has answered so far, and how many of these failed. Both are shown with the resource
  /// usage of the task. They are sent with its heartbeats, so only after promise_liveness; call it as often as you
  /// like.
  void tally(std::uint64_t calls, std::uint64_t errors);

  /// Sends a report, a text of at most report_bytes_max, and waits for the outcome. Off the cluster the report goes to
  /// standard error.
  [[nodiscard]] Reported report(std::string_view text, std::chrono::milliseconds wait_max = std::chrono::minutes(1));
  /// Announces where this task can be reached, as JSON of at most report_bytes_max. It replaces the previous
  /// announcement and is shown with the task until the task is started again. Reports do not change it. Do not call
  /// this in an actor, which announces its own address. Otherwise like report().
  [[nodiscard]] Reported announce(std::string_view json, std::chrono::milliseconds wait_max = std::chrono::minutes(1));

 private:
  Attachment& attachment();

  Task task_;
  bool on_cluster_;
  std::string socket_;
  std::atomic<Attachment*> attachment_{nullptr};  ///< of this process or, right after fork(), of its parent
};

}  // namespace cadre::core
