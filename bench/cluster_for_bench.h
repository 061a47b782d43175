/// A master and agents as processes of this host, and a client that speaks to the master, for benchmarks. One thread at
/// a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cluster/bulk.h"
#include "cluster/requests.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"

namespace cadre::bench {

/// A folder that goes with this object.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// This program with other arguments, ended with this object.
class Process {
 public:
  Process(const std::vector<std::string>& arguments, const std::string& log);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();
  /// Processor time that it has used.
  [[nodiscard]] Duration cpu_time() const;

 private:
  pid_t pid_;
};

class Client {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Client>> connect(const std::string& data, Log& log);
  ~Client();

  /// All answers, in the order of the questions. Waits as long as it takes, two minutes at most.
  [[nodiscard]] Result<std::vector<cluster::requests::Reply>> ask(
      const std::vector<cluster::requests::Request>& requests);
  [[nodiscard]] Result<cluster::requests::Reply> ask(const cluster::requests::Request& request);
  /// Waits until a lease has written something.
  [[nodiscard]] Result<void> await_output(const cluster::LeaseId& lease);
  /// Asks for the status until it is as wanted.
  [[nodiscard]] Result<void> until(const std::function<bool(const cluster::requests::Status&)>& wanted);

  loop::RealLoop& loop() { return loop_; }

 private:
  explicit Client(Log& log) : log_(log) {}
  Result<void> run_until(const std::function<bool()>& done);

  Log& log_;
  loop::RealLoop loop_;
  std::unique_ptr<net::ZmqNetwork> network_;
  std::unique_ptr<net::Link> control_;
  std::unique_ptr<net::Link> bulk_;
  std::uint64_t number_ = 0;
  std::map<std::uint64_t, cluster::requests::Reply> answers_;
  bool has_output_ = false;
};

/// A job of one task.
[[nodiscard]] cluster::requests::Submit job_of(std::vector<std::string> argv);

}  // namespace cadre::bench
