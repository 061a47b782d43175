/// Each file of tests/golden/search tells what searches of one type decide: lines that begin with `>` are events, those
/// below are what follows. Lines that begin with `#` name a case, and set its searcher, space and seed:
///   > begin                        > report TRIAL at TIME: METRIC       > end TRIAL [failed|invalid]
///   > draw (as the sampler does)   > drawn POINT                        > progress
///   > limit TRIALS [CONCURRENT]    > order create POINT, stop TRIAL, ... [last]
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/overloaded.h"
#include "describe/number.h"
#include "search/search_fixture_for_tests.h"

namespace cadre::search {
namespace {

using describe::to_json;

std::string words_of(const Action& action) {
  return std::visit(
      overloaded{[](const Create& one) {
                   return "create " + std::to_string(one.trial) + " " + to_json(one.hyperparameters) + " seed " +
                          std::to_string(one.seed);
                 },
                 [](const StopTrial& one) { return "stop " + std::to_string(one.trial); },
                 [](const SuspendTrial& one) { return "suspend " + std::to_string(one.trial); },
                 [](const ExtendTrial& one) {
                   return "extend " + std::to_string(one.trial) + " until " + std::to_string(one.until);
                 },
                 [](const Replace& one) {
                   return "replace " + std::to_string(one.trial) + " by " + std::to_string(one.source) + " with " +
                          to_json(one.hyperparameters);
                 },
                 [](const Draw& one) { return "draw " + std::to_string(one.trial) + " given " + to_json(one.given); }},
      action);
}

/// Plays one case. Every event passes through JSON, and a second search, which is written and read before every event,
/// must decide the same.
class Player {
 public:
  explicit Player(const std::map<std::string, std::string>& settings) {
    const std::string seed = settings.contains("seed") ? settings.at("seed") : "1";
    const std::string space = settings.contains("space") ? settings.at("space") : "{}";
    search_.emplace(searcher_of(settings.at("searcher")), space_of(space),
                    static_cast<std::uint32_t>(std::stoul(seed)));
    other_.emplace(*search_);
  }

  std::vector<std::string> play(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    if (verb == "progress") return {describe::to_text(search_->progress())};
    if (verb == "draw") return draw();
    return apply(event_of(verb, words));
  }

 private:
  static Event event_of(const std::string& verb, std::istringstream& words) {
    std::string rest;
    if (verb == "begin") return Begun{};
    if (verb == "report") {
      Reported event;
      std::string at, time;
      words >> event.trial >> at >> time >> rest;
      time.pop_back();
      event.time = describe::read_yaml<double>(time).value();
      event.metric = describe::read_yaml<double>(rest).value();
      return event;
    }
    if (verb == "end") {
      Ended event;
      words >> event.trial >> rest;
      if (rest == "failed") event.exit = Exit::failed;
      if (rest == "invalid") event.exit = Exit::invalid;
      return event;
    }
    if (verb == "limit") {
      Limited event;
      std::int64_t number = 0;
      if (words >> number && number != 0) event.max_trials = number;
      if (words >> number) event.max_concurrent_trials = number;
      return event;
    }
    std::getline(words, rest);
    if (verb == "drawn") return Drawn{point_of(rest)};
    EXPECT_EQ(verb, "order");
    return ordered(rest);
  }

  static Ordered ordered(const std::string& text) {
    Ordered event;
    std::istringstream words(text);
    for (std::string verb, rest; words >> verb;) {
      if (verb == "last") event.is_last = true;
      if (verb == "create") event.orders.emplace_back(CreateTrial{0, (words >> rest, point_of(rest))});
      if (verb == "stop")
        event.orders.emplace_back(StopTrial{(words >> rest, static_cast<TrialNumber>(std::stoul(rest)))});
    }
    return event;
  }

  std::vector<std::string> draw() {
    const std::optional<Draw> wanted = renewed(*search_).unfinished_draw();
    if (!wanted) return {"nothing is to be drawn"};
    return apply(Drawn{draw_point(search_->searcher(), search_->space(), *wanted, observations_)});
  }

  std::vector<std::string> apply(const Event& event) {
    const auto same = describe::read_json<Event>(describe::write_json(event));
    EXPECT_TRUE(same);
    observe(event);
    std::vector<std::string> lines = words_of_all(search_->apply(event));
    other_.emplace(renewed(*other_));
    EXPECT_EQ(words_of_all(other_->apply(*same)), lines);
    return lines;
  }

  std::vector<std::string> words_of_all(const Result<std::vector<Action>>& actions) {
    if (!actions) return {"refused: " + actions.error().message};
    std::vector<std::string> lines;
    for (const Action& action : *actions) {
      lines.push_back(words_of(action));
      const auto* created = std::get_if<Create>(&action);
      if (created != nullptr && created->trial == observations_.size()) {
        observations_.push_back({created->hyperparameters, {}});
      }
    }
    return lines;
  }

  void observe(const Event& event) {
    if (const auto* one = std::get_if<Reported>(&event); one != nullptr && one->trial < observations_.size()) {
      const bool is_smaller = objective_of(search_->searcher()).smaller_is_better;
      observations_[one->trial].reports.emplace_back(one->time, is_smaller ? one->metric : -one->metric);
    }
    if (const auto* one = std::get_if<Ended>(&event); one != nullptr && one->trial < observations_.size()) {
      observations_[one->trial].has_ended = true;
      observations_[one->trial].has_failed = one->exit != Exit::completed;
    }
  }

  std::optional<Search> search_;
  std::optional<Search> other_;
  std::vector<Observation> observations_;
};

/// The file as it is when its events are played.
std::string played(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string text;
  std::map<std::string, std::string> settings;
  std::optional<Player> player;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("> ")) {
      if (!player) player.emplace(settings);
      text += line + "\n";
      for (const std::string& follows : player->play(line.substr(2))) text += "  " + follows + "\n";
      continue;
    }
    if (line.starts_with("  ")) continue;
    text += line + "\n";
    if (line.empty()) player.reset(), settings.clear();
    const std::size_t colon = line.find(": ");
    if (line.starts_with("# ") && colon != std::string::npos) {
      settings[line.substr(2, colon - 2)] = line.substr(colon + 2);
    }
  }
  return text;
}

TEST(Transcripts, AreWhatSearchesDecide) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(CADRE_SOURCE_DIR) + "/tests/golden/search")) {
    SCOPED_TRACE(entry.path().string());
    const std::string text = played(entry.path());
    if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(entry.path()) << text;
    std::ifstream file(entry.path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text)
        << "if it should change, run with CADRE_UPDATE_GOLDEN=1";
    ++files;
  }
  EXPECT_GE(files, 7U);
}

}  // namespace
}  // namespace cadre::search
