#include "cluster/control/cluster_part.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"
#include "cluster/control/change_kinds.h"
#include "cluster/control/tables.h"
#include "cluster/output.h"

namespace cadre::cluster::control {
namespace {

/// The workspace in which a job is to be, if the request creates one.
const std::string* workspace_of(const requests::Request& request) {
  if (const auto* submit = std::get_if<requests::Submit>(&request)) return &submit->job.workspace;
  if (const auto* run = std::get_if<requests::RunTask>(&request)) return &run->workspace;
  return nullptr;
}

bool creates_job(const requests::Request& request) { return workspace_of(request) != nullptr; }

/// The job that a request is about, if it is about one.
std::optional<JobId> job_of(const requests::Request& request) {
  return std::visit(
      [](const auto& one) -> std::optional<JobId> {
        if constexpr (requires { JobId(one.job); }) return one.job;
        if constexpr (requires { TaskId(one.task); }) return one.task.job;
        return std::nullopt;
      },
      request);
}

api::Failed failed(Errc code, std::string message) { return {code, std::move(message), {}}; }

}  // namespace

Quotas quotas_of(const access::Access& access) {
  Quotas quotas;
  for (const auto& [name, user] : access.directory().users()) {
    if (user.row.max_slots) quotas[account_of_user(name)] = *user.row.max_slots;
  }
  for (const auto& [name, workspace] : access.directory().workspaces()) {
    if (workspace.row.max_slots) quotas[account_of_workspace(name)] = *workspace.row.max_slots;
  }
  return quotas;
}

api::Writes to_rows(Writes writes) {
  api::Writes all;
  std::vector<AgentRow> agents;
  for (AgentId& id : writes.agents_gone) agents.emplace_back().agent.id = std::move(id);
  std::vector<AgentKey> keys;
  for (AgentId& id : writes.keys_gone) keys.emplace_back().agent = std::move(id);
  for (const JobRow& row : writes.new_jobs) all.raise("job", row.id.value);
  all.remove(std::move(agents));
  all.remove(std::move(keys));
  all.put(std::move(writes.agents));
  all.put(std::move(writes.groups));
  all.put(std::move(writes.new_jobs));
  all.change(std::move(writes.jobs));
  all.put(std::move(writes.tasks));
  return all;
}

api::PartType ClusterPart::type(Options options) {
  api::PartType type;
  type.name = "cluster";
  type.operations = api::operations_of(std::type_identity<requests::Request>{});
  type.requests = api::names_of(std::type_identity<requests::Request>{});
  // Served by the bulk side of the master, not by this part.
  type.operations.push_back(api::operation_of<requests::ReadLogs>());
  type.operations.push_back(api::operation_of<requests::GetCode>());
  type.operations.push_back(api::operation_of<requests::PutCode>());
  type.changes.assign(change_kinds.begin(), change_kinds.end());
  type.has_snapshot = true;
  type.make = [options = std::move(options)](std::any loaded, std::span<const std::unique_ptr<Part>> before,
                                             const api::Now& now) -> std::unique_ptr<Part> {
    for (const std::unique_ptr<Part>& part : before) {
      const auto* access = dynamic_cast<const access::AccessPart*>(part.get());
      if (access == nullptr) continue;
      return std::make_unique<ClusterPart>(options, std::any_cast<Loaded>(std::move(loaded)), *access, now);
    }
    CHECK(false && "the part access comes before the part cluster");
    return nullptr;
  };
  return type;
}

ClusterPart::ClusterPart(const Options& options, Loaded loaded, const access::AccessPart& access, const api::Now& now)
    : access_(access.access()),
      options_(options),
      keyed_(options.keyed),
      control_(
          options.settings,
          [&] {
            loaded.rows.quotas = quotas_of(access_);
            return std::move(loaded.rows);
          }(),
          loaded.boot, now.time) {}

std::optional<Result<api::Principal>> ClusterPart::identify(const api::Credential& credential, const api::Now&) const {
  if (credential.lease.empty()) return std::nullopt;
  TRY_ASSIGN(lease, parse_lease_id(credential.lease));
  const TaskRow* task = control_.ledger().find(lease.task);
  const auto held = task == nullptr ? std::nullopt : lease::current(task->lease);
  if (!held || held->epoch != lease.epoch) {
    return Failure(Error{Errc::denied, "this is the token of a task that has ended; log in, or use another token"});
  }
  const JobRow& job = control_.ledger().find(lease.task.job)->row;
  TRY_ASSIGN(who, access_.who_of_task(job.owner, job.spec.workspace, to_string(lease.task)));
  who.epoch = held->epoch.value;
  return who;
}

std::optional<api::Reply> ClusterPart::serve(const api::Call& call, const api::Request& request) {
  const std::optional<requests::Request> choice = api::choice_of<requests::Request>(request);
  if (!choice) return failed(Errc::invalid, "unknown request " + std::string(request.name()));
  if (const auto* join = std::get_if<requests::MakeJoinToken>(&*choice)) {
    if (!call.who.is_admin) return failed(Errc::denied, "only admins of the cluster may let agents join");
    if (const auto missing = control_.missing_pool(join->pool)) return failed(Errc::not_found, "pool: " + *missing);
    outcome_.effects.emplace_back(MakeJoinToken{call.id, *join});
    return std::nullopt;
  }
  const std::optional<JobId> id = job_of(*choice);
  if (options_.has_archive && id && control_.ledger().may_be_archived(*id)) {
    outcome_.effects.emplace_back(FindArchivedJob{call, request, *id});
    return std::nullopt;
  }
  if (const auto* list = std::get_if<requests::ListJobs>(&*choice); list != nullptr && options_.has_archive) {
    const JobRange range = control_.list_range(*list);
    if (range.has_archived) {
      outcome_.effects.emplace_back(ListArchivedJobs{call, *list, range});
      return std::nullopt;
    }
  }
  return serve_now(call, *choice, nullptr);
}

std::optional<api::Reply> ClusterPart::serve_now(const api::Call& call, const requests::Request& request,
                                                 const Job* archived) {
  const std::string* workspace = workspace_of(request);
  if (workspace != nullptr && !access_.has_workspace(*workspace)) {
    return failed(Errc::not_found, "workspace: there is no workspace '" + *workspace + "'; see cadre workspace list");
  }
  const auto* remove = std::get_if<requests::RemoveAgent>(&request);
  const bool has_only_key = remove != nullptr && call.who.is_admin && keyed_.contains(remove->agent) &&
                            !control_.ledger().agents().contains(remove->agent);
  if (has_only_key) {
    control_.revoke_key(call.id, remove->agent);
  } else if (archived != nullptr) {
    control_.ask(call.id, call.who, request, *archived, call.now.time);
  } else {
    control_.ask(call.id, call.who, request, call.now.time);
  }
  std::optional<api::Reply> reply = take_answer(call.id);
  if (reply && creates_job(request)) {
    if (const auto* job = reply->as<requests::JobView>()) reply->set_created({"job", std::to_string(job->id.value)});
  }
  return reply;
}

std::optional<api::Reply> ClusterPart::take_answer(api::CallId call) {
  std::optional<api::Reply> answer = control_.take_answer(call);
  if (!answer) return std::nullopt;
  return completed(*std::move(answer));
}

api::Reply ClusterPart::completed(api::Reply reply) const {
  const auto* known = reply.as<requests::Status>();
  if (known == nullptr || !options_.refused) return reply;
  requests::Status status = *known;
  status.refused = options_.refused();
  return status;
}

std::optional<api::Reply> ClusterPart::serve_created(const api::Call& call, const api::Created& created) {
  if (created.noun != "job") return std::nullopt;
  return serve(call, requests::GetJob{{std::stoull(created.id)}, std::nullopt});
}

std::optional<Error> ClusterPart::objection(const api::Principal& who, const api::Request& request) const {
  if (!who.is_admin) return std::nullopt;
  if (const auto* gone = request.as<access::DeleteUser>()) {
    const std::int64_t left = control_.jobs_of(gone->user);
    if (left == 0) return std::nullopt;
    return Error{Errc::conflict, "user '" + gone->user + "' has " + std::to_string(left) +
                                     " jobs that have not ended, which would run without a quota; stop them first, and "
                                     "keep the user from submitting more with: cadre user set " +
                                     gone->user + " --inactive"};
  }
  const auto* gone = request.as<access::DeleteWorkspace>();
  if (gone == nullptr || !control_.is_used(gone->workspace)) return std::nullopt;
  return Error{Errc::conflict, "there are jobs in workspace '" + gone->workspace +
                                   "' that have not ended; stop them first: cadre job list --workspace " +
                                   gone->workspace};
}

void ClusterPart::executed(const api::Request& request) {
  const auto of_user = [&](const std::string& name) {
    control_.set_quota(account_of_user(name), access_.quota_of_user(name));
  };
  const auto of_workspace = [&](const std::string& name) {
    control_.set_quota(account_of_workspace(name), access_.quota_of_workspace(name));
  };
  if (const auto* one = request.as<access::CreateUser>()) of_user(one->name);
  if (const auto* one = request.as<access::SetUser>()) of_user(one->user);
  if (const auto* one = request.as<access::DeleteUser>()) of_user(one->user);
  if (const auto* one = request.as<access::CreateWorkspace>()) of_workspace(one->name);
  if (const auto* one = request.as<access::SetWorkspace>()) of_workspace(one->workspace);
  if (const auto* one = request.as<access::DeleteWorkspace>()) of_workspace(one->workspace);
}

void ClusterPart::hear(const std::any& news, const api::Now& now) {
  const auto reply = [&](api::CallId call, std::optional<api::Reply> what) {
    if (what) outcome_.replies.emplace_back(call, *std::move(what));
  };
  if (const auto* one = std::any_cast<AgentNews>(&news)) {
    control_.hear(one->peer, one->message, one->proven, now.time);
  } else if (const auto* lost = std::any_cast<PeerLost>(&news)) {
    control_.forget_peer(lost->peer);
  } else if (const auto* key = std::any_cast<KeyAdded>(&news)) {
    keyed_.insert(key->agent);
  } else if (const auto* pruned = std::any_cast<JobPruned>(&news)) {
    control_.note_pruned(pruned->id, pruned->bytes);
  } else if (const auto* made = std::any_cast<JoinTokenMade>(&news)) {
    reply(made->call, made->token ? api::Reply(requests::Text{*made->token}) : api::Reply(made->token.error()));
  } else if (const auto* found = std::any_cast<ArchivedJobFound>(&news)) {
    if (!found->job) return reply(found->call.id, found->job.error());
    api::Call call = found->call;
    call.now = now;
    reply(call.id,
          serve_now(call, *api::choice_of<requests::Request>(found->request), *found->job ? &**found->job : nullptr));
  } else if (const auto* listed = std::any_cast<ArchivedJobsFound>(&news)) {
    reply(listed->call.id, listed->jobs
                               ? api::Reply(control_.list_jobs(listed->call.who, listed->request, *listed->jobs))
                               : api::Reply(listed->jobs.error()));
  }
}

api::Outcome ClusterPart::settle(const api::Now& now) {
  Outcome decided = control_.settle(now.time);
  api::Outcome outcome = std::exchange(outcome_, {});
  ToAgents to_agents;
  for (const AgentId& id : decided.writes.keys_gone) keyed_.erase(id);
  to_agents.keys_gone = decided.writes.keys_gone;
  outcome.changes = std::move(decided.writes.changes);
  outcome.writes = to_rows(std::move(decided.writes));
  to_agents.tasks = outcome.writes.rows<TaskRow>();
  to_agents.new_jobs = outcome.writes.rows<JobRow>(api::RowBatch::Act::put);
  to_agents.jobs = outcome.writes.rows<JobRow>(api::RowBatch::Act::change);
  outcome.is_finished = decided.is_finished;
  for (ToAgent& one : decided.to_agents) {
    auto* start = std::get_if<messages::Start>(&one.message.body);
    const access::UserRow* owner = start == nullptr ? nullptr : access_.find_user(start->owner);
    if (owner == nullptr) continue;
    start->rights.unix_user = owner->unix_user;
    start->rights.is_admin = owner->is_admin && owner->is_active;
  }
  to_agents.messages = std::move(decided.to_agents);
  if (!outcome.writes.empty() || !to_agents.messages.empty()) outcome.effects.emplace_back(std::move(to_agents));
  for (PlanRecord& plan : decided.plans) outcome.effects.emplace_back(std::move(plan));
  for (Answer& one : decided.answers) outcome.replies.emplace_back(one.asker, completed(std::move(one.reply)));
  return outcome;
}

api::SnapshotPage ClusterPart::snapshot(const api::Principal& who, const std::string& after) const {
  requests::GetSnapshot request;
  if (!after.empty()) {
    // It was made below, and may come from a client of another version: then it starts again.
    request = describe::read_json_of_peer<requests::GetSnapshot>(after).value_or(request);
  }
  requests::SnapshotPage page = control_.snapshot(who, request);
  return {0, describe::write(page.part), page.next ? describe::write_json(*page.next) : ""};
}

std::vector<Metric> ClusterPart::metrics() const {
  const requests::Status status = control_.status();
  std::vector<Metric> all{
      metric("agents", "Number of known agents.", static_cast<double>(status.agents)),
      metric("agents_up", "Number of connected agents.", static_cast<double>(status.agents_up)),
      metric("slots", "Number of slots of connected agents.", static_cast<double>(status.slots)),
      metric("slots_used", "Number of slots in use.", static_cast<double>(status.slots_used)),
      metric("cpus", "CPU cores that connected agents offer.", static_cast<double>(status.cpus.milli) / 1000),
      metric("cpus_used", "CPU cores allocated to tasks.", static_cast<double>(status.cpus_used.milli) / 1000),
      metric("memory_bytes", "Memory that connected agents offer, in bytes.", static_cast<double>(status.memory.value)),
      metric("memory_used_bytes", "Memory allocated to tasks, in bytes.",
             static_cast<double>(status.memory_used.value)),
      metric("load", "Sum of the load averages of connected agents.", status.load),
      metric("jobs_queued", "Number of queued jobs.", static_cast<double>(status.queued)),
      metric("jobs_running", "Number of running or stopping jobs.", static_cast<double>(status.running)),
      metric("actors", "Number of actors among the queued, running and stopping jobs.",
             static_cast<double>(status.actors)),
      metric("sessions", "Number of client sessions.", static_cast<double>(status.sessions)),
  };
  for (Metric& one : control_.metrics()) all.push_back(std::move(one));
  return all;
}

void ClusterPart::take_over(Part& dropped) {
  auto* old = dynamic_cast<ClusterPart*>(&dropped);
  if (old == nullptr) return;
  control_.take_connections(old->control_);
  keyed_ = old->keyed_;
}

}  // namespace cadre::cluster::control
