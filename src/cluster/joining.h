/// How an agent joins a cluster for the first time. Values; safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "cluster/ids.h"
#include "describe/describe.h"

namespace cadre::cluster::joining {

/// A join token, which an admin gives to the person who starts an agent: one line of text.
struct Ticket {
  std::string address;     ///< at which to join
  std::string master_key;  ///< public key by which the agent recognizes the master
  std::string secret;      ///< valid for one agent, for a limited time
};
template <class V>
void describe(V& v, Ticket& t) {
  v.required("address", t.address, "Address at which to join.", length(1, 512));
  v.required("master_key", t.master_key, "Public key of the master.", length(40, 40));
  v.required("secret", t.secret, "Secret that is valid for one agent.", length(16, 128));
}

/// Letters, digits, - and _ only.
std::string to_token(const Ticket& ticket);
[[nodiscard]] Result<Ticket> parse_token(std::string_view token);

/// An agent presents a ticket. Its key is the one with which its connection was authenticated.
struct Join {
  AgentId agent;
  std::string secret;
};
template <class V>
void describe(V& v, Join& m) {
  v.required("agent", m.agent, "Agent ID that it requests.", length(1, 128));
  v.required("secret", m.secret, "Secret of the ticket.", length(16, 128));
}

struct Joined {
  static constexpr std::string_view type_name = "joined";
  std::string control;
  std::string bulk;
  std::string pool;
};
template <class V>
void describe(V& v, Joined& m) {
  v.required("control", m.control, "Address for control messages.");
  v.required("bulk", m.bulk, "Address for output and code.");
  v.required("pool", m.pool, "Pool that the agent joins.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::string why;
};
template <class V>
void describe(V& v, Refused& m) {
  v.required("why", m.why, "Reason, for display.");
}

using Answer = std::variant<Joined, Refused>;

}  // namespace cadre::cluster::joining
