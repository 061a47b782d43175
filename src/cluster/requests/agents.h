/// Requests about agents, slots and pools. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cluster/views.h"

namespace cadre::cluster::requests {

using api::Need;
using api::Repeated;
using api::Route;

struct ListAgents {
  static constexpr std::string_view type_name = "list_agents";
  static constexpr Route route{"GET", "/agents", "Lists the agents with their resources and usage, by name.",
                               Need::token};
  using Answer = Agents;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListAgents& m) {
  v.field("most", m.most, "Maximum number of agents in the page.", range(1, 20'000));
  v.field("after", m.after, "Only agents after this name; pass `next` of the previous page.");
}

struct GetAgent {
  static constexpr std::string_view type_name = "get_agent";
  static constexpr Route route{"GET", "/agents/{agent}", "Returns one agent.", Need::token};
  using Answer = AgentView;
  AgentId agent;
};
template <class V>
void describe(V& v, GetAgent& m) {
  v.required("agent", m.agent, "Agent ID.");
}

struct SetAgent {
  static constexpr std::string_view type_name = "set_agent";
  static constexpr Route route{"PATCH", "/agents/{agent}", "Enables, disables or drains an agent.", Need::admin};
  using Answer = Done;
  AgentId agent;
  control::SlotState state = control::SlotState::enabled;
};
template <class V>
void describe(V& v, SetAgent& m) {
  v.required("agent", m.agent, "Agent ID.", not_empty());
  v.required("state", m.state, "New state; `disabled` stops the tasks of the agent, `draining` lets them end.");
}

struct RemoveAgent {
  static constexpr std::string_view type_name = "remove_agent";
  static constexpr Route route{"DELETE", "/agents/{agent}",
                               "Removes an agent: revokes its key, treats its leases as lost, and frees its name.",
                               Need::admin};
  using Answer = Done;
  AgentId agent;
};
template <class V>
void describe(V& v, RemoveAgent& m) {
  v.required("agent", m.agent, "Agent ID.", not_empty());
}

struct SetSlot {
  static constexpr std::string_view type_name = "set_slot";
  static constexpr Route route{"PATCH", "/agents/{agent}/slots/{slot}", "Enables, disables or drains one slot.",
                               Need::admin};
  using Answer = Done;
  AgentId agent;
  std::int32_t slot = 0;
  control::SlotState state = control::SlotState::enabled;
};
template <class V>
void describe(V& v, SetSlot& m) {
  v.required("agent", m.agent, "Agent ID.", not_empty());
  v.required("slot", m.slot, "Number of the slot on the agent, from 0.", range(0, plan::most_slots));
  v.required("state", m.state, "New state; `disabled` stops the task in the slot, `draining` lets it end.");
}

struct ListSlots {
  static constexpr std::string_view type_name = "list_slots";
  static constexpr Route route{"GET", "/slots", "Lists the slots of all agents, by agent name.", Need::token};
  using Answer = Slots;
  std::int32_t most = 1'000;
  AgentId after;
};
template <class V>
void describe(V& v, ListSlots& m) {
  v.field("most", m.most, "Maximum number of agents whose slots are in the page.", range(1, 20'000));
  v.field("after", m.after, "Only slots of agents after this name; pass `next` of the previous page.");
}

struct ListPools {
  static constexpr std::string_view type_name = "list_pools";
  static constexpr Route route{"GET", "/pools", "Lists the pools with their resources and usage.", Need::token};
  using Answer = Pools;
};
template <class V>
void describe(V&, ListPools&) {}

struct GetStatus {
  static constexpr std::string_view type_name = "get_status";
  static constexpr Route route{"GET", "/status", "Returns the resources and usage of the cluster.", Need::token};
  using Answer = Status;
};
template <class V>
void describe(V&, GetStatus&) {}

/// A token with which one agent on another host can join. Answered by the shell, not by the control logic.
struct MakeJoinToken {
  static constexpr std::string_view type_name = "make_join_token";
  static constexpr Route route{"POST", "/join-tokens",
                               "Creates a join token, which one agent on another host can use once.", Need::admin};
  using Answer = Text;
  std::string pool = "default";
  Duration valid = std::chrono::hours(1);
};
template <class V>
void describe(V& v, MakeJoinToken& m) {
  v.field("pool", m.pool, "Pool that the agent joins.", length(1, 128));
  v.field("valid", m.valid, "Validity period of the token.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

/// All requests about agents, slots and pools.
using AgentRequest =
    std::variant<ListAgents, GetAgent, SetAgent, RemoveAgent, SetSlot, ListSlots, ListPools, GetStatus, MakeJoinToken>;

}  // namespace cadre::cluster::requests
