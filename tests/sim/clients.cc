#include "tests/sim/clients.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::JobId;
namespace requests = cluster::requests;
namespace restart = cluster::restart;

constexpr Duration answer_max = 5s;
constexpr Duration poll_every = 4s;

}  // namespace

Clients::Clients(loop::SimulatedLoop& loop, World world, Dice dice)
    : loop_(loop), world_(std::move(world)), dice_(dice) {
  acting_ = loop_.after(2s, [this] { act(); });
  polling_ = loop_.after(poll_every, [this] { poll(); });
}

void Clients::act() {
  if (calm_) return;
  acting_ = loop_.after(seconds(0, 4), [this] { act(); });
  if (jobs_.empty() || dice_.percent(75)) return want(requests::Submit{random_job()});
  auto job = jobs_.rbegin();
  std::advance(job, static_cast<std::ptrdiff_t>(dice_.below(std::min<std::size_t>(jobs_.size(), 8))));
  if (dice_.percent(30)) return want(requests::KillJob{job->first});
  want(requests::EndJob{job->first, dice_.percent(50) ? std::optional<Duration>(seconds(0, 3)) : std::nullopt});
}

void Clients::poll() {
  polling_ = loop_.after(poll_every, [this] { poll(); });
  requests::ListJobs list;
  list.most = 10'000;
  want(list);
  want(requests::ListSlots{});
}

void Clients::want(requests::Request request) {
  const std::string key = std::to_string(++last_key_);
  wishes_[key].request = std::move(request);
  ask(key);
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
  hear(key, request, reply);
}

void Clients::hear(const std::string& key, const requests::Request& request, const api::Reply& reply) {
  if (const auto* jobs = reply.as<requests::Jobs>()) {
    for (const requests::JobView& view : jobs->jobs) see(view);
  }
  if (const auto* slots = reply.as<requests::Slots>()) see(*slots);
  const auto* view = reply.as<requests::JobView>();
  if (view == nullptr) return;
  if (std::holds_alternative<requests::Submit>(request)) {
    world_.trace("client", "job " + std::to_string(view->id.value) + " is accepted, key " + key);
    const auto [made, is_new] = made_.emplace(key, view->id);
    if (made->second != view->id) world_.complain("one request has made two jobs");
    if (is_new && !jobs_.emplace(view->id, Job{}).second) world_.complain("one number for two jobs");
  }
  const bool is_stop =
      std::holds_alternative<requests::EndJob>(request) || std::holds_alternative<requests::KillJob>(request);
  if (is_stop && jobs_.contains(view->id)) {
    world_.trace("client", "job " + std::to_string(view->id.value) + " is stopped");
    jobs_.at(view->id).runs_when_stopped = view->runs;
  }
  see(*view);
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

void Clients::see(const requests::Slots& slots) {
  std::map<cluster::AgentId, std::int32_t> used;
  slots_free_ = true;
  for (const requests::SlotView& slot : slots.slots) {
    if (!slot.used) continue;
    slots_free_ = false;
    if (++used[slot.agent] > world_.slots_each)
      world_.complain("more slots are used than agent " + slot.agent.value + " has");
  }
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

cluster::JobSpec Clients::random_job() {
  cluster::JobSpec spec;
  spec.priority = static_cast<std::int32_t>(dice_.between(40, 43));
  spec.preemptible = dice_.percent(40);
  cluster::MemberSpec member;
  member.command.argv = {"run"};
  member.policy.grace = seconds(0, 5);
  member.policy.preemption_grace = seconds(1, 10);
  member.policy.fence = dice_.percent(60) ? cluster::Fence::strict : cluster::Fence::keep;
  member.slots = static_cast<std::int32_t>(dice_.between(0, world_.slots_each));
  if (dice_.percent(40)) {
    restart::OnFailure policy;
    policy.max_restarts = static_cast<std::int32_t>(dice_.between(1, 3));
    policy.first_wait = seconds(0, 5);
    policy.longest_wait = policy.first_wait + seconds(0, 10);
    member.restart = policy;
  }
  switch (dice_.below(4)) {
    case 0:
    case 1: break;
    case 2:
      member.count = world_.agents > 1 ? 2 : 1;
      member.slots = std::min(member.slots, world_.slots_each / 2);
      break;
    default:
      member.count = 3;
      member.slots = std::min(member.slots, 1);
      member.elastic_min = 1;
  }
  spec.members.push_back(std::move(member));
  return spec;
}

}  // namespace cadre::sim
