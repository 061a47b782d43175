#include "describe/scalar.h"

#include "describe/fault.h"
#include "describe/utf8.h"

namespace cadre::describe {
namespace {

/// The largest whole number that databases hold.
constexpr std::int64_t stored_max = std::numeric_limits<std::int64_t>::max();

/// The longest that is read, forwards and backwards: with it, sums of times and durations stay within 64 bits.
constexpr Duration duration_max = std::chrono::hours(24 * 365 * 100);

const std::string* switch_word(const Value& value) {
  const auto* text = value.as<std::string>();
  if (text == nullptr) return nullptr;
  for (const std::string_view word : {"yes", "no", "on", "off", "y",    "n",     "Yes",  "No",    "On",   "Off",
                                      "YES", "NO", "ON", "OFF", "true", "false", "True", "False", "TRUE", "FALSE"}) {
    if (*text == word) return text;
  }
  return nullptr;
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

Failure mismatch(std::string_view expected, const Value& value) {
  return fail(Errc::invalid, "expected " + std::string(expected) + ", found " + found(value));
}

Result<Amount> read_whole(const Value& value, const Limits& limits) {
  const auto* number = value.as<std::int64_t>();
  const auto* large = value.as<std::uint64_t>();
  if (number == nullptr && large == nullptr) {
    Failure failure = mismatch("a whole number", value);
    if (value.as<double>() != nullptr) failure.value().message += "; write it without a point or an exponent";
    return failure;
  }
  const Amount amount = number != nullptr ? Amount(*number) : Amount(*large);
  if (large != nullptr && (!limits.high || limits.high->value > static_cast<long double>(stored_max))) {
    Limits stored = limits;  // no type holds more, so that whatever was read can be stored
    stored.high = Amount(stored_max);
    return fail(Errc::invalid, broken(stored, amount));
  }
  if (std::string wrong = broken(limits, amount); !wrong.empty()) return fail(Errc::invalid, std::move(wrong));
  return amount;
}

Result<std::string> read_text(const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text;
  Failure failure = mismatch("text", value);
  std::string& message = failure.value().message;
  if (const auto* truth = value.as<bool>())
    message += *truth ? "; put it in quotes: \"true\"" : "; put it in quotes: \"false\"";
  if (const auto* number = value.as<std::int64_t>())
    message += "; put it in quotes: \"" + std::to_string(*number) + "\"";
  if (const auto* number = value.as<std::uint64_t>())
    message += "; put it in quotes: \"" + std::to_string(*number) + "\"";
  if (value.as<double>() != nullptr)
    message += "; put it in quotes";  // 1.10 is the number 1.1: do not spell it for them
  if (value.is_null()) message += "; write \"\" for an empty text";
  return failure;
}

Result<std::size_t> read_choice(const Value& value, std::span<const std::string_view> names) {
  const auto* text = value.as<std::string>();
  if (text == nullptr) return mismatch("one of " + listed(names), value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == *text) return i;
  }
  constexpr std::size_t most_shown = 40;
  return fail(Errc::invalid, quoted(shortened(*text, most_shown)) + " is not a known choice;" +
                                 suggestion(*text, {names.begin(), names.end()}));
}

Value whole_schema(Amount low, Amount high) {
  Value schema;
  return schema.set("type", Value("integer"))
      .set("minimum", to_value(low))
      .set("maximum", to_value(high.value > static_cast<long double>(stored_max) ? Amount(stored_max) : high));
}

Value choice_schema(std::span<const std::string_view> names) {
  Value::List list;
  for (const std::string_view name : names) list.emplace_back(name);
  return Value().set("enum", Value(std::move(list)));
}

std::string choice_type_name(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "one of `" : ", `") + std::string(name) + "`";
  return text;
}

Value Scalar<bool>::schema() { return Value().set("type", Value("boolean")); }

Result<bool> Scalar<bool>::read(const Value& value) {
  if (const auto* truth = value.as<bool>()) return *truth;
  if (switch_word(value) == nullptr) return mismatch("true or false", value);
  return fail(Errc::invalid, "expected true or false, found " + found(value) + "; write true or false, without quotes");
}

Value Scalar<double>::schema() {
  Value words;
  words.set("enum", Value(Value::List{Value("NaN"), Value("Infinity"), Value("-Infinity")}));
  return Value().set("anyOf", Value(Value::List{Value().set("type", Value("number")), std::move(words)}));
}

Result<double> Scalar<double>::read(const Value& value) {
  if (const auto* number = value.as<double>()) return *number;
  if (const auto* number = value.as<std::int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.as<std::uint64_t>()) return static_cast<double>(*number);
  if (const auto* text = value.as<std::string>()) {  // as JSON spells what it has no numbers for
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return mismatch("a number", value);
}

Value Scalar<std::string>::schema() { return Value().set("type", Value("string")); }

std::size_t Scalar<std::string>::size(const std::string& text) { return count_code_points(text); }

Value Scalar<TimePoint>::schema() {
  Value schema;
  schema.set("type", Value("string"));
  schema.set("format", Value("date-time"));
  return schema;
}

Result<TimePoint> Scalar<TimePoint>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return parse_utc(text);
}

Value Scalar<Duration>::schema() {
  const std::string number = R"((([0-9]+(\.[0-9]+)?|\.[0-9]+))";
  std::string pattern = "^(?=.)";
  for (const char* unit : {"d", "h", "m(in)?", "s", "ms", "us", "ns"}) pattern += number + unit + ")?";
  return Value().set("type", Value("string")).set("pattern", Value(pattern + "$"));
}

Result<Duration> Scalar<Duration>::read(const Value& value) {
  if (const auto* text = value.as<std::string>()) {
    TRY_ASSIGN(duration, parse_duration(*text));
    if (duration > duration_max || duration < -duration_max) {
      return fail(Errc::invalid, "must be at most 36500d (100 years), is " + shortened(*text, 40));
    }
    return duration;
  }
  Failure failure = mismatch("a duration", value);
  failure.value().message += "; write one like 30s, 10m, 1h30m or 250ms";
  return failure;
}

Value Scalar<ByteSize>::schema() {
  Value number;
  number.set("type", Value("integer")).set("minimum", Value(std::int64_t{0}));
  number.set("maximum", Value(std::numeric_limits<std::int64_t>::max()));
  Value text;
  text.set("type", Value("string"));
  text.set("pattern", Value(R"(^([0-9]+(\.[0-9]+)?|\.[0-9]+)( *(B|[KMGTP]i?B))?$)"));
  return Value().set("anyOf", Value(Value::List{std::move(number), std::move(text)}));
}

Result<ByteSize> Scalar<ByteSize>::read(const Value& value) {
  if (const auto* text = value.as<std::string>()) return parse_byte_size(*text);
  if (const auto* number = value.as<std::int64_t>(); number != nullptr && *number >= 0) return ByteSize{*number};
  Failure failure = mismatch("a size", value);
  failure.value().message += "; write a number of bytes or one like 512MiB or 16GiB";
  return failure;
}

Value Scalar<ByteSize>::write(ByteSize size) {
  std::string text = to_string(size);
  if (text.find_first_not_of("-0123456789") == std::string::npos) return Value(size.value);
  return Value(std::move(text));
}

Value Scalar<Bytes>::schema() { return Value().set("type", Value("string")).set("contentEncoding", Value("base64")); }

Result<Bytes> Scalar<Bytes>::read(const Value& value) {
  if (const auto* bytes = value.as<Bytes>()) return *bytes;
  if (const auto* text = value.as<std::string>()) return from_base64(*text);
  return mismatch("bytes in base64", value);
}

}  // namespace cadre::describe
