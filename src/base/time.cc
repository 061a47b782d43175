#include "base/time.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "base/decimal.h"

namespace cadre {
namespace {

struct TimeUnit {
  std::string_view name;
  std::int64_t ns;
};

constexpr std::array<TimeUnit, 7> time_units{{{"d", 86'400'000'000'000},
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
  for (const TimeUnit& unit : time_units) {
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
  for (const TimeUnit& unit : time_units) {
    const auto length = static_cast<std::uint64_t>(unit.ns);
    if (rest < length) continue;
    text += std::to_string(rest / length);
    text += unit.name;
    rest %= length;
  }
  return text;
}

std::string to_utc(TimePoint time) {
  const std::int64_t ns = time.time_since_epoch().count();
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_time<Duration>(Duration(ns)));
  const std::chrono::year_month_day date(day);
  const std::int64_t within = ns - Duration(day.time_since_epoch()).count();
  const std::int64_t seconds = within / 1'000'000'000;
  std::string text(32, '\0');
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), static_cast<int>(seconds / 3600),
                                 static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  text.resize(static_cast<std::size_t>(size));
  if (const std::int64_t rest = within % 1'000'000'000; rest != 0) {
    std::string decimals = std::to_string(1'000'000'000 + rest).substr(1);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += "." + decimals;
  }
  return text + "Z";
}

Result<TimePoint> parse_utc(std::string_view text) {
  const auto bad = [&] {
    return fail(Errc::invalid, "'" + std::string(text) + "' is not a time; write one like 2026-11-15T11:31:10Z");
  };
  const auto number = [&](std::size_t at, std::size_t size, int& value) {
    if (at + size > text.size()) return false;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + size, value);
    return error == std::errc() && end == text.data() + at + size && text[at] != '-';
  };
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  const bool shaped = text.size() >= 20 && text[4] == '-' && text[7] == '-' && text[10] == 'T' && text[13] == ':' &&
                      text[16] == ':' && text.back() == 'Z';
  if (!shaped || !number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day) || !number(11, 2, hour) ||
      !number(14, 2, minute) || !number(17, 2, second)) {
    return bad();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const bool in_range = year >= 1700 && year < 2200;  // what 64 bits of nanoseconds hold, and some to spare
  if (!date.ok() || !in_range || hour > 23 || minute > 59 || second > 59) return bad();
  std::int64_t ns = 0;
  if (const std::string_view decimals = text.substr(19, text.size() - 20); !decimals.empty()) {
    if (decimals[0] != '.' || decimals.size() < 2 || decimals.size() > 10) return bad();
    std::string digits(decimals.substr(1));
    digits.resize(9, '0');
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') return bad();
      ns = ns * 10 + (digit - '0');
    }
  }
  const Duration since_1970 = std::chrono::sys_days(date).time_since_epoch();
  return TimePoint(since_1970 + std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second) +
                   Duration(ns));
}

}  // namespace cadre
