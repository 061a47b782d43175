/// A cluster under virtual time: the planner that the master runs, with arrivals, run times, hosts that die, hosts that
/// are cut off, and a provider that takes its time. The same options give the same report. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/dice.h"
#include "base/result.h"
#include "cluster/lease.h"
#include "loop/simulated_loop.h"
#include "plan/planner.h"
#include "simulate/meter.h"
#include "simulate/options.h"
#include "simulate/report.h"
#include "simulate/workload.h"

namespace cadre::simulate {

/// Told to who watches, once for every virtual minute in which something happens.
struct Progress {
  Duration now{};
  std::int64_t gangs = 0;
  std::int64_t completed = 0;
  std::int64_t running = 0;
  std::int64_t queued = 0;
  std::int64_t slots = 0;
  std::int64_t slots_used = 0;
};

class Simulation {
 public:
  using Watch = std::function<void(const Progress&)>;
  Simulation(const Options& options, Watch watch);

  /// Runs until every gang has completed, or thirty days after the last arrival.
  [[nodiscard]] Result<Outcome> run();

 private:
  /// A gang from arrival to completion. Its lease is that of its first task; the others share its epoch.
  struct Row {
    Job job;
    cluster::lease::State lease;
    plan::Places on;
    std::vector<std::uint32_t> hosts;  ///< where the master has it
    TimePoint began;                   ///< when its processes began, if they did
    bool runs = false;                 ///< its processes began
    bool exit_unreported = false;      ///< its processes ended behind a cut
    bool stop_overdue = false;         ///< its stop is through but for hosts that are cut off
    bool started_before = false;
    bool completed = false;
    Duration saved{};  ///< work that is safe
  };

  enum class Link : std::uint8_t { up, cut, down };

  /// A process that the master has given up on, on a host that is cut off.
  struct Stale {
    std::uint32_t gang;
    cluster::lease::Held held;
    plan::Places on;
    TimePoint began;
    Duration saved;
    bool whole;  ///< all of the gang ran here
  };

  struct Host {
    plan::Agent agent;
    Link link = Link::up;
    bool lost = false;  ///< the master has given it up
    bool gone = false;  ///< given back to the provider
    std::uint64_t incident = 0;
    std::set<std::uint32_t> gangs;
    std::vector<Stale> stale;
    std::int64_t slots_used = 0;
    bool provided = false;
    bool ready = false;
    TimePoint asked;
    TimePoint idle_since;
  };

  /// What the planner has still to hear.
  struct News {
    enum class Kind : std::uint8_t { submitted, completed, requeued, resumed, agent_here, agent_gone } kind;
    std::uint32_t index;
  };

  // simulation.cc: arrivals, planning, starts and ends
  void arrive(std::size_t next);
  void tell(News news);
  void plan_soon();
  void plan();
  void apply(const News& news);
  void start(const plan::Start& start);
  void begin(std::uint32_t gang);
  void end(std::uint32_t gang, cluster::Epoch epoch);
  void complete(std::uint32_t gang);
  void stop(std::uint32_t gang);
  void stopped(std::uint32_t gang, cluster::Epoch epoch);
  void requeue(std::uint32_t gang);
  void occupy(std::uint32_t gang);
  void vacate(std::uint32_t gang);
  bool reachable(const Row& row) const;
  void step(Row& row, const cluster::lease::Event& event);
  void report_progress();

  // faults.cc: hosts that die, are cut off, come back; instances that come and go
  void schedule_faults();
  void strike(Link link);
  void fall(std::uint32_t host, Link link, Duration how_long);
  void give_up(std::uint32_t host, std::uint64_t incident);
  void lose(std::uint32_t gang, std::uint32_t host);
  void come_back(std::uint32_t host);
  void meet_again(Host& host, std::uint32_t index);
  void hear_from_stale(Host& host, std::uint32_t index);
  void add_host(const plan::Agent& agent);
  void provide();

  TimePoint now() const { return loop_.now(); }
  Duration clock() const { return loop_.now().time_since_epoch(); }
  bool finished() const { return report_.completed == report_.gangs; }

  Options options_;
  Watch watch_;
  Dice dice_;
  loop::SimulatedLoop loop_;
  plan::Planner planner_;
  std::vector<Row> rows_;
  std::unordered_map<plan::GangId, std::uint32_t> row_of_;
  std::vector<Host> hosts_;
  std::unordered_map<plan::AgentId, std::uint32_t> host_of_;
  std::vector<News> news_;
  bool plan_is_due_ = false;
  Duration watched_until_{};
  std::int64_t running_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t slots_used_ = 0;
  Duration last_completion_{};
  Meter meter_;
  Report report_;
};

}  // namespace cadre::simulate
