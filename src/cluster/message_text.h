/// Messages between master and agents in a few words, for debug logs. Safe on any thread.
#pragma once

#include <string>
#include <variant>

#include "cluster/messages.h"

namespace cadre::cluster::messages {

/// `start of lease 17.0/1`, `refused: the agent was removed`.
template <class... Messages>
std::string in_words(const std::variant<Messages...>& message) {
  return std::visit(
      [](const auto& one) {
        std::string words(one.type_name);
        if constexpr (requires { to_string(LeaseId(one.lease)); }) words += " of lease " + to_string(one.lease);
        if constexpr (requires { std::string(one.why); }) words += ": " + one.why;
        return words;
      },
      message);
}

/// They come every few seconds, and say nothing new.
inline bool is_heartbeat(const FromAgent& message) { return std::holds_alternative<Beat>(message.body); }
inline bool is_heartbeat(const FromMaster& message) { return std::holds_alternative<MasterBeat>(message.body); }

}  // namespace cadre::cluster::messages
