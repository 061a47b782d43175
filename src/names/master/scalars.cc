#include "names/master/scalars.h"

#include "names/entry.h"

namespace cadre::describe {

Value Scalar<names::Key>::schema() { return Value().set("type", Value("string")); }

Result<names::Key> Scalar<names::Key>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  TRY(names::check_key(text));
  return names::Key(std::move(text));
}

names::Key Scalar<names::Key>::random(Dice& dice, const Limits&) {
  std::string key = "a:" + std::to_string(dice.below(100));
  for (std::uint64_t parts = dice.below(3); parts > 0; --parts) key += "/" + std::to_string(dice.below(100)) + "+=";
  return names::Key(std::move(key));
}

Value Scalar<names::Prefix>::schema() { return Value().set("type", Value("string")); }

Result<names::Prefix> Scalar<names::Prefix>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  TRY(names::check_prefix(text));
  return names::Prefix(std::move(text));
}

names::Prefix Scalar<names::Prefix>::random(Dice& dice, const Limits& limits) {
  return names::Prefix(dice.percent(20) ? "" : Scalar<names::Key>::random(dice, limits).value);
}

}  // namespace cadre::describe
