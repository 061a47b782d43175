#include "agent/process/uid_range.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "loop/power_loss_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

TEST(UidRange, ReadsTwoNumbersWithADash) {
  const auto range = parse_uid_range("200000-265535");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 200'000);
  EXPECT_EQ(range->last, 265'535);
}

TEST(UidRange, RefusesWhatIsNoRangeAndNumbersOfTheSystem) {
  for (const char* text : {"", "x", "5-", "-5", "10-20", "0-70000", "3000-2000", "2000-5000000000", "2000-3000x"}) {
    const auto range = parse_uid_range(text);
    ASSERT_FALSE(range) << text;
    EXPECT_NE(range.error().message.find("is not a range of UIDs of at least"), std::string::npos);
  }
}

TEST(UidRange, RefusesNumbersThatTheHostGivesToOthers) {
  const servers::TempDir etc;
  std::ofstream(etc.path() + "/passwd") << "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n";
  std::ofstream(etc.path() + "/group") << "root:x:0:\nstaff:x:50000:ann\n";
  std::ofstream(etc.path() + "/subuid") << "# comment\nann:100000:65536\nbob:165536:65536\n";
  std::ofstream(etc.path() + "/subgid") << "ann:300000:65536\n";
  const auto fault = [&](UidRange range) {
    const auto checked = check_uid_range(range, etc.path());
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(fault({231'072, 299'999}), "");
  EXPECT_EQ(fault({200'000, 265'535}),
            "the UIDs 200000-265535 of tasks overlap 165536-231071, which " + etc.path() +
                "/subuid gives to 'bob'; choose others with --uids, for instance 2100000000-2100065535");
  EXPECT_NE(fault({250'000, 300'000}).find("/subgid gives to 'ann'"), std::string::npos);
  EXPECT_NE(fault({1'000, 2'000}).find("overlap 1000, which"), std::string::npos);
  EXPECT_NE(fault({50'000, 50'000}).find("/group gives to 'staff'"), std::string::npos);
}

/// With claims beside the file.
Result<UidTable> open_table(const std::string& path, UidRange range) {
  return UidTable::open(path, range, UidClaims(path + "-claims", path));
}

TEST(UidTable, GivesEachUserAUniqueStableUid) {
  const servers::TempDir scratch;
  const std::string path = scratch.path() + "/uids";
  std::int64_t ann = 0;
  {
    auto table = open_table(path, {200'000, 200'010});
    ASSERT_TRUE(table);
    ann = *table->uid_of("ann");
    EXPECT_EQ(*table->uid_of("bob"), ann + 1);
    EXPECT_EQ(*table->uid_of("ann"), ann);
  }
  auto table = open_table(path, {200'000, 200'010});
  ASSERT_TRUE(table);
  EXPECT_EQ(*table->uid_of("cid"), ann + 2);
  EXPECT_EQ(*table->uid_of("ann"), ann);
}

TEST(UidTable, NeverGivesANumberTwiceWhenTheRangeChanges) {
  const servers::TempDir scratch;
  const std::string path = scratch.path() + "/uids";
  ASSERT_TRUE(open_table(path, {200'000, 200'010})->uid_of("ann"));
  auto table = open_table(path, {200'000, 200'001});
  EXPECT_EQ(*table->uid_of("bob"), 200'001);
  const auto third = table->uid_of("cid");
  ASSERT_FALSE(third);
  EXPECT_NE(third.error().message.find("larger --uids"), std::string::npos);
  EXPECT_EQ(*open_table(path, {300'000, 300'001})->uid_of("ann"), 200'000);
}

TEST(UidTable, GivesNoNumberThatAnotherAgentOfTheHostGives) {
  const servers::TempDir one;
  const servers::TempDir two;
  const servers::TempDir claims;
  const auto open_in = [&](const servers::TempDir& data) {
    return UidTable::open(data.path() + "/uids", {200'000, 200'002}, UidClaims(claims.path() + "/claims", data.path()))
        .value();
  };
  EXPECT_EQ(open_in(one).uid_of("ann").value(), 200'000);
  EXPECT_EQ(open_in(two).uid_of("ann").value(), 200'001) << "which may be another person";
  EXPECT_EQ(open_in(two).uid_of("ann").value(), 200'001);
  EXPECT_EQ(open_in(one).uid_of("bob").value(), 200'002);
  const auto none_left = open_in(two).uid_of("bob");
  ASSERT_FALSE(none_left);
  EXPECT_NE(none_left.error().message.find("by other agents of this host"), std::string::npos);
}

TEST(UidTable, ReplacesANumberThatAnotherAgentOfTheHostHas) {
  const servers::TempDir one;
  const servers::TempDir two;
  const servers::TempDir claims;
  for (const auto* data : {&one, &two}) std::ofstream(data->path() + "/uids") << "200000 ann\n";  // before claims
  const auto uid_in = [&](const servers::TempDir& data) {
    return UidTable::open(data.path() + "/uids", {200'000, 200'009}, UidClaims(claims.path() + "/claims", data.path()))
        ->uid_of("ann")
        .value();
  };
  EXPECT_EQ(uid_in(one), 200'000);
  EXPECT_EQ(uid_in(two), 200'001);
  EXPECT_EQ(uid_in(two), 200'001);
  EXPECT_EQ(uid_in(one), 200'000);
}

TEST(UidTable, SurvivesAPowerLoss) {
  const servers::TempDir folder;
  std::filesystem::create_directory(folder.path() + "/uids-claims");
  std::filesystem::permissions(folder.path() + "/uids-claims", std::filesystem::perms::owner_all);
  UidTable table = open_table(folder.path() + "/uids", {200'000, 200'009}).value();
  for (const char* user : {"ann", "bob"}) {
    EXPECT_TRUE(loop::survives_power_loss(folder.path(), "uids", [&] { ASSERT_TRUE(table.uid_of(user)); }));
  }
}

TEST(UidTable, AFileThatCannotBeReadIsAnError) {
  const servers::TempDir scratch;
  std::ofstream(scratch.path() + "/uids") << "200000 ann\nbroken\n";
  EXPECT_FALSE(open_table(scratch.path() + "/uids", {}));
}

}  // namespace
}  // namespace cadre::agent
