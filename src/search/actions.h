/// What a search asks for, in the order in which it is to be done. Values that can be written and read back; safe on
/// any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "search/orders.h"
#include "search/space.h"

namespace cadre::search {

struct Create {
  static constexpr std::string_view type_name = "create";
  static constexpr std::string_view doc = "A new trial is created.";
  TrialNumber trial = 0;
  Point hyperparameters;
  std::uint32_t seed = 0;  ///< 31 bits
};
template <class V>
void describe(V& v, Create& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("hyperparameters", c.hyperparameters, "Its hyperparameters.");
  v.required("seed", c.seed, "Seed for the random numbers of the trial, 31 bits.");
}

struct Replace {
  static constexpr std::string_view type_name = "replace";
  static constexpr std::string_view doc = "The trial restarts from the checkpoint of another.";
  TrialNumber trial = 0;
  TrialNumber source = 0;
  Point hyperparameters;
};
template <class V>
void describe(V& v, Replace& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("source", c.source, "The trial whose checkpoint it continues.");
  v.required("hyperparameters", c.hyperparameters, "Its new hyperparameters.");
}

/// A point is to be drawn by the sampler, away from the control loop (draw_point() in tpe.h); it returns as `drawn`.
/// There is never more than one that was not returned yet.
struct Draw {
  static constexpr std::string_view type_name = "draw";
  static constexpr std::string_view doc = "The hyperparameters of a trial are drawn by the sampler.";
  TrialNumber trial = 0;
  std::uint32_t seed = 0;
  Point given;
};
template <class V>
void describe(V& v, Draw& c) {
  v.required("trial", c.trial, trial_doc);
  v.required("seed", c.seed, "Seed for the random numbers of the sampler.");
  v.required("given", c.given, "Hyperparameters that are not drawn.");
}

using Action = std::variant<Create, StopTrial, SuspendTrial, ExtendTrial, Replace, Draw>;

}  // namespace cadre::search
