/// The clients of a simulated cluster: submit, stop and list jobs, repeat what was not answered, and compare all
/// answers with what was answered before. For the thread of the simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "api/service.h"
#include "base/dice.h"
#include "cluster/control/rows.h"
#include "cluster/requests.h"
#include "loop/simulated_loop.h"

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

  /// From now on they only ask.
  void calm() { calm_ = true; }
  /// Nobody hears what this master would have answered.
  void master_gone() { asked_.clear(); }
  void hear(api::CallId call, const api::Reply& reply);

  /// Whether everything that was accepted is there, and has ended as it was said.
  void check(const cluster::control::Rows& rows);

  /// All requests are answered, and all jobs have ended.
  [[nodiscard]] bool is_done() const;
  /// Jobs that have not ended, for people.
  [[nodiscard]] std::string unfinished() const;
  [[nodiscard]] std::size_t accepted() const { return jobs_.size(); }
  [[nodiscard]] bool slots_are_free() const { return slots_free_; }

 private:
  /// Asked until it is answered, with the same key.
  struct Wish {
    cluster::requests::Request request;
    loop::Timer again;
  };
  struct Job {
    std::optional<JobEnd> end;
    std::optional<std::int32_t> runs_when_stopped;
  };

  void act();
  void poll();
  void want(cluster::requests::Request request);
  void ask(const std::string& key);
  void hear(const std::string& key, const cluster::requests::Request& request, const api::Reply& reply);
  void see(const cluster::requests::JobView& view);
  void see(cluster::JobId id, const JobEnd& end);
  void see(const cluster::requests::Slots& slots);
  cluster::JobSpec random_job();
  Duration seconds(std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds(dice_.between(least * 1000, most * 1000));
  }

  loop::SimulatedLoop& loop_;
  World world_;
  Dice dice_;
  bool calm_ = false;
  bool slots_free_ = false;
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
  loop::Timer acting_;
  loop::Timer polling_;
};

}  // namespace cadre::sim
