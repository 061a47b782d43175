#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/overloaded.h"
#include "base/seeds.h"
#include "cluster/control/words_for_tests.h"
#include "cluster/control/world_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

constexpr Duration step_time = 50ms;

}  // namespace

void ModelDatabase::apply(const Writes& writes) {
  for (const AgentId& id : writes.agents_gone) agents.erase(id);
  for (const AgentRow& row : writes.agents) agents.insert_or_assign(row.agent.id, row);
  for (const JobRow& row : writes.new_jobs) jobs.insert_or_assign(row.id, row);
  for (const JobRow& row : writes.jobs) jobs.insert_or_assign(row.id, row);
  for (const TaskRow& row : writes.tasks) tasks.insert_or_assign(row.id, row);
  for (const GroupRow& row : writes.groups) groups.insert_or_assign({row.pool, row.id}, row);
}

Rows ModelDatabase::rows() const {
  Rows rows;
  for (const auto& [id, row] : agents) rows.agents.push_back(row);
  for (const auto& [id, row] : jobs) rows.jobs.push_back(row);
  for (const auto& [id, row] : tasks) rows.tasks.push_back(row);
  for (const auto& [id, row] : groups) rows.groups.push_back(row);
  if (!jobs.empty()) rows.last_job = jobs.rbegin()->first;
  rows.quotas = quotas;
  return rows;
}

World::World(Dice& dice, Settings settings, int agents)
    : dice_(dice),
      settings_(std::move(settings)),
      has_quotas_(dice.percent(50)),
      now_(TimePoint(std::chrono::hours(1))),
      ticked_(now_) {
  for (int i = 0; i < agents; ++i) {
    auto& node = *nodes_.emplace_back(std::make_unique<Node>());
    messages::Hello& hello = node.introduction;
    hello.protocols = protocol::own();
    hello.agent.id = AgentId("a" + std::to_string(i));
    hello.agent.slots = 4;
    hello.agent.cpus = {8'000};
    hello.agent.memory = {std::int64_t{8} << 30};
    hello.identity = "identity of a" + std::to_string(i);
    hello.slots.resize(4);
    if (i >= 2 && settings_.pools.contains("other")) hello.pool = "other";
    start_agent(node);
  }
  start_master();
}

void World::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = "at " + to_utc(now_) + ": " + what;
}

void World::trace(const std::string& who, const std::string& what) const {
  if (traced_) std::fprintf(stderr, "%s %s: %s\n", to_utc(now_).c_str() + 14, who.c_str(), what.c_str());
}

void World::live(Duration time, const Faults& faults) {
  for (const TimePoint end = now_ + time; now_ < end && complaint_.empty();) step(faults);
}

void World::calm_down(Duration time) {
  for (auto& node : nodes_) {
    if (node->leaves && node->host) kill_agent(*node);  // it takes nothing more until it is started again
    if (node->returns) node->returns = now_;
    if (node->to_master.heals) node->to_master.heals = now_;
    if (node->to_agent.heals) node->to_agent.heals = now_;
    if (node->introduction.agent.slots == 4) continue;
    node->introduction.agent.slots = 4;
    node->introduction.slots.resize(4);
    if (node->host) kill_agent(*node);
    node->returns = now_;
  }
  for (auto& [id, client] : clients_) client.wakes.reset();
  if (master_returns_) master_returns_ = now_;
  if (master_wakes_) wake_master();
  deadly_settles_ = 0;
  const Faults none{0, false, false, false, false, false};
  live(2s, none);
  for (const auto& [account, max_slots] : Quotas(database_.quotas)) set_quota(account, std::nullopt);
  for (auto& node : nodes_) {
    for (std::int32_t slot = 0; slot < 4; ++slot)
      ask(requests::SetSlot{node->introduction.agent.id, slot, SlotState::enabled});
    ask(requests::SetAgent{node->introduction.agent.id, SlotState::enabled});
  }
  const auto all_done = [&] {
    const auto is_over = [](const auto& job) { return job.second.stage == JobStage::ended; };
    const auto is_empty = [](const auto& node) { return node->disk.empty() && node->launches.empty(); };
    return std::all_of(database_.jobs.begin(), database_.jobs.end(), is_over) &&
           std::all_of(nodes_.begin(), nodes_.end(), is_empty);
  };
  for (const TimePoint end = now_ + time; now_ < end && complaint_.empty() && !all_done();) live(1s, none);
  live(3s, none);
  if (settings_.ended_jobs_kept > 0) check_told();
  for (auto& [id, client] : clients_) client.ends = now_;
  live(settings_.session_timeout + 6s, none);
  if (!complaint_.empty()) return;
  for (const auto& [id, job] : database_.jobs) {
    if (job.stage == JobStage::ended) continue;
    complain("job " + std::to_string(id.value) + " of pool " + job.spec.pool + " has not ended");
  }
  for (const auto& node : nodes_) {
    for (const auto& [lease, process] : node->disk) complain("lease " + to_string(lease) + " is still on a disk");
    for (const auto& [lease, process] : node->disk) {
      if (process.is_alive()) complain("a process of lease " + to_string(lease) + " is left");
    }
    if (node->host->runs_something()) complain("an agent thinks that something runs");
  }
  for (const JobId id : answered_) {
    if (!database_.jobs.contains(id)) complain("job " + std::to_string(id.value) + " was confirmed and is gone");
  }
  if (control_->remembered() != 0) complain("the master remembers " + std::to_string(control_->remembered()));
  if (control_->peers() != nodes_.size()) complain("the master knows too many peers");
  if (settings_.ended_jobs_kept == 0 && !control_->ledger().jobs().empty()) complain("the ledger keeps ended jobs");
}

