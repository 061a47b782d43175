/// How an agent becomes known to a master that it has never spoken to. Values; safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "cluster/ids.h"
#include "describe/describe.h"

namespace cadre::cluster::joining {

/// What an admin hands to who starts an agent: one line of text.
struct Ticket {
  std::string address;     ///< where to join
  std::string master_key;  ///< by which the master is known
  std::string secret;      ///< good for one agent, for a while
};
template <class V>
void describe(V& v, Ticket& t) {
  v.required("address", t.address, "Where to join.", length(1, 512));
  v.required("master_key", t.master_key, "Public key of the master.", length(40, 40));
  v.required("secret", t.secret, "Good for one agent.", length(16, 128));
}

/// Letters, digits, - and _ only.
std::string to_token(const Ticket& ticket);
[[nodiscard]] Result<Ticket> parse_token(std::string_view token);

/// An agent shows a ticket. Its key is the one its connection has proved.
struct Join {
  AgentId agent;
  std::string secret;
};
template <class V>
void describe(V& v, Join& m) {
  v.required("agent", m.agent, "How it wants to be called.", length(1, 128));
  v.required("secret", m.secret, "Of the ticket.", length(16, 128));
}

struct Joined {
  static constexpr std::string_view type_name = "joined";
  std::string control;
  std::string bulk;
  std::string pool;
};
template <class V>
void describe(V& v, Joined& m) {
  v.required("control", m.control, "Where to speak to the master.");
  v.required("bulk", m.bulk, "Where output and code go.");
  v.required("pool", m.pool, "Which pool it joins.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::string why;
};
template <class V>
void describe(V& v, Refused& m) {
  v.required("why", m.why, "For people.");
}

using Answer = std::variant<Joined, Refused>;

}  // namespace cadre::cluster::joining
