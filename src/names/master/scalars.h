/// Words of requests for names, which are read only if they can be such. Safe on any thread.
#pragma once

#include <string>

#include "base/dice.h"
#include "base/id.h"
#include "describe/checks.h"
#include "describe/scalar.h"

namespace cadre::names {

using Key = Name<struct KeyTag>;
using Prefix = Name<struct PrefixTag>;

}  // namespace cadre::names

namespace cadre::describe {

template <>
struct Scalar<names::Key> {
  static std::string type_name() { return "name (`a/b/c`)"; }
  static Value schema();
  static Result<names::Key> read(const Value& value);
  static Value write(const names::Key& key) { return Value(key.value); }
  static names::Key random(Dice& dice, const Limits& limits);
};

template <>
struct Scalar<names::Prefix> {
  static std::string type_name() { return "name, or nothing"; }
  static Value schema();
  static Result<names::Prefix> read(const Value& value);
  static Value write(const names::Prefix& prefix) { return Value(prefix.value); }
  static names::Prefix random(Dice& dice, const Limits& limits);
};

}  // namespace cadre::describe
