#include <cadre/trial.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "client/cluster/data_folder.h"
#include "client/cluster/which_master.h"
#include "client/gang/join.h"
#include "client/host_identity.h"
#include "client/trial/cluster_trial.h"
#include "client/trial/local_trial.h"
#include "client/trial/plain_data.h"
#include "client/trial/trial_inside.h"
#include "describe/utf8.h"
#include "loop/file.h"

namespace cadre::core::detail {
namespace {

namespace requests = experiment::requests;
using client::variable;
using describe::Value;
using experiment::RunView;

/// The trial of this process; null: there is none.
std::atomic<const TrialInside*> present = nullptr;
std::atomic<pid_t> present_pid = 0;

/// Of the time that a stop request leaves: for what the program does after its trial was closed.
constexpr Duration close_reserve = std::chrono::seconds(1);

Data data_of(const Value& value) { return Data::from_bytes(describe::to_msgpack(value)); }

/// The part of a map with that name; an empty map: there is none.
Data part_of(const Value& map, std::string_view name) {
  const Value* part = map.find(name);
  return part == nullptr ? Data() : data_of(*part);
}

bool is_true(const std::string& text) { return !text.empty() && text != "0"; }

/// What the first rank tells the others, so that all begin alike and only one asks.
struct Beginning {
  bool is_good = false;
  std::uint8_t code = 0;
  std::string why;
  RunView run;
  std::string folder;  ///< off the cluster
};
template <class V>
void describe(V& v, Beginning& b) {
  v.field("is_good", b.is_good, "Whether it has begun.");
  v.field("code", b.code, "Code of the error.");
  v.field("why", b.why, "The error.");
  v.field("run", b.run, "The run.");
  v.field("folder", b.folder, "Folder of a trial without a cluster.");
}

/// That of a trial which is to be run again off the cluster; nothing: the variable is not set.
Result<std::optional<std::uint32_t>> given_seed() {
  const std::string text = variable("CADRE_TRIAL_SEED");
  if (text.empty()) return std::nullopt;
  std::uint32_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc() && last == end) return seed;
  return fail(Errc::invalid,
              "CADRE_TRIAL_SEED must be an integer from 0 to 4294967295, is '" + describe::escaped(text) + "'");
}

Result<client::LocalOptions> local_options(const InitOptions& options, const Value& defaults) {
  client::LocalOptions local;
  local.folder = options.folder.empty() ? variable("CADRE_LOCAL_FOLDER") : options.folder;
  local.resumes = options.resume || is_true(variable("CADRE_RESUME"));
  local.shows_progress = options.show_progress;
  local.defaults = defaults;
  TRY_ASSIGN(seed, given_seed());
  local.seed = options.seed ? options.seed : seed;
  local.until = options.until;
  local.metric = options.metric;
  const client::GivenHyperparameters given{options.hyperparameters_file, variable("CADRE_HYPERPARAMETERS"),
                                           options.arguments};
  TRY_ASSIGN(values, client::read_hyperparameters(defaults, given));
  local.given = std::move(values);
  local.doubts = client::doubtful_words(client::merged(defaults, local.given), options.arguments);
  return local;
}

}  // namespace

CheckpointInfo info_of(const experiment::CheckpointView& view) {
  return {view.id.value, view.steps, view.run, data_of(view.metadata), view.size};
}

TrialInside::TrialInside() : pid_(client::own_pid()) {}

TrialInside::~TrialInside() {
  profiler_.reset();
  reporter_.reset();
  const TrialInside* self = this;
  present.compare_exchange_strong(self, nullptr);
  for (const auto& [folder, scratch] : scratches_) {
    if (scratch.is_own) static_cast<void>(loop::remove_all(folder));
  }
}

void TrialInside::forget(std::unique_ptr<TrialInside> inside) {
  // Its threads and connections are the parent's. That the memory is not freed is the price.
  static_cast<void>(inside.release());
}

bool TrialInside::is_own() const { return pid_ == client::own_pid(); }

Result<std::unique_ptr<TrialInside>> TrialInside::open(const InitOptions& options) {
  std::unique_ptr<TrialInside> inside(new TrialInside());
  const TrialInside* none = nullptr;
  if (present_pid.exchange(inside->pid_) != inside->pid_) present = nullptr;  // that of the parent of a fork
  if (!present.compare_exchange_strong(none, inside.get())) {
    return fail(Errc::conflict,
                "init() was called before in this process; use the trial that it returned, or close that first");
  }
  TRY(inside->begin(options));
  return inside;
}

