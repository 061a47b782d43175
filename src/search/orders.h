/// What a search method decides about trials. Values that can be written and read back; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "search/space.h"

namespace cadre::search {

/// Trials of one search are numbered from 0 in the order of their creation.
using TrialNumber = std::uint32_t;

constexpr std::string_view trial_doc = "Number of the trial.";

struct CreateTrial {
  static constexpr std::string_view type_name = "create";
  static constexpr std::string_view doc = "A new trial is created. Hyperparameters that are not given are drawn.";
  TrialNumber trial = 0;
  Point given;
};
template <class V>
void describe(V& v, CreateTrial& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("given", c.given, "Hyperparameters that are not drawn.");
}

struct StopTrial {
  static constexpr std::string_view type_name = "stop";
  static constexpr std::string_view doc = "The trial is stopped gracefully and counts as completed.";
  TrialNumber trial = 0;
};
template <class V>
void describe(V& v, StopTrial& c) {
  v.required("trial", c.trial, trial_doc);
}

struct SuspendTrial {
  static constexpr std::string_view type_name = "suspend";
  static constexpr std::string_view doc =
      "The trial has reached the length it was given; it is paused until it is extended or stopped.";
  TrialNumber trial = 0;
};
template <class V>
void describe(V& v, SuspendTrial& c) {
  v.required("trial", c.trial, trial_doc);
}

struct ExtendTrial {
  static constexpr std::string_view type_name = "extend";
  static constexpr std::string_view doc = "The trial may train until a later time.";
  TrialNumber trial = 0;
  std::int64_t until = 0;
};
template <class V>
void describe(V& v, ExtendTrial& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("until", c.until, "Time until which it may train.");
}

struct ReplaceTrial {
  static constexpr std::string_view type_name = "replace";
  static constexpr std::string_view doc =
      "The trial restarts from the checkpoint of another, with other hyperparameters; those not given are drawn.";
  TrialNumber trial = 0;
  TrialNumber source = 0;
  Point given;
};
template <class V>
void describe(V& v, ReplaceTrial& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("source", c.source, "The trial whose checkpoint it continues.");
  v.required("given", c.given, "Hyperparameters that are not drawn.");
}

using Order = std::variant<CreateTrial, StopTrial, SuspendTrial, ExtendTrial, ReplaceTrial>;

/// Collects the orders of one event.
class Orders {
 public:
  explicit Orders(TrialNumber next) : next_(next) {}

  /// A trial with this point; without one, all of its hyperparameters are drawn.
  TrialNumber create(Point given = {}) {
    list_.push_back(CreateTrial{next_, std::move(given)});
    return next_++;
  }
  template <class OneOrder>
  void add(OneOrder order) {
    list_.emplace_back(std::move(order));
  }

  [[nodiscard]] TrialNumber next() const { return next_; }
  [[nodiscard]] std::vector<Order>& list() { return list_; }

 private:
  TrialNumber next_;
  std::vector<Order> list_;
};

/// A validation of a trial. The metric is signed so that smaller is better; NaN counts as the worst.
struct Report {
  TrialNumber trial = 0;
  double time = 0;
  double metric = 0;
};

/// How a trial ended by itself, not because its search stopped it.
enum class Exit : std::uint8_t {
  completed,  ///< its program has ended without an error
  failed,     ///< too often, or was canceled
  invalid,    ///< it has declared its hyperparameters invalid
};
constexpr auto enum_names(Exit) {
  return std::array{std::pair{Exit::completed, "completed"}, std::pair{Exit::failed, "failed"},
                    std::pair{Exit::invalid, "invalid"}};
}

/// How many trials a search creates, without those that are replaced, and how many run at a time; 0: no limit.
struct Limits {
  std::int64_t trials = 1;
  std::int64_t concurrent = 0;
  bool operator==(const Limits&) const = default;
};
template <class V>
void describe(V& v, Limits& c) {
  v.required("trials", c.trials, "Number of trials.");
  v.required("concurrent", c.concurrent, "Most trials at a time; 0: no limit.");
}

}  // namespace cadre::search
