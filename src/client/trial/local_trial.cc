#include "client/trial/local_trial.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <span>
#include <utility>

#include "base/rounded.h"
#include "client/trial/plain_data.h"
#include "describe/utf8.h"
#include "loop/file.h"

namespace cadre::client {
namespace {

namespace fs = std::filesystem;
namespace requests = experiment::requests;
using describe::Value;
using experiment::CheckpointView;

constexpr std::string_view runs_folder = "cadre-runs";
constexpr auto show_training_every = std::chrono::seconds(1);
constexpr std::size_t shown_metrics_max = 8;
constexpr int folders_of_a_second_max = 100;

/// What is kept of a trial beside its metrics and checkpoints.
struct LocalRun {
  std::uint64_t runs = 0;
  std::uint32_t seed = 0;
  Value hyperparameters{Value::Map{}};
};
template <class V>
void describe(V& v, LocalRun& r) {
  v.required("runs", r.runs, "Number of times the program was started.");
  v.field("seed", r.seed, "Seed for the program.");
  v.field("hyperparameters", r.hyperparameters, "Hyperparameters.");
}

/// One line of metrics.jsonl.
struct LocalReport {
  std::uint64_t run = 0;
  std::string group;
  std::int64_t steps = 0;
  TimePoint time;
  Value metrics;
};
template <class V>
void describe(V& v, LocalReport& r) {
  v.required("run", r.run, "Run of the trial.");
  v.required("group", r.group, "Group of the metrics.");
  v.required("steps", r.steps, "Steps completed.");
  v.required("time", r.time, "Time of the report.");
  v.required("metrics", r.metrics, "The metrics.");
}

TimePoint wall_now() { return TimePoint(std::chrono::system_clock::now().time_since_epoch()); }

/// `20260131-120000`, in the time zone of the user.
std::string name_of_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts);
  return text;
}

std::string run_file(const std::string& folder) { return folder + "/run.json"; }

/// A new folder that no other program has made.
Result<std::string> make_run_folder() {
  std::error_code error;
  const std::string base = fs::absolute(runs_folder, error).string();
  TRY(loop::make_folder(base));
  const std::string name = base + "/" + name_of_now();
  for (int i = 0; i < folders_of_a_second_max; ++i) {
    const std::string folder = name + "-" + (i < 10 ? "0" : "") + std::to_string(i);
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) return loop::system_failure(folder);
  }
  return fail(Errc::unavailable, base + ": too many runs were started in this second");
}

/// That which was started last; empty: there is none.
std::string newest_run_folder() {
  std::string newest;
  std::error_code error;
  const std::string base = fs::absolute(runs_folder, error).string();
  for (const auto& entry : fs::directory_iterator(base, error)) {
    const std::string path = entry.path().string();
    std::error_code ignored;
    if (fs::exists(run_file(path), ignored) && path > newest) newest = path;
  }
  return newest;
}

/// The description of a checkpoint with many files is larger than small files are.
Result<std::string> read_card(const std::string& path) {
  TRY_ASSIGN(file, loop::File::open(path, O_RDONLY | O_CLOEXEC));
  TRY_ASSIGN(size, file.size());
  std::string text(static_cast<std::size_t>(size), '\0');
  TRY_ASSIGN(count, file.read(std::as_writable_bytes(std::span(text))));
  text.resize(count);
  return text;
}

Result<std::optional<LocalRun>> read_run(const std::string& folder) {
  const Result<std::string> text = loop::read_file(run_file(folder));
  if (!text && text.error().code == Errc::not_found) return std::nullopt;
  if (!text) return Failure(text.error());
  auto run = describe::read_json_of_peer<LocalRun>(*text);
  if (!run) return Failure(describe::to_error(run.error(), run_file(folder)));
  return *std::move(run);
}

/// Each value with its name, names of nested metrics joined with dots.
void flatten(const Value& metrics, const std::string& prefix, std::vector<std::string>& into) {
  const auto* map = metrics.as<Value::Map>();
  if (map == nullptr) return;
  for (const describe::Entry& entry : *map) {
    const std::string name = prefix + entry.key;
    if (entry.value.as<Value::Map>() != nullptr) {
      flatten(entry.value, name + ".", into);
      continue;
    }
    std::string text = describe::to_json(entry.value);
    if (const auto* number = entry.value.as<double>()) {
      char rounded_text[32] = {};
      std::snprintf(rounded_text, sizeof rounded_text, "%.6g", *number);
      text = rounded_text;
    }
    into.push_back(name + "=" + text);
  }
}