Result<void> TrialInside::begin(const InitOptions& options) {
  TRY_ASSIGN(defaults, client::read_map(options.hyperparameters.bytes(), "the hyperparameters"));
  const std::string trial = variable("CADRE_TRIAL");
  info_.on_cluster = !trial.empty();
  info_.slots = this_task().slots;
  TRY_ASSIGN(gang, client::join_gang(options.join_wait));
  gang_ = std::move(gang);
  if (gang_ != nullptr) place_ = gang_->place();
  if (info_.on_cluster) {
    TRY_ASSIGN(id, experiment::parse_trial_id(trial));
    trial_ = id;
    info_.trial = trial;
    info_.experiment = std::to_string(id.experiment.value);
    TRY_ASSIGN(master, client::find_master(""));
    backend_ = std::make_unique<client::ClusterTrial>(id, client::endpoint_of(master));
  } else {
    TRY_ASSIGN(local, local_options(options, defaults));
    backend_ = std::make_unique<client::LocalTrial>(std::move(local));
  }
  TRY_ASSIGN(run, begin_run());
  info_.run = run.run;
  info_.hyperparameters = data_of(client::merged(std::move(defaults), run.hyperparameters));
  info_.seed = run.seed;
  info_.until = run.until;
  until_ = run.until;
  info_.metric = run.metric;
  info_.smaller_is_better = run.smaller_is_better;
  if (run.checkpoint) info_.latest_checkpoint = info_of(*run.checkpoint);
  if (!run.config.is_null()) info_.config = data_of(run.config);
  info_.data = part_of(run.config, "data");
  reporter_ = std::make_unique<client::Reporter>(trial_, *backend_, client::ReporterOptions{});
  return {};
}

Result<RunView> TrialInside::begin_run() {
  auto* const local = dynamic_cast<client::LocalTrial*>(backend_.get());
  Beginning beginning;
  if (is_chief()) {
    Result<RunView> run = backend_->begin();
    beginning.is_good = run.has_value();
    if (run) {
      beginning.run = *std::move(run);
    } else {
      beginning.code = static_cast<std::uint8_t>(run.error().code);
      beginning.why = run.error().message;
    }
    if (local != nullptr) beginning.folder = local->folder();
  }
  if (gang_ != nullptr) {
    const Bytes own = describe::write_msgpack(beginning);
    TRY_ASSIGN(told, gang_->broadcast(own));
    auto read = describe::read_msgpack<Beginning>(told);
    if (!read) return Failure(describe::to_error(read.error(), "what rank 0 sent"));
    beginning = *std::move(read);
  }
  if (!beginning.is_good) return fail(static_cast<Errc>(beginning.code), beginning.why);
  if (local != nullptr && !is_chief()) local->join(beginning.folder, beginning.run.run);
  info_.folder = beginning.folder;
  return std::move(beginning.run);
}

Result<void> TrialInside::check_use() const {
  if (!is_own()) {
    return fail(Errc::conflict,
                "this process was forked from the one that called init(), whose trial it cannot use; let the parent "
                "report, or call init() in the child only");
  }
  if (is_closed_) return fail(Errc::conflict, "the trial was closed");
  return {};
}

// Reports.

Result<void> TrialInside::report(std::string_view group, std::int64_t steps, const Data& metrics) {
  TRY(check_use());
  if (group.empty() || group.size() > 64) return fail(Errc::invalid, "the group of a report must have 1 to 64 bytes");
  if (steps < 0 || steps > search::longest_time) {
    return fail(Errc::invalid, "the steps of a report must be from 0 to 2^53, are " + std::to_string(steps));
  }
  TRY_ASSIGN(values, client::read_map(metrics.bytes(), "the metrics"));
  TRY(client::check_metrics(values));
  const bool is_of_chief = group == "training" || group == "validation";
  if (is_of_chief && !is_chief()) return {};
  return reporter_->report({std::string(group), steps, std::move(values)});
}

Result<void> TrialInside::report_progress(double progress) {
  TRY(check_use());
  if (!(progress >= 0 && progress <= 1)) {
    return fail(Errc::invalid, "progress must be from 0 to 1, is " + describe::to_text(progress));
  }
  return is_chief() ? reporter_->tell(progress, std::nullopt) : Result<void>();
}

Result<void> TrialInside::set_status(std::string_view text) {
  TRY(check_use());
  if (text.size() > 256) return fail(Errc::invalid, "a status has at most 256 bytes");
  return is_chief() ? reporter_->tell(std::nullopt, std::string(text)) : Result<void>();
}

