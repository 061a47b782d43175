#include "cluster/scalars.h"

#include <cmath>

namespace cadre::describe {

Value Scalar<cluster::Cpus>::schema() {
  Value schema;
  schema.set("type", Value("number"));
  return schema;
}

Result<cluster::Cpus> Scalar<cluster::Cpus>::read(const Value& value) {
  const Result<double> number = Scalar<double>::read(value);
  if (!number) return Failure(number.error());
  const double milli = *number * 1000;
  if (!(std::abs(milli) <= 1e15)) return fail(Errc::invalid, "is not a number of cpus; write one like 2 or 0.5");
  if (std::abs(milli - std::round(milli)) > 1e-6) {
    return fail(Errc::invalid, "has more than three decimals; write thousandths of a cpu at most, like 0.125");
  }
  return cluster::Cpus{std::llround(milli)};
}

Value Scalar<cluster::Cpus>::write(cluster::Cpus cpus) {
  if (cpus.milli % 1000 == 0) return Value(cpus.milli / 1000);
  return Value(static_cast<double>(cpus.milli) / 1000);
}

cluster::Cpus Scalar<cluster::Cpus>::random(Dice& dice, const Limits&) {
  return {dice.percent(50) ? dice.between(0, 64) * 1000 : dice.between(0, 64'000)};
}

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
