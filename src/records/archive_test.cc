#include "records/archive.h"

#include "records/backend_test.h"

namespace cadre::records {
namespace {

namespace control = cluster::control;
using cluster::JobId;
using testing::ElementsAre;
using testing::IsEmpty;

class ArchiveContract : public BothEngines {
 protected:
  void SetUp() override {
    records_ = open(backend_.url());
    ASSERT_DONE(records_->begin_boot());
    control::Writes writes;
    for (std::uint64_t id = 1; id <= 20; ++id) {
      control::JobRow row;
      row.id = JobId{id};
      row.spec.name = "job " + std::to_string(id);
      row.spec.workspace = id % 2 == 0 ? "even" : "odd";
      row.spec.members.emplace_back().command.argv = {"true"};
      row.owner = id > 10 ? "bob" : "ann";
      row.stage = id % 5 == 0 ? cluster::JobStage::queued : cluster::JobStage::ended;
      row.ended = TimePoint(std::chrono::hours(1000 - id));  // the first ended last
      writes.new_jobs.push_back(row);
      for (std::uint32_t member = 0; member < 2; ++member) {
        control::TaskRow task;
        task.id = {row.id, member};
        task.lease = {{3}, cluster::lease::Ended{}};
        task.ending.detail = "of " + std::to_string(id);
        writes.tasks.push_back(task);
      }
    }
    ASSERT_DONE(records_->commit(rows_of(writes)));
    archive_ = Archive::open(backend_.url()).value();
  }

  std::vector<std::uint64_t> ids(const ArchiveQuery& query) {
    std::vector<std::uint64_t> ids;
    const auto page = archive_->list(query);
    EXPECT_TRUE(page.has_value());
    for (const ArchivedJob& job : page->jobs) {
      ids.push_back(job.row.id.value);
      EXPECT_EQ(job.tasks.size(), 2U);
      for (const control::TaskRow& task : job.tasks) EXPECT_EQ(task.id.job, job.row.id);
    }
    return ids;
  }

  std::unique_ptr<Records> records_;
  std::unique_ptr<Archive> archive_;
};

TEST_P(ArchiveContract, FindsAJobThatHasEndedWithItsTasks) {
  const auto found = archive_->find(JobId{7});
  ASSERT_DONE(found);
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->row.spec.name, "job 7");
  ASSERT_EQ((*found)->tasks.size(), 2U);
  EXPECT_EQ((*found)->tasks[1].ending.detail, "of 7");
  EXPECT_EQ((*found)->tasks[1].id.member, 1U);
  EXPECT_FALSE(*archive_->find(JobId{5})) << "it waits";
  EXPECT_FALSE(*archive_->find(JobId{99}));
  EXPECT_FALSE(*archive_->find(JobId{UINT64_MAX})) << "more than any database counts to";
}

TEST_P(ArchiveContract, ListsTheNewestOfARange) {
  EXPECT_THAT(ids({1, 21, {}, {}, 4}), ElementsAre(19, 18, 17, 16));
  EXPECT_THAT(ids({1, 16, {}, {}, 4}), ElementsAre(14, 13, 12, 11));
  EXPECT_THAT(ids({12, 16, {}, {}, 10}), ElementsAre(14, 13, 12));
  EXPECT_THAT(ids({1, 21, "even", {}, 3}), ElementsAre(18, 16, 14));
  EXPECT_THAT(ids({1, 21, "even", "ann", 10}), ElementsAre(8, 6, 4, 2));
  EXPECT_THAT(ids({1, 21, "neither", {}, 10}), IsEmpty());
  EXPECT_THAT(ids({0, UINT64_MAX, {}, {}, 1'000}).size(), 16U);
}

TEST_P(ArchiveContract, BoundsTheBytesOfAPage) {
  const std::int64_t each = cluster::bytes_of(archive_->find(JobId{7}).value()->row.spec);
  EXPECT_THAT(ids({1, 10, {}, {}, 10, 4 * each + each / 2}), ElementsAre(9, 8, 7, 6));
  EXPECT_TRUE(archive_->list({1, 10, {}, {}, 10, 4 * each})->is_cut);
  EXPECT_TRUE(archive_->list({1, 10, {}, {}, 10, 1})->is_cut);
  EXPECT_THAT(ids({1, 10, {}, {}, 10, 1}), ElementsAre(9, 8)) << "two in any case";
  EXPECT_FALSE(archive_->list({1, 10, {}, {}, 10, 100 * each})->is_cut);
  EXPECT_FALSE(archive_->list({1, 10, {}, {}, 2, 3 * each})->is_cut) << "it is full";
}

TEST_P(ArchiveContract, LosesJobsOfTheOwnerWithMostBytesFirst) {
  EXPECT_THAT(*records_->prune_largest_owner({0, 1}), IsEmpty());
  control::Writes writes;
  control::JobRow large;
  large.id = JobId{21};
  large.spec.members.emplace_back().command.argv = {std::string(100'000, 'x')};
  large.owner = "bob";
  large.stage = cluster::JobStage::ended;
  large.ended = TimePoint(std::chrono::hours(2'000));
  writes.new_jobs.push_back(large);
  ASSERT_DONE(records_->commit(rows_of(writes)));
  const auto rows = records_->load({100, any_bytes});
  std::int64_t bytes = 0;
  for (const control::JobRow& row : rows->jobs) {
    if (row.stage == cluster::JobStage::ended) bytes += cluster::bytes_of(row.spec);
  }
  EXPECT_EQ(rows->ended_bytes, bytes);
  const auto first = records_->prune_largest_owner({2, 1'000'000});
  ASSERT_DONE(first);
  ASSERT_EQ(first->size(), 2U);
  EXPECT_EQ((*first)[0].id.value, 19U) << "the oldest of bob";
  EXPECT_GT((*first)[0].bytes, 0);
  EXPECT_EQ(records_->prune_largest_owner({100, 1})->size(), 1U) << "that frees enough";
  EXPECT_EQ(records_->prune_largest_owner({100, 1'000'000})->back().id.value, 21U);
  EXPECT_THAT(ids({1, 30, {}, "bob", 10}), IsEmpty());
  EXPECT_THAT(ids({1, 30, {}, "ann", 10}).size(), 8U) << "nothing of others is lost";
}

TEST_P(ArchiveContract, LosesThoseThatEndedFirstWhenTheyArePruned) {
  const auto pruned = records_->prune_jobs(3);
  ASSERT_DONE(pruned);
  ASSERT_EQ(pruned->size(), 3U);
  EXPECT_EQ((*pruned)[0].id.value, 19U);
  EXPECT_EQ((*pruned)[2].id.value, 17U);
  EXPECT_THAT((*pruned)[0].leases,
              ElementsAre(cluster::LeaseId{{JobId{19}, 0}, {3}}, cluster::LeaseId{{JobId{19}, 1}, {3}}));
  EXPECT_THAT(ids({1, 21, {}, {}, 2}), ElementsAre(16, 14));
  const auto rows = records_->load({2, any_bytes});
  ASSERT_DONE(rows);
  EXPECT_EQ(rows->ended_jobs, 13);
  EXPECT_EQ(rows->jobs.size(), 4U + 2U);
  EXPECT_EQ(records_->prune_jobs(100)->size(), 13U);
  EXPECT_EQ(records_->load({100, any_bytes})->jobs.size(), 4U) << "what has not ended stays";
}

INSTANTIATE_FOR_BOTH_ENGINES(ArchiveContract);

}  // namespace
}  // namespace cadre::records
