#include "agent/config.h"

#include <charconv>
#include <utility>

namespace cadre::describe {
namespace {

const Limits slot_limits{0, plan::most_slots};

}  // namespace

Value Scalar<agent::SlotChoice>::schema() {
  Value schema;
  schema.set("anyOf", Value(Value::List{Scalar<std::string>::schema(), whole_schema(0, plan::most_slots)}));
  return schema;
}

/// A number means the same whether it is quoted or not.
Result<agent::SlotChoice> Scalar<agent::SlotChoice>::read(const Value& value) {
  const auto* text = value.as<std::string>();
  const bool is_number = text != nullptr && !text->empty() && text->find_first_not_of("0123456789") == text->npos;
  if (text != nullptr && !is_number) {
    const bool has_form = *text == "auto" || *text == "none" || text->find_first_not_of("0123456789,") == text->npos;
    if (has_form && !text->empty()) return agent::SlotChoice{*text, std::nullopt};
    return fail(Errc::invalid, "must be auto, none, a number of slots, or device numbers like 0,2, is " + found(value));
  }
  std::int64_t digits = std::numeric_limits<std::int64_t>::max();  // stays, if there are too many
  if (is_number) std::from_chars(text->data(), text->data() + text->size(), digits);
  TRY_ASSIGN(count, Scalar<std::int32_t>::read(is_number ? Value(digits) : value, slot_limits));
  return agent::SlotChoice{"", count};
}

Value Scalar<agent::SlotChoice>::write(const agent::SlotChoice& choice) {
  return choice.artificial ? Value(*choice.artificial) : Value(choice.slots);
}

Result<agent::UidRange> Scalar<agent::UidRange>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return agent::parse_uid_range(text);
}

Value Scalar<agent::UidRange>::write(const agent::UidRange& range) { return Value(agent::to_text(range)); }

Result<agent::AllowedMount> Scalar<agent::AllowedMount>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return agent::parse_allowed_mount(text);
}

Value Scalar<agent::AllowedMount>::write(const agent::AllowedMount& mount) {
  return Value(mount.prefix + (mount.writable ? ":rw" : ""));
}

}  // namespace cadre::describe
