/// For tests: Control with jobs that a test drives, and rows that survive a restart. One thread at a time.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "describe/describe.h"
#include "experiment/control/control.h"
#include "experiment/tables.h"

namespace cadre::experiment {

/// Jobs that run and end when a test says so.
class FakeJobs final : public JobControl {
 public:
  struct Job {
    cluster::JobSpec spec;
    std::string owner;
    JobFacts facts;
    std::optional<Duration> grace;  ///< with which it was last asked to end
    bool is_stopped = false;
  };

  bool has_workspace(const std::string& name) const override { return name != "missing"; }
  Result<cluster::JobId> submit(const std::string& owner, const cluster::JobSpec& spec) override {
    if (refusal) return Failure(*refusal);
    const cluster::JobId id{++last_};
    jobs.emplace(id, Job{spec, owner, {}, std::nullopt, false});
    return id;
  }
  void end(cluster::JobId id, std::optional<Duration> grace) override {
    Job& job = jobs.at(id);
    if (job.facts.end) return;
    job.is_stopped = true;
    job.grace = grace;
    if (cluster::waits(job.facts.stage)) finish(id, cluster::lease::Reason::killed_by_user, 0);
  }
  Result<void> change(cluster::JobId id, const JobChange& change) override {
    if (change.priority) jobs.at(id).spec.priority = *change.priority;
    return {};
  }
  std::optional<JobFacts> find(cluster::JobId id) const override {
    const auto found = jobs.find(id);
    return found == jobs.end() ? std::nullopt : std::optional(found->second.facts);
  }

  void start(cluster::JobId id) {
    Job& job = jobs.at(id);
    job.facts.stage = cluster::JobStage::running;
    ++job.facts.runs;
  }
  void preempt(cluster::JobId id) { jobs.at(id).facts.stage = cluster::JobStage::queued; }
  void finish(cluster::JobId id, cluster::lease::Reason reason, std::int32_t code) {
    Job& job = jobs.at(id);
    job.facts.stage = cluster::JobStage::ended;
    GangEnd end{reason, code, "", GangEnd::Cause::itself, {}};
    end.outputs.push_back({{{id, 0}, {job.facts.runs}}, "a1", 100});
    if (reason == cluster::lease::Reason::killed_by_user) end.cause = GangEnd::Cause::user;
    if (reason == cluster::lease::Reason::failed_to_start) end.cause = GangEnd::Cause::never;
    job.facts.end = end;
  }
  bool is_running(cluster::JobId id) const { return jobs.at(id).facts.stage == cluster::JobStage::running; }

  std::map<cluster::JobId, Job> jobs;
  std::optional<Error> refusal;

 private:
  std::uint64_t last_ = 0;
};

/// The rows of all tables, as the database has them.
class FakeRows {
 public:
  void commit(const api::Writes& writes) {
    write(writes, experiments);
    write(writes, specs);
    write(writes, trials);
    write(writes, checkpoints);
    write(writes, searches);
    write(writes, events);
    write(writes, validations);
  }

  /// What a master reads at its start.
  Control::Loaded load() const {
    Control::Loaded loaded;
    for (const auto& [id, row] : experiments) {
      loaded.last = id;
      if (row.is_live) loaded.experiments.push_back(*read(id));
    }
    for (const auto& [key, row] : validations) loaded.validations.push_back(row);
    for (const auto& [key, row] : checkpoints) {
      if (row.state == CheckpointState::partially_deleted) loaded.removals.push_back(row);
    }
    return loaded;
  }

  std::optional<ExperimentRows> read(ExperimentId id) const {
    const auto found = experiments.find(id);
    if (found == experiments.end()) return std::nullopt;
    ExperimentRows rows;
    rows.row = found->second;
    rows.spec = specs.at(id);
    for (const auto& [key, row] : trials) {
      if (row.id.experiment == id) rows.trials.push_back(row);
    }
    if (searches.contains(id)) rows.search = searches.at(id);
    for (const auto& [key, row] : events) {
      if (row.experiment == id) rows.events.push_back(row);
    }
    for (const auto& [key, row] : checkpoints) {
      if (row.trial.experiment == id) rows.checkpoints.push_back(row);
    }
    return rows;
  }

  std::map<ExperimentId, ExperimentRow> experiments;
  std::map<ExperimentId, ExperimentSpecRow> specs;
  std::map<TrialId, TrialRow> trials;
  std::map<CheckpointId, CheckpointRow> checkpoints;
  std::map<ExperimentId, SearchRow> searches;
  std::map<std::tuple<ExperimentId, std::uint64_t>, SearchEventRow> events;
  std::map<std::tuple<TrialId, std::uint64_t>, ValidationRow> validations;

 private:
  template <class Key, class Row>
  void write(const api::Writes& writes, std::map<Key, Row>& table) {
    for (const api::RowBatch& batch : writes.batches()) {
      if (batch.type != typeid(Row)) continue;
      for (const Row& row : *static_cast<const std::vector<Row>*>(batch.rows.get())) {
        const Key key(key_of(row));
        if (batch.act == api::RowBatch::Act::remove) {
          table.erase(key);
        } else {
          table.insert_or_assign(key, row);
        }
      }
    }
  }
};

/// One user, their experiments, and a master that can be restarted at any time.
class World {
 public:
  World() { restart(); }