Result<void> append_lines(const std::string& path, const std::string& lines) {
  TRY_ASSIGN(file, loop::File::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC));
  return file.write(as_bytes(lines));  // whole lines in one call, so that those of several processes do not mix
}

}  // namespace

LocalTrial::LocalTrial(LocalOptions options) : options_(std::move(options)) {}

void LocalTrial::join(const std::string& folder, std::uint64_t run) {
  folder_ = folder;
  run_ = run;
}

Result<void> LocalTrial::choose_folder() {
  if (!folder_.empty()) return {};
  std::string folder = options_.folder;
  if (folder.empty() && options_.resumes) folder = newest_run_folder();
  if (folder.empty()) {
    TRY_ASSIGN(made, make_run_folder());
    folder = std::move(made);
  }
  std::error_code error;
  folder = fs::absolute(folder, error).lexically_normal().string();
  TRY(loop::make_folder(folder + "/checkpoints"));
  folder_ = std::move(folder);
  return {};
}

Result<experiment::RunView> LocalTrial::begin() {
  const bool is_first = folder_.empty();
  TRY(choose_folder());
  TRY_ASSIGN(before, read_run(folder_));
  if (is_first && before && !options_.resumes) {
    const std::string folder = std::exchange(folder_, "");
    return fail(Errc::conflict, folder +
                                    " contains a run already; pass resume=True or set CADRE_RESUME=1 to continue "
                                    "it, or choose another folder");
  }
  LocalRun run = before.value_or(LocalRun{});
  if (is_first) {
    run.hyperparameters = merged(merged(options_.defaults, run.hyperparameters), options_.given);
    if (options_.seed || !before) run.seed = options_.seed.value_or(0);
    run_ = ++run.runs;
    for (const std::string& doubt : options_.doubts) std::fprintf(stderr, "cadre: warning: %s\n", doubt.c_str());
    remove_drafts();
    TRY(loop::write_whole(run_file(folder_), as_bytes(describe::write_json(run) + "\n")));
    if (options_.shows_progress) {
      std::fprintf(stderr, "cadre: run %llu in %s\n", static_cast<unsigned long long>(run_), folder_.c_str());
    }
  }
  experiment::RunView view;
  view.run = run_;
  view.seed = run.seed;
  view.until = options_.until;
  view.metric = options_.metric;
  view.hyperparameters = std::move(run.hyperparameters);
  TRY_ASSIGN(checkpoint, latest());
  view.checkpoint = std::move(checkpoint);
  return view;
}

/// Of checkpoints that a run before has not completed.
void LocalTrial::remove_drafts() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints(), error)) {
    const bool is_draft = entry.path().filename().string().starts_with('.');
    if (is_draft) static_cast<void>(loop::remove_all(entry.path().string()));
  }
}

Result<std::optional<CheckpointView>> LocalTrial::latest() const {
  std::optional<CheckpointView> latest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(checkpoints(), error)) {
    if (entry.path().extension() != ".json") continue;
    TRY_ASSIGN(text, read_card(entry.path().string()));
    auto view = describe::read_json_of_peer<CheckpointView>(text);
    if (!view) return Failure(describe::to_error(view.error(), entry.path().string()));
    std::error_code ignored;
    if (!fs::is_directory(checkpoints() + "/" + view->id.value, ignored)) continue;  // the user has removed it
    const auto place = [](const CheckpointView& one) { return std::pair(one.run, one.created); };
    if (!latest || place(*latest) < place(*view)) latest = *std::move(view);
  }
  return latest;
}

Result<requests::Reported> LocalTrial::send(const requests::ReportMetrics& batch) {
  std::string lines;
  for (const requests::MetricReport& one : batch.reports) {
    lines += describe::write_json(LocalReport{run_, one.group, one.steps, wall_now(), one.metrics}) + "\n";
  }
  TRY(append_lines(folder_ + "/metrics.jsonl", lines));
  for (const requests::MetricReport& one : batch.reports) check(one);
  if (options_.shows_progress) {
    for (const requests::MetricReport& one : batch.reports) show(one);
  }
  return requests::Reported{batch.reports.size(), {}};
}

