/// Ids that cannot be mixed up: a number or a name, tagged with what it names. Values; safe on any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace cadre {

/// A number given out by the system. `using TrialId = Id<struct TrialTag>;`
template <class Tag>
struct Id {
  std::uint64_t value{};
  auto operator<=>(const Id&) const = default;
};

/// A name that people choose or see. `using AgentId = Name<struct AgentTag>;`
template <class Tag>
struct Name {
  std::string value;
  Name() = default;
  explicit Name(std::string text) : value(std::move(text)) {}
  auto operator<=>(const Name&) const = default;
};

}  // namespace cadre

template <class Tag>
struct std::hash<cadre::Id<Tag>> {
  std::size_t operator()(const cadre::Id<Tag>& id) const noexcept { return std::hash<std::uint64_t>{}(id.value); }
};

template <class Tag>
struct std::hash<cadre::Name<Tag>> {
  std::size_t operator()(const cadre::Name<Tag>& name) const noexcept { return std::hash<std::string>{}(name.value); }
};