  /// Everything that was not written is lost.
  void restart() {
    control_.emplace(Control::Options(), rows.load(), jobs, now());
    settle();
  }

  api::Call call() const { return {++calls_, user("ann"), "", {now(), now()}}; }
  static api::Principal user(const std::string& name) {
    api::Principal who;
    who.user = name;
    who.roles[api::default_workspace] = api::Role::editor;
    return who;
  }
  /// A task of the current run of a trial.
  api::Call call_of(TrialId id) {
    const TrialRow& row = rows.trials.at(id);
    api::Call task = call();
    task.who.task = std::to_string(row.jobs.back().value) + ".0";
    task.who.epoch = jobs.jobs.at(row.jobs.back()).facts.runs;
    return task;
  }

  /// Serves the request, with everything that follows.
  api::Reply ask(const api::Call& call, const api::Request& request) {
    std::optional<api::Reply> reply = control_->serve(call, request);
    for (auto& [id, later] : settle()) {
      if (id == call.id) reply = later;
    }
    return reply ? *reply : api::Reply(api::Failed{Errc::timed_out, "no reply", {}});
  }
  api::Reply ask(const api::Request& request) { return ask(call(), request); }

  ExperimentId create(const std::string& yaml) {
    const auto tree = describe::parse_yaml(yaml);
    EXPECT_TRUE(tree.has_value());
    requests::CreateExperiment request;
    request.config = *tree;
    const api::Reply reply = ask(request);
    const auto* view = reply.as<ExperimentView>();
    EXPECT_NE(view, nullptr) << (reply.failed() == nullptr ? "" : reply.failed()->message + faults_of(reply));
    return view == nullptr ? ExperimentId{} : view->id;
  }
  static std::string faults_of(const api::Reply& reply) {
    std::string text;
    for (const describe::Fault& fault : reply.failed()->faults) text += "\n" + fault.path + ": " + fault.message;
    return text;
  }

  /// The bulk side has written a validation; its news may be lost.
  enum class News : bool { lost, told };
  void validate(TrialId id, std::int64_t steps, double metric, News news = News::told) {
    validate_at(id, steps, describe::Value(steps), metric, news);
  }
  /// With a time in the unit of the searcher; null: the report had none.
  void validate_at(TrialId id, std::int64_t steps, describe::Value time, double metric, News news = News::told) {
    std::uint64_t& number = validated_[id];
    const auto value = std::isnan(metric) ? describe::Value("NaN") : describe::Value(metric);
    ValidationRow row{id, ++number, rows.trials.at(id).runs, steps, std::move(time), value};
    rows.validations[{id, number}] = row;
    if (news == News::lost) return;
    control_->hear(Validated{row}, now());
    settle();
  }
  /// The news of a validation that was lost before.
  void tell_again(TrialId id, std::uint64_t number) {
    const ValidationRow row = rows.validations.at({id, number});
    control_->hear(Validated{row}, now());
    settle();
  }
  void pass(std::chrono::seconds time) { time_ += static_cast<std::uint64_t>(time.count()); }
  void start(TrialId id) {
    const cluster::JobId job = rows.trials.at(id).jobs.back();
    jobs.start(job);
    review(job);
  }
  void finish(TrialId id, cluster::lease::Reason reason, std::int32_t code) {
    const cluster::JobId job = rows.trials.at(id).jobs.back();
    jobs.finish(job, reason, code);
    review(job);
  }
  void exit(TrialId id, std::int32_t code = 0) { finish(id, cluster::lease::Reason::exited, code); }
  void preempt(TrialId id) {
    const cluster::JobId job = rows.trials.at(id).jobs.back();
    jobs.preempt(job);
    review(job);
  }
  void review(cluster::JobId job) {
    control_->review(job, now());
    settle();
  }

  const ExperimentRow& row(ExperimentId id) const { return rows.experiments.at(id); }
  const TrialRow& row(TrialId id) const { return rows.trials.at(id); }
  /// Trials of an experiment in one of these states.
  std::vector<TrialId> trials(ExperimentId id, std::optional<TrialState> state = std::nullopt) const {
    std::vector<TrialId> found;
    for (const auto& [key, row] : rows.trials) {
      if (key.experiment == id && (!state || row.state == *state)) found.push_back(key);
    }
    return found;
  }

  /// Draws of samplers that are not answered, if `draws_wait`.
  std::vector<DrawOrder> draws;
  bool draws_wait = false;
  void answer_draws() {
    for (const DrawOrder& order : std::exchange(draws, {})) {
      control_->hear(PointReady{order.experiment, order.event, draw(order)}, now());
    }
    settle();
  }

  /// Output that is to be searched, until it was.
  std::vector<SearchOutput> searches;
  void answer_searches(const std::vector<LineFound>& found, const std::string& problem = "") {
    for (const SearchOutput& search : std::exchange(searches, {})) {
      control_->hear(OutputSearched{search.trial, search.run, found, problem}, now());
    }
    settle();
  }