Result<void> TrialInside::declare_invalid() {
  TRY(flush());
  if (!is_chief()) return {};
  requests::ReportTrial news;
  news.trial = trial_;
  news.invalid_hyperparameters = true;
  return backend_->declare(news);
}

Result<void> TrialInside::flush() {
  TRY(check_use());
  return reporter_->flush();
}

// Preemption and search.

Context& TrialInside::context() {
  const std::lock_guard lock(mutex_);
  if (!context_) context_.emplace();
  return *context_;
}

std::optional<Stop> TrialInside::stop() { return is_own() ? context().stop() : std::nullopt; }

std::optional<Stop> TrialInside::known_stop() {
  const std::lock_guard lock(mutex_);
  return context_ ? context_->stop() : std::nullopt;
}

Result<bool> TrialInside::should_stop() {
  TRY(check_use());
  const bool stops = stop().has_value();  // all ranks ask, since a task of which nobody asks is stopped by a signal
  if (gang_ == nullptr) return stops;
  const auto byte = static_cast<std::byte>(stops);
  TRY_ASSIGN(told, gang_->broadcast(BytesView(&byte, 1)));
  return !told.empty() && told.front() != std::byte{0};
}

Result<void> TrialInside::acknowledge() {
  TRY(flush());
  if (!is_chief()) return {};
  requests::ReportTrial news;
  news.trial = trial_;
  news.acknowledges_stop = true;
  return backend_->declare(news);
}

Result<std::optional<std::int64_t>> TrialInside::next_until() {
  TRY(check_use());
  const std::int64_t before = until_;
  if (!std::exchange(has_begun_operation_, true)) return before;
  TRY(flush());
  TRY_ASSIGN(run, begin_run());
  until_ = run.until;
  // Without a limit it is the program that ends the training.
  const bool goes_on = before != 0 && (run.until == 0 || run.until > before);
  return goes_on ? std::optional(run.until) : std::nullopt;
}

// The other processes.

Result<std::vector<Bytes>> TrialInside::gather(BytesView bytes) {
  TRY(check_use());
  if (gang_ != nullptr) return gang_->gather(bytes);
  return std::vector<Bytes>{Bytes(bytes.begin(), bytes.end())};
}

Result<std::vector<Bytes>> TrialInside::allgather(BytesView bytes) {
  TRY(check_use());
  if (gang_ != nullptr) return gang_->allgather(bytes);
  return std::vector<Bytes>{Bytes(bytes.begin(), bytes.end())};
}

Result<Bytes> TrialInside::broadcast(BytesView bytes) {
  TRY(check_use());
  if (gang_ != nullptr) return gang_->broadcast(bytes);
  return Bytes(bytes.begin(), bytes.end());
}

Result<void> TrialInside::allreduce(std::span<std::byte> numbers, client::NumberKind kind, client::Reduction how) {
  TRY(check_use());
  if (numbers.size() % client::bytes_of(kind) != 0) return fail(Errc::invalid, "the numbers are not whole");
  return gang_ != nullptr ? gang_->allreduce(numbers, kind, how) : Result<void>();
}

Result<void> TrialInside::profile(Duration interval) {
  TRY(check_use());
  if (interval < std::chrono::milliseconds(100)) return fail(Errc::invalid, "the interval must be at least 0.1 s");
  const auto take = [this](std::int64_t seconds, Value sample) {
    if (place_.size > 1) sample = Value(Value::Map{}).set("rank_" + std::to_string(place_.rank), std::move(sample));
    reporter_->offer({"profiler", seconds, std::move(sample)});
  };
  const std::lock_guard lock(mutex_);
  profiler_.reset();
  profiler_ = std::make_unique<client::Profiler>(interval, take);
  return {};
}

void TrialInside::end_profile() {
  const std::lock_guard lock(mutex_);
  if (is_own()) profiler_.reset();
}

Result<void> TrialInside::close(Duration most) {
  TRY(check_use());
  end_profile();
  if (const std::optional<Stop> request = known_stop()) {
    most = std::clamp<Duration>(request->grace_left - close_reserve, Duration(0), most);
  }
  Result<void> closed = reporter_->close(most);
  is_closed_ = true;
  if (gang_ != nullptr) gang_->leave();
  const TrialInside* self = this;
  present.compare_exchange_strong(self, nullptr);
  return closed;
}

}  // namespace cadre::core::detail
