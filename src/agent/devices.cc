#include "agent/devices.h"

#include <unistd.h>

#include <charconv>
#include <set>

#include "agent/host_facts.h"
#include "agent/nvml.h"

namespace cadre::agent {
namespace {

using cluster::messages::Slot;
using plan::SlotKind;

FoundSlots permits(std::int32_t count) {
  FoundSlots found{{}, SlotKind::artificial, {}};
  for (std::int32_t i = 0; i < count; ++i) found.slots.push_back({"", "permit " + std::to_string(i)});
  return found;
}

Result<FoundSlots> all_devices() {
  TRY_ASSIGN(gpus, find_gpus());
  FoundSlots found{{}, gpus.empty() ? SlotKind::cpu : SlotKind::cuda, {}};
  for (const Gpu& gpu : gpus) {
    found.slots.push_back({gpu.uuid, gpu.name});
    found.nodes.push_back(gpu.node);
  }
  if (!gpus.empty()) return found;
  const std::int64_t cores = facts_of_host().cpus.milli / 1000;
  for (std::int64_t i = 0; i < cores; ++i) found.slots.push_back({"", "core " + std::to_string(i)});
  return found;
}

Failure bad(const std::string& text) {
  return fail(Errc::invalid,
              "--slots: '" + text + "' is not auto, none, a number of slots, or device numbers like 0,2");
}

/// Numbers with commas between.
Result<std::set<std::size_t>> numbers_in(const std::string& text) {
  std::set<std::size_t> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    std::size_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return bad(text);
    numbers.insert(number);
    if (next == end) return numbers;
    if (*next != ',') return bad(text);
    at = next + 1;
  }
}

}  // namespace

Result<FoundSlots> find_slots(const SlotChoice& choice) {
  if (choice.artificial) return permits(*choice.artificial);
  if (choice.slots == "none") return FoundSlots{};
  TRY_ASSIGN(all, all_devices());
  if (choice.slots == "auto") return all;
  TRY_ASSIGN(numbers, numbers_in(choice.slots));
  const std::string there = "this host has " + std::to_string(all.slots.size()) +
                            (all.kind == SlotKind::cuda ? " GPUs" : " cores") +
                            "; --artificial-slots N offers N slots that are not tied to a device";
  if (choice.slots.find(',') == std::string::npos) {
    const std::size_t count = *numbers.begin();
    if (count > all.slots.size()) return fail(Errc::invalid, "--slots " + choice.slots + ": " + there);
    all.slots.resize(count);
    if (!all.nodes.empty()) all.nodes.resize(count);
    return all;
  }
  FoundSlots chosen{{}, all.kind, {}};
  for (const std::size_t number : numbers) {
    if (number >= all.slots.size()) {
      return fail(Errc::invalid,
                  "--slots " + choice.slots + ": there is no device " + std::to_string(number) + "; " + there);
    }
    chosen.slots.push_back(all.slots[number]);
    if (!all.nodes.empty()) chosen.nodes.push_back(all.nodes[number]);
  }
  return chosen;
}

std::vector<std::string> shared_device_nodes() {
  std::vector<std::string> nodes;
  for (const char* path : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
    if (::access(path, F_OK) == 0) nodes.emplace_back(path);
  }
  return nodes;
}

}  // namespace cadre::agent
