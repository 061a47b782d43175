/// A master and agents as processes of this host, and a client that speaks to the master, for benchmarks. One thread at
/// a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "loop/real_loop.h"
#include "loop/tasks.h"
#include "rest/client.h"

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

/// A program, ended with this object. What it says goes into a file.
class Process {
 public:
  /// This one, with other arguments.
  Process(const std::vector<std::string>& arguments, const std::string& log)
      : Process("/proc/self/exe", arguments, log) {}
  Process(std::string program, const std::vector<std::string>& arguments, const std::string& log);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();
  pid_t pid() const { return pid_; }
  /// Processor time that it has used.
  [[nodiscard]] Duration cpu_time() const;
  /// Memory that is in use now.
  [[nodiscard]] double memory_mib() const;

 private:
  pid_t pid_;
};

class Client {
 public:
  /// Waits until the master of that folder is up.
  [[nodiscard]] static Result<std::unique_ptr<Client>> connect(const std::string& data);

  /// All answers, in the order of the questions, some of which are under way at a time.
  template <api::Routed T>
  [[nodiscard]] Result<std::vector<typename T::Answer>> ask(const std::vector<T>& requests) {
    std::vector<Result<typename T::Answer>> answers(requests.size());
    std::size_t next = 0;
    std::vector<loop::Task<void>> tasks;
    for (std::size_t i = 0; i < under_way_max; ++i) tasks.push_back(ask_some(*this, requests, answers, next));
    run_all(std::move(tasks));
    std::vector<typename T::Answer> all;
    for (Result<typename T::Answer>& one : answers) {
      if (!one) return fail(Errc::unavailable, one.error().message);
      all.push_back(*std::move(one));
    }
    return all;
  }
  template <api::Routed T>
  [[nodiscard]] Result<typename T::Answer> ask(const T& request) {
    TRY_ASSIGN(answers, ask(std::vector<T>{request}));
    return std::move(answers.front());
  }
  /// Waits until a task has written something.
  [[nodiscard]] Result<void> await_output(cluster::TaskId task);
  /// Asks for the status until it is as wanted.
  [[nodiscard]] Result<void> until(const std::function<bool(const cluster::requests::Status&)>& wanted);

  /// Runs all of these to their ends.
  void run_all(std::vector<loop::Task<void>> all);

  loop::RealLoop& loop() { return loop_; }
  rest::Client& connection() { return connection_; }
  const rest::Endpoint& master() const { return connection_.master(); }

 private:
  static constexpr std::size_t under_way_max = 64;

  explicit Client(rest::Endpoint master) : connection_(loop_, std::move(master), {}) {}

  template <class T>
  static loop::Task<void> ask_some(Client& self, const std::vector<T>& requests,
                                   std::vector<Result<typename T::Answer>>& answers, std::size_t& next) {
    while (next < requests.size()) {
      const std::size_t at = next++;
      answers[at] = co_await self.connection_.ask(requests[at], std::chrono::minutes(2));
    }
  }

  loop::RealLoop loop_;
  rest::Client connection_;
};

/// A job of one task.
[[nodiscard]] cluster::requests::Submit job_of(std::vector<std::string> argv);

/// Submits so many tasks of `true` at once, and waits until the last exit code is stored.
[[nodiscard]] Result<double> tasks_per_second(Client& client, std::size_t count, cluster::Isolation isolation);

}  // namespace cadre::bench
