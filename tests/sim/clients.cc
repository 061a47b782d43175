#include "tests/sim/clients.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::JobId;
using cluster::control::SlotState;
namespace requests = cluster::requests;

constexpr Duration answer_max = 5s;
constexpr Duration poll_every = 4s;

}  // namespace

Clients::Clients(loop::SimulatedLoop& loop, World world, Dice dice)
    : loop_(loop),
      world_(std::move(world)),
      dice_(dice),
      operations_({world_.agents, world_.slots_each}, dice_.split()),
      views_(world_.complain) {
  acting_ = loop_.after(2s, [this] { act(); });
  polling_ = loop_.after(poll_every, [this] { poll(); });
}

void Clients::act() {
  if (calm_) return;
  acting_ = loop_.after(seconds(0, 4), [this] { act(); });
  if (dice_.percent(8)) return want_on_agent(operations_.on_agent());
  if (jobs_.empty() || dice_.percent(70)) return void(want(requests::Submit{operations_.job()}));
  std::vector<JobId> newest;
  for (auto job = jobs_.rbegin(); job != jobs_.rend() && newest.size() < 8; ++job) newest.push_back(job->first);
  want(operations_.on_job(newest));
}

void Clients::take_all() { want(requests::Submit{operations_.whole_cluster()}); }

void Clients::poll() {
  polling_ = loop_.after(poll_every, [this] { poll(); });
  requests::ListJobs list;
  list.most = 10'000;
  want(list);
  want(requests::ListSlots{});
  want(requests::ListAgents{});
  want(list);
  ask_why();
  enable(calm_ ? 100 : 25);
  if (calm_) lift_limits();
}

void Clients::ask_why() {
  std::vector<JobId> live;
  for (const auto& [id, job] : jobs_) {
    if (!job.end || dice_.percent(5)) live.push_back(id);
  }
  if (live.empty()) return;
  const JobId job = live[dice_.below(live.size())];
  want(requests::GetJob{job, std::nullopt});
  whys_[want(requests::Why{job})] = job;
  want(requests::GetJob{job, std::nullopt});
}

void Clients::enable(int percent) {
  for (const requests::AgentView& agent : views_.agents()) {
    if ((!agent.enabled || agent.draining) && dice_.percent(percent)) {
      want_on_agent(requests::SetAgent{agent.id, SlotState::enabled});
    }
    for (std::size_t slot = 0; slot < agent.slot_states.size(); ++slot) {
      if (agent.slot_states[slot] == SlotState::enabled || !dice_.percent(percent)) continue;
      want_on_agent(requests::SetSlot{agent.id, static_cast<std::int32_t>(slot), SlotState::enabled});
    }
  }
}

/// A group may hold fewer slots than its smallest job needs.
void Clients::lift_limits() {
  const auto limited = std::find_if(jobs_.begin(), jobs_.end(),
                                    [](const auto& one) { return !one.second.end && !one.second.group.empty(); });
  if (limited == jobs_.end()) return;
  requests::SetJob request;
  request.job = limited->first;
  request.max_slots = 1'000;
  want(request);
}

bool Clients::agents_are_ready() const {
  const std::vector<requests::AgentView>& agents = views_.agents();
  return static_cast<std::int32_t>(agents.size()) == world_.agents &&
         std::all_of(agents.begin(), agents.end(), [](const requests::AgentView& agent) {
           return agent.state == "up" && agent.enabled && !agent.draining && agent.obstacle.empty() &&
                  std::all_of(agent.slot_states.begin(), agent.slot_states.end(),
                              [](SlotState state) { return state == SlotState::enabled; });
         });
}

std::string Clients::want(requests::Request request) {
  std::string key = std::to_string(++last_key_);
  wishes_[key].request = std::move(request);
  ask(key);
  return key;
}

void Clients::want_on_agent(const requests::Request& request) {
  const auto* set = std::get_if<requests::SetAgent>(&request);
  const auto* removal = std::get_if<requests::RemoveAgent>(&request);
  if (set != nullptr) closed_.erase(set->agent);
  if (removal != nullptr) closed_.erase(removal->agent);
  const std::string key = want(request);
  if (set == nullptr || set->state == SlotState::enabled) return;
  requests::ListJobs list;
  list.most = 10'000;
  closed_[set->agent] = {key, want(list), std::nullopt, std::nullopt};
}

void Clients::note_closed(const std::string& key, const api::Reply& reply) {
  for (auto& [agent, closed] : closed_) {
    if (closed.request == key && reply.as<requests::Done>() != nullptr) closed.done = loop_.now();
    const auto* jobs = reply.as<requests::Jobs>();
    if (closed.list != key || jobs == nullptr || jobs->next) continue;
    closed.before.emplace();
    for (const requests::JobView& job : jobs->jobs) {
      for (const requests::TaskView& task : job.tasks) {
        if (task.agent == agent) closed.before->insert({task.id, {task.epoch}});
      }
    }
  }
}

void Clients::begins(const cluster::AgentId& agent, const cluster::LeaseId& lease) {
  const auto closed = closed_.find(agent);
  if (closed == closed_.end() || !closed->second.done || !closed->second.before) return;
  if (closed->second.before->contains(lease)) return;
  // It may have been told long ago, and hears of it only now; meanwhile the task has a newer lease elsewhere.
  const auto sent = sent_.find(lease);
  if (sent != sent_.end() && sent->second < *closed->second.done) return;
  world_.complain("lease " + to_string(lease) + " was placed on " + agent.value + ", which is drained or disabled");
}

