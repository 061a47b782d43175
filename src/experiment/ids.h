/// The names of the nouns of experiments. Values; safe on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/dice.h"
#include "base/id.h"
#include "base/result.h"
#include "describe/scalar.h"
#include "search/orders.h"

namespace cadre::experiment {

using ExperimentId = Id<struct ExperimentTag>;

/// One trial of an experiment: 12.3 is the trial with the number 3 of experiment 12; they are numbered from 0 in the
/// order of their creation.
struct TrialId {
  ExperimentId experiment;
  search::TrialNumber number = 0;
  auto operator<=>(const TrialId&) const = default;
};

/// A UUID that the client which saves the checkpoint has made.
using CheckpointId = Name<struct CheckpointTag>;

std::string to_string(TrialId trial);
/// Reads `12.3`.
[[nodiscard]] Result<TrialId> parse_trial_id(std::string_view text);

/// Whether it is a UUID in lower case, as clients make them: 36 characters, which need no escape anywhere.
[[nodiscard]] bool is_uuid(const CheckpointId& checkpoint);

}  // namespace cadre::experiment

namespace cadre::describe {

template <>
struct Scalar<experiment::TrialId> {
  static std::string type_name() { return "trial (`12.3`)"; }
  static Value schema();
  static Result<experiment::TrialId> read(const Value& value);
  static Value write(experiment::TrialId trial) { return Value(experiment::to_string(trial)); }
  static experiment::TrialId random(Dice& dice, const Limits& limits);
};

}  // namespace cadre::describe

template <>
struct std::hash<cadre::experiment::TrialId> {
  std::size_t operator()(const cadre::experiment::TrialId& id) const noexcept {
    return std::hash<std::uint64_t>{}(id.experiment.value * 0x9E3779B97F4A7C15 + id.number);
  }
};
