/// Which slots a host has: GPUs, cores, or slots not tied to a device. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/messages.h"

namespace cadre::agent {

struct SlotChoice {
  std::string slots = "auto";  ///< auto, none, a number, or device numbers like 0,2
  std::optional<std::int32_t> artificial;
};

struct FoundSlots {
  std::vector<cluster::messages::Slot> slots;
  plan::SlotKind kind = plan::SlotKind::cpu;
  std::vector<std::string> nodes;  ///< the device node of each slot; empty: it has none
};

/// `auto` takes all GPUs, or all cores when there is none. Invalid when the choice cannot be read or met.
[[nodiscard]] Result<FoundSlots> find_slots(const SlotChoice& choice);

/// Device nodes that every task with a GPU needs beside that of the GPU.
[[nodiscard]] std::vector<std::string> shared_device_nodes();

}  // namespace cadre::agent
