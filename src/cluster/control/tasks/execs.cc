#include "cluster/control/tasks/execs.h"

namespace cadre::cluster::control {
namespace {

/// A command runs as the task does, so who may run one must be allowed to start such a task.
std::optional<std::string> obstacle_to_entering(const access::Principal& who, const Job& job) {
  const std::string number = std::to_string(job.row.id.value);
  const bool is_own = who.user == job.row.owner;
  if (!is_own && !who.is_admin) {
    return "job " + number + " belongs to " + job.row.owner + "; only " + job.row.owner +
           " and admins of the cluster may run commands in it or send it input";
  }
  for (const MemberSpec& member : job.row.spec.members) {
    if (member.policy.run_as_root && !who.is_admin) {
      return "job " + number + " runs as root; only admins of the cluster may run commands in it";
    }
    if (member.policy.isolation == Isolation::off && !who.task.empty()) {
      return "job " + number + " runs without isolation; tasks may not run commands in it";
    }
  }
  return std::nullopt;
}

}  // namespace

Execs::Execs(const Settings& settings, Ledger& ledger, Outbox& outbox, std::uint64_t boot)
    : settings_(settings), ledger_(ledger), outbox_(outbox), access_(ledger, outbox), last_exec_(boot << 32) {}

std::optional<lease::Held> Execs::present_lease(const Caller& caller, TaskId id) {
  const Asker asker = caller.asker;
  const Job* job = access_.seen(caller, id.job);
  if (job == nullptr) return std::nullopt;
  if (const auto why = obstacle_to_entering(caller.who, *job)) {
    outbox_.fail(asker, Errc::denied, *why);
    return std::nullopt;
  }
  if (access_.own(caller, id.job) == nullptr) return std::nullopt;
  const auto no = [&](Errc code, const std::string& why) {
    outbox_.fail(asker, code, why);
    return std::nullopt;
  };
  const TaskRow* task = ledger_.find(id);
  if (task == nullptr && waits(job->row.stage)) {
    const std::string number = std::to_string(id.job.value);
    return no(Errc::conflict, "job " + number + " is " + std::string(describe::name_of(job->row.stage)) +
                                  " and has no tasks yet; see cadre why " + number);
  }
  if (task == nullptr) return no(Errc::not_found, "there is no task " + to_string(id));
  if (std::holds_alternative<lease::Ended>(task->lease.stage)) {
    return no(Errc::conflict, "task " + to_string(id) + " has ended");
  }
  const auto held = lease::current(task->lease);
  if (!held) return no(Errc::conflict, "task " + to_string(id) + " waits to be restarted; try again");
  const AgentEntry* agent = ledger_.find(held->agent);
  if (agent == nullptr || !agent->peer) {
    return no(Errc::conflict, "agent '" + held->agent.value + "' of task " + to_string(id) +
                                  " is not connected to the master; try again when it is back");
  }
  return held;
}

bool Execs::is_started(TaskId id) const {
  return !std::holds_alternative<lease::Placed>(ledger_.find(id)->lease.stage);
}

void Execs::serve(const Caller& caller, const requests::RunExec& request) {
  const auto held = present_lease(caller, request.task);
  if (!held) return;
  if (static_cast<std::int64_t>(execs_.size()) >= settings_.execs_max) {
    return outbox_.fail(caller.asker, Errc::unavailable, "too many commands run inside tasks; try again later");
  }
  const LeaseId lease{request.task, held->epoch};
  const std::uint64_t number = ++last_exec_;
  messages::Exec command{lease, {number, request.argv, request.input, request.terminal, request.window}};
  Exec& exec = execs_[number] = {caller.asker, lease, held->agent, caller.who.user, std::move(command)};
  if (is_started(request.task)) start(number, exec);
}

void Execs::start(std::uint64_t number, Exec& exec) {
  // Nothing written yet, but now its number is known, under which it can be sent input.
  outbox_.answer(exec.asker, messages::ExecNews{number, supervision::ExecOutput{number, 1, {}}});
  outbox_.send(*ledger_.find(exec.agent), *std::exchange(exec.waiting, std::nullopt));
}

void Execs::lease_started(const LeaseId& lease) {
  for (auto& [number, exec] : execs_) {
    if (exec.lease == lease && exec.waiting) start(number, exec);
  }
}

void Execs::hear(const AgentEntry& agent, const messages::ExecNews& news) {
  const auto found = execs_.find(news.number);
  if (found == execs_.end() || found->second.agent != agent.row.agent.id) return;
  outbox_.answer(found->second.asker, news);
  if (std::holds_alternative<supervision::ExecEnded>(news.news)) execs_.erase(found);
}

void Execs::end_execs(const std::function<bool(const Exec&)>& chosen, const std::string& why) {
  for (auto at = execs_.begin(); at != execs_.end();) {
    const auto& [number, exec] = *at;
    if (!chosen(exec)) {
      ++at;
      continue;
    }
    outbox_.answer(exec.asker, messages::ExecNews{number, supervision::ExecEnded{number, 0, why}});
    cancel(number, exec);
    at = execs_.erase(at);
  }
}

void Execs::serve(const Caller& caller, const requests::SendInput& request) {
  const Asker asker = caller.asker;
  const auto held = present_lease(caller, request.task);
  if (!held) return;
  if (!is_started(request.task)) {
    return outbox_.fail(asker, Errc::conflict, "task " + to_string(request.task) + " is still starting; try again");
  }
  const LeaseId lease{request.task, held->epoch};
  if (request.exec == 0) {
    const Command& command = ledger_.member_of(request.task).command;
    if (!command.input && !command.terminal) {
      return outbox_.fail(asker, Errc::invalid,
                          "task " + to_string(request.task) + " does not accept input; start it with cadre run -i");
    }
  } else {
    const auto exec = execs_.find(request.exec);
    const bool is_own = exec != execs_.end() && exec->second.lease == lease && exec->second.user == caller.who.user;
    if (!is_own)
      return outbox_.fail(asker, Errc::not_found,
                          "you have no such command running in task " + to_string(request.task));
  }
  messages::ExecInput input{lease,
                            {request.exec, request.offset, request.bytes, request.end, request.terminal, request.seen}};
  if (input.input.only_acknowledges()) {  // must not take the place of input that is under way
    outbox_.send(*ledger_.find(held->agent), std::move(input));
    return outbox_.answer(asker, requests::InputState{request.offset});
  }
  if (static_cast<std::int64_t>(inputs_.size()) >= settings_.execs_max) {
    return outbox_.fail(asker, Errc::unavailable, "too many clients send input; try again later");
  }
  const Target target{lease, request.exec};
  if (const auto before = inputs_.find(target); before != inputs_.end()) {
    outbox_.fail(before->second.asker, Errc::conflict, "other input was sent before this was accepted");
  }
  inputs_[target] = {asker, held->agent};
  outbox_.send(*ledger_.find(held->agent), std::move(input));
}

void Execs::hear(const AgentEntry& agent, const messages::InputTaken& news) {
  const auto found = inputs_.find({news.lease, news.taken.number});
  if (found == inputs_.end() || found->second.agent != agent.row.agent.id) return;
  const Asker asker = found->second.asker;
  inputs_.erase(found);
  if (!news.taken.error.empty()) return outbox_.fail(asker, Errc::conflict, news.taken.error);
  outbox_.answer(asker, requests::InputState{news.taken.offset});
}

void Execs::end_inputs(const std::function<bool(const Target&, const Input&)>& chosen, const Error& why) {
  for (auto at = inputs_.begin(); at != inputs_.end();) {
    if (!chosen(at->first, at->second)) {
      ++at;
      continue;
    }
    outbox_.fail(at->second.asker, why.code, why.message);
    at = inputs_.erase(at);
  }
}

void Execs::cancel(std::uint64_t number, const Exec& exec) {
  if (const AgentEntry* agent = ledger_.find(exec.agent)) {
    outbox_.send(*agent, messages::ExecCancel{exec.lease, {number}});
  }
}

void Execs::lease_over(const LeaseId& lease) {
  end_execs([&](const Exec& exec) { return exec.lease == lease; }, "the task has ended");
  end_inputs([&](const Target& to, const Input&) { return to.first == lease; }, {Errc::conflict, "the task has ended"});
}

void Execs::agent_disconnected(const AgentId& agent) {
  end_inputs([&](const Target&, const Input& input) { return input.agent == agent; },
             {Errc::unavailable, "the agent was disconnected; send the input again"});
}

void Execs::agent_back(const AgentId& agent) {
  end_execs([&](const Exec& exec) { return exec.agent == agent; }, "the agent was disconnected for a while");
  agent_disconnected(agent);
}

void Execs::forget_asker(Asker asker) {
  std::erase_if(inputs_, [&](const auto& one) { return one.second.asker == asker; });
  std::erase_if(execs_, [&](const auto& one) {
    if (one.second.asker != asker) return false;
    cancel(one.first, one.second);
    return true;
  });
}

void Execs::add_waiting(std::vector<Asker>& askers) const {
  for (const auto& [number, exec] : execs_) askers.push_back(exec.asker);
  for (const auto& [target, input] : inputs_) askers.push_back(input.asker);
}

}  // namespace cadre::cluster::control
