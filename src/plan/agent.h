/// An agent as the planner sees it: what it offers and whether it takes work. A value; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "plan/ids.h"
#include "plan/resources.h"
#include "plan/scalars.h"

namespace cadre::plan {

using Labels = std::map<std::string, std::string>;

struct Agent {
  AgentId id;
  std::int32_t slots = 0;
  SlotKind slot_kind = SlotKind::artificial;
  Cpus cpus;
  ByteSize memory;
  Labels labels;
  bool enabled = true;
  bool draining = false;
  std::optional<AccountId> only_for = {};  ///< it takes only gangs of this account

  static constexpr std::string_view doc = "A host with the resources it offers.";
  bool takes_work() const { return enabled && !draining; }
};

template <class V>
void describe(V& v, Agent& a) {
  v.required("id", a.id, "Agent ID.", not_empty());
  v.required("slots", a.slots, "Number of slots: devices, or artificial slots not tied to a device.",
             range(0, most_slots));
  v.field("slot_kind", a.slot_kind,
          "Kind of its slots. A `cpu` slot takes one CPU core from the same budget; an `artificial` slot is not tied "
          "to a device.");
  v.field("cpus", a.cpus, "CPU cores that it offers.", range(0, most_cpus));
  v.field("memory", a.memory, "Memory that it offers.", range(ByteSize{0}, most_memory));
  v.field("labels", a.labels, "Labels that the selector of a gang can require.");
  v.field("enabled", a.enabled, "Whether it accepts work.");
  v.field("draining", a.draining, "Whether it accepts no new work and lets its tasks end.");
}

}  // namespace cadre::plan
