/// The life of a task's leases: a pure, total function of state and news. Values; safe on any thread.
///
/// A lease is the right to run on one agent, numbered by an epoch that only grows. Whatever a process of another
/// epoch says changes nothing, and earns it a kill.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/ids.h"

namespace cadre::cluster::lease {

struct Held {
  AgentId agent;
  Epoch epoch;
  bool operator==(const Held&) const = default;
};

enum class Reason : std::uint8_t {
  exited,
  signalled,
  killed_by_user,
  preempted,
  out_of_memory,
  unresponsive,
  agent_lost,
  failed_to_start,
};

constexpr auto enum_names(Reason) {
  return std::array{std::pair{Reason::exited, "exited"},
                    std::pair{Reason::signalled, "signalled"},
                    std::pair{Reason::killed_by_user, "killed_by_user"},
                    std::pair{Reason::preempted, "preempted"},
                    std::pair{Reason::out_of_memory, "out_of_memory"},
                    std::pair{Reason::unresponsive, "unresponsive"},
                    std::pair{Reason::agent_lost, "agent_lost"},
                    std::pair{Reason::failed_to_start, "failed_to_start"}};
}

struct Ending {
  Reason reason = Reason::exited;
  std::int32_t code = 0;  ///< exit code or signal
  bool operator==(const Ending&) const = default;
};

// States.
/// `lost` is where it ran when its agent fell silent: until it is placed anew, that agent may come back with it.
struct Queued {
  std::optional<Held> lost;
  bool operator==(const Queued&) const = default;
};
struct Placed {
  Held held;
  bool operator==(const Placed&) const = default;
};
struct Running {
  Held held;
  bool operator==(const Running&) const = default;
};
struct Stopping {
  Held held;
  Reason why = Reason::killed_by_user;
  bool operator==(const Stopping&) const = default;
};
struct Ended {
  Ending ending;
  bool operator==(const Ended&) const = default;
};

struct State {
  Epoch epoch;  ///< the last that was given out
  std::variant<Queued, Placed, Running, Stopping, Ended> stage;
  bool operator==(const State&) const = default;
};

/// The stages of a task by name: what rows, views and clients show of a state.
enum class Stage : std::uint8_t { queued, placed, running, stopping, ended };
constexpr auto enum_names(Stage) {
  return std::array{std::pair{Stage::queued, "queued"}, std::pair{Stage::placed, "placed"},
                    std::pair{Stage::running, "running"}, std::pair{Stage::stopping, "stopping"},
                    std::pair{Stage::ended, "ended"}};
}
[[nodiscard]] Stage stage_of(const State& state);

// News.
struct Place {
  AgentId agent;
};
struct Started {
  Held held;
};
struct Exited {
  Held held;
  Ending ending;
};
struct Stop {
  Reason why = Reason::killed_by_user;
};
struct AgentLost {
  AgentId agent;
};
/// An agent says, on coming back, that it runs this.
struct Reported {
  Held held;
};
/// An agent says, on coming back, everything it runs, and this lease is not among it.
struct NotReported {
  Held held;
};
struct Again {};
using Event = std::variant<Place, Started, Exited, Stop, AgentLost, Reported, NotReported, Again>;

// What is to be done.
struct SendStart {
  Held held;
  bool operator==(const SendStart&) const = default;
};
struct SendStop {
  Held held;
  Reason why = Reason::killed_by_user;
  bool operator==(const SendStop&) const = default;
};
/// A process of this lease has no right to run any more.
struct SendKill {
  Held held;
  bool operator==(const SendKill&) const = default;
};
using Effect = std::variant<SendStart, SendStop, SendKill>;

struct Step {
  State next;
  std::vector<Effect> effects;
};

/// Every state has an answer to all news; late news changes nothing.
[[nodiscard]] Step step(const State& state, const Event& event);

/// The lease whose reports count, if there is one.
[[nodiscard]] std::optional<Held> current(const State& state);

}  // namespace cadre::cluster::lease