/// What a search of the cluster could not use.
void LocalTrial::check(const requests::MetricReport& report) {
  if (has_warned_ || options_.metric.empty() || report.group != "validation") return;
  const Value* const value = find_path(report.metrics, options_.metric);
  if (value != nullptr && is_metric_number(*value)) return;
  has_warned_ = true;
  const std::string fault = value == nullptr ? "has no metric '" : "has no number for the metric '";
  std::fprintf(stderr, "cadre: warning: the validation of step %lld %s%s'; on a cluster, the search could not use it\n",
               static_cast<long long>(report.steps), fault.c_str(), describe::escaped(options_.metric).c_str());
}

/// Each validation, and other groups from time to time.
void LocalTrial::show(const requests::MetricReport& report) {
  const auto now = std::chrono::steady_clock::now();
  const auto shown = shown_.find(report.group);
  if (report.group != "validation" && shown != shown_.end() && now - shown->second < show_training_every) return;
  shown_[report.group] = now;
  std::vector<std::string> metrics;
  flatten(report.metrics, "", metrics);
  std::string text;
  for (std::size_t i = 0; i < metrics.size() && i < shown_metrics_max; ++i) text += " " + describe::escaped(metrics[i]);
  if (metrics.size() > shown_metrics_max) text += " …";
  std::fprintf(stderr, "cadre: %8s  %-10s step %lld %s\n", rounded(now - started_).c_str(), report.group.c_str(),
               static_cast<long long>(report.steps), text.c_str());
}

Result<void> LocalTrial::send(const requests::ReportTrial& news) {
  if (!options_.shows_progress) return {};
  if (news.status) std::fprintf(stderr, "cadre: status: %s\n", describe::escaped(*news.status).c_str());
  return {};
}

Result<void> LocalTrial::declare(const requests::ReportTrial& news) {
  if (options_.shows_progress && news.invalid_hyperparameters) {
    std::fprintf(stderr, "cadre: the hyperparameters cannot be used\n");
  }
  return {};
}

Result<void> LocalTrial::begin_checkpoint(const CheckpointId& checkpoint) {
  return loop::make_folder(draft_of(checkpoint));
}

Result<void> LocalTrial::store_files(const CheckpointId& checkpoint, const std::string& folder,
                                     const std::vector<CheckpointFile>& files) {
  const bool is_scratch = folder.starts_with(scratch() + "/.");
  return is_scratch ? move_files(folder, draft_of(checkpoint), files) : copy_files(folder, draft_of(checkpoint), files);
}

Result<void> LocalTrial::complete_checkpoint(const requests::CompleteCheckpoint& whole) {
  CheckpointView view;
  view.id = whole.checkpoint;
  view.run = run_;
  view.steps = whole.steps;
  view.files = whole.files;
  for (const CheckpointFile& file : whole.files) view.size += file.size;
  view.metadata = whole.metadata;
  view.created = wall_now();
  const std::string folder = checkpoints() + "/" + whole.checkpoint.value;
  TRY(loop::rename_file(draft_of(whole.checkpoint), folder));
  TRY(loop::sync_folder(checkpoints()));
  return loop::write_whole(card_of(whole.checkpoint), as_bytes(describe::write_json(view) + "\n"));
}

Result<CheckpointView> LocalTrial::find_checkpoint(const CheckpointId& checkpoint) {
  const Result<std::string> text = read_card(card_of(checkpoint));
  if (!text) {
    return fail(Errc::not_found, "there is no checkpoint " + describe::escaped(checkpoint.value) + " in " + folder_);
  }
  auto view = describe::read_json_of_peer<CheckpointView>(*text);
  if (!view) return Failure(describe::to_error(view.error(), card_of(checkpoint)));
  return *std::move(view);
}

Result<void> LocalTrial::fetch_files(const CheckpointView& checkpoint, const std::string& folder) {
  return copy_files(folder_of(checkpoint.id), folder, checkpoint.files);
}

std::string LocalTrial::folder_of(const CheckpointId& checkpoint) const {
  return checkpoints() + "/" + checkpoint.value;
}

std::string LocalTrial::scratch() const { return checkpoints(); }

}  // namespace cadre::client
