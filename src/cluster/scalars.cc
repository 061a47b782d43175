#include "cluster/scalars.h"

namespace cadre::describe {

Value Scalar<cluster::TaskId>::schema() { return Value().set("type", Value("string")); }

Result<cluster::TaskId> Scalar<cluster::TaskId>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return cluster::parse_task_id(text);
}

cluster::TaskId Scalar<cluster::TaskId>::random(Dice& dice, const Limits&) {
  return {{dice.bits() >> 1}, static_cast<std::uint32_t>(dice.bits())};
}

Value Scalar<cluster::LeaseId>::schema() { return Value().set("type", Value("string")); }

Result<cluster::LeaseId> Scalar<cluster::LeaseId>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return cluster::parse_lease_id(text);
}

cluster::LeaseId Scalar<cluster::LeaseId>::random(Dice& dice, const Limits& limits) {
  return {Scalar<cluster::TaskId>::random(dice, limits), {dice.bits() >> 1}};
}

}  // namespace cadre::describe
