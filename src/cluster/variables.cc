#include "cluster/variables.h"

#include <algorithm>

namespace cadre::cluster {
namespace {

bool is_plain_name(std::string_view name) {
  const auto is_plain_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool begins_well = !name.empty() && !(name.front() >= '0' && name.front() <= '9');
  return begins_well && !name.starts_with("CADRE_") && std::all_of(name.begin(), name.end(), is_plain_letter);
}

}  // namespace

bool has_plain_names(const std::map<std::string, std::string>& variables) {
  return std::all_of(variables.begin(), variables.end(), [](const auto& one) { return is_plain_name(one.first); });
}

}  // namespace cadre::cluster
