#include "tests/fuzz_live/extremes.h"

#include <cmath>
#include <limits>

namespace cadre::fuzz_live {
namespace {

using describe::Entry;
using describe::Value;

template <class T>
T one_of(std::initializer_list<T> all, Dice& dice) {
  return *(all.begin() + static_cast<std::ptrdiff_t>(dice.below(all.size())));
}

Value nested(int depth) {
  Value tree(1);
  for (int i = 0; i < depth; ++i) tree = Value(Value::List{std::move(tree)});
  return tree;
}

std::string extreme_text(Dice& dice) {
  using namespace std::string_literals;
  switch (dice.below(6)) {
    case 0: return std::string(dice.below(60'000), 'x');
    case 1: {
      std::string any(dice.below(300), ' ');
      for (char& c : any) c = static_cast<char>(dice.below(256));
      return any;
    }
    case 2: return "17.0/" + std::to_string(dice.bits());
    default:
      return one_of<std::string>({""s,
                                  "\0"s,
                                  "a\0b"s,
                                  "\xff\xfe"s,
                                  "\xed\xa0\x80"s,
                                  "\xc0\x80"s,
                                  "\x1b[2J\x1b]0;x\x07"s,
                                  "\n"s,
                                  "../../x"s,
                                  "..",
                                  "'; DROP TABLE jobs; --"s,
                                  "\\u0000"s,
                                  "NaN"s,
                                  "Infinity"s,
                                  "-9223372036854775808"s,
                                  "9223372036854775808"s,
                                  "18446744073709551616"s,
                                  "1e999"s,
                                  "36500d"s,
                                  "106751d23h"s,
                                  "-1s"s,
                                  "0s"s,
                                  "8388607TiB"s,
                                  "9EiB"s,
                                  "2199-12-31T23:59:59Z"s,
                                  "1700-01-01T00:00:00Z"s,
                                  "\xef\xbf\xbf"s,
                                  "\xe2\x80\xae"s,
                                  "17"s,
                                  "1.0"s,
                                  "1.0/1"s,
                                  "default"s,
                                  "admin"s,
                                  "%s%n"s},
                                 dice);
  }
}

}  // namespace

Value extreme(Dice& dice) {
  switch (dice.below(10)) {
    case 0:
    case 1:
    case 2:
      return Value(
          one_of<std::int64_t>({0, -1, 1, 127, 255, 65'536, std::int64_t{1} << 31, std::int64_t{1} << 32,
                                std::int64_t{1} << 53, std::numeric_limits<std::int64_t>::max(),
                                std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int32_t>::min()},
                               dice));
    case 3:
      return Value(one_of<std::uint64_t>({std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 1}, dice));
    case 4:
      return Value(one_of<double>({std::nan(""), HUGE_VAL, -HUGE_VAL, 1e308, -0.0, 5e-324, 0.1, 9.3e18, -1e300}, dice));
    case 5:
    case 6: return Value(extreme_text(dice));
    case 7: return one_of<int>({0, 1}, dice) == 0 ? Value() : Value(dice.percent(50));
    case 8: return nested(static_cast<int>(dice.below(90)));
    default: {
      Value::List list;
      for (std::size_t i = dice.below(2'000); i > 0; --i) list.emplace_back(static_cast<std::int64_t>(i));
      return Value(std::move(list));
    }
  }
}

void spoil(Value& tree, Dice& dice) {
  if (auto* map = tree.as<Value::Map>(); map != nullptr && !map->empty()) {
    Entry& entry = (*map)[dice.below(map->size())];
    switch (dice.below(12)) {
      case 0: map->erase(map->begin() + static_cast<std::ptrdiff_t>(dice.below(map->size()))); return;
      case 1: map->push_back({"unknown", extreme(dice)}); return;
      case 2: map->push_back(Entry(entry)); return;
      case 3: entry.key = extreme_text(dice); return;
      case 4: entry.value = extreme(dice); return;
      default: break;
    }
    if (entry.key == "type" || (entry.key == "session" && dice.percent(90))) return;  // mostly let it get further
    spoil(entry.value, dice);
  } else if (auto* list = tree.as<Value::List>(); list != nullptr && !list->empty() && dice.percent(70)) {
    spoil((*list)[dice.below(list->size())], dice);
  } else {
    tree = extreme(dice);
  }
}

Bytes packed(const Value& tree, Dice& dice) {
  Bytes bytes = describe::to_msgpack(tree);
  if (dice.percent(5)) bytes.resize(dice.below(bytes.size() + 1));
  if (dice.percent(5) && !bytes.empty()) {
    for (std::size_t i = 0; i < 3; ++i) bytes[dice.below(bytes.size())] = static_cast<std::byte>(dice.below(256));
  }
  return bytes;
}

}  // namespace cadre::fuzz_live
