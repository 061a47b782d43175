#include "plan/scalars.h"

#include <cmath>

namespace cadre::describe {

Value Scalar<plan::Cpus>::schema() {
  Value schema;
  schema.set("type", Value("number"));
  return schema;
}

Result<plan::Cpus> Scalar<plan::Cpus>::read(const Value& value) {
  const Result<double> number = Scalar<double>::read(value);
  if (!number) return Failure(number.error());
  const double milli = *number * 1000;
  if (!(std::abs(milli) <= 1e15)) return fail(Errc::invalid, "is not a number of cpus; write one like 2 or 0.5");
  if (std::abs(milli - std::round(milli)) > 1e-6) {
    return fail(Errc::invalid, "has more than three decimals; use at most three, like 0.125");
  }
  return plan::Cpus{std::llround(milli)};
}

Value Scalar<plan::Cpus>::write(plan::Cpus cpus) {
  if (cpus.milli % 1000 == 0) return Value(cpus.milli / 1000);
  return Value(static_cast<double>(cpus.milli) / 1000);
}

plan::Cpus Scalar<plan::Cpus>::random(Dice& dice, const Limits&) {
  return {dice.percent(50) ? dice.between(0, 64) * 1000 : dice.between(0, 64'000)};
}

}  // namespace cadre::describe
