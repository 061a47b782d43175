#include "cli/commands/experiment/test_run.h"

#include <algorithm>
#include <csignal>

#include "cli/commands/experiment/watch.h"
#include "cli/commands/job_output.h"
#include "cli/experiment/numbers.h"
#include "cli/words.h"
#include "describe/utf8.h"
#include "experiment/config.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;
using describe::Value;
using experiment::CheckpointView;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialState;
using experiment::TrialView;

constexpr Duration look_at_trial_every = 500ms;
constexpr std::int64_t lines_shown = 20;
constexpr std::int32_t reports_read = 1'000;

struct TestVerdict {
  ExperimentId experiment;
  bool passed = false;
  std::vector<TestResult> results;
};
template <class V>
void describe(V& v, TestVerdict& c) {
  v.required("experiment", c.experiment, "Experiment of the test.");
  v.required("passed", c.passed, "Whether everything worked.");
  v.required("results", c.results, "The results, in the order of the test.");
}

std::string ending_of(const TrialView& trial) {
  const std::string state(describe::name_of(trial.state));
  return trial.reason.empty() ? "the trial ended as " + state : trial.reason;
}

TestResult judge_report(const TrialView& trial, const std::string& metric) {
  if (trial.last_metric) {
    return {"report", Verdict::worked,
            metric + " is " + number_text(*trial.last_metric) + " after " + counted(trial.steps, "step")};
  }
  std::vector<std::string> names;
  for (const experiment::MetricSummary& one : trial.metrics) {
    if (one.group == "validation") names.push_back(one.name);
  }
  if (!names.empty()) {
    return {"report", Verdict::failed,
            "validations were reported, but without " + metric +
                ", the metric of the searcher; they have: " + joined(names, ", ")};
  }
  return {"report", Verdict::failed,
          trial.metrics.empty() ? "no metrics were reported" : "training metrics were reported, but no validation"};
}

/// One test under way.
class TestRun {
 public:
  TestRun(CommandContext& session, ExperimentView submitted, ClientOptions client)
      : session_(session),
        client_(std::move(client)),
        metric_(submitted.metric),
        trial_{submitted.id, 0},
        verdict_{submitted.id, false, {}},
        tasks_(session.loop) {}

  /// The first interrupt kills the test, the second one quits.
  Result<void> watch_interrupts();
  loop::Task<Result<void>> run();
  int tell() const;

 private:
  void hear();
  static loop::Task<void> kill_and_leave(TestRun& self);
  /// Once this run, or a later one, has ended.
  loop::Task<Result<TrialView>> ended_trial(std::uint64_t run);
  loop::Task<Result<void>> run_again(const TrialView& first);
  loop::Task<void> show_last_lines(const TrialView& trial);
  void add(TestResult result);
  void note(const std::string& text) const;

  CommandContext& session_;
  const ClientOptions client_;
  const std::string metric_;
  const TrialId trial_;
  TestVerdict verdict_;
  int heard_ = 0;
  std::optional<loop::SignalWatch> signals_;
  loop::Tasks tasks_;
};

void TestRun::note(const std::string& text) const {
  print_error(session_.name + ": " + describe::escaped(text) + "\n");
}

void TestRun::add(TestResult result) {
  if (!client_.json) {
    std::string verdict(describe::name_of(result.verdict));
    std::replace(verdict.begin(), verdict.end(), '_', ' ');
    const std::string name = result.what + std::string(12 - result.what.size(), ' ');
    print(name + verdict + ": " + describe::escaped(result.detail) + "\n");
    flush_output();
  }
  verdict_.results.push_back(std::move(result));
}

Result<void> TestRun::watch_interrupts() {
  TRY_ASSIGN(signals, loop::on_signal(session_.loop, {SIGINT, SIGTERM, SIGHUP}, [this](int) { hear(); }));
  signals_ = std::move(signals);
  return {};
}

void TestRun::hear() {
  if (++heard_ > 1) return session_.leave(128 + SIGINT);
  print_error("\n");
  note("killing experiment " + std::to_string(trial_.experiment.value) + "; interrupt again to exit without waiting");
  tasks_.spawn(kill_and_leave(*this));
}

loop::Task<void> TestRun::kill_and_leave(TestRun& self) {
  const Result<ExperimentView> killed =
      co_await ask(self.session_, requests::KillExperiment{self.trial_.experiment}, rest::absence_max);
  if (!killed) self.session_.complain(killed.error());
  self.session_.leave(128 + SIGINT);
}

loop::Task<Result<TrialView>> TestRun::ended_trial(std::uint64_t run) {
  for (;;) {
    Result<TrialView> trial = co_await ask(session_, requests::GetTrial{trial_}, rest::absence_max);
    if (!trial || (trial->runs >= run && is_terminal(trial->state))) co_return trial;
    co_await loop::sleep(session_.loop, look_at_trial_every);
  }
}

loop::Task<void> TestRun::show_last_lines(const TrialView& trial) {
  if (trial.jobs.empty()) co_return;
  note("the last lines of its output:");
  OutputOptions options;
  options.tail = lines_shown;
  LinePrinter printer([](LinePrinter::To, std::string_view text) { print_error(text); });
  const OnJobLine on_line = [&](cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    printer.print("  " + prefix_of(task, tasks), line);
  };
  const Target target{{trial.jobs.back(), 0}, false};
  static_cast<void>(co_await show_output(session_, target, options, on_line));
}

