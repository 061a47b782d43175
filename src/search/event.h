/// What a search is told. Values that can be written and read back: from the seed and its events, a search can be
/// repeated. Safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "search/orders.h"
#include "search/space.h"

namespace cadre::search {

struct Begun {
  static constexpr std::string_view type_name = "begun";
  static constexpr std::string_view doc = "The search begins.";
};
template <class V>
void describe(V&, Begun&) {}

struct Reported {
  static constexpr std::string_view type_name = "reported";
  static constexpr std::string_view doc = "A trial has reported a validation.";
  TrialNumber trial = 0;
  double time = 0;
  double metric = 0;  ///< as reported, without a sign
};
template <class V>
void describe(V& v, Reported& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("time", c.time, "Steps, or the value of the time metric.");
  v.required("metric", c.metric, "Value of the metric.");
}

struct Ended {
  static constexpr std::string_view type_name = "ended";
  static constexpr std::string_view doc = "A trial has ended, by itself or because its search has stopped it.";
  TrialNumber trial = 0;
  Exit exit = Exit::completed;
};
template <class V>
void describe(V& v, Ended& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("exit", c.exit, "How it has ended.");
}

struct Drawn {
  static constexpr std::string_view type_name = "drawn";
  static constexpr std::string_view doc = "The sampler has drawn the hyperparameters that it was asked for.";
  Point point;
};
template <class V>
void describe(V& v, Drawn& c) {
  v.required("point", c.point, "All hyperparameters.");
}

struct Ordered {
  static constexpr std::string_view type_name = "ordered";
  static constexpr std::string_view doc = "The program of a custom search has decided something.";
  std::vector<Order> orders;  ///< trials to create are numbered by the search
  bool is_last = false;       ///< the program creates no more trials
};
template <class V>
void describe(V& v, Ordered& c) {
  v.required("orders", c.orders, "What it has decided.");
  v.field("is_last", c.is_last, "Whether the program creates no more trials.");
}

struct Limited {
  static constexpr std::string_view type_name = "limited";
  static constexpr std::string_view doc = "A user has changed how many trials the search creates.";
  std::optional<std::int64_t> max_trials;
  std::optional<std::int64_t> max_concurrent_trials;
};
template <class V>
void describe(V& v, Limited& c) {
  v.field("max_trials", c.max_trials, "Number of trials.");
  v.field("max_concurrent_trials", c.max_concurrent_trials, "Most trials at a time; 0: no limit.");
}

using Event = std::variant<Begun, Reported, Ended, Drawn, Ordered, Limited>;

}  // namespace cadre::search
