#include "cli/commands/experiment/fetch.h"

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

}  // namespace cadre::cli