void World::step(const Faults& faults) {
  now_ += step_time;
  if (dice_.between(1, 60'000) <= faults.per_minute * std::int64_t{step_time / 1ms}) make_fault(faults);
  if (faults.users_meddle && dice_.between(1, 1000) <= 15) {
    Client* client = any_client();
    requests::Submit submit{random_job()};
    if (client != nullptr) submit.job.session = client->id;
    ask(submit, client == nullptr ? any_user() : client->owner);
  }
  if (faults.users_meddle && dice_.between(1, 1000) <= 10) meddle();
  if (master_returns_ && now_ >= *master_returns_) start_master();
  if (master_wakes_ && now_ >= *master_wakes_) wake_master();
  step_clients(faults);
  for (auto& node : nodes_) step_node(*node);
  if (!master_is_awake()) return;
  if (now_ - ticked_ >= 500ms) {
    ticked_ = now_;
    control_->tick(now_);
  }
  if (dice_.percent(80)) settle();
}

// The master.

void World::start_master() {
  master_returns_.reset();
  trace("master", "starts");
  control_ = std::make_unique<Control>(settings_, database_.rows(), ++boot_, now_);
  master_began_ = now_;
  for (auto& node : nodes_) break_link(*node);
  if (boot_ > 1) check_planner();
}

/// What was sent to it meanwhile may be read before or after it learns how late it is.
void World::wake_master() {
  trace("master", "goes on");
  master_wakes_.reset();
  master_began_ = ticked_ = now_;
  if (control_ && dice_.percent(50)) control_->tick(now_);
}

void World::kill_master() {
  trace("master", "dies");
  control_.reset();
  master_wakes_.reset();
  asked_.clear();
  for (auto& [id, client] : clients_) client.waits.reset();
  deadly_settles_ = 0;
  master_returns_ = now_ + (dice_.percent(70) ? seconds(0, 3) : seconds(3, 30));
}

void World::settle() {
  const bool dies = deadly_settles_ > 0 && --deadly_settles_ == 0;
  const bool writes = !dies || dice_.percent(50);
  const std::map<AccountId, std::int64_t> before = held();
  const Outcome outcome = control_->settle(now_);
  check_quotas(before);
  if (writes) record(outcome.writes);
  if (dies) return kill_master();
  act(outcome);
  check_sessions();
  if (outcome.writes.empty()) return;
  check_ledger();
  check_planner();
  if (dice_.percent(5)) check_restart();
}

void World::record(const Writes& writes) {
  for (const TaskRow& row : writes.tasks) {
    const auto before = database_.tasks.find(row.id);
    if (before != database_.tasks.end() && before->second.lease.epoch > row.lease.epoch) complain("an epoch shrinks");
    const bool had_ended =
        before != database_.tasks.end() && std::holds_alternative<lease::Ended>(before->second.lease.stage);
    if (!std::holds_alternative<lease::Ended>(row.lease.stage) || had_ended || row.lease.epoch.value == 0) continue;
    const LeaseId lease{row.id, row.lease.epoch};
    if (!recorded_.insert(lease).second) complain("lease " + to_string(lease) + " ends twice");
  }
  for (const std::vector<JobRow>* rows : {&writes.new_jobs, &writes.jobs}) {
    for (const JobRow& row : *rows) {
      const auto stopped = runs_when_stopped_.find(row.id);
      if (stopped != runs_when_stopped_.end() && row.runs != stopped->second) complain("a stopped job runs again");
      if (ended_.contains(row.id) && row.stage != JobStage::ended) complain("an ended job goes on");
      const auto client = clients_.find(row.spec.session);
      const bool was_there = client != clients_.end() && !client->second.was_stopped && now_ < client->second.ends;
      if (was_there && !row.why.empty()) complain("a client that is there loses job " + std::to_string(row.id.value));
      if (row.stage != JobStage::ended) continue;
      ended_.insert(row.id);
      const bool well =
          row.reason == lease::Reason::killed_by_user || (row.reason == lease::Reason::exited && row.code == 0);
      if (!well && !failed_.contains(row.id))
        complain("job " + std::to_string(row.id.value) + " failed without a cause");
    }
  }
  database_.apply(writes);
  for (const ChangeRow& row : writes.changes) {
    trace("master", row.noun + " " + row.id + " " + row.what);
    for (const auto& node : nodes_) {
      const bool is_lost = row.noun == "agent" && row.what == "lost" && row.id == node->introduction.agent.id.value;
      const bool was_there = now_ - node->troubled > settings_.agent_timeout;
      if (is_lost && was_there) complain("agent " + row.id + " is lost though it was there all the time");
    }
  }
}

void World::act(const Outcome& outcome) {
  for (const ToAgent& one : outcome.to_agents) {
    for (auto& node : nodes_) {
      if (node->peer != one.peer) continue;
      trace("master to " + node->introduction.agent.id.value, in_words(one.message));
      Wire<messages::FromMaster>& wire = node->to_agent;
      wire.last = std::max(wire.last, now_ + std::chrono::milliseconds(dice_.between(0, 100)));
      wire.under_way.emplace_back(wire.last, one.message);
    }
    const auto* answer = std::get_if<messages::ReportAnswer>(&one.message.body);
    if (answer == nullptr || !answer->answer.accepted) continue;
    Epoch& newest = newest_report_[answer->lease.task];
    if (answer->lease.epoch < newest) complain("a report of an older lease than the newest is accepted");
    newest = std::max(newest, answer->lease.epoch);
  }
  const bool may_refuse = std::exchange(may_refuse_, false);
  for (const Answer& one : outcome.answers) {
    const auto asked = asked_.find(one.asker);
    if (asked == asked_.end()) continue;
    const auto* view = one.reply.as<requests::JobView>();
    const auto* failed = one.reply.as<requests::Failed>();
    const bool has_no_session = failed != nullptr && failed->message.starts_with("session: there is no session");
    if (std::holds_alternative<requests::Submit>(asked->second) && view == nullptr && !may_refuse && !has_no_session) {
      complain("a job is refused: " + (*one.reply.as<requests::Failed>()).message);
    }
    if (const auto client = view == nullptr ? clients_.end() : clients_.find(view->session); client != clients_.end()) {
      client->second.has.insert(view->id);
    }
    if (const auto* attend = std::get_if<requests::KeepSession>(&asked->second)) {
      if (failed != nullptr) complain("a client is refused: " + failed->message);
      const auto client = clients_.find(attend->session);
      const bool is_heard = client != clients_.end() && client->second.waits == one.asker && failed == nullptr;
      if (is_heard) hear(client->second, (*one.reply.as<requests::SessionNews>()));
    }
    if (std::holds_alternative<requests::Submit>(asked->second) && view != nullptr) {
      if (!answered_.insert(view->id).second) complain("one number for two jobs");
      if (!database_.jobs.contains(view->id)) complain("a job is confirmed and not written");
    }
    if (std::holds_alternative<requests::EndJob>(asked->second) && view != nullptr) {
      runs_when_stopped_.emplace(view->id, view->runs);
    }
    const bool is_exec = std::holds_alternative<requests::RunExec>(asked->second);
    if (!is_exec || one.reply.as<requests::Failed>() != nullptr) asked_.erase(asked);
  }
}

void World::check_ledger() {
  const Ledger& ledger = control_->ledger();
  std::map<std::pair<AgentId, std::int32_t>, TaskId> users;
  std::map<AgentId, std::set<TaskId>> tasks;
  std::map<AgentId, std::set<TaskId>> lost;
  for (const auto& [id, job] : ledger.jobs()) {
    if (!(job.tally == tally_of(job))) complain("the tally of job " + std::to_string(id.value) + " is wrong");
    std::set<std::pair<TimePoint, std::uint32_t>> restarts;
    for (const auto& [member, task] : job.tasks) {
      if (awaits_restart(task)) restarts.emplace(task.restart_at, member);
    }
    if (job.restarts != restarts) complain("the restarts of job " + std::to_string(id.value) + " are wrong");
    if (!(database_.jobs.at(id) == job.row)) complain("job " + std::to_string(id.value) + " is not as it was written");
    for (const auto& [member, task] : job.tasks) {
      if (!(database_.tasks.at(task.id) == task)) complain("task " + to_string(task.id) + " is not as it was written");
      if (const auto held = lost_of(task)) lost[held->agent].insert(task.id);
      check_restarts(job, task);
      const auto held = lease::current(task.lease);
      if (!held) continue;
      if (held->agent != task.agent || held->epoch != task.lease.epoch) complain("a task is not where its lease is");
      if (!job.in_run(task)) complain("a task of an earlier run is active");
      tasks[held->agent].insert(task.id);
      for (const std::int32_t slot : task.slots) {
        if (!users.emplace(std::pair(held->agent, slot), task.id).second) complain("two tasks hold one slot");
      }
    }
  }
  for (const auto& [id, agent] : ledger.agents()) {
    if (agent.tasks != tasks[id]) complain("agent " + id.value + " has other tasks than there are");
    if (agent.lost != lost[id]) complain("agent " + id.value + " has lost other tasks than there are");
    if (agent.row.lost && !agent.tasks.empty()) complain("a lost agent has tasks");
    for (std::size_t slot = 0; slot < agent.users.size(); ++slot) {
      const auto user = users.find({id, static_cast<std::int32_t>(slot)});
      const std::optional<TaskId> expected = user == users.end() ? std::nullopt : std::optional(user->second);
      if (agent.users[slot] != expected) complain("agent " + id.value + " is wrong about the user of a slot");
    }
  }
}

/// What waits to be started again is part of a job that goes on, and was not started more often than its rule allows.
void World::check_restarts(const Job& job, const TaskRow& task) {
  const std::optional<restart::Policy>& policy = job.row.spec.members[static_cast<std::size_t>(task.role)].restart;
  const auto* rule = policy ? std::get_if<restart::OnFailure>(&*policy) : nullptr;
  if (task.restarts > (rule == nullptr ? 0 : rule->max_restarts)) {
    complain("task " + to_string(task.id) + " is restarted too often");
  }
  if (!awaits_restart(task)) return;
  const auto* queued = std::get_if<lease::Queued>(&task.lease.stage);
  const bool may_wait = queued != nullptr && !queued->lost && job.in_run(task) && job.row.stage == JobStage::running;
  if (!may_wait) complain("task " + to_string(task.id) + " waits for a restart that cannot come");
}

std::map<AccountId, std::int64_t> World::held() const {
  std::map<AccountId, std::int64_t> slots;
  for (const auto& [id, job] : control_->ledger().jobs()) {
    if (job.row.stage != JobStage::running && job.row.stage != JobStage::stopping) continue;
    for (const auto& [member, task] : job.tasks) {
      if (!job.in_run(task)) continue;
      for (const AccountId& account : {account_of_user(job.row.owner), account_of_workspace(job.row.spec.workspace)}) {
        slots[account] += static_cast<std::int64_t>(task.slots.size());
      }
    }
  }
  return slots;
}

/// Whatever was held before: plans have added nothing that a quota forbids.
void World::check_quotas(const std::map<AccountId, std::int64_t>& before) {
  for (const auto& [account, slots] : held()) {
    if (control_->held_by(account) != slots) complain("the planners are wrong about what " + account.value + " holds");
    const auto quota = database_.quotas.find(account);
    const auto known = before.find(account);
    const bool has_more = slots > (known == before.end() ? 0 : known->second);
    if (has_more && quota != database_.quotas.end() && slots > quota->second) {
      complain(account.value + " holds " + std::to_string(slots) + " of at most " + std::to_string(quota->second));
    }
  }
}

void World::check_planner() {
  std::vector<plan::Snapshot> snapshots;
  for (const auto& [name, pool] : settings_.pools) snapshots.push_back(control_->planned(name, now_));
  std::map<JobId, const plan::GangStatus*> gangs;
  for (const plan::Snapshot& snapshot : snapshots) {
    for (const plan::GangStatus& status : snapshot.gangs) gangs.emplace(job_id(status.gang.id), &status);
  }
  std::size_t live = 0;
  for (const auto& [id, job] : control_->ledger().jobs()) {
    if (job.row.stage == JobStage::ended) continue;
    ++live;
    const auto found = gangs.find(id);
    if (found == gangs.end()) return complain("the planner does not know job " + std::to_string(id.value));
    const plan::GangStatus& status = *found->second;
    if (status.running.has_value() != (job.row.stage != JobStage::queued))
      return complain("the planner runs what waits");
    if (status.gang.position != job.row.position || status.gang.priority != job.row.spec.priority) {
      complain("the planner has another order");
    }
    if (!status.running) continue;
    if (status.running->stopping != (job.row.stage == JobStage::stopping))
      complain("the planner is wrong about a stop");
    std::map<std::pair<AgentId, std::int32_t>, std::pair<std::int32_t, std::int32_t>> planned;
    for (const plan::Place& place : status.running->on) {
      planned[{place.agent, place.role}].first += place.tasks;
      planned[{place.agent, place.role}].second += place.slots;
    }
    for (const auto& [member, task] : job.tasks) {
      if (!job.in_run(task)) continue;
      planned[{task.agent, task.role}].first -= 1;
      planned[{task.agent, task.role}].second -= static_cast<std::int32_t>(task.slots.size());
    }
    for (const auto& [where, rest] : planned) {
      if (rest != std::pair(0, 0)) complain("the planner has other places for job " + std::to_string(id.value));
    }
  }
  if (live != gangs.size()) complain("the planner knows jobs that are gone");
}

/// A master that started now would know the same.
void World::check_restart() {
  Control other(settings_, database_.rows(), boot_ + 1, now_);
  for (const auto& [name, pool] : settings_.pools) compare(control_->planned(name, now_), other.planned(name, now_));
}

void World::compare(const plan::Snapshot& mine, const plan::Snapshot& its) {
  if (mine.gangs.size() != its.gangs.size()) return complain("after a restart there are other jobs");
  const auto limits = [](const plan::Snapshot& snapshot) {
    Quotas quotas;
    for (const auto& [id, account] : snapshot.accounts) quotas.emplace(id, account.max_slots.value_or(-1));
    return quotas;
  };
  if (limits(mine) != limits(its)) complain("after a restart there are other quotas");
  std::map<GangId, const plan::GangStatus*> known;
  for (const plan::GangStatus& status : its.gangs) known.emplace(status.gang.id, &status);
  for (const plan::GangStatus& status : mine.gangs) {
    const auto found = known.find(status.gang.id);
    if (found == known.end()) return complain("after a restart a job is missing");
    const plan::GangStatus& same = *found->second;
    if (status.gang.accounts != same.gang.accounts) complain("after a restart a job has other accounts");
    if (status.running.has_value() != same.running.has_value()) complain("after a restart other jobs run");
    if (!status.running && status.queued_since != same.queued_since) complain("after a restart a job waits from anew");
    if (status.running && same.running && status.running->stopping != same.running->stopping) {
      complain("after a restart other jobs stop");
    }
  }
}

// Users.

void World::ask(requests::Request request, const std::string& user) {
  if (!master_is_awake()) return;
  const auto& agents = control_->ledger().agents();
  may_refuse_ |=
      has_quotas_ || agents.size() < nodes_.size() ||
      std::any_of(agents.begin(), agents.end(), [](const auto& agent) { return agent.second.row.slots.size() != 4; });
  asked_.emplace(++last_question_, request);
  access::Principal who = an_admin();
  who.user = user;
  control_->ask(last_question_, who, request, now_);
}

restart::Policy World::random_policy() {
  if (dice_.percent(20)) return restart::Never{};
  restart::OnFailure policy;
  policy.max_restarts = static_cast<std::int32_t>(dice_.between(1, 4));
  policy.first_wait = seconds(0, 10);
  policy.longest_wait = policy.first_wait + seconds(0, 20);
  return policy;
}

JobSpec World::random_job() {
  JobSpec spec;
  spec.priority = static_cast<std::int32_t>(dice_.between(40, 43));
  spec.preemptible = dice_.percent(50);
  spec.group = dice_.percent(30) ? "g" : "";
  spec.workspace = any_workspace();
  MemberSpec member;
  member.command.argv = {"run"};
  member.policy.grace = seconds(0, 5);
  member.policy.preemption_grace = seconds(1, 20);
  member.policy.fence = dice_.percent(50) ? Fence::strict : Fence::keep;
  member.slots = static_cast<std::int32_t>(dice_.between(0, 4));
  if (dice_.percent(40)) member.restart = random_policy();
  switch (dice_.below(4)) {
    case 0: break;
    case 1: member.slots = 8; break;
    case 2:
      member.count = 2;
      member.slots = std::min(member.slots, 2);
      break;
    default: member.count = 3; member.elastic_min = 1;
  }
  if (member.restart && dice_.percent(30)) member.minimum = Minimum{1, seconds(0, 20)};
  spec.members.push_back(member);
  if (nodes_.size() > 2 && settings_.pools.contains("other") && dice_.percent(40)) {
    spec.pool = "other";
    spec.members.front().slots = std::min(spec.members.front().slots, 4);
    return spec;
  }
  if (dice_.percent(25)) {
    member.role = "other";
    member.slots = static_cast<std::int32_t>(dice_.between(0, 2));
    member.count = 1;
    member.elastic_min.reset();
    member.restart.reset();
    member.minimum.reset();
    if (!spec.members.front().count) spec.members.front().count = 1;
    spec.members.front().slots = std::min(spec.members.front().slots, 4);
    spec.members.push_back(member);
  }
  return spec;
}

void World::set_quota(const AccountId& account, std::optional<std::int64_t> max_slots) {
  trace("user", account.value + " may hold " + (max_slots ? std::to_string(*max_slots) : "any number of") + " slots");
  max_slots ? void(database_.quotas[account] = *max_slots) : void(database_.quotas.erase(account));
  if (control_) control_->set_quota(account, max_slots);
}

void World::meddle() {
  if (has_quotas_ && dice_.percent(20)) {
    const AccountId account = dice_.percent(50) ? account_of_user(any_user()) : account_of_workspace(any_workspace());
    return set_quota(account, dice_.percent(30) ? std::nullopt : std::optional(dice_.between(0, 10)));
  }
  if (database_.jobs.empty()) return;
  const auto any_job = [&] {
    auto at = database_.jobs.rbegin();
    std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(std::min<std::size_t>(database_.jobs.size(), 12))));
    return at->first;
  };
  const AgentId agent = nodes_[dice_.below(nodes_.size())]->introduction.agent.id;
  const auto state = static_cast<SlotState>(dice_.below(3));
  switch (dice_.below(9)) {
    case 0: return ask(requests::EndJob{any_job(), std::nullopt});
    case 1: return ask(requests::EndJob{any_job(), seconds(0, 2)});
    case 2: return ask(requests::MoveJob{any_job(), any_job(), dice_.percent(50)});
    case 3: return ask(requests::SetJob{any_job(), static_cast<std::int32_t>(dice_.between(40, 43)), {}, {}, {}});
    case 4: return ask(requests::SetAgent{agent, state});
    case 5: return ask(requests::SetSlot{agent, static_cast<std::int32_t>(dice_.below(4)), state});
    case 6: return ask(requests::RunExec{{any_job(), 0}, {"ls"}});
    case 7: return ask(requests::GetJob{any_job(), dice_.below(100) + (boot_ << 32)});
    default:
      ask(requests::GetStatus{});
      ask(requests::ListAgents{});
      ask(requests::ListJobs{});
      return ask(requests::Why{any_job()});
  }
}

