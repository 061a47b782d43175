/// Configuration of an agent: what `cadre agent --config` reads and its options say. Values; safe on any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/devices.h"
#include "agent/process/uid_range.h"
#include "agent/process/walls.h"
#include "cluster/agent_id.h"
#include "describe/checks.h"
#include "describe/scalar.h"
#include "describe/utf8.h"
#include "plan/agent.h"

namespace cadre::describe {

template <>
struct Scalar<agent::SlotChoice> {
  static std::string type_name() { return "`auto`, `none`, a list of devices, or a whole number"; }
  static Value schema();
  static Result<agent::SlotChoice> read(const Value& value);
  static Value write(const agent::SlotChoice& choice);
};

template <>
struct Scalar<agent::UidRange> {
  static std::string type_name() { return "range of user IDs (`200000-265535`)"; }
  static Value schema() { return Scalar<std::string>::schema(); }
  static Result<agent::UidRange> read(const Value& value);
  static Value write(const agent::UidRange& range);
};

template <>
struct Scalar<agent::AllowedMount> {
  static std::string type_name() { return "folder (`/data`, `/data:rw`)"; }
  static Value schema() { return Scalar<std::string>::schema(); }
  static Result<agent::AllowedMount> read(const Value& value);
  static Value write(const agent::AllowedMount& mount);
};

}  // namespace cadre::describe

namespace cadre::agent {

constexpr Duration setup_timeout = std::chrono::minutes(30);

struct Config {
  static constexpr std::string_view doc = "Configuration of an agent.";
  std::string data;
  std::string master;
  std::string join;
  std::string id;
  std::string pool = "default";
  SlotChoice slots;
  std::optional<plan::Cpus> cpus;
  std::optional<ByteSize> memory;
  plan::Labels labels;
  std::optional<std::int32_t> warm;
  std::optional<ByteSize> warm_memory;
  Duration setup_timeout = agent::setup_timeout;
  std::string owner;
  UidRange uids;
  std::vector<AllowedMount> allow_mounts;
  std::vector<std::string> pythons;
  bool allow_isolation_off = false;
  bool adopt = false;
};

template <class V>
void describe(V& v, Config& c) {
  v.field("data", c.data, "Data folder of the agent; default: ~/.local/share/cadre/agent.");
  v.field(
      "master", c.master,
      "URL or host:port of a master on this host or of one that the agent has joined, or the data folder of a master "
      "on this host; default: the joined master, then CADRE_MASTER, then ~/.local/share/cadre.");
  v.field("join", c.join, "Join token, as printed by cadre agent token.");
  v.field("id", c.id, "Agent ID; default: the ID stored in the data folder, otherwise the host name.");
  v.field("pool", c.pool, "Pool that the agent joins.", length(1, 128));
  v.field("slots", c.slots,
          "auto (GPUs, or cores if there is none), none, a list of devices like 0,2, or a number of slots not tied to "
          "a device.");
  v.field("cpus", c.cpus, "CPU cores to offer; default: all.", range(0, plan::most_cpus));
  v.field("memory", c.memory, "Memory to offer; default: all.", range(ByteSize{0}, plan::most_memory));
  v.field("labels", c.labels, "Labels, which jobs can select.");
  v.field("warm", c.warm,
          "Warm processes to keep for each user and interpreter or actor program; default: one per core.",
          range(0, 4096));
  v.field("warm_memory", c.warm_memory,
          "Memory that all warm processes may use; default: a tenth of the memory of the host.",
          range(ByteSize{0}, plan::most_memory));
  v.field("setup_timeout", c.setup_timeout, "Time limit for the setup commands of a task, multiplied by their number.",
          range(std::chrono::milliseconds(1), std::chrono::hours(24 * 365)));
  v.field("owner", c.owner, "User of the cluster that the agent runs for; default: the owner of the cluster.",
          length(0, 64));
  v.field("uids", c.uids, "Range of unix user IDs for users without an account, if the agent runs as root.");
  v.field("allow_mounts", c.allow_mounts, "Folders that tasks of all users may mount, read-only without :rw.");
  v.field("pythons", c.pythons, "Interpreters or virtual environments that tasks may use, in any folder.");
  v.field("allow_isolation_off", c.allow_isolation_off,
          "Let the owner of the agent and admins of the cluster run tasks without isolation.");
  v.field("adopt", c.adopt,
          "Accept a data folder of another cluster; the tasks of that cluster are set aside. For one start only.");
  const Result<void> id = c.id.empty() ? Result<void>() : cluster::check_agent_id(c.id);
  v.check(id.has_value(), "id", id ? std::string_view() : std::string_view(id.error().message));
  const bool are_printable = std::all_of(c.labels.begin(), c.labels.end(), [](const auto& label) {
    return describe::is_printable(label.first) && describe::is_printable(label.second);
  });
  v.check(are_printable, "labels", "contain control characters; remove them");
}

}  // namespace cadre::agent
