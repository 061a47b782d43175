#include "agent/home.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "loop/power_loss_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;

struct HomeTest : testing::Test {
  HomeTest() {
    fs::create_directories(data + "/tasks/1.0-1");
    std::ofstream(data + "/tasks/1.0-1/launch") << "x";
  }
  servers::TempDir folder;
  const std::string data = folder.path() + "/a";
  SilentLog log;
};

TEST_F(HomeTest, IsTheSameAfterARestart) {
  const Home first = settle_in(data, Adopt::no, log).value();
  EXPECT_FALSE(first.place.empty());
  EXPECT_EQ(settle_in(data, Adopt::no, log)->place, first.place);
  EXPECT_TRUE(fs::exists(data + "/tasks/1.0-1/launch"));
}

TEST_F(HomeTest, ACopyIsAnotherPlaceAndHasNoTasks) {
  const Home first = settle_in(data, Adopt::no, log).value();
  const std::string copy = folder.path() + "/b";
  fs::copy(data, copy, fs::copy_options::recursive);
  const Home second = settle_in(copy, Adopt::no, log).value();
  EXPECT_NE(second.place, first.place);
  EXPECT_FALSE(fs::exists(copy + "/tasks"));
  EXPECT_TRUE(fs::exists(copy + "/tasks.old/1.0-1/launch"));
  EXPECT_TRUE(fs::exists(data + "/tasks/1.0-1/launch"));
  EXPECT_EQ(settle_in(copy, Adopt::no, log)->place, second.place);
}

TEST_F(HomeTest, BelongsToAClusterUntilItIsAdopted) {
  EXPECT_EQ(settle_in(data, Adopt::no, log)->cluster, "");
  ASSERT_TRUE(note_cluster(data, "c1"));
  EXPECT_EQ(settle_in(data, Adopt::no, log)->cluster, "c1");
  EXPECT_TRUE(fs::exists(data + "/tasks/1.0-1/launch"));
  EXPECT_EQ(settle_in(data, Adopt::yes, log)->cluster, "");
  EXPECT_FALSE(fs::exists(data + "/tasks"));
  EXPECT_EQ(settle_in(data, Adopt::no, log)->cluster, "");
}

TEST_F(HomeTest, ItsFilesSurviveAPowerLoss) {
  EXPECT_TRUE(loop::survives_power_loss(data, "place", [&] { ASSERT_TRUE(settle_in(data, Adopt::no, log)); }));
  EXPECT_TRUE(loop::survives_power_loss(data, "id", [&] { ASSERT_TRUE(keep_id(data, "a1")); }));
  EXPECT_TRUE(loop::survives_power_loss(data, "cluster", [&] { ASSERT_TRUE(note_cluster(data, "c1")); }));
  EXPECT_TRUE(loop::survives_power_loss(data, "cluster", [&] { ASSERT_TRUE(note_cluster(data, "c2")); }));
}

}  // namespace
}  // namespace cadre::agent
