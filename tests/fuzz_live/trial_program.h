/// What the program of a trial does that sends hostile requests. One thread at a time.
#pragma once

#include <string>

#include "base/dice.h"

namespace cadre::fuzz_live {

/// An experiment whose trials send, with the tokens of their tasks, hostile reports, checkpoints and files. A trial
/// fails if the master answers with a fault of its own, or takes none of it.
[[nodiscard]] std::string hostile_experiment(Dice& dice);

}  // namespace cadre::fuzz_live
