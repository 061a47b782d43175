/// The program of a custom search, as the master and its file see it: events come from the master; what is decided is
/// written to the file and then sent, so that each event is answered exactly once, also if the program or the master is
/// killed between. Blocks; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/trial/master_calls.h"
#include "experiment/requests/experiments.h"
#include "loop/descriptor.h"
#include "search/event.h"

namespace cadre::client {

struct SearchProgramOptions {
  std::string file;
  std::string master;                     ///< as in client/which_master.h
  std::string experiment;                 ///< one that exists
  std::string config_file;                ///< or the file of a new one
  std::optional<describe::Value> config;  ///< or its content
  std::string code;                       ///< folder of the new one
};

class SearchProgram {
 public:
  /// Continues what the file has, or begins. Creates the experiment if there is none yet.
  [[nodiscard]] static Result<std::unique_ptr<SearchProgram>> open(const SearchProgramOptions& options);
  SearchProgram(const SearchProgram&) = delete;
  SearchProgram& operator=(const SearchProgram&) = delete;

  [[nodiscard]] experiment::ExperimentId experiment() const { return *kept_.experiment; }
  /// After all events that were answered; nothing before the first one.
  [[nodiscard]] const std::optional<describe::Value>& state() const { return kept_.done.state; }
  /// Trials that the program has created by then.
  [[nodiscard]] std::uint32_t created() const { return kept_.done.created; }

  using Events = std::vector<search::Event>;
  /// The events that are to be answered now, together; waits for them. None: the experiment has ended.
  [[nodiscard]] Result<Events> next();
  using Actions = std::vector<experiment::requests::SearchAction>;
  /// What was decided about these events, and the state after them.
  [[nodiscard]] Result<void> answer(Actions actions, describe::Value state);
  /// The state in which the experiment has ended.
  [[nodiscard]] std::string_view ended() const { return ended_; }

  /// What the program knows after the events up to a number.
  struct Point {
    std::uint64_t event = 0;
    std::uint32_t created = 0;
    std::optional<describe::Value> state;
  };
  /// What was decided and may not have reached the master.
  struct Decided {
    Point after;
    Actions actions;
  };
  /// The content of the file.
  struct Kept {
    std::string creation_key;  ///< with which the experiment is created, however often that is tried
    std::optional<experiment::ExperimentId> experiment;
    Point done;
    std::optional<Decided> decided;
  };

 private:
  SearchProgram(std::string file, loop::Descriptor lock, Kept kept, rest::Endpoint master);
  [[nodiscard]] Result<void> find_experiment(const SearchProgramOptions& options);
  [[nodiscard]] Result<void> create_experiment(const SearchProgramOptions& options);
  [[nodiscard]] Result<void> write();
  [[nodiscard]] Result<void> send();
  [[nodiscard]] Result<Events> take(const experiment::requests::SearchEvents& found);
  [[nodiscard]] Result<Events> end_or(const Error& error);

  const std::string file_;
  loop::Descriptor lock_;
  Kept kept_;
  MasterCalls calls_;
  std::uint64_t last_event_ = 0;  ///< that next() has returned
  std::string_view ended_;
};

}  // namespace cadre::client
