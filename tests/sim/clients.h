/// The clients of a simulated cluster: submit, change, stop and list jobs, drain and remove agents, repeat what was not
/// answered, and compare all answers with what was answered before. For the thread of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/service.h"
#include "base/dice.h"
#include "cluster/control/rows.h"
#include "cluster/requests.h"
#include "loop/simulated_loop.h"
#include "tests/sim/operations.h"
#include "tests/sim/views.h"

namespace cadre::sim {

/// How a job ended, as far as it must never change.
struct JobEnd {
  cluster::lease::Reason reason = cluster::lease::Reason::exited;
  std::int32_t code = 0;
  bool operator==(const JobEnd&) const = default;
};

class Clients {
 public:
  struct World {
    /// Hands a request to the master; nothing happens when there is none.
    std::function<void(api::CallId, const std::string& key, cluster::requests::Request)> ask;
    std::function<void(const std::string&)> complain;
    std::function<void(const std::string& who, const std::string& what)> trace;
    std::int32_t agents = 0;
    std::int32_t slots_each = 0;
  };
  Clients(loop::SimulatedLoop& loop, World world, Dice dice);

  /// From now on they only ask, and take back what keeps jobs from running.
  void calm() { calm_ = true; }
  /// Submits a job that takes all slots of the cluster.
  void take_all();
  /// Nobody hears what this master would have answered.
  void master_gone() { asked_.clear(); }
  void hear(api::CallId call, const api::Reply& reply);

  /// An agent joins anew: nothing that was said of an earlier one holds.
  void joined(const cluster::AgentId& agent) { closed_.erase(agent); }
  /// The master tells an agent to start a lease.
  void note_start(const cluster::LeaseId& lease) { sent_.emplace(lease, loop_.now()); }
  /// A lease begins on an agent.
  void begins(const cluster::AgentId& agent, const cluster::LeaseId& lease);

  /// Whether everything that was accepted is there, and has ended as it was said.
  void check(const cluster::control::Rows& rows);

  /// All requests are answered, and all jobs have ended.
  [[nodiscard]] bool is_done() const;
  /// Jobs that have not ended, for people.
  [[nodiscard]] std::string unfinished() const;
  /// Number of answers that were compared with each other.
  [[nodiscard]] std::uint64_t compared() const { return views_.compared(); }
  [[nodiscard]] std::size_t accepted() const { return jobs_.size(); }
  [[nodiscard]] bool slots_are_free() const { return views_.slots_are_free(); }
  /// All agents are up and take work.
  [[nodiscard]] bool agents_are_ready() const;

 private:
  /// Asked until it is answered, with the same key.
  struct Wish {
    cluster::requests::Request request;
    loop::Timer again;
  };
  struct Job {
    std::string group;
    std::optional<JobEnd> end;
    std::optional<std::int32_t> runs_when_stopped;
  };
  /// An agent that takes no more work, and the leases that it was given before; both once they are answered.
  struct Closed {
    std::string request;
    std::string list;
    std::optional<TimePoint> done;
    std::optional<std::set<cluster::LeaseId>> before;
  };

  void act();
  void poll();
  void ask_why();
  /// Enables what is drained or disabled, with this chance.
  void enable(int percent);
  void lift_limits();
  /// Gives its key.
  std::string want(cluster::requests::Request request);
  void want_on_agent(const cluster::requests::Request& request);
  void note_closed(const std::string& key, const api::Reply& reply);
  void ask(const std::string& key);
  void hear(const std::string& key, const cluster::requests::Request& request, const api::Reply& reply);
  void compare(const std::string& key, const api::Reply& reply, Views::Moment moment);
  void see(const cluster::requests::JobView& view);
  void see(cluster::JobId id, const JobEnd& end);
  Duration seconds(std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds(dice_.between(least * 1000, most * 1000));
  }

  loop::SimulatedLoop& loop_;
  World world_;
  Dice dice_;
  bool calm_ = false;
  Operations operations_;
  Views views_;
  std::uint64_t last_asker_ = 0;
  std::uint64_t last_key_ = 0;
  struct Asked {
    std::string key;
    std::set<cluster::JobId> known;  ///< accepted when it was asked
  };
  std::map<api::CallId, Asked> asked_;
  std::map<std::string, Wish> wishes_;
  std::map<std::string, cluster::JobId> made_;  ///< by key
  std::map<cluster::JobId, Job> jobs_;
  std::map<std::string, cluster::JobId> whys_;  ///< questions, by key
  std::map<cluster::AgentId, Closed> closed_;
  std::map<cluster::LeaseId, TimePoint> sent_;  ///< when the master first said that a lease is to start
  loop::Timer acting_;
  loop::Timer polling_;
};

}  // namespace cadre::sim
