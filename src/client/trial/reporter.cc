#include "client/trial/reporter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/body.h"
#include "client/interrupt.h"
#include "client/trial/master_calls.h"
#include "loop/boot_clock.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;

constexpr auto interrupt_look_every = 200ms;
constexpr std::size_t batch_bytes_max = std::size_t{1} << 20;
static_assert(batch_bytes_max / std::string_view(R"("a":1,)").size() < api::body_values_most, "the master refuses it");
constexpr std::size_t batch_reports_max = 5'000;
constexpr std::size_t no_linger_from = 1'000;
constexpr std::size_t errors_max = 10;
constexpr std::size_t known_faults_max = 1'000;
constexpr std::size_t report_overhead = 64;  // bytes of a report beside its metrics

std::size_t bytes_of_report(const requests::MetricReport& report) {
  return report_overhead + report.group.size() + describe::to_json(report.metrics).size();
}

}  // namespace

Reporter::Reporter(experiment::TrialId trial, ReportSink& sink, const ReporterOptions& options)
    : trial_(trial), sink_(sink), options_(options), thread_([this] { serve(); }) {}

Reporter::~Reporter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = is_abandoned_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Reporter::has_room(std::size_t bytes) const {
  return held_ == 0 || (held_ < options_.reports_max && held_bytes_ + bytes <= options_.bytes_max);
}

bool Reporter::has_work() const { return !queue_.empty() || (news_ && (is_hurried() || Clock::now() >= news_due_)); }

/// Waits; says whether it holds. False also after an interrupt of the user.
bool Reporter::wait_until(Lock& lock, std::optional<Clock::time_point> end, const std::function<bool()>& done) {
  while (!done()) {
    const Clock::time_point look = Clock::now() + interrupt_look_every;
    moved_.wait_until(lock, end ? std::min(*end, look) : look);
    if (done()) return true;
    if (end && Clock::now() >= *end) return false;
    lock.unlock();
    const bool is_interrupted = look_for_interrupt();
    lock.lock();
    if (is_interrupted) return false;
  }
  return true;
}

Result<void> Reporter::report(MetricReport report) {
  const std::size_t bytes = bytes_of_report(report);
  if (bytes > static_cast<std::size_t>(requests::report_bytes_most.value)) {
    return fail(Errc::invalid, "a report of " + std::to_string(bytes) + " bytes is too large; at most " +
                                   to_string(requests::report_bytes_most) + " are allowed, so report less at once");
  }
  Lock lock(mutex_);
  TRY(take_error());
  if (!wait_until(lock, std::nullopt, [&] { return is_fatal_ || is_ending_ || has_room(bytes); })) {
    return fail(Errc::conflict, "it was interrupted");
  }
  TRY(take_error());
  if (is_ending_) return fail(Errc::conflict, "the trial was closed");
  put(std::move(report), bytes);
  return {};
}

void Reporter::offer(MetricReport report) {
  const std::size_t bytes = bytes_of_report(report);
  const std::lock_guard lock(mutex_);
  if (!is_fatal_ && !is_ending_ && has_room(bytes)) put(std::move(report), bytes);
}

void Reporter::put(MetricReport report, std::size_t bytes) {
  queue_.push_back({std::move(report), bytes});
  ++held_;
  held_bytes_ += bytes;
  work_.notify_one();
}

Result<void> Reporter::tell(std::optional<double> progress, std::optional<std::string> status) {
  const std::lock_guard lock(mutex_);
  TRY(take_error());
  if (is_ending_) return fail(Errc::conflict, "the trial was closed");
  if (!news_) news_.emplace().trial = trial_;
  if (progress) news_->progress = progress;
  if (status) news_->status = std::move(status);
  work_.notify_one();
  return {};
}

Result<void> Reporter::flush() {
  Lock lock(mutex_);
  ++flushing_;
  work_.notify_one();
  const bool is_done = wait_until(lock, std::nullopt, [&] { return is_fatal_ || is_idle(); });
  --flushing_;
  if (!is_done) return fail(Errc::conflict, "it was interrupted");
  return take_error();
}

Result<void> Reporter::close(Duration most) {
  std::size_t lost = 0;
  Result<void> outcome;
  {
    Lock lock(mutex_);
    ++flushing_;
    work_.notify_one();
    static_cast<void>(wait_until(lock, Clock::now() + most, [&] { return is_fatal_ || is_idle(); }));
    --flushing_;
    is_ending_ = is_abandoned_ = true;
    lost = held_;
    outcome = take_error();
  }
  work_.notify_all();
  moved_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (outcome && lost > 0) {
    return fail(Errc::unavailable, std::to_string(lost) + " reports were not stored: the master did not answer");
  }
  return outcome;
}

