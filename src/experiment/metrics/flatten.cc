#include "experiment/metrics/flatten.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace cadre::experiment::metrics {
namespace {

using describe::Path;
using describe::Value;

std::optional<double> number_in_words(std::string_view text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return infinity;
  if (text == "-Infinity") return -infinity;
  return std::nullopt;
}

/// Nothing: it is none of the kinds that can be stored.
std::optional<MetricValue> plain_value(const Value& value) {
  if (const auto* real = value.as<double>()) return *real;
  if (const auto* whole = value.as<std::int64_t>()) return *whole;
  if (const auto* natural = value.as<std::uint64_t>()) return static_cast<double>(*natural);
  if (const auto* truth = value.as<bool>()) return *truth;
  const auto* text = value.as<std::string>();
  if (text == nullptr) return std::nullopt;
  if (const std::optional<double> number = number_in_words(*text)) return *number;
  return *text;
}

class Flattener {
 public:
  explicit Flattener(describe::Faults& faults) : faults_(faults) {}

  void add(const Value::Map& map, const Path& path, std::size_t depth) {
    for (const describe::Entry& entry : map) {
      const Path inner(path, entry.key);
      const std::size_t before = name_.size();
      name_ += before == 0 ? entry.key : "." + entry.key;
      if (check_name(entry.key, inner)) add(entry.value, inner, depth);
      name_.resize(before);
      if (is_full_) return;
    }
  }

  std::vector<NamedValue> take() && { return std::move(values_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void fault(const Path& path, std::string message) { faults_.add({path.to_text(), std::move(message)}); }

  bool check_name(const std::string& key, const Path& path) {
    if (key.empty()) {
      fault(path, "a name must not be empty");
    } else if (name_.size() > name_bytes_most) {
      fault(path, "the name has " + std::to_string(name_.size()) + " bytes, the most is " +
                      std::to_string(name_bytes_most) + "; shorten it");
    } else {
      return true;
    }
    return false;
  }

  void add(const Value& value, const Path& path, std::size_t depth) {
    if (const auto* map = value.as<Value::Map>()) {
      if (depth < depth_most) return add(*map, path, depth + 1);
      return fault(path, "there are more than " + std::to_string(depth_most) + " maps inside each other");
    }
    std::optional<MetricValue> plain = plain_value(value);
    if (!plain) {
      return fault(path, "must be a number, text, true, false or a map of them, is " + describe::found(value));
    }
    if (values_.size() == values_most) {
      is_full_ = true;
      return fault(path, "the report has more than " + std::to_string(values_most) + " values; report fewer");
    }
    const auto* text = std::get_if<std::string>(&*plain);
    bytes_ += name_.size() + (text == nullptr ? sizeof(double) : text->size());
    values_.push_back({name_, *std::move(plain)});
  }

  describe::Faults& faults_;
  std::string name_;
  std::vector<NamedValue> values_;
  std::size_t bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace

std::vector<NamedValue> flatten(const Value& metrics, const Path& path, ByteSize bytes_most, describe::Faults& faults) {
  const auto* map = metrics.as<Value::Map>();
  if (map == nullptr) {
    faults.add({path.to_text(), "must be a map of values, is " + describe::found(metrics)});
    return {};
  }
  Flattener flattener(faults);
  flattener.add(*map, path, 1);
  const ByteSize size{static_cast<std::int64_t>(flattener.bytes())};
  if (size > bytes_most) {
    faults.add({path.to_text(), "the report takes " + std::to_string(size.value) + " bytes, the most is " +
                                    std::to_string(bytes_most.value) + "; report less, or store it as a file"});
  }
  std::vector<NamedValue> values = std::move(flattener).take();
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(values.begin(), values.end(),
                                        [](const NamedValue& a, const NamedValue& b) { return a.name == b.name; });
  if (twice != values.end()) {
    faults.add({path.to_text(), "'" + twice->name + "' occurs twice, once as a name with a dot; rename one"});
  }
  return values;
}

}  // namespace cadre::experiment::metrics
