/// Experiments and their parts, fetched from the master in as many pages as are needed. For the thread of the session's
/// loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command_context.h"
#include "cli/experiment/views.h"
#include "experiment/requests/metrics.h"

namespace cadre::cli {

/// At most so many, page by page; `next` of the result is that of the last page.
[[nodiscard]] loop::Task<Result<experiment::Experiments>> list_experiments(
    CommandContext& session, experiment::requests::ListExperiments request, std::int32_t most);
[[nodiscard]] loop::Task<Result<experiment::Trials>> list_trials(CommandContext& session,
                                                                 experiment::requests::ListTrials request,
                                                                 std::int32_t most);
[[nodiscard]] loop::Task<Result<experiment::Checkpoints>> list_checkpoints(
    CommandContext& session, experiment::requests::ListCheckpoints request, std::int32_t most);

/// The curves of one metric of the group `validation`, with at most so many points each. Trials that have no values,
/// and those whose curve cannot be read, have none in the result: it is for decoration.
[[nodiscard]] loop::Task<Curves> curves_of(CommandContext& session, std::vector<experiment::TrialId> trials,
                                           std::string metric, std::int32_t points);

/// With curves of at most so many trials, a list remains fast.
constexpr std::size_t curves_most = 200;
[[nodiscard]] std::vector<experiment::TrialId> with_curves(const std::vector<experiment::TrialView>& trials);

/// Why a trial that is queued does not run, as of its job, in one line; empty: it is not queued, or the master does not
/// say.
[[nodiscard]] loop::Task<std::string> why_it_waits(CommandContext& session, experiment::TrialView trial);

/// The same of one trial of an experiment that waits: `trial 12.3: …`; empty: none does.
[[nodiscard]] loop::Task<std::string> waiting_words(CommandContext& session, experiment::ExperimentId experiment);

/// The last output of the last run of a trial that failed; none: it did not fail, or its output is deleted.
[[nodiscard]] loop::Task<std::vector<std::string>> last_output_of(CommandContext& session, experiment::TrialView trial,
                                                                  std::int64_t lines);

}  // namespace cadre::cli
