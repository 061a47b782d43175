#include "describe/checks.h"

#include <algorithm>

namespace cadre::describe {
namespace {

constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

std::string span_text(const Limits& limits) {
  if (limits.low && limits.high) {
    if (limits.is_above) return "above " + to_text(*limits.low) + " and at most " + to_text(*limits.high);
    return "from " + to_text(*limits.low) + " to " + to_text(*limits.high);
  }
  if (limits.low) return (limits.is_above ? "above " : "at least ") + to_text(*limits.low);
  return limits.high ? "at most " + to_text(*limits.high) : "";
}

std::string size_text(const Limits& limits) {
  if (limits.longest == no_end) return "at least " + std::to_string(limits.shortest);
  if (limits.shortest == limits.longest) return std::to_string(limits.shortest);
  return "from " + std::to_string(limits.shortest) + " to " + std::to_string(limits.longest);
}

}  // namespace

std::string to_text(Amount amount) {
  switch (amount.unit) {
    case Amount::Unit::whole: break;
    case Amount::Unit::real: return to_text(static_cast<double>(amount.value));
    case Amount::Unit::duration: return to_string(Duration(static_cast<std::int64_t>(amount.value)));
    case Amount::Unit::bytes: return to_string(ByteSize{static_cast<std::int64_t>(amount.value)});
  }
  return amount.value < 0 ? std::to_string(static_cast<std::int64_t>(amount.value))
                          : std::to_string(static_cast<std::uint64_t>(amount.value));
}

Value to_value(Amount amount) {
  if (amount.unit == Amount::Unit::real) return Value(static_cast<double>(amount.value));
  if (amount.value < 0) return Value(static_cast<std::int64_t>(amount.value));
  return Value(static_cast<std::uint64_t>(amount.value));
}

void narrow(Limits& limits, const AmountCheck& check) {
  if (check.low && (!limits.low || check.low->value >= limits.low->value)) {
    limits.is_above = check.is_above || (limits.is_above && check.low->value == limits.low->value);
    limits.low = check.low;
  }
  if (check.high && (!limits.high || check.high->value < limits.high->value)) limits.high = check.high;
}

void narrow(Limits& limits, const SizeCheck& check) {
  limits.shortest = std::max(limits.shortest, check.shortest);
  limits.longest = std::min(limits.longest, check.longest);
}

std::string broken(const Limits& limits, Amount amount) {
  const auto [low, high] = std::pair(limits.low, limits.high);
  // Said so that a NaN is inside no limits.
  const bool fits_low = !low || (limits.is_above ? amount.value > low->value : amount.value >= low->value);
  const bool fits_high = !high || amount.value <= high->value;
  if (fits_low && fits_high) return {};
  return "must be " + span_text(limits) + ", is " + to_text(amount);
}

std::string broken_size(const Limits& limits, std::size_t size) {
  if (size >= limits.shortest && size <= limits.longest) return {};
  if (limits.shortest == 1 && size == 0 && limits.longest == no_end) return "must not be empty";
  return "must have a length " + std::string(limits.shortest == limits.longest ? "of " : "") + size_text(limits) +
         ", has " + std::to_string(size);
}

std::string to_text(const Limits& limits) {
  std::string text = span_text(limits);
  if (!limits.has_sizes()) return text;
  if (!text.empty()) text += "; ";
  return text + (limits.shortest == 1 && limits.longest == no_end ? "not empty" : "length " + size_text(limits));
}

}  // namespace cadre::describe
