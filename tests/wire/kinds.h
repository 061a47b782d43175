/// All that cadre processes write for each other, with an example of each: for the tests of this folder. One thread at
/// a time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/hash.h"
#include "describe/describe.h"
#include "describe/random.h"

namespace cadre::wire {

struct Kind {
  std::function<Bytes()> example;
  /// Whether this version reads bytes of any version without loss.
  std::function<testing::AssertionResult(BytesView)> reads;
};
using Kinds = std::map<std::string, Kind>;

/// Everything in `old` is in `now` with the same value; `now` may have more keys.
testing::AssertionResult keeps(const describe::Value& old, const describe::Value& now, const std::string& path);

/// The same value each time.
template <class T>
T example_of(const std::string& name) {
  Dice dice(fnv1a(name));
  T value{};
  describe::fill_randomly(value, dice, describe::Limits{}, describe::RandomDepth{1});
  return value;
}

template <class T>
testing::AssertionResult reads(const std::string& name, BytesView bytes) {
  const auto now = describe::read_msgpack<T>(bytes);
  if (!now) return testing::AssertionFailure() << describe::to_text(now.error(), name);
  return keeps(*describe::parse_msgpack(bytes), describe::write(*now), name);
}

template <class T>
void add(Kinds& kinds, const std::string& name) {
  kinds[name] = {[name] { return describe::write_msgpack(example_of<T>(name)); },
                 [name](BytesView bytes) { return reads<T>(name, bytes); }};
}

/// Each of a closed list of messages.
template <class... Ts>
void add_each(Kinds& kinds, const std::string& family, std::type_identity<std::variant<Ts...>>) {
  using Choice = std::variant<Ts...>;
  const auto add_one = [&]<class T>(std::type_identity<T>) {
    const std::string name = family + "." + std::string(T::type_name);
    kinds[name] = {[name] { return describe::write_msgpack(Choice(example_of<T>(name))); },
                   [name](BytesView bytes) { return reads<Choice>(name, bytes); }};
  };
  (add_one(std::type_identity<Ts>{}), ...);
}

void add_requests(Kinds& kinds);  ///< of the HTTP API, as clients send them, and the responses
void add_frames(Kinds& kinds);    ///< that are not MessagePack

/// By name.
[[nodiscard]] Kinds all_kinds();

}  // namespace cadre::wire
