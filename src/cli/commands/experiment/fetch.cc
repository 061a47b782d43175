#include "cli/commands/experiment/fetch.h"

#include <algorithm>

#include "cli/commands/last_lines.h"
#include "loop/tasks.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::TrialId;

constexpr std::int32_t experiments_in_page = 1'000;
constexpr std::int32_t trials_in_page = 1'000;
constexpr std::int32_t checkpoints_in_page = 1'000;
/// Requests for curves under way at a time.
constexpr std::size_t curves_at_once = 16;

template <class T>
std::int32_t move_into(std::vector<T>& all, std::vector<T>& page) {
  const auto count = static_cast<std::int32_t>(page.size());
  std::move(page.begin(), page.end(), std::back_inserter(all));
  return count;
}

/// What all that fetch curves share.
struct CurveWork {
  CommandContext& session;
  const std::vector<TrialId>& trials;
  const std::string& metric;
  const std::int32_t points;
  std::size_t next = 0;
  Curves curves;
};

loop::Task<void> fetch_curves(CurveWork& work) {
  while (work.next < work.trials.size()) {
    requests::GetCurve request;
    request.trial = work.trials[work.next++];
    request.name = work.metric;
    request.most = work.points;
    Result<requests::Curve> curve = co_await ask(work.session, request);
    if (!curve || curve->points.empty()) continue;
    const TrialId trial = request.trial;
    work.curves.emplace(trial, *std::move(curve));
  }
}

}  // namespace

loop::Task<Result<experiment::Experiments>> list_experiments(CommandContext& session, requests::ListExperiments request,
                                                             std::int32_t most) {
  experiment::Experiments all;
  for (std::int32_t left = most; left > 0;) {
    request.most = std::min(left, experiments_in_page);
    Result<experiment::Experiments> page = co_await ask(session, request);
    if (!page) co_return page;
    left -= move_into(all.experiments, page->experiments);
    all.next = request.before = page->next;
    if (!page->next) break;
  }
  co_return all;
}

loop::Task<Result<experiment::Trials>> list_trials(CommandContext& session, requests::ListTrials request,
                                                   std::int32_t most) {
  experiment::Trials all;
  for (std::int32_t left = most; left > 0;) {
    request.most = std::min(left, trials_in_page);
    Result<experiment::Trials> page = co_await ask(session, request);
    if (!page) co_return page;
    left -= move_into(all.trials, page->trials);
    all.next = request.after = page->next;
    if (page->next.empty()) break;
  }
  co_return all;
}

loop::Task<Result<experiment::Checkpoints>> list_checkpoints(CommandContext& session, requests::ListCheckpoints request,
                                                             std::int32_t most) {
  experiment::Checkpoints all;
  for (std::int32_t left = most; left > 0;) {
    request.most = std::min(left, checkpoints_in_page);
    Result<experiment::Checkpoints> page = co_await ask(session, request);
    if (!page) co_return page;
    left -= move_into(all.checkpoints, page->checkpoints);
    all.next = request.after = page->next;
    if (page->next.empty()) break;
  }
  co_return all;
}

loop::Task<Curves> curves_of(CommandContext& session, std::vector<TrialId> trials, std::string metric,
                             std::int32_t points) {
  CurveWork work{session, trials, metric, points, 0, {}};
  loop::Tasks tasks(session.loop);
  for (std::size_t i = 0; i < std::min(curves_at_once, trials.size()); ++i) tasks.spawn(fetch_curves(work));
  co_await tasks.ended();
  co_return std::move(work.curves);
}

std::vector<TrialId> with_curves(const std::vector<experiment::TrialView>& trials) {
  std::vector<TrialId> ids;
  for (const experiment::TrialView& trial : trials) {
    if (trial.last_metric && ids.size() < curves_most) ids.push_back(trial.id);
  }
  return ids;
}

loop::Task<std::string> why_it_waits(CommandContext& session, experiment::TrialView trial) {
  if (trial.state != experiment::TrialState::queued) co_return "";
  if (trial.jobs.empty()) co_return trial.reason;
  const Result<cluster::requests::JobView> job =
      co_await ask(session, cluster::requests::GetJob{trial.jobs.back(), std::nullopt});
  // It waits for a job to be submitted, if that of its last run has ended.
  if (!job || job->stage == cluster::JobStage::ended) co_return trial.reason;
  if (!cluster::waits(job->stage)) co_return "";  // it was placed in the meantime
  const Result<cluster::requests::Text> text = co_await ask(session, cluster::requests::Why{trial.jobs.back()});
  if (!text) co_return "";
  std::string line = text->text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  co_return line;
}

loop::Task<std::string> waiting_words(CommandContext& session, experiment::ExperimentId experiment) {
  requests::ListTrials request;
  request.experiment = experiment;
  request.state = experiment::TrialState::queued;
  const Result<experiment::Trials> queued = co_await list_trials(session, request, 1);
  if (!queued || queued->trials.empty()) co_return "";
  const experiment::TrialView trial = queued->trials.front();
  const std::string why = co_await why_it_waits(session, trial);
  co_return why.empty() ? "" : "trial " + to_string(trial.id) + ": " + why;
}

loop::Task<std::vector<std::string>> last_output_of(CommandContext& session, experiment::TrialView trial,
                                                    std::int64_t lines) {
  std::vector<std::string> none;
  if (trial.state != experiment::TrialState::error || trial.jobs.empty()) co_return none;
  const Result<cluster::requests::JobView> job =
      co_await ask(session, cluster::requests::GetJob{trial.jobs.back(), std::nullopt});
  if (!job || !ended_badly(*job)) co_return none;
  std::vector<std::string> last = co_await last_lines_of(session, *job, lines);
  co_return last;
}

}  // namespace cadre::cli
