/// When a task has to end and what is done about it before: the rules of stopping, abandonment and liveness, without a
/// clock or a process. A value; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "cluster/supervision.h"

namespace cadre::supervisor {

/// Why a supervisor kills its task.
enum class Verdict : std::uint8_t {
  grace_over,  ///< it was asked to stop and did not in time
  abandoned,   ///< no agent came for too long, or none that could permit it to go on
  silent,      ///< it promised to beat and did not
  greedy,      ///< it used more memory than it may
};

/// `at + wait`, or never when that lies beyond what can be counted.
[[nodiscard]] TimePoint later(TimePoint at, Duration wait);

class Life {
 public:
  struct Rules {
    Duration abandon_after;
    Duration liveness;
  };
  /// Begins without an agent.
  Life(const Rules& rules, TimePoint now) : rules_(rules), alone_since_(now) {}

  /// It may run until then; without more of this it is given up.
  void permit(TimePoint until) { permitted_until_ = until; }

  void agent_came() { alone_since_.reset(); }
  void agent_left(TimePoint now) { alone_since_ = now; }

  /// A process of the task said something.
  void heard(TimePoint now);
  /// It promises to say something at least every `liveness` from now on.
  void promised(TimePoint now);

  /// The host was suspended for so long, and the task with it: that does not count against its promise and its grace.
  /// It does count where others may run the task by now.
  void was_suspended(Duration time);

  /// Whether this changed anything: the first request does, and one that leaves less time.
  bool stop(cluster::lease::Reason why, Duration grace, TimePoint now);
  [[nodiscard]] bool stopping() const { return stop_.has_value(); }
  [[nodiscard]] cluster::lease::Reason stop_reason() const { return stop_->why; }
  [[nodiscard]] Duration grace_left(TimePoint now) const;
  /// From the first request to the end of the grace.
  [[nodiscard]] Duration grace() const { return stop_->until - stop_->since; }

  /// Why it must be killed by now, if it must.
  [[nodiscard]] std::optional<Verdict> verdict(TimePoint now) const;
  /// When verdict() may change next by itself; TimePoint::max(): never.
  [[nodiscard]] TimePoint next() const;

 private:
  struct Stopping {
    cluster::lease::Reason why;
    TimePoint since;
    TimePoint until;
  };

  Rules rules_;
  std::optional<TimePoint> alone_since_;
  std::optional<TimePoint> permitted_until_;
  std::optional<TimePoint> heard_at_;  ///< since it promised to beat
  std::optional<Stopping> stop_;
};

}  // namespace cadre::supervisor
