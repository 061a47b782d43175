/// What agents offer and tasks ask for. Values; safe on any thread.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/bytes.h"

namespace cadre::plan {

/// Processor time, in thousandths of a core: fractions add up exactly.
struct Cpus {
  std::int64_t milli{};
  auto operator<=>(const Cpus&) const = default;
};

std::string to_string(Cpus cpus);

/// What kind of device a slot is. A cpu slot takes one cpu from its agent's budget; an artificial one takes none.
enum class SlotKind : std::uint8_t { cuda, cpu, artificial };
constexpr auto enum_names(SlotKind) {
  return std::array{std::pair{SlotKind::cuda, "cuda"}, std::pair{SlotKind::cpu, "cpu"},
                    std::pair{SlotKind::artificial, "artificial"}};
}

/// The most that one agent can offer and one task can ask for; sums of these never overflow.
constexpr std::int32_t most_slots = 1'000'000;
constexpr std::int32_t most_cpus = 1'000'000;
constexpr ByteSize most_memory{std::int64_t{512} << 40};

/// What one task asks for. In a gang that may be divided over agents, `slots` is the total, and `cpus` and `memory`
/// are taken by each of its tasks, that is once on every agent it runs on.
struct Request {
  std::int32_t slots = 0;
  std::optional<SlotKind> slot_kind;
  Cpus cpus;
  ByteSize memory;
  bool operator==(const Request&) const = default;
};

/// An amount of everything that can be used up.
struct Amount {
  std::int64_t slots = 0;
  std::int64_t cpus_milli = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t slotless_tasks = 0;

  bool operator==(const Amount&) const = default;
  Amount& operator+=(const Amount& other) {
    slots += other.slots;
    cpus_milli += other.cpus_milli;
    memory_bytes += other.memory_bytes;
    slotless_tasks += other.slotless_tasks;
    return *this;
  }
  Amount& operator-=(const Amount& other) { return *this += other * -1; }
  Amount operator*(std::int64_t times) const {
    return {slots * times, cpus_milli * times, memory_bytes * times, slotless_tasks * times};
  }
};

/// The lesser of each component.
inline Amount least(const Amount& a, const Amount& b) {
  return {std::min(a.slots, b.slots), std::min(a.cpus_milli, b.cpus_milli), std::min(a.memory_bytes, b.memory_bytes),
          std::min(a.slotless_tasks, b.slotless_tasks)};
}

/// Whether `part` is within `whole` in every component.
inline bool within(const Amount& part, const Amount& whole) {
  return part.slots <= whole.slots && part.cpus_milli <= whole.cpus_milli && part.memory_bytes <= whole.memory_bytes &&
         part.slotless_tasks <= whole.slotless_tasks;
}

}  // namespace cadre::plan
