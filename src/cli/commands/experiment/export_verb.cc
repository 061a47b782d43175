#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

#include "cli/commands/experiment/event_folder.h"
#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/experiment/event_records.h"
#include "cli/experiment/export.h"
#include "cli/words.h"
#include "loop/file.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::TrialId;
using experiment::TrialView;
using StoredReports = std::vector<requests::StoredReport>;

constexpr std::int32_t exported_trials_most = 1'000'000;
constexpr std::int32_t reports_in_page = 10'000;

enum class ExportFormat : std::uint8_t { csv, jsonl, tensorboard };
constexpr auto enum_names(ExportFormat) {
  return std::array{std::pair{ExportFormat::csv, "csv"}, std::pair{ExportFormat::jsonl, "jsonl"},
                    std::pair{ExportFormat::tensorboard, "tensorboard"}};
}

struct ExportOptions {
  ClientOptions client;
  ExperimentOrTrial target;
  ExportFormat format = ExportFormat::csv;
  bool trials = false;
  std::string group;
  std::string output;  ///< a file, or for TensorBoard a folder
};

LineFormat lines_of(const ExportOptions& options) {
  return options.format == ExportFormat::jsonl ? LineFormat::jsonl : LineFormat::csv;
}

/// Standard output, or a file that replaces another one only when it is complete.
class ExportTarget {
 public:
  static Result<ExportTarget> open(const std::string& path) {
    ExportTarget target;
    if (path.empty()) return target;
    target.path_ = path;
    target.partial_ = path + ".partial";
    target.file_ = std::fopen(target.partial_.c_str(), "wbe");
    if (target.file_ == nullptr) return loop::system_failure("cannot write " + target.partial_);
    return target;
  }
  ExportTarget(ExportTarget&& other) noexcept
      : path_(std::move(other.path_)),
        partial_(std::move(other.partial_)),
        file_(std::exchange(other.file_, nullptr)) {}
  ExportTarget& operator=(ExportTarget&&) = delete;
  ~ExportTarget() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(partial_.c_str());
  }

  bool write(const std::string& text) {
    if (path_.empty()) {
      print(text);
      return write_error() == 0;
    }
    return std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  }
  Result<void> finish() {
    if (path_.empty()) return {};
    const bool is_written = std::fclose(std::exchange(file_, nullptr)) == 0;
    if (is_written && std::rename(partial_.c_str(), path_.c_str()) == 0) return {};
    const Failure why = loop::system_failure("cannot write " + path_);
    std::remove(partial_.c_str());
    return why;
  }

 private:
  ExportTarget() = default;
  std::string path_;
  std::string partial_;
  std::FILE* file_ = nullptr;
};

struct Exported {
  std::string file;
  std::uint64_t trials = 0;
  std::uint64_t reports = 0;
};
template <class V>
void describe(V& v, Exported& c) {
  v.required("file", c.file, "File that was written; with the format tensorboard, the folder.");
  v.required("trials", c.trials, "Number of trials in it.");
  v.required("reports", c.reports, "Number of reports in it.");
}

loop::Task<Result<std::vector<TrialView>>> trials_of(CommandContext& session, ExperimentOrTrial target) {
  std::vector<TrialView> trials;
  if (const auto* id = std::get_if<TrialId>(&target)) {
    Result<TrialView> trial = co_await ask(session, requests::GetTrial{*id});
    if (!trial) co_return Failure(trial.error());
    trials.push_back(*std::move(trial));
    co_return trials;
  }
  requests::ListTrials request;
  request.experiment = std::get<ExperimentId>(target);
  Result<experiment::Trials> all = co_await list_trials(session, request, exported_trials_most);
  if (!all) co_return Failure(all.error());
  co_return std::move(all->trials);
}

using TakePage = std::function<Result<void>(const StoredReports&)>;

loop::Task<Result<void>> read_reports(CommandContext& session, TrialId trial, const ExportOptions& options,
                                      const TakePage& take) {
  requests::ReadReports request;
  request.trial = trial;
  request.group = options.group;
  request.most = reports_in_page;
  for (;;) {
    const Result<requests::Reports> page = co_await ask(session, request, std::chrono::minutes(1));
    if (!page) co_return Failure(page.error());
    const Result<void> taken = take(page->reports);
    if (!taken) co_return Failure(taken.error());
    if (page->next.empty()) co_return Result<void>();
    request.after = page->next;
  }
}

loop::Task<Result<Exported>> export_lines(CommandContext& session, const ExportOptions& options) {
  Result<ExportTarget> target = ExportTarget::open(options.output);
  if (!target) co_return Failure(target.error());
  const ExperimentOrTrial what = options.target;
  const Result<std::vector<TrialView>> trials = co_await trials_of(session, what);
  if (!trials) co_return Failure(trials.error());
  const LineFormat format = lines_of(options);
  Exported exported{options.output, trials->size(), 0};
  if (options.trials) {
    const Result<experiment::ExperimentView> one =
        co_await ask(session, requests::GetExperiment{experiment_of(options.target)});
    if (!one) co_return Failure(one.error());
    if (!target->write(trial_lines(format, *trials, one->metric))) {
      co_return loop::system_failure("cannot write the export");
    }
  } else {
    if (!target->write(reports_head(format))) co_return loop::system_failure("cannot write the export");
    for (const TrialView& trial : *trials) {
      const TakePage take = [&](const StoredReports& reports) -> Result<void> {
        std::string text;
        for (const requests::StoredReport& report : reports) text += report_lines(format, trial.id, report);
        if (!target->write(text)) return loop::system_failure("cannot write the export");
        exported.reports += reports.size();
        return {};
      };
      const Result<void> done = co_await read_reports(session, trial.id, options, take);
      if (!done) co_return Failure(done.error());
    }
  }
  const Result<void> finished = target->finish();
  if (!finished) co_return Failure(finished.error());
  co_return exported;
}

