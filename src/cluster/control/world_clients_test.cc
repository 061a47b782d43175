#include <algorithm>

#include "cluster/control/world_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

/// Longest wait of a client for news.
constexpr Duration wait_max = 3s;

}  // namespace

Client* World::any_client() {
  if (clients_.empty() || dice_.percent(60)) return nullptr;
  auto at = clients_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(clients_.size())));
  return at->second.seen == 0 ? nullptr : &at->second;
}

void World::step_clients(const Faults& faults) {
  if (faults.users_meddle && dice_.between(1, 1000) <= 10) {
    const SessionId id("s" + std::to_string(++last_client_));
    Client& client = clients_[id];
    client.id = id;
    client.owner = any_user();
    client.ends = now_ + seconds(0, 60);
    client.says_goodbye = dice_.percent(50);
  }
  for (auto at = clients_.begin(); at != clients_.end();) {
    Client& client = at->second;
    if (faults.per_minute > 0 && !client.wakes && dice_.between(1, 10'000) <= 5) {
      trace("client " + client.id.value, "is stopped");
      client.wakes = now_ + seconds(0, 15);
      client.was_stopped = true;
    }
    if (client.wakes && now_ >= *client.wakes) client.wakes.reset();
    const bool leaves = now_ >= client.ends && !client.wakes;
    if (leaves && control_ && client.waits) {  // its connection is closed
      control_->forget_asker(*client.waits);
      asked_.erase(*client.waits);
    }
    if (leaves && client.says_goodbye) ask(requests::EndSession{client.id}, client.owner);
    if (leaves) {
      trace("client " + client.id.value, client.says_goodbye ? "leaves" : "is gone");
      departed_[client.id] = now_;
      at = clients_.erase(at);
      continue;
    }
    step(client);
    ++at;
  }
}

void World::step(Client& client) {
  if (!master_is_awake() || client.wakes || client.waits) return;
  const Duration wait = dice_.percent(50) ? Duration{0} : std::min<Duration>(seconds(0, 3), wait_max);
  ask(requests::KeepSession{client.id, "host", 1, "program", client.seen, wait}, client.owner);
  client.waits = last_question_;
}

void World::hear(Client& client, const requests::SessionNews& news) {
  client.waits.reset();
  if (news.version < client.seen) complain("a client is told of an earlier version than before");
  client.seen = news.version;
  for (const requests::JobView& job : news.jobs) {
    if (job.session != client.id) complain("a client is told of the jobs of others");
    if (job.stage == JobStage::ended) client.ended.insert(job.id);
    if (job.stage != JobStage::ended && client.ended.contains(job.id)) complain("a client is told of an end too early");
  }
}

void World::check_sessions() {
  for (const auto& [id, job] : control_->ledger().jobs()) {
    if (job.row.stage == JobStage::ended || job.row.spec.session.value.empty()) continue;
    const std::string name = "job " + std::to_string(id.value);
    const bool is_known = control_->sessions().contains(job.row.spec.session);
    if (!is_known && job.row.why.empty()) complain(name + " outlives its session");
    if (!job.row.why.empty() && job.row.stage != JobStage::stopping) complain(name + " goes on without its client");
  }
  for (const auto& [id, session] : control_->sessions()) {
    const auto departed = departed_.find(id);
    if (departed == departed_.end()) continue;
    const TimePoint since = std::max({departed->second, master_began_, session.since});
    if (now_ - since > settings_.session_timeout + wait_max + 2s)
      complain("session " + id.value + " outlives its client");
  }
}

void World::check_told() {
  for (const auto& [id, client] : clients_) {
    for (const JobId job : client.has) {
      if (!client.ended.contains(job)) {
        complain("client " + id.value + " was not told of the end of job " + std::to_string(job.value));
      }
    }
  }
}

}  // namespace cadre::cluster::control
