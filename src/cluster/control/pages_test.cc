// Lists and snapshots of many jobs come in pages of bounded size.
#include <gtest/gtest.h>

#include <set>

#include "cluster/control/control_fixture_for_tests.h"

namespace cadre::cluster::control {
namespace {

TEST(Pages, OfASnapshotHoldEachJobAndAgentOnce) {
  ControlFixture fixture;
  constexpr std::size_t jobs = 1'234;
  for (std::size_t i = 0; i < jobs; ++i)
    fixture.control().ask(1, an_admin(), requests::Submit{job_of({1})}, fixture.now());
  for (int i = 0; i < 3; ++i) fixture.hello("a" + std::to_string(i), 0);
  std::set<JobId> seen;
  std::set<AgentId> agents;
  std::optional<requests::GetSnapshot> next = requests::GetSnapshot{};
  int pages = 0;
  for (; next && pages < 100; ++pages) {
    const requests::SnapshotPage page = fixture.control().snapshot(an_admin(), *next);
    EXPECT_LE(page.part.jobs.size() + page.part.agents.size(), 500U);
    for (const requests::JobView& job : page.part.jobs) EXPECT_TRUE(seen.insert(job.id).second);
    for (const requests::AgentView& agent : page.part.agents) EXPECT_TRUE(agents.insert(agent.id).second);
    next = page.next;
  }
  EXPECT_EQ(seen.size(), jobs);
  EXPECT_EQ(agents.size(), 3U);
  EXPECT_EQ(pages, 3);
}

std::vector<std::uint64_t> ids_of(const requests::Jobs& page) {
  std::vector<std::uint64_t> ids;
  for (const requests::JobView& job : page.jobs) ids.push_back(job.id.value);
  return ids;
}

TEST(Pages, OfAListHoldArchivedJobsAmongTheOthers) {
  Settings settings;
  settings.ended_jobs_kept = 1;
  ControlFixture fixture(settings);
  for (int i = 0; i < 8; ++i) fixture.submit(job_of({1}), "a job");
  for (const std::uint64_t id : {2U, 4U, 5U, 7U}) fixture.ask("kill", requests::KillJob{{id}});
  EXPECT_EQ(fixture.control().ledger().ended(), 4);
  EXPECT_EQ(fixture.control().ledger().ended_in_memory(), 1) << "job 7";
  std::vector<Job> archived;  // as the database has them, the one in memory included
  for (const std::uint64_t id : {7U, 5U, 4U, 2U}) archived.push_back({fixture.job(id), {}});
  requests::ListJobs request;
  EXPECT_TRUE(fixture.control().list_range(request).has_archived);
  const requests::Jobs all = fixture.control().list_jobs(an_admin(), request, archived);
  EXPECT_EQ(ids_of(all), (std::vector<std::uint64_t>{8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(all.next, std::nullopt);
  request.most = 3;
  const requests::Jobs first = fixture.control().list_jobs(an_admin(), request, archived);
  EXPECT_EQ(ids_of(first), (std::vector<std::uint64_t>{8, 7, 6}));
  ASSERT_EQ(first.next, JobId{6});
  request.before = first.next;
  const requests::Jobs second =
      fixture.control().list_jobs(an_admin(), request, {archived.begin() + 1, archived.end()});
  EXPECT_EQ(ids_of(second), (std::vector<std::uint64_t>{5, 4, 3}));
  request.ended = false;
  request.before.reset();
  EXPECT_FALSE(fixture.control().list_range(request).has_archived);
}

}  // namespace
}  // namespace cadre::cluster::control