/// One error after another; a fatal one again and again.
Result<void> Reporter::take_error() {
  if (errors_.empty()) return {};
  Error error = errors_.front();
  if (errors_.size() > 1 || !is_fatal_) errors_.pop_front();
  return Failure(std::move(error));
}

void Reporter::note(Error error, bool is_fatal) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) return;
  if (is_fatal || errors_.size() < errors_max) errors_.push_back(std::move(error));
  is_fatal_ = is_fatal_ || is_fatal;
}

// On the thread.

void Reporter::await_work(Lock& lock) {
  const auto is_wanted = [this] { return is_ending_ || has_work(); };
  while (!is_wanted()) {
    news_ ? void(work_.wait_until(lock, news_due_)) : work_.wait(lock);
  }
  work_.wait_for(lock, options_.linger, [this] { return is_hurried() || queue_.size() >= no_linger_from; });
}

Reporter::Batch Reporter::take() {
  Batch batch;
  batch.metrics.trial = trial_;
  while (!queue_.empty() && batch.metrics.reports.size() < batch_reports_max &&
         (batch.metrics.reports.empty() || batch.bytes + queue_.front().bytes <= batch_bytes_max)) {
    batch.bytes += queue_.front().bytes;
    batch.metrics.reports.push_back(std::move(queue_.front().report));
    queue_.pop_front();
  }
  // Progress and status never arrive before the metrics that were reported earlier.
  if (queue_.empty() && news_ && (is_hurried() || Clock::now() >= news_due_)) {
    batch.news = std::exchange(news_, std::nullopt);
    news_due_ = Clock::now() + options_.news_every;
  }
  return batch;
}

void Reporter::serve() {
  Lock lock(mutex_);
  for (;;) {
    await_work(lock);
    if (is_abandoned_ || (is_ending_ && !has_work())) return;
    const Batch batch = take();
    is_sending_ = true;
    lock.unlock();
    deliver(batch);
    lock.lock();
    is_sending_ = false;
    if (is_abandoned_) return;  // what was not stored still counts
    if (is_fatal_) {
      queue_.clear();
      news_.reset();
      held_ = held_bytes_ = 0;
    } else {
      held_ -= batch.metrics.reports.size();
      held_bytes_ -= batch.bytes;
    }
    moved_.notify_all();
  }
}

template <class T, class Send>
Result<T> Reporter::insist(const std::string& what, const Send& send) {
  Patience patience(what);
  for (;;) {
    Result<T> sent = send();
    const TimePoint now = loop::boot_now();
    if (sent) patience.succeeded(now);
    const std::optional<Duration> pause = sent ? std::nullopt : patience.after(sent.error(), now);
    if (!pause) return sent;
    Lock lock(mutex_);
    if (work_.wait_for(lock, *pause, [this] { return is_abandoned_; })) return sent;
  }
}

void Reporter::deliver(const Batch& batch) {
  if (!batch.metrics.reports.empty()) {
    const auto send = [&] { return sink_.send(batch.metrics); };
    const Result<requests::Reported> stored = insist<requests::Reported>("reports wait for the master", send);
    if (stored) {
      note_faults(*stored);
    } else if (stored.error().code == Errc::invalid && batch.metrics.reports.size() > 1) {
      deliver_each(batch.metrics);
    } else {
      note(stored.error(), stored.error().code != Errc::invalid);
    }
  }
  if (!batch.news) return;
  const auto send = [&] { return sink_.send(*batch.news); };
  const Result<void> told = insist<void>("the status of the trial waits for the master", send);
  if (!told) note(told.error(), told.error().code != Errc::invalid);
}

/// One of them is refused; the others must not be lost with it.
void Reporter::deliver_each(const requests::ReportMetrics& metrics) {
  for (const MetricReport& one : metrics.reports) {
    const requests::ReportMetrics alone{metrics.trial, {one}};
    const auto send = [&] { return sink_.send(alone); };
    const Result<requests::Reported> stored = insist<requests::Reported>("reports wait for the master", send);
    if (stored) {
      note_faults(*stored);
      continue;
    }
    const bool is_refused = stored.error().code == Errc::invalid;
    const std::string where = "the report of " + one.group + " at step " + std::to_string(one.steps) + ": ";
    note({stored.error().code, where + stored.error().message}, !is_refused);
    if (!is_refused) return;
  }
}

void Reporter::note_faults(const requests::Reported& stored) {
  for (const std::string& fault : stored.faults) {
    const bool is_new = known_faults_.size() < known_faults_max && known_faults_.insert(fault).second;
    if (is_new) note({Errc::invalid, fault}, false);
  }
}

}  // namespace cadre::client
