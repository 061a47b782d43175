/// Random values of any described type that satisfy all its checks, for property tests. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/dice.h"
#include "describe/kinds.h"
#include "describe/value.h"

namespace cadre::describe {

[[nodiscard]] Amount random_whole(Dice& dice, const Limits& limits);
[[nodiscard]] double random_double(Dice& dice, const Limits& limits);
[[nodiscard]] std::size_t random_size(Dice& dice, const Limits& limits);
/// With quotes, line ends, control characters and words that look like other types.
[[nodiscard]] std::string random_text(Dice& dice, const Limits& limits);
[[nodiscard]] Bytes random_bytes(Dice& dice, const Limits& limits);

/// A tree of all kinds of values, at most `depth` levels deep; no key stands twice in a map.
[[nodiscard]] Value random_tree(Dice& dice, int depth = 4);

/// How many levels may still be filled; below 0 lists, maps and optionals stay as empty as they may.
struct RandomDepth {
  int left = 4;
};

template <class T>
void fill_randomly(T& value, Dice& dice, const Limits& limits, RandomDepth depth);

/// The checks of a field of type T taken together.
template <class T, class... Checks>
Limits limits_of(const Checks&... checks) {
  static_cast<void>(CheckedType<T, Checks...>{});
  Limits limits;
  (narrow(limits, checks), ...);
  return limits;
}

/// The visitor that fills one struct.
class RandomRecord {
 public:
  RandomRecord(Dice& dice, RandomDepth depth) : dice_(dice), depth_(depth) {}

  template <class T, class... Checks>
  void field(std::string_view, T& member, std::string_view, const Checks&... checks) {
    if (!dice_.percent(20)) fill_randomly(member, dice_, limits_of<T>(checks...), depth_);
  }

  template <class T, class... Checks>
  void required(std::string_view, T& member, std::string_view, const Checks&... checks) {
    fill_randomly(member, dice_, limits_of<T>(checks...), depth_);
  }

  void check(bool holds, std::string_view, std::string_view) { all_hold_ = all_hold_ && holds; }

  [[nodiscard]] bool all_hold() const { return all_hold_; }

 private:
  Dice& dice_;
  RandomDepth depth_;
  bool all_hold_ = true;
};

template <IsScalar T>
T random_scalar(Dice& dice, Limits limits) {
  if constexpr (requires { Scalar<T>::random(dice, limits); }) {
    return Scalar<T>::random(dice, limits);
  } else if constexpr (std::same_as<T, bool>) {
    return dice.percent(50);
  } else if constexpr (WholeNumber<T>) {
    narrow(limits, Scalar<T>::type_range());
    narrow(limits, AmountCheck{std::nullopt, Amount(std::numeric_limits<std::int64_t>::max()), false});
    return static_cast<T>(random_whole(dice, limits).value);
  } else if constexpr (std::same_as<T, double>) {
    return random_double(dice, limits);
  } else if constexpr (std::same_as<T, Duration> || std::same_as<T, ByteSize>) {
    constexpr std::int64_t century = Duration(std::chrono::hours(24 * 365 * 100)).count();
    narrow(limits,
           range(std::int64_t{0}, std::same_as<T, Duration> ? century : std::numeric_limits<std::int64_t>::max()));
    return T{static_cast<std::int64_t>(random_whole(dice, limits).value)};
  } else if constexpr (std::same_as<T, TimePoint>) {
    return T{Duration(dice.between(0, 7'258'000'000'000'000'000))};  // before the year 2200
  } else if constexpr (NamedEnum<T>) {
    constexpr auto names = enum_names(T{});
    return names[dice.below(names.size())].first;
  } else if constexpr (std::same_as<T, Bytes>) {
    return random_bytes(dice, limits);
  } else if constexpr (requires(T t) { T{t.value + 1}; }) {  // an Id
    return T{dice.percent(50) ? dice.bits() >> 1 : dice.below(100)};
  } else {
    return T(random_text(dice, limits));  // text or a Name
  }
}

template <IsScalar T>
bool is_within(const T& value, const Limits& limits) {
  if constexpr (HasAmount<T>) {
    if (!broken(limits, Scalar<T>::amount(value)).empty()) return false;
  }
  if constexpr (HasSize<T>) return broken_size(limits, Scalar<T>::size(value)).empty();
  return true;
}

/// Makes values until one passes.
template <class Make, class Passes>
auto retry(Make make, Passes passes) {
  for (int tries = 0; tries < 10'000; ++tries) {
    if (auto made = make(); passes(made)) return made;
  }
  check_failed("a random value that satisfies the checks is found", __FILE__, __LINE__);
}

template <Described T>
void fill_record(T& value, Dice& dice, RandomDepth depth) {
  const T initial = value;
  for (int tries = 0; tries < 10'000; ++tries) {
    RandomRecord filler(dice, depth);
    describe(filler, value);
    if (filler.all_hold()) return;
    value = initial;
  }
  check_failed("random fields that satisfy the rules between them are found", __FILE__, __LINE__);
}

template <class T>
void fill_randomly(T& value, Dice& dice, const Limits& limits, RandomDepth depth) {
  const RandomDepth inside{depth.left - 1};
  const std::size_t size = depth.left < 0 ? limits.shortest : random_size(dice, limits);
  if constexpr (IsScalar<T>) {
    value =
        retry([&] { return random_scalar<T>(dice, limits); }, [&](const T& made) { return is_within(made, limits); });
  } else if constexpr (IsList<T>) {
    value.clear();
    for (std::size_t i = 0; i < size; ++i) {
      typename T::value_type item{};
      fill_randomly(item, dice, Limits{}, inside);
      value.push_back(std::move(item));
    }
  } else if constexpr (IsMap<T>) {
    value.clear();
    while (value.size() < size) {
      fill_randomly(value[typename T::key_type(random_text(dice, Limits{}))], dice, Limits{}, inside);
    }
  } else if constexpr (IsOptional<T>) {
    value.reset();
    if (depth.left >= 0 && dice.percent(50)) fill_randomly(value.emplace(), dice, limits, inside);
  } else if constexpr (IsChoice<T>) {
    std::size_t at = dice.below(std::variant_size_v<T>);
    [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      ((at-- == 0 ? fill_record(value.template emplace<Is>(), dice, inside) : void()), ...);
    }
    (std::make_index_sequence<std::variant_size_v<T>>{});
  } else {
    fill_record(value, dice, inside);
  }
}

template <class T>
[[nodiscard]] T random_value(Dice& dice) {
  T value{};
  fill_randomly(value, dice, Limits{}, RandomDepth{});
  return value;
}

}  // namespace cadre::describe
