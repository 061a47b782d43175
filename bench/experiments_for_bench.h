/// A master with an agent that run experiments, and clients that measure how long its answers take meanwhile, for
/// benchmarks. One thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/cluster_for_bench.h"
#include "experiment/requests/experiments.h"

namespace cadre::bench {

class ExperimentCluster {
 public:
  struct Options {
    std::string database = {};  ///< URL; empty: SQLite in the folder of the master
    int slots = 1;              ///< of the agent; they stand for no device
  };
  [[nodiscard]] static Result<std::unique_ptr<ExperimentCluster>> start(const Options& options);

  [[nodiscard]] Result<experiment::ExperimentId> submit(const std::string& config_json);
  /// Waits until it has ended; fails unless all of its trials completed.
  [[nodiscard]] Result<void> await_completion(experiment::ExperimentId id);

  Client& client() { return *client_; }
  const Process& master() const { return *master_; }
  const std::string& folder() const { return scratch_.path(); }
  std::string database_file() const { return folder() + "/master/cadre.db"; }

 private:
  ExperimentCluster() = default;

  Scratch scratch_;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<Client> client_;
};

/// How long the answers to one kind of request took, in milliseconds.
struct AnswerTimes {
  std::vector<double> ms;
  Result<void> outcome;  ///< the first error
};

/// Asks these requests in turn, with a pause between them, until `is_over`. What is not there yet does not count.
template <api::Routed T>
loop::Task<void> ask_in_turn(Client& client, const std::vector<T>& requests, Duration pause, const bool& is_over,
                             AnswerTimes& times) {
  using Clock = std::chrono::steady_clock;
  for (std::size_t i = 0; !is_over && times.outcome; ++i) {
    const auto begin = Clock::now();
    const Result<typename T::Answer> answer =
        co_await client.connection().ask(requests[i % requests.size()], std::chrono::minutes(2));
    if (answer) {
      times.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    } else if (answer.error().code != Errc::not_found) {
      times.outcome = Failure(answer.error());
    }
    co_await loop::sleep(client.loop(), pause);
  }
}

}  // namespace cadre::bench