void World::cut(Node& node) {
  const auto end = [&] { return now_ + (dice_.percent(60) ? seconds(0, 8) : seconds(8, 40)); };
  const TimePoint both = end();
  const std::size_t which = dice_.below(4);  // one way, the other, both alike, or each for itself
  if (which != 0) node.to_master.heals = which == 3 ? end() : both;
  if (which != 1) node.to_agent.heals = both;
  node.heals_broken = dice_.percent(50);
}

void World::make_fault(const Faults& faults) {
  Node& node = *nodes_[dice_.below(nodes_.size())];
  switch (dice_.below(7)) {
    case 0:
      if (faults.master_dies && control_) deadly_settles_ = static_cast<int>(dice_.between(1, 5));
      return;
    case 6:
      if (!faults.master_stops || !master_is_awake()) return;
      trace("master", "is stopped");
      master_wakes_ = now_ + (dice_.percent(60) ? seconds(0, 5) : seconds(5, 40));
      return;
    case 1:
      if (!faults.agents_die || !node.host) return;
      kill_agent(node);
      if (dice_.percent(20)) node.introduction.agent.slots = static_cast<std::int32_t>(dice_.between(2, 4));
      node.introduction.slots.resize(static_cast<std::size_t>(node.introduction.agent.slots));
      return;
    case 2:
      if (faults.links_fail) break_link(node);
      return;
    case 3:
    case 4:
      if (faults.links_fail) cut(node);
      return;
    default:
      if (faults.agents_die && node.host && dice_.percent(30)) node.leaves = true;
  }
}

