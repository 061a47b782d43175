/// What the supervisor of a task and the process that was forked for it from a template say to each other, one
/// MessagePack value a packet. Both are of one version: a template ends with the version of its agent. Values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace cadre::supervisor::fork_talk {

/// The first packet, from the supervisor. It carries descriptors in this order: the three standard streams, the lists
/// of the control groups to enter, and mounts.
struct Request {
  std::map<std::string, std::string> variables;
  std::string folder;
  std::string runtime;
  std::int32_t groups = 0;
  std::vector<std::string> targets;
  std::int32_t processes_max = 0;
};
template <class V>
void describe(V& v, Request& m) {
  v.required("variables", m.variables, "All of its environment.");
  v.required("folder", m.folder, "Where it starts.");
  v.required("runtime", m.runtime, "Its XDG_RUNTIME_DIR.");
  v.field("groups", m.groups, "How many control groups it enters.");
  v.field("targets", m.targets, "Where it mounts what came along.");
  v.field("processes_max", m.processes_max, "How many processes its user may have; 0: no limit.");
}

/// It is about to run. Sent by the process itself.
struct Running {
  static constexpr std::string_view type_name = "running";
};
template <class V>
void describe(V&, Running&) {}

/// There is none, and will be none.
struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::string why;
};
template <class V>
void describe(V& v, Refused& m) {
  v.field("why", m.why, "For people.");
}

/// The process has ended; others of its tree may be left.
struct Ended {
  static constexpr std::string_view type_name = "ended";
  std::int32_t wait_status = 0;
  ByteSize memory_most{0};
  Duration cpu_time{};
};
template <class V>
void describe(V& v, Ended& m) {
  v.required("wait_status", m.wait_status, "As waitpid gives it.");
  v.field("memory_most", m.memory_most, "The most that it used at one time.");
  v.field("cpu_time", m.cpu_time, "Of it and of the children that it has waited for.");
}

/// Nothing is left of its tree.
struct Gone {
  static constexpr std::string_view type_name = "gone";
};
template <class V>
void describe(V&, Gone&) {}

using FromForked = std::variant<Running, Refused, Ended, Gone>;

}  // namespace cadre::supervisor::fork_talk
