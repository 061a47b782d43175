#include "base/time.h"

#include <array>
#include <cstdint>
#include <limits>

#include "base/decimal.h"

namespace cadre {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};

constexpr std::array<Unit, 7> units{{{"d", 86'400'000'000'000},
                                     {"h", 3'600'000'000'000},
                                     {"m", 60'000'000'000},
                                     {"s", 1'000'000'000},
                                     {"ms", 1'000'000},
                                     {"us", 1'000},
                                     {"ns", 1}}};

Failure bad_duration(std::string_view text) {
  return fail(Errc::invalid, "'" + std::string(text) + "' is not a duration; write one like 30s, 10m, 1h30m or 250ms");
}

std::int64_t length_of_unit(std::string_view name) {
  if (name == "min") name = "m";
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.ns;
  }
  return 0;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text;
  __int128 total = 0;
  std::int64_t previous = std::numeric_limits<std::int64_t>::max();
  if (rest.empty()) return bad_duration(text);
  while (!rest.empty()) {
    const std::size_t name_at = rest.find_first_not_of("0123456789.");
    if (name_at == std::string_view::npos) return bad_duration(text);
    const std::size_t name_end = std::min(rest.size(), rest.find_first_of("0123456789.", name_at));
    const std::string_view name = rest.substr(name_at, name_end - name_at);
    const std::int64_t unit = length_of_unit(name);
    if (unit == 0 || unit >= previous) return bad_duration(text);
    const auto part = take_decimal(rest, unit);
    if (!part || !rest.starts_with(name)) return bad_duration(text);
    total += *part;
    if (total > std::numeric_limits<std::int64_t>::max()) return bad_duration(text);
    previous = unit;
    rest.remove_prefix(name.size());
  }
  return Duration(static_cast<std::int64_t>(total));
}

std::string to_string(Duration duration) {
  if (duration.count() == 0) return "0s";
  std::string text;
  auto rest = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) {
    text = "-";
    rest = 0 - rest;
  }
  for (const Unit& unit : units) {
    const auto length = static_cast<std::uint64_t>(unit.ns);
    if (rest < length) continue;
    text += std::to_string(rest / length);
    text += unit.name;
    rest %= length;
  }
  return text;
}

}  // namespace cadre