loop::Task<Result<void>> TestRun::run_again(const TrialView& first) {
  const requests::GetCheckpoint saved{*first.latest_checkpoint};
  const Result<CheckpointView> checkpoint = co_await ask(session_, saved);
  if (!checkpoint) co_return Failure(checkpoint.error());
  const Result<TrialView> continued = co_await ask(session_, requests::ContinueTrial{trial_});
  if (!continued) {
    add({"restore", Verdict::failed, "the trial could not be run again: " + continued.error().message});
    co_return Result<void>();
  }
  const Result<TrialView> second = co_await ended_trial(first.runs + 1);
  if (!second) co_return Failure(second.error());
  requests::ReadReports request;
  request.trial = trial_;
  request.most = reports_read;
  const Result<requests::Reports> reports = co_await ask(session_, request);
  if (!reports) co_return Failure(reports.error());
  add(judge_second_run(*second, *checkpoint, reports->reports));
  if (second->state != TrialState::completed) co_await show_last_lines(*second);
  co_return Result<void>();
}

loop::Task<Result<void>> TestRun::run() {
  note("testing with experiment " + std::to_string(trial_.experiment.value) + ": one trial of one step");
  const Result<TrialView> first = co_await ended_trial(1);
  if (!first) co_return Failure(first.error());
  std::vector<TestResult> judged = judge_first_run(*first, metric_);
  for (TestResult& result : judged) add(std::move(result));
  if (first->state != TrialState::completed) co_await show_last_lines(*first);
  if (!first->latest_checkpoint) {
    add({"restore", Verdict::not_tested, "there is no checkpoint"});
    co_return Result<void>();
  }
  const Result<void> again = co_await run_again(*first);
  co_return again;
}

int TestRun::tell() const {
  TestVerdict verdict = verdict_;
  verdict.passed = std::all_of(verdict.results.begin(), verdict.results.end(),
                               [](const TestResult& one) { return one.verdict == Verdict::worked; });
  if (client_.json) print_json(verdict);
  const std::string id = std::to_string(trial_.experiment.value);
  note(verdict.passed ? "everything worked; remove the test with: cadre experiment delete " + id
                      : "not everything worked; see all output with: cadre experiment logs " + id);
  return verdict.passed ? done : failed;
}

}  // namespace

Value test_config(const Value& config) {
  Value test = config;
  const Value* name = config.find("name");
  const auto* text = name == nullptr ? nullptr : name->as<std::string>();
  constexpr std::size_t name_most = 240;  // the suffix has room
  test.set("name", Value(describe::shortened(text == nullptr ? "" : *text, name_most) + " (test)"));
  Value::List labels;
  if (const Value* given = config.find("labels"); given != nullptr && given->as<Value::List>() != nullptr) {
    labels = *given->as<Value::List>();
  }
  if (labels.size() < 100) labels.emplace_back("test");
  test.set("labels", Value(std::move(labels)));
  Value searcher;
  searcher.set("type", Value("single"));
  if (const Value* given = config.find("searcher")) {
    for (const char* key : {"metric", "smaller_is_better"}) {
      if (const Value* value = given->find(key)) searcher.set(key, *value);
    }
    const Value* points = given->find("start_with");
    const auto* list = points == nullptr ? nullptr : points->as<Value::List>();
    if (list != nullptr && !list->empty()) searcher.set("start_with", Value(Value::List{list->front()}));
  }
  test.set("searcher", std::move(searcher));
  test.set("length", Value(1)).set("validate_every", Value(1)).set("checkpoint_every", Value(1));
  test.set("max_restarts", Value(0));
  Value kept;
  if (const Value* given = config.find("checkpoints"); given != nullptr && given->as<Value::Map>() != nullptr) {
    kept = *given;
  }
  test.set("checkpoints", kept.set("save_trial_latest", Value(1)));
  return test;
}

std::vector<TestResult> judge_first_run(const TrialView& trial, const std::string& metric) {
  std::vector<TestResult> results;
  if (trial.state == TrialState::completed) {
    results.push_back({"train", Verdict::worked, "the program ended successfully"});
  } else {
    results.push_back({"train", Verdict::failed, ending_of(trial)});
  }
  results.push_back(judge_report(trial, metric));
  if (trial.latest_checkpoint) {
    results.push_back({"checkpoint", Verdict::worked, "saved as " + trial.latest_checkpoint->value});
  } else {
    results.push_back({"checkpoint", Verdict::failed, "none was completed"});
  }
  return results;
}

TestResult judge_second_run(const TrialView& trial, const CheckpointView& checkpoint,
                            const std::vector<requests::StoredReport>& reports) {
  const std::string run = "run " + std::to_string(trial.runs) + ", which was given checkpoint " + checkpoint.id.value;
  if (trial.state != TrialState::completed) return {"restore", Verdict::failed, run + ", failed: " + ending_of(trial)};
  for (const requests::StoredReport& report : reports) {
    if (report.run < trial.runs || report.steps > checkpoint.steps) continue;
    return {"restore", Verdict::failed,
            run + " of step " + std::to_string(checkpoint.steps) + ", reported step " + std::to_string(report.steps) +
                " again: the program did not continue from the checkpoint"};
  }
  return {"restore", Verdict::worked,
          run + ", ended successfully and repeated no step before step " + std::to_string(checkpoint.steps)};
}

loop::Task<int> test_experiment(CommandContext& session, ExperimentView submitted, ClientOptions client) {
  TestRun test(session, std::move(submitted), std::move(client));
  const Result<void> watching = test.watch_interrupts();
  if (!watching) co_return session.complain(failed, watching.error().message);
  const Result<void> tested = co_await test.run();
  if (!tested) co_return session.complain(tested.error());
  co_return test.tell();
}

}  // namespace cadre::cli
