/// Values that programs get wrong, put into messages that were right. One thread at a time.
#pragma once

#include <string>

#include "base/dice.h"
#include "describe/describe.h"
#include "describe/random.h"

namespace cadre::fuzz_live {

/// Numbers at the edges of their types, texts that databases and terminals do not take, deep and wide trees.
[[nodiscard]] describe::Value extreme(Dice& dice);
/// A tree with some of its nodes made extreme, missing, doubled or unknown.
void spoil(describe::Value& tree, Dice& dice);
/// As MessagePack; now and then cut off, or with some bytes changed.
[[nodiscard]] Bytes packed(const describe::Value& tree, Dice& dice);

/// A message of a type, mostly as it may be, with some of it spoiled.
template <class T>
[[nodiscard]] describe::Value hostile(Dice& dice) {
  describe::Value tree = describe::write(describe::random_value<T>(dice));
  for (std::size_t times = dice.below(4); times > 0; --times) spoil(tree, dice);
  return tree;
}

}  // namespace cadre::fuzz_live
