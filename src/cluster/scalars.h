/// How the cluster's own value types are read and written. Safe on any thread.
#pragma once

#include <string>

#include "base/dice.h"
#include "cluster/ids.h"
#include "describe/checks.h"
#include "describe/scalar.h"
#include "plan/scalars.h"

namespace cadre::describe {

template <>
struct Scalar<cluster::TaskId> {
  static std::string type_name() { return "task (`17.0`)"; }
  static Value schema();
  static Result<cluster::TaskId> read(const Value& value);
  static Value write(cluster::TaskId task) { return Value(cluster::to_string(task)); }
  static cluster::TaskId random(Dice& dice, const Limits& limits);
};

template <>
struct Scalar<cluster::LeaseId> {
  static std::string type_name() { return "lease (`17.0/3`)"; }
  static Value schema();
  static Result<cluster::LeaseId> read(const Value& value);
  static Value write(cluster::LeaseId lease) { return Value(cluster::to_string(lease)); }
  static cluster::LeaseId random(Dice& dice, const Limits& limits);
};

}  // namespace cadre::describe
