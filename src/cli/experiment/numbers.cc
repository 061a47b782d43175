#include "cli/experiment/numbers.h"

#include <cmath>
#include <cstdio>

#include "describe/formats.h"

namespace cadre::cli {
namespace {

using describe::Value;

void add_flat(const Value& map, const std::string& prefix, std::vector<std::pair<std::string, std::string>>& all) {
  const auto* entries = map.as<Value::Map>();
  if (entries == nullptr) return;
  for (const describe::Entry& entry : *entries) {
    if (entry.value.as<Value::Map>() != nullptr) {
      add_flat(entry.value, prefix + entry.key + ".", all);
    } else {
      all.emplace_back(prefix + entry.key, value_text(entry.value));
    }
  }
}

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  char text[32];
  // Whole numbers are counts, and are not rounded.
  const bool is_whole = std::abs(number) < 1e15 && number == std::trunc(number);
  std::snprintf(text, sizeof text, is_whole ? "%.0f" : "%.4g", number);
  return number == 0 ? "0" : text;
}

std::string number_text(const std::optional<double>& number) { return number ? number_text(*number) : ""; }

std::string value_text(const Value& value) {
  if (const auto* number = value.as<double>()) return number_text(*number);
  if (const auto* text = value.as<std::string>()) return *text;
  return describe::to_json(value);
}

std::string percent_text(double share) {
  const double percent = share * 100;
  if (percent > 0 && percent < 1) return "<1%";
  if (percent > 99 && percent < 100) return "99%";  // it is not done before it is done
  char text[32];
  std::snprintf(text, sizeof text, "%.0f%%", percent);
  return text;
}

std::vector<std::pair<std::string, std::string>> flat_hyperparameters(const Value& map) {
  std::vector<std::pair<std::string, std::string>> all;
  add_flat(map, "", all);
  return all;
}

std::string hyperparameters_line(const Value& map) {
  std::string line;
  for (const auto& [name, text] : flat_hyperparameters(map)) {
    line += (line.empty() ? "" : " ") + name + "=" + text;
  }
  return line;
}

}  // namespace cadre::cli
