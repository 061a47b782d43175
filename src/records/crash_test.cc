#include <signal.h>
#include <unistd.h>

#include "base/seeds.h"
#include "records/backend_test.h"
#include "tests/servers/process.h"

namespace cadre::records {
namespace {

namespace control = cluster::control;
using cluster::TaskId;

constexpr std::uint32_t tasks_each = 20;

class CrashContract : public BothEngines {};

/// Everything in step `number`: a new job with its tasks, the end of the one before, and two changes.
control::Writes step(std::uint64_t number) {
  control::Writes writes;
  const auto job = [](std::uint64_t id, cluster::JobStage stage) {
    control::JobRow row;
    row.id = {id};
    row.stage = stage;
    row.spec.members.emplace_back().command.argv = {"true"};
    return row;
  };
  writes.new_jobs.push_back(job(number, cluster::JobStage::running));
  if (number > 1) writes.jobs.push_back(job(number - 1, cluster::JobStage::ended));
  for (const std::uint64_t id : {number - 1, number}) {
    for (std::uint32_t member = 0; member < tasks_each && id > 0; ++member) {
      control::TaskRow& row = writes.tasks.emplace_back();
      row.id = {{id}, member};
      row.reports = number;
      row.last_report = std::string(300, 'x');
    }
  }
  for (const std::uint64_t change : {2 * number - 1, 2 * number}) {
    writes.changes.push_back({change, {}, "job", std::to_string(number), "running", ""});
  }
  return writes;
}

/// Commits steps for ever, and says each on `out` once that is done.
int commit_steps(const std::string& url, int out) {
  const auto records = open_for_tests(url, silent_log());
  if (!records || !(*records)->begin_boot()) return 1;
  const auto rows = (*records)->load({0, any_bytes});
  if (!rows) return 1;
  for (std::uint64_t number = rows->last_job.value + 1;; ++number) {
    if (!(*records)->commit(rows_of(step(number))) || write(out, &number, sizeof(number)) != sizeof(number)) return 1;
  }
}

/// The last step that was acknowledged, of `wanted` or a few more; the writer is killed in the middle of things.
std::uint64_t kill_after(pid_t writer, int in, std::int64_t wanted, Dice& dice) {
  std::uint64_t last = 0, said = 0;
  while (read(in, &said, sizeof(said)) == sizeof(said)) {
    last = said;
    if (--wanted > 0) continue;
    if (wanted == 0) usleep(static_cast<useconds_t>(dice.below(5'000)));
    kill(writer, SIGKILL);
  }
  return last;
}

void expect_whole(const control::Rows& rows, std::uint64_t last) {
  ASSERT_EQ(rows.jobs.size(), last);
  ASSERT_EQ(rows.tasks.size(), last * tasks_each);
  for (std::size_t at = 0; at < rows.jobs.size(); ++at) {
    EXPECT_EQ(rows.jobs[at].id.value, at + 1);
    EXPECT_EQ(rows.jobs[at].stage, at + 1 == last ? cluster::JobStage::running : cluster::JobStage::ended);
  }
  for (std::size_t at = 0; at < rows.tasks.size(); ++at) {
    const std::uint64_t id = at / tasks_each + 1;
    EXPECT_EQ(rows.tasks[at].id, (TaskId{{id}, static_cast<std::uint32_t>(at % tasks_each)}));
    EXPECT_EQ(rows.tasks[at].reports, std::min(id + 1, last));
  }
}

TEST_P(CrashContract, AKilledMasterLeavesAllThatItAcknowledgedAndWholeWritesOnly) {
  std::uint64_t boot = 0;
  FOR_SEEDS(6, [&](Dice& dice) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t writer = servers::fork_child([&] { return commit_steps(backend_.url(), ends[1]); });
    close(ends[1]);
    const std::uint64_t acknowledged = kill_after(writer, ends[0], dice.between(1, 20), dice);
    close(ends[0]);
    EXPECT_EQ(servers::wait_for(writer), -1) << "it ended by itself";
    ASSERT_GT(acknowledged, 0U);

    const auto records = open_for_tests(backend_.url(), silent_log());
    ASSERT_DONE(records);
    const control::Rows rows = (*records)->load({1'000'000, any_bytes}).value();
    EXPECT_GE(rows.last_job.value, acknowledged);
    EXPECT_LE(rows.last_job.value, acknowledged + 1);
    expect_whole(rows, rows.last_job.value);
    EXPECT_EQ((*records)->last("change").value(), 2 * rows.last_job.value);
    EXPECT_EQ((*records)->changes_since(0, 1'000'000).value().size(), 2 * rows.last_job.value);
    const std::uint64_t now = (*records)->begin_boot().value();
    EXPECT_GT(now, boot);
    boot = now;
  });
}

INSTANTIATE_FOR_BOTH_ENGINES(CrashContract);

}  // namespace
}  // namespace cadre::records