  std::vector<CheckpointId> gone;      ///< checkpoints whose files were removed
  bool removals_wait = false;          ///< they are not removed, as if the master ended before
  std::optional<Error> removal_error;  ///< with which removals fail

  /// What the store says that it has of a checkpoint; nothing: what the client names.
  std::optional<Result<std::map<std::string, std::int64_t>>> stored;
  bool lists_wait = false;
  std::vector<ListFiles> lists;
  /// Whoever waits for the lists is answered; the replies are returned.
  std::vector<std::pair<api::CallId, api::Reply>> answer_lists() {
    for (const ListFiles& list : std::exchange(lists, {})) {
      control_->hear(FilesListed{list.call, list.request, named(list.request.files)}, now());
    }
    return settle();
  }
  bool reads_wait = false;
  std::vector<ReadCheckpoints> reads;
  void answer_reads() {
    for (const ReadCheckpoints& read : std::exchange(reads, {})) {
      control_->hear(CheckpointsRead{read.experiment, rows.read(read.experiment)->checkpoints}, now());
    }
    settle();
  }
  void tick() {
    control_->tick(now());
    settle();
  }

  /// A checkpoint of the current run of a trial.
  CheckpointId save(TrialId id, std::int64_t steps) {
    char text[37];
    std::snprintf(text, sizeof text, "7d3c6a52-0b7e-4f6e-9d0a-%012llx",
                  static_cast<unsigned long long>(++checkpoints_));
    const CheckpointId checkpoint(text);
    EXPECT_EQ(ask(call_of(id), requests::BeginCheckpoint{id, checkpoint}).failed(), nullptr);
    EXPECT_EQ(ask(call_of(id), requests::CompleteCheckpoint{id, checkpoint, steps, {}}).failed(), nullptr);
    return checkpoint;
  }
  void tell_metrics_removed(ExperimentId id) {
    control_->hear(MetricsRemoved{id}, now());
    settle();
  }

  FakeRows rows;
  FakeJobs jobs;
  Control& control() { return *control_; }
  std::vector<std::any> facts;

 private:
  static std::map<std::string, std::int64_t> named(const std::vector<CheckpointFile>& files) {
    std::map<std::string, std::int64_t> sizes;
    for (const CheckpointFile& file : files) sizes[file.name] = file.size;
    return sizes;
  }
  TimePoint now() const { return TimePoint(std::chrono::seconds(1'000'000 + ++time_)); }

  std::vector<std::pair<api::CallId, api::Reply>> settle() {
    std::vector<std::pair<api::CallId, api::Reply>> replies;
    for (bool is_busy = true; is_busy;) {
      api::Outcome outcome = control_->take();
      rows.commit(outcome.writes);
      for (std::any& fact : outcome.facts) facts.push_back(std::move(fact));
      for (auto& reply : outcome.replies) replies.push_back(std::move(reply));
      is_busy = !outcome.effects.empty() || !outcome.replies.empty();
      for (const std::any& effect : outcome.effects) perform(effect);
    }
    return replies;
  }
  void perform(const std::any& effect) {
    if (const auto* one = std::any_cast<DrawPoint>(&effect)) {
      if (draws_wait) return draws.push_back(one->order);
      control_->hear(PointReady{one->order.experiment, one->order.event, draw(one->order)}, now());
    } else if (const auto* find = std::any_cast<FindExperiment>(&effect)) {
      control_->hear(ExperimentFound{find->call, find->request, find->experiment, rows.read(find->experiment)});
    } else if (const auto* read = std::any_cast<ReadCheckpoints>(&effect)) {
      if (reads_wait) return reads.push_back(*read);
      control_->hear(CheckpointsRead{read->experiment, rows.read(read->experiment)->checkpoints}, now());
    } else if (const auto* list = std::any_cast<ListFiles>(&effect)) {
      if (lists_wait) return lists.push_back(*list);
      control_->hear(FilesListed{list->call, list->request, stored.value_or(named(list->request.files))}, now());
    } else if (const auto* search = std::any_cast<SearchOutput>(&effect)) {
      searches.push_back(*search);
    } else if (const auto* removed = std::any_cast<RemoveCheckpoint>(&effect)) {
      if (removals_wait) return;
      gone.push_back(removed->checkpoint.id);
      control_->hear(CheckpointRemoved{removed->checkpoint, removal_error}, now());
    } else if (const auto* checkpoint = std::any_cast<FindCheckpoint>(&effect)) {
      std::optional<FoundCheckpoint> found;
      if (const auto row = rows.checkpoints.find(checkpoint->checkpoint); row != rows.checkpoints.end()) {
        found = FoundCheckpoint{row->second, rows.experiments.at(row->second.trial.experiment)};
      }
      control_->hear(CheckpointFound{checkpoint->call, checkpoint->request, found});
    }
  }

  std::optional<Control> control_;
  std::map<TrialId, std::uint64_t> validated_;
  mutable std::uint64_t time_ = 0;
  mutable api::CallId calls_ = 0;
  std::uint64_t checkpoints_ = 0;
};

}  // namespace cadre::experiment
