/// Agents without processes, for benchmarks of a master: they say at once that tasks have started, and run a function
/// in place of a program. They live in a process of their own. One thread at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/data_folder.h"
#include "cluster/messages.h"
#include "loop/real_loop.h"
#include "loop/tasks.h"
#include "net/keys.h"
#include "net/network.h"

namespace cadre::bench {

class LightAgent {
 public:
  /// Runs in place of the program of a task; the task ends with it, with exit code 0.
  using Program = std::function<loop::Task<void>(loop::RealLoop&, const LightAgent&, const cluster::messages::Start&)>;
  struct Options {
    std::int32_t slots = 0;
    Program program = {};  ///< nothing: tasks end at once
  };
  LightAgent(loop::RealLoop& loop, std::string name, Options options)
      : loop_(loop), name_(std::move(name)), options_(std::move(options)), programs_(loop) {}

  Result<void> connect(net::Network& network, net::LinkOptions link, Duration hello_after);

  /// Whether the task is to stop.
  bool is_stopped(const cluster::LeaseId& lease) const { return stopped_.contains(lease); }
  /// How long the master took to store each end.
  const std::vector<double>& ends_ms() const { return ends_ms_; }

 private:
  void say(cluster::messages::FromAgent message);
  void say_hello();
  void beat();
  void hear(BytesView bytes);
  void run(const cluster::messages::Start& start);
  void end(const cluster::LeaseId& lease);
  static loop::Task<void> run_to_end(LightAgent& self, const cluster::messages::Start& start);

  loop::RealLoop& loop_;
  const std::string name_;
  const Options options_;
  std::unique_ptr<net::Link> link_;
  loop::Timer timer_;
  std::uint64_t session_ = 0;
  std::map<cluster::LeaseId, cluster::messages::Start> running_;
  std::set<cluster::LeaseId> stopped_;
  std::map<cluster::LeaseId, TimePoint> ended_;  ///< what the master has not stored yet
  std::vector<double> ends_ms_;
  loop::Tasks programs_;
};

/// All of them, in another process.
class LightAgents {
 public:
  /// Makes so many agents known to the master of this folder, which is not running yet.
  [[nodiscard]] static Result<LightAgents> enrol(const cluster::DataFolder& data, int count, Log& log);
  LightAgents(LightAgents&&) noexcept;
  LightAgents& operator=(LightAgents&&) = delete;
  ~LightAgents();

  /// Connects to the master that writes this log.
  [[nodiscard]] Result<void> start(const std::string& master_log, const LightAgent::Options& options);
  /// Ends them, and gives how long the master took to store each end of a task, in milliseconds.
  std::vector<double> end();

 private:
  explicit LightAgents(std::string result) : result_(std::move(result)) {}
  [[noreturn]] void run(const std::string& address, const LightAgent::Options& options) const;

  net::Keys master_ = net::make_keys();
  std::vector<net::Keys> keys_;
  std::string result_;  ///< file with what they have measured
  pid_t pid_ = -1;
};

}  // namespace cadre::bench
