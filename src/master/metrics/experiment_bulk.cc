#include "master/metrics/experiment_bulk.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "experiment/facts.h"
#include "experiment/requests/metrics.h"
#include "master/metrics/report_batch.h"

namespace cadre::master {
namespace {

namespace requests = experiment::requests;

/// Of the metrics of trials that are kept in memory.
constexpr ByteSize cache_bytes_most{std::int64_t{256} << 20};
/// Between portions of what is removed, so that others can write.
constexpr Duration between_portions = std::chrono::milliseconds(5);
/// How often validations are looked at that the part has not taken.
constexpr Duration between_looks = std::chrono::seconds(1);

}  // namespace

ExperimentBulk::ExperimentBulk(const Dependencies& dependencies)
    : deps_(dependencies),
      nodes_(deps_.database),
      experiments_(deps_.database),
      metrics_(deps_.database, nodes_, experiments_),
      cache_(deps_.database, cache_bytes_most),
      untaken_(deps_.database,
               [this](experiment::Validated news) {
                 const ByteSize size{sizeof(experiment::Validated)};
                 deps_.tell_part(std::move(news), size);
               }),
      removal_(deps_.database, [this](experiment::MetricsRemoved news) { deps_.tell_part(news, {}); }) {
  const Result<void> loaded = ensure_loaded();
  if (!loaded) deps_.log.error("the trials that report metrics cannot be read: " + loaded.error().message);
}

Result<void> ExperimentBulk::ensure_loaded() {
  const std::uint64_t boot = deps_.database.boot();
  if (loaded_ == boot) return {};
  TRY(cache_.reset());
  TRY_ASSIGN(jobs, TrialJobs::load(deps_.database));
  jobs_ = std::move(jobs);
  untaken_.clear();
  TRY(removal_.reset());
  loaded_ = boot;
  return {};
}

std::vector<api::Reply> ExperimentBulk::serve(std::span<const BulkCall> calls) {
  if (const Result<void> loaded = ensure_loaded(); !loaded) {
    return std::vector<api::Reply>(calls.size(), api::Reply(loaded.error()));
  }
  const Error unanswered{Errc::unavailable, "the request was not served; try again"};
  std::vector<api::Reply> replies(calls.size(), api::Reply(unanswered));
  // Readers first: many reports may have come with them, and nothing that came before is unanswered.
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].request.as<requests::ReportMetrics>() == nullptr) {
      replies[i] = read(calls[i].who, calls[i].request);
    }
  }
  store_reports(calls, replies);
  return replies;
}

void ExperimentBulk::store_reports(std::span<const BulkCall> calls, std::vector<api::Reply>& replies) {
  const TimePoint now = deps_.calendar.now();
  ReportBatch batch({deps_.database, nodes_, jobs_, cache_, now},
                    [&](std::size_t call, api::Reply reply) { replies[call] = std::move(reply); });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto* report = calls[i].request.as<requests::ReportMetrics>();
    if (report != nullptr) batch.add(i, calls[i].who, *report);
  }
  batch.commit();
  cache_.shrink();
  for (const experiment::ValidationRow& validation : batch.validations()) untaken_.add(validation, now);
  for (const experiment::metrics::MetricRunRow& run : batch.hidden()) removal_.add(run);
}

api::Reply ExperimentBulk::read(const api::Principal& who, const api::Request& request) {
  const auto choice = api::choice_of<requests::BulkRequest>(request);
  if (!choice) return Error{Errc::invalid, "unknown request " + std::string(request.name())};
  return std::visit(
      [&](const auto& one) -> api::Reply {
        using Request = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Request, requests::ReportMetrics>) {
          return Error{Errc::invalid, "metrics are not read by reporting them"};
        } else if constexpr (requires { experiments_.serve(who, one); }) {
          return api::reply_of(experiments_.serve(who, one));
        } else {
          return api::reply_of(metrics_.serve(who, one));
        }
      },
      *choice);
}

void ExperimentBulk::learn(const std::any& fact) {
  if (const auto* job = std::any_cast<experiment::TrialJob>(&fact)) {
    jobs_.add(*job);
  } else if (const auto* over = std::any_cast<experiment::TrialJobOver>(&fact)) {
    if (const auto removed = jobs_.remove(over->job)) cache_.drop(removed->trial);
  } else if (const auto* taken = std::any_cast<experiment::ValidationTaken>(&fact)) {
    untaken_.take(*taken);
  } else if (const auto* remove = std::any_cast<experiment::RemoveMetrics>(&fact)) {
    cache_.drop(remove->experiment);
    removal_.add(remove->experiment);
  }
}

std::optional<Duration> ExperimentBulk::work() {
  const TimePoint now = deps_.calendar.now();
  Result<void> done = ensure_loaded();
  if (done) done = untaken_.repeat(now);
  if (done) done = removal_.work(now);
  if (!done) {
    deps_.log.warning("metrics cannot be removed, or validations not be read, now: " + done.error().message);
    return between_looks;
  }
  if (removal_.is_busy()) return between_portions;
  return untaken_.empty() && removal_.empty() ? std::nullopt : std::optional(between_looks);
}

}  // namespace cadre::master
