/// How the planner's own value types are read and written. Safe on any thread.
#pragma once

#include <string>

#include "base/dice.h"
#include "describe/checks.h"
#include "describe/scalar.h"
#include "plan/resources.h"

namespace cadre::describe {

template <>
struct Scalar<plan::Cpus> {
  static std::string type_name() { return "number of cpus (`2`, `0.5`)"; }
  static Value schema();
  static Result<plan::Cpus> read(const Value& value);
  static Value write(plan::Cpus cpus);
  static Amount amount(plan::Cpus cpus) { return static_cast<double>(cpus.milli) / 1000; }
  static plan::Cpus random(Dice& dice, const Limits& limits);
};

}  // namespace cadre::describe