namespace {

/// As the environment says, for long runs.
std::uint64_t seeds_wanted(std::uint64_t usual) {
  const char* chosen = std::getenv("CADRE_SEEDS");
  return chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : usual;
}

Settings settings_for(Dice& dice) {
  Settings settings;
  settings.agent_timeout = 12s;
  settings.ended_jobs_kept = dice.percent(50) ? 0 : 10'000;
  if (dice.percent(30)) settings.pools["default"].policy = plan::FairSharePolicy{};
  if (dice.percent(40)) settings.pools["other"] = {};
  return settings;
}

TEST(WholeCluster, RunsJobsToTheirEndInPeace) {
  FOR_SEEDS(seeds_wanted(10), [](Dice& dice) {
    World world(dice, settings_for(dice), 3);
    world.live(60s, {0, false, false, false, true, false});
    world.calm_down(600s);
    EXPECT_EQ(world.complaint(), "");
    EXPECT_GT(world.jobs_ended(), 0);
  });
}

TEST(WholeCluster, LosesNoAgentWhileTheMasterIsStopped) {
  FOR_SEEDS(seeds_wanted(40), [](Dice& dice) {
    World world(dice, settings_for(dice), static_cast<int>(dice.between(2, 4)));
    world.live(120s, {static_cast<int>(dice.between(10, 60)), false, false, false, true, true});
    world.calm_down(900s);
    EXPECT_EQ(world.complaint(), "");
  });
}

TEST(WholeCluster, KeepsItsPromisesWhateverFails) {
  FOR_SEEDS(seeds_wanted(150), [](Dice& dice) {
    World::Faults faults;
    faults.per_minute = static_cast<int>(dice.between(5, 60));
    faults.master_dies = dice.percent(80);
    faults.agents_die = dice.percent(80);
    faults.links_fail = dice.percent(80);
    faults.master_stops = dice.percent(50);
    World world(dice, settings_for(dice), static_cast<int>(dice.between(2, 4)));
    world.live(90s, faults);
    world.calm_down(900s);
    EXPECT_EQ(world.complaint(), "");
  });
}

}  // namespace
}  // namespace cadre::cluster::control
