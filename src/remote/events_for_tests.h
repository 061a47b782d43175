/// For tests: random events over few names, so that many messages match. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/dice.h"
#include "remote/event.h"

namespace cadre::remote {

inline std::string random_name(Dice& dice, const char* kind) {
  return dice.percent(20) ? std::string(anything) : kind + std::to_string(dice.below(3));
}

inline Event random_term(Dice& dice) {
  Messages messages = from(dice.percent(20) ? random_name(dice, "peer") : random_name(dice, "type"));
  messages.tag(random_name(dice, "tag"));
  if (dice.percent(30)) {
    messages.percent(static_cast<std::uint32_t>(dice.between(1, 110)));
  } else {
    messages.count(static_cast<std::uint32_t>(dice.between(1, 4)));
  }
  if (dice.percent(20)) {
    messages.total(static_cast<std::uint32_t>(dice.between(1, 4)));
  } else if (dice.percent(25)) {
    messages.distinct_sources();
  }
  return messages;
}

/// At most `levels` deep.
inline Event random_event(Dice& dice, int levels = 3) {
  if (levels == 0 || dice.percent(40)) return random_term(dice);
  Event event = random_event(dice, levels - 1);
  const bool is_all = dice.percent(50);
  for (auto more = dice.between(1, 2); more > 0; --more) {
    Event next = random_event(dice, levels - 1);
    event = is_all ? std::move(event) && std::move(next) : std::move(event) || std::move(next);
  }
  return event;
}

}  // namespace cadre::remote