Result<void> begin_events(EventFolder& folder, const TrialView& trial) {
  const TimePoint time = trial.started.value_or(trial.created.value_or(TimePoint{}));
  TRY(folder.begin(trial.id));
  return folder.write(version_record(time) + hyperparameters_record(time, exact_texts(trial.hyperparameters)));
}

loop::Task<Result<Exported>> export_events(CommandContext& session, const ExportOptions& options) {
  Result<EventFolder> folder = EventFolder::open(options.output, session.calendar.now());
  if (!folder) co_return Failure(folder.error());
  const ExperimentOrTrial what = options.target;
  const Result<std::vector<TrialView>> trials = co_await trials_of(session, what);
  if (!trials) co_return Failure(trials.error());
  Exported exported{options.output, trials->size(), 0};
  const TakePage take = [&](const StoredReports& reports) -> Result<void> {
    std::string records;
    for (const requests::StoredReport& report : reports) {
      const std::string record = scalars_record(report);
      if (!record.empty()) ++exported.reports;
      records += record;
    }
    return folder->write(records);
  };
  for (const TrialView& trial : *trials) {
    Result<void> done = begin_events(*folder, trial);
    if (done) done = co_await read_reports(session, trial.id, options, take);
    if (done) done = folder->end();
    if (!done) co_return Failure(done.error());
  }
  folder->finish();
  co_return exported;
}

/// Which options contradict each other; empty: none.
std::string refusal_of(const ExportOptions& options) {
  if (options.format == ExportFormat::tensorboard) {
    if (options.output.empty()) return "--format tensorboard writes a folder; name it with --output";
    if (options.trials)
      return "--trials has no metrics, and --format tensorboard writes nothing else; omit one of them";
  }
  if (options.client.json && options.output.empty()) {
    return "--json describes the file that --output writes; to print reports as JSON, use --format jsonl";
  }
  return "";
}

loop::Task<int> export_verb(CommandContext& session, std::shared_ptr<const ExportOptions> options) {
  const std::string refusal = refusal_of(*options);
  if (!refusal.empty()) co_return session.complain(bad_usage, refusal);
  Result<Exported> exported = fail(Errc::invalid, "");
  if (options->format == ExportFormat::tensorboard) {
    exported = co_await export_events(session, *options);
  } else {
    exported = co_await export_lines(session, *options);
  }
  if (!exported) co_return session.complain(exported.error());
  if (!options->trials && !options->group.empty() && exported->reports == 0) {
    co_return session.complain(failed, "there are no reports of group '" + options->group +
                                           "'; cadre experiment metrics lists the metrics with their groups");
  }
  if (options->client.json) {
    print_json(*exported);
  } else if (!options->output.empty()) {
    print("wrote " + (options->trials ? "" : counted(static_cast<std::int64_t>(exported->reports), "report") + " of ") +
          counted(static_cast<std::int64_t>(exported->trials), "trial") + " to " + exported->file + "\n");
  }
  co_return done;
}

}  // namespace

void add_experiment_export(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App& command =
      add_verb(noun,
               {"export", "Write all metrics, or all trials, of an experiment as CSV, JSON lines or TensorBoard events",
                "  cadre experiment export 12 -o metrics.csv\n"
                "  cadre experiment export 12 --trials -o trials.csv\n"
                "  cadre experiment export 12.3 --format jsonl --group validation | jq .metrics.loss\n"
                "  cadre experiment export 12 --format tensorboard -o events && tensorboard --logdir "
                "events\n"
                "A file is replaced only when the export is complete. For TensorBoard, --output is a "
                "new or\nempty folder; each trial becomes a run in it.\n"},
               options->client);
  add_experiment_or_trial(command, options->target);
  command
      .add_option_function<std::string>(
          "--format",
          [options](const std::string& text) {
            const auto format = describe::read<ExportFormat>(describe::Value(text));
            if (!format) throw CLI::ValidationError("--format", format.error().begin()->message);
            options->format = *format;
          },
          "Format: csv, with one line for each value; jsonl, with one JSON object for each report; or tensorboard, a "
          "folder with an event file for each trial")
      ->type_name("FORMAT")
      ->default_str("csv");
  command.add_flag("--trials", options->trials, "Export the trials with their hyperparameters, without their metrics");
  command.add_option("--group", options->group, "Only metrics of this group")->type_name("GROUP");
  command
      .add_option("-o,--output", options->output, "File to write, or folder for TensorBoard; default: standard output")
      ->type_name("PATH");
  on_choice(command, chosen, options, export_verb);
}

}  // namespace cadre::cli
