/// The functions and constants of formulas. Pure; safe on any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace cadre::search {

struct Function {
  std::string_view name;
  std::size_t least = 1;  ///< arguments
  std::size_t most = 1;
  double (*call)(const std::vector<double>& arguments) = nullptr;
};
[[nodiscard]] const std::vector<Function>& functions();

[[nodiscard]] std::optional<double> constant(std::string_view name);

}  // namespace cadre::search
