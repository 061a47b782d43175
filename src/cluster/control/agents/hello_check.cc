#include "cluster/control/agents/hello_check.h"

#include "cluster/agent_id.h"
#include "describe/utf8.h"

namespace cadre::cluster::control {
namespace {

/// Maximum length of a text in a hello.
constexpr std::size_t hello_text_most = 1'024;
/// Maximum number of labels, and of isolation features.
constexpr std::size_t hello_list_most = 1'000;

/// Which of its texts is too long or not printable, if any.
std::optional<std::string> text_fault(const messages::Hello& hello) {
  const auto is_bad = [](const std::string& text) {
    return text.size() > hello_text_most || !describe::is_printable(text);
  };
  const auto fault = [](const std::string& what) {
    return what + " is longer than " + std::to_string(hello_text_most) + " bytes or has control characters";
  };
  if (is_bad(hello.protocols.version)) return fault("its version");
  if (is_bad(hello.host)) return fault("the name of its host");
  if (is_bad(hello.identity)) return fault("its identity");
  for (const messages::Slot& slot : hello.slots) {
    if (is_bad(slot.device) || is_bad(slot.name)) return fault("the name of a slot");
  }
  for (const std::string& line : hello.isolation) {
    if (is_bad(line)) return fault("an isolation feature");
  }
  for (const auto& [name, value] : hello.agent.labels) {
    if (is_bad(name) || is_bad(value)) return fault("a label");
  }
  if (hello.agent.labels.size() > hello_list_most || hello.isolation.size() > hello_list_most) {
    return "it has more than " + std::to_string(hello_list_most) + " labels or isolation features";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> HelloCheck::refusal(const messages::Hello& hello,
                                               const std::optional<AgentId>& proven) const {
  const AgentId& id = hello.agent.id;
  const AgentEntry* known = ledger_.find(id);
  if (known == nullptr) {  // one that is known from earlier may keep its id
    if (const Result<void> fits = check_agent_id(id.value); !fits) return fits.error().message;
  }
  if (auto fault = text_fault(hello)) return fault;
  if (auto why = protocol::mismatch("agent '" + id.value + "'", hello.protocols, "the master")) return why;
  if (proven && *proven != id) {
    return "its key belongs to agent '" + proven->value + "'; start it with that --id, or join again as '" + id.value +
           "'";
  }
  if (!hello.cluster.empty() && !settings_.cluster.empty() && hello.cluster != settings_.cluster) {
    return "its data belongs to cluster " + hello.cluster + ", and this master runs cluster " + settings_.cluster +
           "; start it with another --data folder, or with --adopt to set aside its tasks of the other cluster";
  }
  if (auto missing = pools_.missing(hello.pool)) return missing;
  if (hello.slots.size() != static_cast<std::size_t>(hello.agent.slots)) {
    return "the number of slots it lists differs from the number it offers";
  }
  if (known != nullptr) return refusal_of_known(*known, hello);
  if (static_cast<std::int64_t>(ledger_.agents().size()) < settings_.agents_max) return std::nullopt;
  return "there are already " + std::to_string(settings_.agents_max) + " agents; raise agents_max";
}

std::optional<std::string> HelloCheck::refusal_of_known(const AgentEntry& known, const messages::Hello& hello) const {
  const AgentId& id = hello.agent.id;
  if (liveness_.is_alive(known) && known.row.identity != hello.identity) {
    return "agent '" + id.value + "' already runs on host '" + known.row.host + "'; start this one with another --id";
  }
  if (auto why = copied(known, hello)) return why;
  const bool changes = known.row.pool != hello.pool || known.row.agent.slot_kind != hello.agent.slot_kind;
  if (changes && pools_.is_occupied(known)) {
    return "it has tasks of pool '" + known.row.pool + "'; drain it before you change its pool or kind of slots";
  }
  return std::nullopt;
}

std::optional<std::string> HelloCheck::copied(const AgentEntry& known, const messages::Hello& hello) const {
  if (!liveness_.is_alive(known)) return std::nullopt;
  const auto differ = [](const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; };
  // A disk may be copied with all that says where it is. Then the host's start tells the two apart, as long as the
  // first one is heard: a host that has just restarted was silent for longer than a few beats.
  const bool is_heard = !liveness_.is_silent(known);
  if (!differ(known.row.place, hello.place) && !(is_heard && differ(known.row.boot, hello.boot))) return std::nullopt;
  return "agent '" + hello.agent.id.value + "' already runs on host '" + known.row.host +
         "', and this one was started with a copy of its data folder; stop one of them. To run both, remove the copy "
         "and start this one with another --id";
}

bool HelloCheck::was_rebooted_since(const messages::Hello& hello) const {
  const AgentEntry* known = ledger_.find(hello.agent.id);
  if (known == nullptr || hello.boot.empty() || known->row.boot.empty()) return false;
  return known->row.boot != hello.boot;
}

bool HelloCheck::is_outdated(const messages::Hello& hello) const {
  const AgentEntry* known = ledger_.find(hello.agent.id);
  if (known == nullptr || !liveness_.is_alive(*known) || hello.number == 0 || hello.boot.empty()) return false;
  return known->row.identity == hello.identity && known->row.boot == hello.boot && hello.number <= known->hello;
}

}  // namespace cadre::cluster::control
