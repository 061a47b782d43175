/// Numbers of metrics and hyperparameters as people read them. Safe on any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "describe/value.h"

namespace cadre::cli {

/// Four significant digits: 0.03125, 1.234e-07, 12345, NaN.
[[nodiscard]] std::string number_text(double number);
/// Empty if there is none.
[[nodiscard]] std::string number_text(const std::optional<double>& number);

/// One hyperparameter: a number with four significant digits, text as it is, anything else as JSON.
[[nodiscard]] std::string value_text(const describe::Value& value);

/// 48%
[[nodiscard]] std::string percent_text(double share);

/// Hyperparameters with their full names (`model.layers`), in the order of the maps.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> flat_hyperparameters(const describe::Value& map);
/// `lr=0.01 model.layers=2`
[[nodiscard]] std::string hyperparameters_line(const describe::Value& map);

}  // namespace cadre::cli
