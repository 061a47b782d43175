/// A whole cluster in virtual time: the real master over a real database, real agents on simulated hosts, clients, and
/// faults. Everything that happens comes from one seed; what must hold at all times is checked with every event that
/// could break it. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/dice.h"
#include "base/log.h"
#include "loop/simulated_loop.h"
#include "net/memory_network.h"
#include "records/records.h"
#include "tests/sim/acknowledged.h"
#include "tests/sim/agent_node.h"
#include "tests/sim/clients.h"
#include "tests/sim/master_node.h"
#include "tests/sim/simulated_host.h"

namespace cadre::sim {

class SimulatedCluster {
 public:
  explicit SimulatedCluster(std::uint64_t seed);
  ~SimulatedCluster();

  /// Lets this much time pass, with jobs submitted and faults made on the way.
  void live(Duration time);
  /// No faults any more: everything comes back, and all jobs must come to their end in this time.
  void calm_down(Duration time);

  /// What did not hold; empty if all did.
  const std::string& complaint() const { return complaint_; }
  std::size_t jobs() const { return clients_.accepted(); }
  [[nodiscard]] std::uint64_t compared() const { return clients_.compared(); }
  std::size_t processes() const { return begun_.size(); }
  int faults() const { return faults_made_; }
  /// The same for the same seed: of everything that was begun and ended, and when.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Place;

  void pass(Duration time);
  void complain(const std::string& what);
  void trace(const std::string& who, const std::string& what);

  void start_master();
  void kill_master();
  /// Soon, if this master still runs.
  void kill_master_later();
  void hear_master(api::CallId call, const api::Reply& reply);
  void start_agent(Place& place);
  void kill_agent(Place& place);
  void agent_ended(Place& place);
  /// It was removed, and joins again with a key of its own.
  void join(Place& place);
  [[nodiscard]] bool is_known(const Place& place) const;

  void begins(const Place& place, const Process& process);
  void ends(const Process& process);
  void is_removed(const Process& process);
  void hear_sent(const cluster::messages::FromMaster& message);
  void note_acknowledged(const cluster::messages::FromMaster& message);
  [[nodiscard]] const Process* find(const cluster::LeaseId& lease) const;
  /// To be called with every event that could break it, and often.
  void check_agents();
  void check_queues();
  void look();
  void check_rows(const cluster::control::Rows& rows);
  /// Of what is acknowledged only: answers to clients may be on their way.
  void check_records();
  /// No faults any more, and all has ended.
  [[nodiscard]] bool is_quiet() const;
  void await_quiet(Duration time);
  void check_quiet();

  void make_fault();
  void fail_disk(Disk& disk, Duration slowest, const std::string& whose);
  void set_clock();
  Duration outage();
  void later(Duration wait, std::function<void()> call);

  Dice dice_;
  const bool traced_ = std::getenv("CADRE_TRACE") != nullptr;
  loop::SimulatedLoop loop_;
  net::MemoryNetwork network_;
  SilentLog silent_;
  StderrLog loud_{Level::debug};
  Log& log_;
  const TimePoint begin_ = loop_.now();
  Weather weather_;
  Traffic traffic_;
  Duration wall_ahead_;
  Disk master_disk_;
  StoredOutput output_;
  net::Keys master_keys_;
  std::unique_ptr<records::Records> records_;
  std::vector<std::unique_ptr<Place>> places_;
  std::optional<MasterDependencies> master_deps_;
  std::unique_ptr<MasterNode> master_;
  bool dies_after_answer_ = false;
  bool dies_after_acknowledgement_ = false;
  int masters_ = 0;  ///< so far: a restart that is due for an earlier one does not count
  Clients clients_;
  Acknowledged acknowledged_;
  bool calm_ = false;
  int faults_per_minute_ = 0;
  std::set<int> kinds_;  ///< of faults that this seed has
  int faults_made_ = 0;
  loop::Timer next_fault_;
  loop::Timer looking_;
  std::set<cluster::LeaseId> begun_;
  std::map<cluster::TaskId, cluster::Epoch> strict_;  ///< the newest lease that has begun, with `fence: strict`
  std::uint64_t fingerprint_ = 14695981039346656037ULL;
  std::string complaint_;
};

}  // namespace cadre::sim
