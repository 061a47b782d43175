/// The control logic of an agent: takes messages of the master and of the supervisors of its tasks, and decides what to
/// do. Pure: no I/O, no clock; the same news gives the same effects. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/messages.h"
#include "cluster/supervision.h"

namespace cadre::cluster::host {

/// A lease that was on this host already when the agent started.
struct Found {
  LeaseId lease;
  Fence fence = Fence::keep;
  std::optional<TaskEnding> ending;
};

// What is to be done.

struct ToMaster {
  messages::FromAgent message;
};
/// Start a supervisor for it.
struct Launch {
  messages::Start start;
};
struct ToSupervisor {
  LeaseId lease;
  supervision::FromAgent message;
};
/// Once its output is stored, remove all that is left of it.
struct Forget {
  LeaseId lease;
};
/// The master will not have this agent.
struct GiveUp {
  std::string why;
  bool removed = false;  ///< all its tasks are to be killed first
};
/// From now on the agent's data belongs to this cluster.
struct Belong {
  std::string cluster;
};
using Effect = std::variant<ToMaster, Launch, ToSupervisor, Forget, GiveUp, Belong>;

class HostControl {
 public:
  /// `introduction` is what it says as hello, but for its leases.
  HostControl(messages::Hello introduction, const std::vector<Found>& found, TimePoint now);

  void hear(const messages::FromMaster& message, TimePoint now);
  void hear(const LeaseId& lease, const supervision::FromSupervisor& message, TimePoint now);
  /// It has ended and no supervisor will ever say how: it could not be started, or the supervisor died.
  void ended(const LeaseId& lease, const TaskEnding& ending, TimePoint now);
  /// Time has passed. To be called several times in a beat.
  void tick(const messages::Load& load, TimePoint now);
  /// Why it takes no work now; empty: it does. The master is told at once.
  void set_obstacle(const std::string& obstacle, TimePoint now);
  const std::string& obstacle() const { return obstacle_; }

  /// The agent is to end, and its tasks with it: they are run again elsewhere or later. From now on it begins no
  /// others.
  void end_all(Duration grace);
  bool runs_something() const;
  /// The agent is to end: the master is to give it no more work. Said again when it ends at once.
  void say_goodbye(const messages::Goodbye& news);

  [[nodiscard]] std::vector<Effect> take();

  bool welcomed() const { return session_ != 0; }
  /// How long a supervisor may go on without an agent; a strict fence is held by permits besides.
  Duration abandon_after() const { return cut_off_after(); }
  /// Until when a strictly fenced task may run, whatever becomes of this agent.
  TimePoint permitted_until() const { return acknowledged_ + cut_off_after(); }
  /// Whether it is known how this lease has ended; also of one that is forgotten.
  bool has_ended(const LeaseId& lease) const;
  /// Whether it was not told to stop since it was to be launched: to be asked at the last moment before it is.
  bool may_start(const LeaseId& lease) const;

 private:
  enum class Stage : std::uint8_t { launching, running, ended };
  struct Task {
    Fence fence = Fence::keep;
    Stage stage = Stage::launching;
    bool condemned = false;  ///< it has no right to run any more
    bool fenced = false;     ///< it was killed because the master may have given it up
    std::optional<supervision::Stop> stop;
    TaskEnding ending;
    Usage usage;
  };

  void say_hello(TimePoint now);
  void beat(TimePoint now);
  void welcome(const messages::Welcome& welcome, TimePoint now);
  void start(const messages::Start& start, TimePoint now);
  void launch(const messages::Start& start);
  void stop(const messages::Stop& stop, TimePoint now);
  void exec(const messages::Exec& exec);
  void input(const messages::ExecInput& input);
  void condemn(const LeaseId& lease, Task& task);
  /// Tells the supervisors of strictly fenced tasks, which hold the fence even if this agent is stuck.
  void permit();
  /// Kills what is strictly fenced while the master cannot yet have given it to others.
  void fence(TimePoint now);
  Duration cut_off_after() const { return agent_timeout_ / 6 * 5; }
  bool is_cut_off(TimePoint now) const { return now - acknowledged_ >= cut_off_after(); }
  void end(const LeaseId& lease, Task& task, const TaskEnding& ending, TimePoint now);
  /// Starts what had to wait, and offers all slots again, if everything that had no right to run is gone.
  void look_if_clean(TimePoint now);
  bool clean() const;
  template <class Body>
  void tell_master(Body body);
  void tell(const LeaseId& lease, supervision::FromAgent message);

  messages::Hello introduction_;
  std::map<LeaseId, Task> tasks_;
  std::vector<messages::Start> waiting_;
  std::uint64_t session_ = 0;
  Duration agent_timeout_ = std::chrono::seconds(30);
  Duration beat_every_ = std::chrono::seconds(1);
  TimePoint acknowledged_;  ///< when the newest was said that the master has certainly heard
  std::optional<TimePoint> said_hello_;
  std::uint64_t hello_number_;
  std::optional<TimePoint> beaten_;   ///< in this session
  std::deque<TimePoint> unanswered_;  ///< beats of this session
  messages::Load load_;
  std::string obstacle_;
  bool hello_when_clean_ = false;
  bool leaves_ = false;  ///< what it is told to start now is the next one's
  std::vector<Effect> effects_;
};

}  // namespace cadre::cluster::host
