/// Values that programs get wrong, put into messages that were right. One thread at a time.
#pragma once

#include <string>

#include "base/dice.h"
#include "describe/describe.h"

namespace cadre::fuzz_live {

/// Numbers at the edges of their types, texts that databases and terminals do not take, deep and wide trees.
[[nodiscard]] describe::Value extreme(Dice& dice);
/// A tree with some of its nodes made extreme, missing, doubled or unknown.
void spoil(describe::Value& tree, Dice& dice);
/// As MessagePack; now and then cut off, or with some bytes changed.
[[nodiscard]] Bytes packed(const describe::Value& tree, Dice& dice);

}  // namespace cadre::fuzz_live
