/// How long ago agents were heard, by a clock that stands still while the master does not run. One thread at a time.
#pragma once

#include "base/awake_clock.h"
#include "cluster/control/ledger.h"
#include "cluster/control/settings.h"

namespace cadre::cluster::control {

class Liveness {
 public:
  Liveness(const Settings& settings, TimePoint now);

  /// To be called with everything that happens.
  void advance(TimePoint now) { awake_.advance(now); }
  /// The time that this process has been running: timeouts of peers are measured by it.
  TimePoint now() const { return awake_.now(); }
  void take_over(const Liveness& dropped) { awake_ = dropped.awake_; }

  /// Whether it counts as alive: no other agent may take its name.
  bool is_alive(const AgentEntry& agent) const;
  /// Whether nothing was heard of it for a few beats.
  bool is_silent(const AgentEntry& agent) const;
  /// Whether it has to be called lost.
  bool has_timed_out(const AgentEntry& agent) const;
  /// Whether it was lost for so long, or was removed, that it is to be forgotten.
  bool is_obsolete(const AgentEntry& agent) const;

  /// A peer that said nothing for so many beats is silent; sooner, where agent_timeout is short.
  static constexpr int silent_beats = 3;

 private:
  const Settings& settings_;
  AwakeClock awake_;
};

}  // namespace cadre::cluster::control
