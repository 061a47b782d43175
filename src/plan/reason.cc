#include "plan/reason.h"

#include <algorithm>
#include <optional>
#include <set>

#include "plan/placement.h"

namespace cadre::plan {
namespace {

/// "t1, t2, t3 and 5 more"
std::string names(const std::vector<std::string>& all) {
  constexpr std::size_t shown_max = 4;
  std::string text;
  const std::size_t shown = std::min(all.size(), shown_max);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += all[i];
  }
  if (all.size() > shown) text += " and " + std::to_string(all.size() - shown) + " more";
  return text;
}

std::string others_text(std::size_t count) {
  return count == 1 ? "another gang" : std::to_string(count) + " other gangs";
}

/// Those that may be named first.
std::string names(const std::vector<GangId>& gangs, const MayName& may_name) {
  std::vector<std::string> texts;
  for (const GangId& gang : gangs) {
    if (may_name(gang)) texts.push_back(gang.value);
  }
  const std::size_t hidden = gangs.size() - texts.size();
  if (hidden == 0) return names(texts);
  return (texts.empty() ? "" : names(texts) + (texts.size() == 1 ? " and " : ", and ")) + others_text(hidden);
}

std::string slots_text(std::int64_t slots) { return std::to_string(slots) + (slots == 1 ? " slot" : " slots"); }

std::string where_it_runs(const State& state, const GangRow& row) {
  std::vector<std::pair<std::uint32_t, std::int64_t>> slots;  // by agent, in order
  for (const Part& part : row.parts) {
    const auto known =
        std::find_if(slots.begin(), slots.end(), [&](const auto& one) { return one.first == part.agent; });
    known != slots.end() ? void(known->second += part.slots) : void(slots.emplace_back(part.agent, part.slots));
  }
  std::string where;
  for (const auto& [agent, held] : slots) {
    if (!where.empty()) where += ", ";
    where += state.books.agent(agent).id.value + " (" + slots_text(held) + ")";
  }
  return "runs on " + where;
}

std::string why_there(const State& state, const Policy& policy, const GangRow& row) {
  const std::string where = where_it_runs(state, row);
  if (!row.placed_by_plan) return where;
  if (std::holds_alternative<Roles>(row.gang.wants)) return where + ": each task where its role fits";
  if (row.parts.size() == 1) {
    const auto fitting = std::visit([](const auto& one) { return one.fitting; }, policy);
    return where + ": one agent holds all of it, " +
           (fitting == Fitting::best ? "the one left with the fewest slots" : "the one with the largest free share");
  }
  const bool equal = std::all_of(row.parts.begin(), row.parts.end(), [&](const Part& part) {
    return part.slots == row.parts.front().slots && part.slots == state.books.capacity(part.agent).slots;
  });
  return where +
         (equal ? ": no single agent could hold all of it, these were idle and of equal size"
                : ": neither a single agent nor idle agents of equal size could hold it, so it is divided unevenly");
}

std::string why_stopping(const State& state, const GangRow& row, const MayName& may_name) {
  if (row.others.empty()) return "is stopping";
  if (row.others.front().value.empty()) return "preempted: its group holds more slots than it is offered";
  const auto by = state.by_id.find(row.others.front());
  std::string text = "preempted for " + names({row.others.front()}, may_name);
  if (by != state.by_id.end()) text += " (priority " + std::to_string(state.gangs[by->second].gang.priority) + ")";
  return text;
}

/// What the agent with most free slots has left; of cpus and memory only if they are asked for.
std::string most_free(const State& state, const Wants& wants) {
  const Books::BySlots& by_left = state.books.by_left(View::now);
  const auto most =
      std::find_if(by_left.rbegin(), by_left.rend(), [](const auto& entry) { return !entry.second.empty(); });
  if (most == by_left.rend()) return "no agent accepts work";
  std::uint32_t roomiest = 0;
  most->second.each([&](std::uint32_t agent) {
    roomiest = agent;
    return false;
  });
  const Amount& left = state.books.left(roomiest, View::now);
  const Request& task = hardest_task(wants);
  std::string text = "the most that one agent has free is " + slots_text(left.slots);
  if (task.cpus.milli > 0) text += ", " + to_string(Cpus{left.cpus_milli}) + " cpus";
  if (task.memory.value > 0) text += ", " + to_string(ByteSize{left.memory_bytes}) + " memory";
  return text + " (" + state.books.agent(roomiest).id.value + ")";
}

bool has_agents_for_work(const State& state) {
  const Books::BySlots& by_left = state.books.by_left(View::now);
  return std::any_of(by_left.begin(), by_left.end(), [](const auto& entry) { return !entry.second.empty(); });
}

std::string why_without_agents(const State& state) {
  return state.books.empty() ? "waits: no agent is up; start one with: cadre agent"
                             : "waits: no agent accepts work; see: cadre agent list";
}

bool fits_one_agent(const State& state, const GangRow& row) {
  const auto* divisible = std::get_if<Divisible>(&row.gang.wants);
  const GangClass* one = row.in_queue.in;
  if (divisible == nullptr || one == nullptr) return false;
  const Books::BySlots& by_left = state.books.by_left(View::now);
  return std::any_of(by_left.lower_bound(divisible->request.slots), by_left.end(), [&](const auto& entry) {
    return !entry.second.each([&](std::uint32_t agent) {
      return !state.admits(*one, agent) ||
             state.books.slots_for(agent, divisible->request, View::now) != divisible->request.slots;
    });
  });
}

/// The first few ahead of it; of each class only the first can be among them.
std::string ahead(const State& state, const GangRow& row, const MayName& may_name) {
  constexpr std::size_t shown_max = 4;
  std::vector<Order> orders;
  for (const auto& [hash, one] : state.queue.classes()) {
    auto at = one.waiting.begin();
    for (std::size_t i = 0; i <= shown_max && at != one.waiting.end() && *at < row.order; ++i) orders.push_back(*at++);
  }
  if (orders.empty()) return "it is first in the queue";
  std::sort(orders.begin(), orders.end());
  std::vector<GangId> gangs;
  for (std::size_t i = 0; i < std::min(orders.size(), shown_max); ++i)
    gangs.push_back(state.gangs[orders[i].gang].gang.id);
  return "ahead of it in the queue: " + names(gangs, may_name) + (orders.size() > shown_max ? " and others" : "");
}

/// What runs on the agents held for it.
std::string held(const State& state, const GangRow& row, const MayName& may_name) {
  if (row.reserved.empty()) return "";
  std::vector<std::string> agents;
  std::vector<GangId> users;
  for (const std::uint32_t agent : row.reserved) agents.push_back(state.books.agent(agent).id.value);
  if (!row.others.empty()) return "; it gets " + names(agents) + " first";
  std::set<Order> there;
  for (const std::uint32_t agent : row.reserved) {
    for (const Presence& here : state.on_agent[agent]) there.insert(here.order);
  }
  for (const Order& order : there) users.push_back(state.gangs[order.gang].gang.id);
  std::string text = "; it gets " + names(agents) + " first";
  if (!users.empty()) text += ", where " + names(users, may_name) + (users.size() == 1 ? " has" : " have") + " to end";
  return text;
}

/// The limit under which it waits: one that is too small for it at any time, else the one that leaves least.
std::string limit_text(const GangRow& row) {
  const std::int64_t wanted = row.in_queue.in->slots;
  const Limits limits = row.limits();
  if (limits.empty()) return "its limit was removed";
  const auto ease = [&](const Limit* limit) { return std::pair(*limit->max_slots >= wanted, limit->room()); };
  const Limit& limit = **std::min_element(limits.begin(), limits.end(),
                                          [&](const Limit* a, const Limit* b) { return ease(a) < ease(b); });
  std::string whose = "its group " + row.gang.group.value;
  for (const AccountRow* account : row.accounts) {
    if (&account->limit == &limit) whose = account->id.value;
  }
  if (*limit.max_slots < wanted) return whose + " may hold at most " + slots_text(*limit.max_slots);
  std::string text = whose + " holds " + std::to_string(limit.held()) + " of at most " + slots_text(*limit.max_slots);
  if (limit.elsewhere > 0) text += ", " + std::to_string(limit.elsewhere) + " of them in other pools";
  if (limit.room() >= wanted) text += "; the rest is reserved for gangs ahead";
  return text;
}

std::string why_never(const State& state, const GangRow& row) {
  std::string text = "no agents that accept work could hold " + to_string(row.gang.wants) + ", even empty";
  if (!row.gang.selector.empty()) text += " (considering its selector)";
  std::vector<std::string> excluded;
  for (const AgentId& agent : row.gang.exclude) excluded.push_back(agent.value);
  if (!excluded.empty()) text += "; it must not run on " + names(excluded);
  if (state.books.has_reserved()) text += "; agents that serve only their owner are not counted";
  const auto* divisible = std::get_if<Divisible>(&row.gang.wants);
  if (divisible != nullptr && divisible->request.slots > 1 && divisible->single_agent)
    text += "; single_agent does not let it be divided";
  if (divisible != nullptr && divisible->request.slots > 1 && !divisible->single_agent && !divisible->uneven) {
    text += "; without uneven, it can only be divided equally over agents of equal size";
  }
  return text;
}

std::string why_waiting(const State& state, const GangRow& row, const MayName& may_name) {
  Cause cause = row.cause;
  if (cause == Cause::not_planned) {
    if (const GangClass* one = row.in_queue.in) cause = one->cause;
  }
  const std::string wants = to_string(row.gang.wants);
  if (cause != Cause::limit && !has_agents_for_work(state)) return why_without_agents(state);
  switch (cause) {
    case Cause::not_planned: return "waits for the next plan";
    case Cause::no_room:
      if (state.classes_by_group) return "waits for " + wants + ": " + most_free(state, row.gang.wants);
      if (fits_one_agent(state, row)) {
        return "waits for " + wants + ": the free resources are reserved for gangs ahead; " +
               ahead(state, row, may_name) + held(state, row, may_name);
      }
      return "waits for " + wants + ": " + most_free(state, row.gang.wants) + "; " + ahead(state, row, may_name) +
             held(state, row, may_name);
    case Cause::reserved:
      return "waits for " + wants +
             ": it fits only on agents reserved for gangs ahead, where it could not be preempted; " +
             ahead(state, row, may_name) + held(state, row, may_name);
    case Cause::awaits_stopping:
      return "waits for " + names(row.others, may_name) + " to stop" + held(state, row, may_name);
    case Cause::preempts: return "preempts " + names(row.others, may_name) + held(state, row, may_name);
    case Cause::limit: return "waits for " + wants + ": " + limit_text(row);
    case Cause::never: return why_never(state, row);
    case Cause::share_used: return "waits for " + wants + ": more than the remaining slots offered to its group";
    case Cause::sits_out:
      return "waits for " + wants + ": the slots offered to its group are too few for its smallest gang";
  }
  return "waits";
}

}  // namespace

std::string explain(const State& state, const Policy& policy, const GangRow& row, const MayName& may_name) {
  switch (row.stage) {
    case Stage::queued: return why_waiting(state, row, may_name);
    case Stage::running: return why_there(state, policy, row);
    case Stage::stopping: return why_stopping(state, row, may_name);
    case Stage::vacant: break;
  }
  return "is not known";
}

}  // namespace cadre::plan