void Clients::ask(const std::string& key) {
  Wish& wish = wishes_.at(key);
  Asked asked{key, {}};
  if (std::holds_alternative<requests::ListJobs>(wish.request)) {
    for (const auto& [id, job] : jobs_) asked.known.insert(id);
  }
  asked_[++last_asker_] = std::move(asked);
  const bool repeats = std::holds_alternative<requests::Submit>(wish.request) ||
                       std::holds_alternative<requests::EndJob>(wish.request) ||
                       std::holds_alternative<requests::KillJob>(wish.request);
  wish.again = loop_.after(answer_max, [this, key, repeats] { repeats ? ask(key) : void(wishes_.erase(key)); });
  const requests::Request request = wish.request;
  world_.ask(last_asker_, key, request);
}

void Clients::hear(api::CallId call, const api::Reply& reply) {
  const auto asked = asked_.extract(call);
  if (!asked) return;
  const std::string key = asked.mapped().key;
  if (reply.is_unauthenticated()) return world_.complain("a client is not known to the master");
  if (const auto* jobs = reply.as<requests::Jobs>()) {
    std::set<JobId> missing = asked.mapped().known;
    for (const requests::JobView& view : jobs->jobs) missing.erase(view.id);
    if (!missing.empty() && !jobs->next) {
      world_.complain("job " + std::to_string(missing.begin()->value) + " was accepted and is not in the list");
    }
  }
  const auto wish = wishes_.find(key);
  const requests::Request request =
      wish == wishes_.end() ? requests::Request(requests::ListPools{}) : wish->second.request;
  const api::Failed* failed = reply.failed();
  if (failed != nullptr && (failed->code == Errc::unavailable || failed->code == Errc::timed_out))
    return;  // it repeats
  if (wish != wishes_.end()) wishes_.erase(wish);
  note_closed(key, reply);
  hear(key, request, reply);
}

void Clients::hear(const std::string& key, const requests::Request& request, const api::Reply& reply) {
  if (const auto* jobs = reply.as<requests::Jobs>()) {
    for (const requests::JobView& view : jobs->jobs) see(view);
  }
  compare(key, reply, {loop_.steps(), loop_.now()});
  const auto* view = reply.as<requests::JobView>();
  if (view == nullptr) return;
  if (std::holds_alternative<requests::Submit>(request)) {
    world_.trace("client", "job " + std::to_string(view->id.value) + " is accepted, key " + key);
    const auto [made, is_new] = made_.emplace(key, view->id);
    if (made->second != view->id) world_.complain("one request has made two jobs");
    if (is_new && !jobs_.emplace(view->id, Job{view->group, {}, {}}).second) world_.complain("one number for two jobs");
  }
  const bool is_stop =
      std::holds_alternative<requests::EndJob>(request) || std::holds_alternative<requests::KillJob>(request);
  if (is_stop && jobs_.contains(view->id)) {
    world_.trace("client", "job " + std::to_string(view->id.value) + " is stopped");
    jobs_.at(view->id).runs_when_stopped = view->runs;
  }
  see(*view);
}

void Clients::compare(const std::string& key, const api::Reply& reply, Views::Moment moment) {
  if (const auto* jobs = reply.as<requests::Jobs>()) views_.see_jobs(*jobs, moment);
  if (const auto* slots = reply.as<requests::Slots>()) views_.see_slots(*slots, moment);
  if (const auto* agents = reply.as<requests::Agents>()) views_.see_agents(*agents, moment);
  if (const auto* view = reply.as<requests::JobView>()) views_.see_job(*view, moment);
  const auto why = whys_.extract(key);
  if (const auto* text = reply.as<requests::Text>(); text != nullptr && !why.empty()) {
    views_.see_why(why.mapped(), text->text, moment);
  }
}

void Clients::see(const requests::JobView& view) {
  const auto found = jobs_.find(view.id);
  if (found == jobs_.end()) return;  // its answer was lost so far
  const auto& stopped = found->second.runs_when_stopped;
  if (stopped && view.runs > *stopped) world_.complain("job " + std::to_string(view.id.value) + " runs after its stop");
  if (view.stage == cluster::JobStage::ended) {
    see(view.id, {view.reason.value_or(cluster::lease::Reason::exited), view.code.value_or(0)});
  } else if (found->second.end) {
    world_.complain("job " + std::to_string(view.id.value) + " had ended and goes on");
  }
}

void Clients::see(JobId id, const JobEnd& end) {
  Job& job = jobs_.at(id);
  if (!job.end) job.end = end;
  if (!(*job.end == end)) world_.complain("job " + std::to_string(id.value) + " has another ending than before");
}

void Clients::check(const cluster::control::Rows& rows) {
  std::map<JobId, const cluster::control::JobRow*> there;
  for (const cluster::control::JobRow& row : rows.jobs) there.emplace(row.id, &row);
  for (const auto& [id, job] : jobs_) {
    const auto found = there.find(id);
    if (found == there.end()) {
      return world_.complain("job " + std::to_string(id.value) + " was accepted and is not in the database");
    }
    const cluster::control::JobRow& row = *found->second;
    const bool has_ended = row.stage == cluster::JobStage::ended;
    if (job.end && !has_ended) return world_.complain("job " + std::to_string(id.value) + " had ended and goes on");
    if (has_ended) see(id, {row.reason, row.code});
  }
}

bool Clients::is_done() const {
  const bool asks = std::any_of(wishes_.begin(), wishes_.end(), [](const auto& one) {
    return std::holds_alternative<requests::Submit>(one.second.request);
  });
  return !asks && std::all_of(jobs_.begin(), jobs_.end(), [](const auto& one) { return one.second.end.has_value(); });
}

std::string Clients::unfinished() const {
  std::string text;
  for (const auto& [id, job] : jobs_) {
    if (!job.end) text += (text.empty() ? "job " : ", job ") + std::to_string(id.value);
  }
  return text.empty() ? "a request is not answered" : text;
}

}  // namespace cadre::sim
