/// `cadre experiment create --test`: whether the program of an experiment trains, reports, saves a checkpoint and
/// begins again from it, before slots are spent on all of its trials. For the thread of the session's loop.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_context.h"
#include "experiment/requests/metrics.h"

namespace cadre::cli {

/// The experiment file of the test: one trial of length 1 that validates and saves a checkpoint after each step, is not
/// restarted, and keeps its latest checkpoint. All else stays as it is, with `(test)` after the name and the label
/// `test`. The file must be one that experiment::read_config() accepts.
[[nodiscard]] describe::Value test_config(const describe::Value& config);

enum class Verdict : std::uint8_t { worked, failed, not_tested };
constexpr auto enum_names(Verdict) {
  return std::array{std::pair{Verdict::worked, "worked"}, std::pair{Verdict::failed, "failed"},
                    std::pair{Verdict::not_tested, "not_tested"}};
}

struct TestResult {
  static constexpr std::string_view doc = "What was tested of the program of an experiment, and the result.";
  std::string what;
  Verdict verdict = Verdict::not_tested;
  std::string detail;
};
template <class V>
void describe(V& v, TestResult& c) {
  v.required("what", c.what, "train, report, checkpoint or restore.");
  v.required("verdict", c.verdict, "Result.");
  v.required("detail", c.detail, "What was seen.");
}

/// What the first run of the trial shows; of the checkpoint only that there is one.
[[nodiscard]] std::vector<TestResult> judge_first_run(const experiment::TrialView& trial, const std::string& metric);
/// What the second run shows, which began with this checkpoint. `reports` are those of the trial after it.
[[nodiscard]] TestResult judge_second_run(const experiment::TrialView& trial,
                                          const experiment::CheckpointView& checkpoint,
                                          const std::vector<experiment::requests::StoredReport>& reports);

/// Follows a test that was submitted, runs its trial a second time, and prints the verdict. 0: everything worked.
[[nodiscard]] loop::Task<int> test_experiment(CommandContext& session, experiment::ExperimentView submitted,
                                              ClientOptions client);

}  // namespace cadre::cli
