/// Searches of one's own: a program decides which trials of an experiment are created and stopped.
///
///   struct Climber : cadre::Searcher {
///     void on_begin() override { create({{"x", 0.5}}); }
///     void on_end(std::uint32_t, TrialEnd) override { shutdown(); }
///   };
///   Climber climber;
///   const std::string state = cadre::run_search(climber, {.file = "climb.json", .config_file = "climb.yaml"}).value();
///
/// The experiment has a searcher of type custom. For one thread at a time. Link with -lcadre.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cadre/outcome.h"
#include "cadre/trial.h"

namespace cadre {

class Searcher;
struct SearchOptions;

/// Lets a searcher decide about the trials of an experiment until it has ended; the state in which it did: completed,
/// canceled or error. It waits for a master that restarts. If the program was interrupted, start it again with the same
/// file: it continues with the same experiment, and each event is answered exactly once.
[[nodiscard]] Outcome<std::string> run_search(Searcher& searcher, const SearchOptions& options);

struct SearchOptions {
  /// Keeps the experiment, the state of the searcher and what it has decided.
  std::string file{};
  std::string experiment{};   ///< one that exists; empty: a new one is created
  std::string config_file{};  ///< experiment file of the new one
  std::string code{};         ///< folder with the code of the new one; empty: none
  std::string master{};       ///< default: CADRE_MASTER, else as in cadre::connect()
};

/// Decides about the trials of an experiment. The functions on_… are called one at a time, in the order of the events;
/// each may call create(), stop() and shutdown(). If one throws, run_search() throws it, and the event comes again the
/// next time.
class Searcher {
 public:
  enum class TrialEnd : std::uint8_t {
    completed,  ///< also if it was stopped
    failed,
    invalid,  ///< it has declared its hyperparameters invalid
  };

  Searcher() = default;
  Searcher(const Searcher&) = delete;
  Searcher& operator=(const Searcher&) = delete;
  virtual ~Searcher() = default;

  /// The experiment has begun.
  virtual void on_begin() {}
  /// A trial has reported a validation. `time`: its steps, or the time metric of the experiment.
  virtual void on_report(std::uint32_t trial, double time, double metric) {
    static_cast<void>(trial), static_cast<void>(time), static_cast<void>(metric);
  }
  virtual void on_end(std::uint32_t trial, TrialEnd end) { static_cast<void>(trial), static_cast<void>(end); }

  /// What restore() needs to continue when the program is started again.
  [[nodiscard]] virtual core::Data state() const { return {}; }
  virtual void restore(const core::Data& state) { static_cast<void>(state); }

 protected:
  // For the functions on_….

  /// Creates a trial, and returns its number, from 0. Hyperparameters that are left out are drawn by the master.
  std::uint32_t create(const core::Data& hyperparameters = {}) {
    decisions_.push_back({Decision::Kind::create, created_, hyperparameters});
    return created_++;
  }
  /// Stops a trial gracefully; it counts as completed. Does nothing if it has ended.
  void stop(std::uint32_t trial) { decisions_.push_back({Decision::Kind::stop, trial, {}}); }
  /// No more trials will be created: the experiment ends with those that run.
  void shutdown() { decisions_.push_back({Decision::Kind::shutdown, 0, {}}); }

 private:
  friend Outcome<std::string> run_search(Searcher& searcher, const SearchOptions& options);
  struct Decision {
    enum class Kind : std::uint8_t { create, stop, shutdown };
    Kind kind = Kind::create;
    std::uint32_t trial = 0;
    core::Data hyperparameters;
  };
  std::vector<Decision> decisions_;  ///< of the events that are handled now
  std::uint32_t created_ = 0;
};

}  // namespace cadre
