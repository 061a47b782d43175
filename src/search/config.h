/// The key `searcher` of an experiment file: which method searches, and how. Values; safe on any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "describe/describe.h"
#include "search/space.h"

namespace cadre::search {

struct RandomSampler {
  static constexpr std::string_view type_name = "random";
  static constexpr std::string_view doc = "Draws all hyperparameters independently.";
};
template <class V>
void describe(V&, RandomSampler&) {}

struct TpeSampler {
  static constexpr std::string_view type_name = "tpe";
  static constexpr std::string_view doc =
      "Tree-structured Parzen estimation: draws near the best results, away from the others.";
  std::int64_t startup = 10;
  double gamma = 0.25;
  std::int64_t candidates = 24;
  bool multivariate = true;
};
template <class V>
void describe(V& v, TpeSampler& c) {
  v.field("startup", c.startup, "Trials that are drawn at random at first.", range(1, 100'000));
  v.field("gamma", c.gamma, "Share of the results that counts as good; never more than 25 of them.", range(0.01, 0.99));
  v.field("candidates", c.candidates, "Candidates per draw, of which the most promising is taken.", range(1, 10'000));
  v.field("multivariate", c.multivariate, "Whether dependencies between hyperparameters are modelled.");
}

using Sampler = std::variant<RandomSampler, TpeSampler>;

/// What all methods have.
struct Objective {
  std::string metric;
  bool smaller_is_better = true;
  std::vector<Point> start_with;
};
template <class V>
void describe_objective(V& v, Objective& c) {
  v.required("metric", c.metric, "Name of the validation metric that is optimized.", not_empty());
  v.field("smaller_is_better", c.smaller_is_better, "Whether a smaller value of the metric is better.");
  v.field("start_with", c.start_with, "Hyperparameters of the first trials; those left out are drawn.");
}

constexpr std::int64_t most_trials = 1'000'000;
constexpr std::int64_t longest_time = std::int64_t{1} << 53;
constexpr std::string_view max_trials_doc = "Number of trials.";
constexpr std::string_view concurrent_doc = "Most trials at a time; 0: no limit.";
constexpr std::string_view sampler_doc = "How hyperparameters are drawn.";

struct Single : Objective {
  static constexpr std::string_view type_name = "single";
  static constexpr std::string_view doc = "One trial.";
};
template <class V>
void describe(V& v, Single& c) {
  describe_objective(v, c);
}

struct Random : Objective {
  static constexpr std::string_view type_name = "random";
  static constexpr std::string_view doc = "Trials with hyperparameters drawn by the sampler; each runs to its end.";
  std::int64_t max_trials = 1;
  std::int64_t max_concurrent_trials = 16;
  Sampler sampler;
};
template <class V>
void describe(V& v, Random& c) {
  describe_objective(v, c);
  v.required("max_trials", c.max_trials, max_trials_doc, range(1, most_trials));
  v.field("max_concurrent_trials", c.max_concurrent_trials, concurrent_doc, range(0, most_trials));
  v.field("sampler", c.sampler, sampler_doc);
}

struct GridSearch : Objective {
  static constexpr std::string_view type_name = "grid";
  static constexpr std::string_view doc = "A trial for each combination of the values of all hyperparameters.";
  std::int64_t max_concurrent_trials = 16;
};
template <class V>
void describe(V& v, GridSearch& c) {
  describe_objective(v, c);
  v.field("max_concurrent_trials", c.max_concurrent_trials, concurrent_doc, range(0, most_trials));
}

enum class Mode : std::uint8_t { aggressive, standard, conservative };
constexpr auto enum_names(Mode) {
  return std::array{std::pair{Mode::aggressive, "aggressive"}, std::pair{Mode::standard, "standard"},
                    std::pair{Mode::conservative, "conservative"}};
}

/// What both variants of asynchronous halving have.
struct Halving : Objective {
  std::int64_t max_trials = 1;
  std::int64_t max_time = 1;
  double divisor = 4;
  std::int64_t max_rungs = 5;
  Mode mode = Mode::standard;
  std::int64_t max_concurrent_trials = 16;
  std::vector<std::int64_t> bracket_rungs;
  Sampler sampler;
};
template <class V>
void describe_halving(V& v, Halving& c) {
  describe_objective(v, c);
  v.required("max_trials", c.max_trials, max_trials_doc, range(1, most_trials));
  v.required("max_time", c.max_time, "Length of the longest trials, in steps or in the unit of the time metric.",
             range(1, longest_time));
  v.field("divisor", c.divisor, "One of this many trials goes on to the next rung.", range(2, 1000));
  v.field("max_rungs", c.max_rungs, "Most rungs, that is lengths at which trials are compared.", range(1, 50));
  v.field("mode", c.mode,
          "How early trials are stopped: the number of brackets grows from aggressive to conservative.");
  v.field("max_concurrent_trials", c.max_concurrent_trials, concurrent_doc, range(0, most_trials));
  v.field("bracket_rungs", c.bracket_rungs, "Number of rungs of each bracket, instead of mode.", length(0, 50));
  v.field("sampler", c.sampler, sampler_doc);
  const auto is_possible = [](std::int64_t rungs) { return rungs >= 1 && rungs <= 50; };
  v.check(std::all_of(c.bracket_rungs.begin(), c.bracket_rungs.end(), is_possible), "bracket_rungs",
          "each bracket must have 1 to 50 rungs");
}

struct Asha : Halving {
  static constexpr std::string_view type_name = "asha";
  static constexpr std::string_view doc = "Asynchronous successive halving: stops bad trials early.";
};
template <class V>
void describe(V& v, Asha& c) {
  describe_halving(v, c);
}

struct AshaPromote : Halving {
  static constexpr std::string_view type_name = "asha_promote";
  static constexpr std::string_view doc =
      "Asynchronous successive halving that pauses trials at a rung and continues the best.";
};
template <class V>
void describe(V& v, AshaPromote& c) {
  describe_halving(v, c);
}

struct Pbt : Objective {
  static constexpr std::string_view type_name = "pbt";
  static constexpr std::string_view doc =
      "Population-based training: bad trials continue from checkpoints of good ones, with changed hyperparameters.";
  std::int64_t population = 8;
  std::int64_t interval = 1;
  double truncation = 0.25;
  double resample_probability = 0.25;
  std::vector<double> perturb_factors{0.8, 1.2};
  Sampler sampler;
};
template <class V>
void describe(V& v, Pbt& c) {
  describe_objective(v, c);
  v.field("population", c.population, "Number of trials.", range(2, 10'000));
  v.required("interval", c.interval, "Steps between two comparisons of a trial with the others.",
             range(1, longest_time));
  v.field("truncation", c.truncation, "Share of the population that is replaced, and that is copied.", range(0.0, 0.5));
  v.field("resample_probability", c.resample_probability,
          "Probability with which a hyperparameter is drawn anew instead of perturbed.", range(0.0, 1.0));
  v.field("perturb_factors", c.perturb_factors, "Factors of which one is applied to a perturbed hyperparameter.",
          not_empty());
  v.field("sampler", c.sampler, sampler_doc);
  const auto is_factor = [](double factor) { return factor > 0 && factor <= 1e6; };
  v.check(std::all_of(c.perturb_factors.begin(), c.perturb_factors.end(), is_factor), "perturb_factors",
          "each factor must be above 0, and at most 1e6");
}

struct Custom : Objective {
  static constexpr std::string_view type_name = "custom";
  static constexpr std::string_view doc = "A program that receives the events of the search and sends its actions.";
};
template <class V>
void describe(V& v, Custom& c) {
  describe_objective(v, c);
}

using Searcher = std::variant<Single, Random, GridSearch, Asha, AshaPromote, Pbt, Custom>;

[[nodiscard]] inline const Objective& objective_of(const Searcher& searcher) {
  return std::visit([](const auto& one) -> const Objective& { return one; }, searcher);
}

}  // namespace cadre::search
