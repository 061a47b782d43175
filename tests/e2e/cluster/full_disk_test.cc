// Disks that are full, and then not any more: nothing is lost, and everybody is told why nothing happens.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using cluster::control::JobStage;
using cluster::lease::Reason;
using testing::HasSubstr;

constexpr std::int64_t megabyte = 1 << 20;

/// Takes all that is left of a file system, as long as it lives.
class Filler {
 public:
  explicit Filler(const std::string& folder) : path_(folder + "/filler") {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const std::vector<char> bytes(4096, 'x');
    while (::write(file, bytes.data(), bytes.size()) > 0) {
    }
    ::close(file);
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
  ~Filler() { std::filesystem::remove(path_); }

 private:
  std::string path_;
};

TEST(FullDisk, OfTheMasterHoldsEverythingUpAndLosesNothing) {
  WITH_OWN_MOUNTS();
  TestCluster cluster({"3s", {}, 16 * megabyte});
  cluster.start_agent("a1");
  const std::uint64_t before = cluster.submit({"--slots", "1", "--", "sh", "-c", "sleep 1; echo here; exit 4"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(before).stage == JobStage::running; }));
  const bool holds_records = cluster.database_url().starts_with("sqlite:");
  if (!holds_records) {
    const Filler filler(cluster.data());
    EXPECT_EQ(cluster.wait_for_end(before).code, 4);
    EXPECT_EQ(cluster.output(before), "");
  } else {
    const Filler filler(cluster.data());
    // Beats change nothing and need no room; the first that does is the end of the task, or this.
    ASSERT_TRUE(TestCluster::until([&] {
      const Said said = cluster.cadre({"run", "--detach", "--", "true"});
      return said.code != 0 && said.err.find("the master can write nothing now") != std::string::npos;
    }));
    const Said said = cluster.cadre({"status"});
    EXPECT_NE(said.code, 0);
    EXPECT_THAT(said.err, HasSubstr("the disk is full"));
  }
  ASSERT_TRUE(TestCluster::until([&] { return cluster.cadre({"status"}).code == 0; }));
  const auto job = cluster.wait_for_end(before);
  EXPECT_EQ(job.code, 4);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(before) == "here\n"; }));
  EXPECT_EQ(cluster.cadre({"run", "--slots", "1", "--", "echo", "again"}).out, "again\n");
  EXPECT_THAT(read_text(cluster.folder() + "/master.log"),
              HasSubstr(holds_records ? "nothing can be written, so nothing is done" : "output cannot be stored"));
}

TEST(FullDisk, OfAnAgentRefusesTasksAndHoldsOutputBack) {
  WITH_OWN_MOUNTS();
  TestCluster cluster;
  const std::string folder = cluster.agent_folder("a1");
  std::filesystem::create_directory(folder);
  const servers::SmallDisk disk(folder, 2 * megabyte);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  cluster.start_agent("a1");
  const std::string go = cluster.folder() + "/go";
  const std::uint64_t writer = cluster.submit({"--slots", "1", "--isolation", "off", "--", "sh", "-c",
                                               "while [ ! -e " + go + " ]; do sleep 0.05; done; seq 1 100000; exit 3"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(writer).stage == JobStage::running; }));
  {
    const Filler filler(folder);
    write_text(go, "");
    const auto refused = cluster.wait_for_end(cluster.submit({"--slots", "1", "--", "true"}));
    EXPECT_EQ(refused.reason, Reason::failed_to_start);
    EXPECT_THAT(refused.detail, HasSubstr("the disk is full. Free space there."));
    EXPECT_EQ(cluster.job(writer).stage, JobStage::running) << "it waits until it can write";
  }
  EXPECT_EQ(cluster.wait_for_end(writer).code, 3);
  std::string all;
  for (int i = 1; i <= 100'000; ++i) all += std::to_string(i) + "\n";
  EXPECT_TRUE(cluster.output(writer) == all) << "of " << all.size() << " there are " << cluster.output(writer).size();
  EXPECT_EQ(cluster.cadre({"run", "--slots", "1", "--", "echo", "again"}).out, "again\n");
}

}  // namespace
}  // namespace cadre::e2e
