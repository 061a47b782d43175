#include "experiment/part.h"

#include <map>
#include <utility>

#include "base/check.h"
#include "experiment/migrations.h"

namespace cadre::experiment {
namespace {

namespace jobs = cluster::requests;

std::string text_of(ExperimentId id) { return std::to_string(id.value); }

/// What is needed of checkpoints to go on: incomplete ones, and the latest of the trials.
constexpr std::string_view needed_checkpoints =
    "(state = 'active' OR EXISTS (SELECT 1 FROM trials WHERE trials.experiment = checkpoints.experiment AND "
    "trials.number = checkpoints.trial AND trials.is_live = 1 AND trials.latest_checkpoint = '\"' || checkpoints.id || "
    "'\"'))";

Result<Control::Loaded> load(api::RowReader& reader) {
  Control::Loaded loaded;
  TRY_ASSIGN(last, reader.some<ExperimentRow>("WHERE id = (SELECT MAX(id) FROM experiments)"));
  if (!last.empty()) loaded.last = last.front().id;
  const std::string live = "IN (SELECT id FROM experiments WHERE is_live = 1)";
  TRY_ASSIGN(experiments, reader.some<ExperimentRow>("WHERE is_live = 1"));
  TRY_ASSIGN(specs, reader.some<ExperimentSpecRow>("WHERE id " + live));
  TRY_ASSIGN(trials, reader.some<TrialRow>("WHERE experiment " + live));
  TRY_ASSIGN(searches, reader.some<SearchRow>("WHERE experiment " + live));
  TRY_ASSIGN(events, reader.some<SearchEventRow>("WHERE experiment " + live));
  TRY_ASSIGN(checkpoints,
             reader.some<CheckpointRow>("WHERE experiment " + live + " AND " + std::string(needed_checkpoints)));
  TRY_ASSIGN(validations, reader.all<ValidationRow>());
  TRY_ASSIGN(removals, reader.some<CheckpointRow>("WHERE state = 'partially_deleted'"));
  loaded.validations = std::move(validations);
  loaded.removals = std::move(removals);
  std::map<ExperimentId, ExperimentRows> by_id;
  for (ExperimentRow& row : experiments) by_id[row.id].row = std::move(row);
  for (ExperimentSpecRow& row : specs) by_id[row.id].spec = std::move(row);
  for (TrialRow& row : trials) by_id[row.id.experiment].trials.push_back(std::move(row));
  for (SearchRow& row : searches) by_id[row.experiment].search = std::move(row);
  for (SearchEventRow& row : events) by_id[row.experiment].events.push_back(std::move(row));
  for (CheckpointRow& row : checkpoints) by_id[row.trial.experiment].checkpoints.push_back(std::move(row));
  for (auto& [id, rows] : by_id) loaded.experiments.push_back(std::move(rows));
  return loaded;
}

template <class P>
P& find_part(std::span<const std::unique_ptr<api::Part>> parts) {
  for (const std::unique_ptr<api::Part>& part : parts) {
    if (auto* found = dynamic_cast<P*>(part.get())) return *found;
  }
  CHECK(false && "the parts access and cluster come before the part experiment");
  std::abort();
}

/// Of the tasks of its last run, those that have failed first.
std::vector<RunOutput> outputs_of(const cluster::control::Job& job) {
  std::vector<RunOutput> failed;
  std::vector<RunOutput> others;
  for (const auto& [member, task] : job.tasks) {
    const cluster::lease::Ending* ending = cluster::control::ending_of(task);
    if (!job.in_run(task) || ending == nullptr) continue;
    const bool is_good = cluster::control::went_well(*ending);
    (is_good ? others : failed).push_back({{task.id, task.lease.epoch}, task.agent.value, task.ending.output_end});
  }
  failed.insert(failed.end(), others.begin(), others.end());
  if (failed.size() > run_outputs_most) failed.resize(run_outputs_most);
  return failed;
}

GangEnd end_of(const cluster::control::Job& job) {
  using cluster::lease::Reason;
  const cluster::control::JobRow& row = job.row;
  GangEnd end{row.reason, row.code, row.detail, GangEnd::Cause::itself, outputs_of(job)};
  switch (row.reason) {
    case Reason::killed_by_user: end.cause = GangEnd::Cause::user; break;
    case Reason::agent_lost:
    case Reason::preempted: end.cause = GangEnd::Cause::system; break;
    case Reason::failed_to_start: end.cause = GangEnd::Cause::never; break;
    default: end.cause = GangEnd::Cause::itself; break;
  }
  return end;
}

}  // namespace

Result<std::optional<ExperimentRows>> read_experiment(api::RowReader& reader, ExperimentId id) {
  const std::string of = "WHERE experiment = " + text_of(id);
  TRY_ASSIGN(experiments, reader.some<ExperimentRow>("WHERE id = " + text_of(id)));
  TRY_ASSIGN(specs, reader.some<ExperimentSpecRow>("WHERE id = " + text_of(id)));
  if (experiments.empty() || specs.empty()) return std::nullopt;
  ExperimentRows rows;
  rows.row = std::move(experiments.front());
  rows.spec = std::move(specs.front());
  TRY_ASSIGN(trials, reader.some<TrialRow>(of));
  TRY_ASSIGN(searches, reader.some<SearchRow>(of));
  TRY_ASSIGN(events, reader.some<SearchEventRow>(of));
  TRY_ASSIGN(checkpoints, reader.some<CheckpointRow>(of + " AND state = 'active'"));
  rows.trials = std::move(trials);
  rows.events = std::move(events);
  rows.checkpoints = std::move(checkpoints);
  if (!searches.empty()) rows.search = std::move(searches.front());
  return rows;
}

Result<std::vector<CheckpointRow>> read_checkpoints(api::RowReader& reader, ExperimentId id) {
  return reader.some<CheckpointRow>("WHERE experiment = " + text_of(id));
}

Result<std::optional<FoundCheckpoint>> read_checkpoint(api::RowReader& reader, const CheckpointId& id) {
  if (!is_uuid(id)) return std::nullopt;  // it would not be safe in the statement
  TRY_ASSIGN(checkpoints, reader.some<CheckpointRow>("WHERE id = '" + id.value + "'"));
  if (checkpoints.empty()) return std::nullopt;
  TRY_ASSIGN(experiments, reader.some<ExperimentRow>("WHERE id = " + text_of(checkpoints.front().trial.experiment)));
  if (experiments.empty()) return std::nullopt;
  return FoundCheckpoint{std::move(checkpoints.front()), std::move(experiments.front())};
}

api::PartType ExperimentPart::type(Control::Options options) {
  api::PartType type;
  type.name = name;
  type.operations = api::operations_of(std::type_identity<requests::ExperimentRequest>{});
  for (api::Operation& one : api::operations_of(std::type_identity<requests::TrialRequest>{})) {
    type.operations.push_back(std::move(one));
  }
  type.bulk_operations = api::operations_of(std::type_identity<requests::BulkRequest>{});
  type.requests = api::names_of(std::type_identity<requests::ExperimentRequest>{});
  for (const std::string_view one : api::names_of(std::type_identity<requests::TrialRequest>{})) {
    type.requests.push_back(one);
  }
  type.migrations = migrations();
  type.changes = {experiment_changes, trial_changes, checkpoint_changes};
  type.load = [](api::RowReader& reader) -> Result<std::any> {
    TRY_ASSIGN(loaded, load(reader));
    return std::any(std::move(loaded));
  };
  type.make = [options = std::move(options)](std::any rows, std::span<const std::unique_ptr<Part>> before,
                                             const api::Now& now) {
    return std::make_unique<ExperimentPart>(options, std::any_cast<Control::Loaded>(std::move(rows)),
                                            find_part<access::AccessPart>(before),
                                            find_part<cluster::control::ClusterPart>(before), now);
  };
  return type;
}

ExperimentPart::ExperimentPart(Control::Options options, Control::Loaded loaded, const access::AccessPart& access,
                               cluster::control::ClusterPart& cluster, const api::Now& now)
    : cluster_(cluster),
      jobs_(access, cluster),
      control_(std::move(options), (jobs_.now = now, std::move(loaded)), jobs_, now.time),
      seen_(cluster.control().ledger().last_version()) {}

Result<api::Call> ExperimentPart::Jobs::call_of(const std::string& owner, const std::string& workspace) const {
  TRY_ASSIGN(who, access_.access().who_of_task(owner, workspace, ""));
  return api::Call{0, std::move(who), "", now};
}

Result<api::Reply> ExperimentPart::Jobs::ask(const api::Call& call, const api::Request& request) {
  std::optional<api::Reply> reply = cluster_.serve(call, request);
  if (!reply) return fail(Errc::unavailable, "the part cluster gave no reply");
  if (const api::Failed* failed = reply->failed()) {
    std::string message = failed->message;
    for (const describe::Fault& fault : failed->faults) message += "; " + fault.path + ": " + fault.message;
    return Failure(Error{failed->code, std::move(message)});
  }
  return *std::move(reply);
}

Result<cluster::JobId> ExperimentPart::Jobs::submit(const std::string& owner, const cluster::JobSpec& spec) {
  TRY_ASSIGN(call, call_of(owner, spec.workspace));
  TRY_ASSIGN(reply, ask(call, jobs::Submit{spec}));
  return reply.as<jobs::JobView>()->id;
}

void ExperimentPart::Jobs::end(cluster::JobId job, std::optional<Duration> grace) {
  const cluster::control::Job* known = cluster_.control().ledger().find(job);
  if (known == nullptr || known->row.stage == cluster::JobStage::ended) return;
  // It is the system that ends it: the owner may have lost the right to.
  api::Principal system;
  system.user = known->row.spec.group;
  system.is_admin = true;
  const api::Call call{0, std::move(system), "", now};
  static_cast<void>(ask(call, jobs::EndJob{job, grace}));
}

Result<void> ExperimentPart::Jobs::change(cluster::JobId job, const JobChange& change) {
  const cluster::control::Job* known = cluster_.control().ledger().find(job);
  if (known == nullptr || known->row.stage == cluster::JobStage::ended) return {};
  TRY_ASSIGN(call, call_of(known->row.owner, known->row.spec.workspace));
  TRY_ASSIGN(reply, ask(call, jobs::SetJob{job, change.priority, change.weight, change.max_slots, std::nullopt}));
  return {};
}

std::optional<JobFacts> ExperimentPart::Jobs::find(cluster::JobId job) const {
  const cluster::control::Job* known = cluster_.control().ledger().find(job);
  if (known == nullptr) return std::nullopt;
  JobFacts facts;
  facts.stage = known->row.stage;
  facts.runs = static_cast<std::uint64_t>(known->row.runs);
  if (known->row.stage == cluster::JobStage::ended) facts.end = end_of(*known);
  return facts;
}

std::optional<api::Reply> ExperimentPart::serve(const api::Call& call, const api::Request& request) {
  jobs_.now = call.now;
  return control_.serve(call, request);
}

std::optional<api::Reply> ExperimentPart::serve_created(const api::Call& call, const api::Created& created) {
  if (created.noun != "experiment") return Part::serve_created(call, created);
  return control_.serve_created(call, {std::stoull(created.id)});
}

std::optional<Error> ExperimentPart::objection(const api::Principal& who, const api::Request& request) const {
  const auto* gone = request.as<access::DeleteWorkspace>();
  if (gone == nullptr || !who.is_admin || !control_.is_used(gone->workspace)) return std::nullopt;
  return Error{Errc::conflict, "there are experiments in workspace '" + gone->workspace +
                                   "' that have not ended; cancel them first: cadre experiment list"};
}

void ExperimentPart::hear(const std::any& news, const api::Now& now) {
  jobs_.now = now;
  if (const auto* validated = std::any_cast<Validated>(&news)) {
    control_.hear(*validated, now.time);
  } else if (const auto* ready = std::any_cast<PointReady>(&news)) {
    control_.hear(*ready, now.time);
  } else if (const auto* experiment = std::any_cast<ExperimentFound>(&news)) {
    control_.hear(*experiment);
  } else if (const auto* checkpoint = std::any_cast<CheckpointFound>(&news)) {
    control_.hear(*checkpoint);
  } else if (const auto* files = std::any_cast<FilesListed>(&news)) {
    control_.hear(*files, now.time);
  } else if (const auto* list = std::any_cast<CheckpointsRead>(&news)) {
    control_.hear(*list, now.time);
  } else if (const auto* removed = std::any_cast<CheckpointRemoved>(&news)) {
    control_.hear(*removed, now.time);
  } else if (const auto* searched = std::any_cast<OutputSearched>(&news)) {
    control_.hear(*searched, now.time);
  } else if (const auto* metrics = std::any_cast<MetricsRemoved>(&news)) {
    control_.hear(*metrics, now.time);
  }
}

void ExperimentPart::review_jobs(const api::Now& now) {
  const cluster::control::Ledger& ledger = cluster_.control().ledger();
  // What is done about one job may change others.
  while (ledger.last_version() != seen_) {
    const std::uint64_t before = std::exchange(seen_, ledger.last_version());
    const std::set<cluster::JobId> changed = ledger.jobs_changed();
    for (const cluster::JobId job : changed) {
      const cluster::control::Job* known = ledger.find(job);
      if (known == nullptr || known->version > before) control_.review(job, now.time);
    }
  }
}

api::Outcome ExperimentPart::settle(const api::Now& now) {
  jobs_.now = now;
  review_jobs(now);
  return control_.take();
}

std::vector<Metric> ExperimentPart::metrics() const {
  double trials = 0;
  double running = 0;
  for (const auto& [id, experiment] : control_.ledger().all()) {
    trials += static_cast<double>(experiment.live);
    running += static_cast<double>(experiment.row.running);
  }
  return {metric("experiments", "Number of experiments that have not ended.",
                 static_cast<double>(control_.ledger().all().size())),
          metric("trials", "Number of trials that have not ended.", trials),
          metric("trials_running", "Number of trials that hold slots.", running)};
}

}  // namespace cadre::experiment
