/// An agent as the planner sees it: what it offers and whether it takes work. A value; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cluster/ids.h"
#include "cluster/resources.h"
#include "cluster/scalars.h"

namespace cadre::cluster {

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

  static constexpr std::string_view doc = "A host with what it offers.";
  bool takes_work() const { return enabled && !draining; }
};

template <class V>
void describe(V& v, Agent& a) {
  v.required("id", a.id, "What it is called.", not_empty());
  v.required("slots", a.slots, "Devices or permits it can give out.", range(0, most_slots));
  v.field("slot_kind", a.slot_kind,
          "What its slots are. A `cpu` slot takes one cpu from the same budget, an `artificial` one is a mere permit.");
  v.field("cpus", a.cpus, "Cores it offers.", range(0, most_cpus));
  v.field("memory", a.memory, "Memory it offers.", range(ByteSize{0}, most_memory));
  v.field("labels", a.labels, "Labels that a gang's selector may ask for.");
  v.field("enabled", a.enabled, "Whether it takes work at all.");
  v.field("draining", a.draining, "Whether it only lets what runs there end.");
}

}  // namespace cadre::cluster
