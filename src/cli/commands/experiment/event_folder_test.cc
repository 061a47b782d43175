#include "cli/commands/experiment/event_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr TimePoint export_time{std::chrono::seconds(1'700'000'000)};
constexpr experiment::TrialId first_trial{experiment::ExperimentId{12}, 3};
constexpr experiment::TrialId second_trial{experiment::ExperimentId{12}, 4};

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(EventFolder, HasAFileThatTensorBoardFindsForEachTrial) {
  const servers::TempDir scratch;
  const std::string path = scratch.path() + "/new/events";
  {
    Result<EventFolder> folder = EventFolder::open(path, export_time);
    ASSERT_TRUE(folder) << folder.error().message;
    ASSERT_TRUE(folder->begin(first_trial));
    ASSERT_TRUE(folder->write("one"));
    EXPECT_THAT(entries_of(path + "/12.3"), ElementsAre("partial")) << "TensorBoard reads files named tfevents";
    ASSERT_TRUE(folder->end());
    ASSERT_TRUE(folder->begin(second_trial));
    ASSERT_TRUE(folder->end());
    folder->finish();
  }
  EXPECT_THAT(entries_of(path), ElementsAre("12.3", "12.4"));
  const std::vector<std::string> files = entries_of(path + "/12.3");
  ASSERT_THAT(files, ElementsAre(StartsWith("events.out.tfevents.1700000000.")));
  std::string content;
  std::getline(std::ifstream(path + "/12.3/" + files[0]), content);
  EXPECT_EQ(content, "one");
}

TEST(EventFolder, LeavesNothingUnlessItIsComplete) {
  const servers::TempDir scratch;
  const auto write_half = [](const std::string& path) {
    Result<EventFolder> folder = EventFolder::open(path, export_time);
    ASSERT_TRUE(folder->begin(first_trial));
    ASSERT_TRUE(folder->end());
    ASSERT_TRUE(folder->begin(second_trial));
    ASSERT_TRUE(folder->write("half"));
  };
  write_half(scratch.path() + "/new");
  EXPECT_THAT(entries_of(scratch.path()), ElementsAre());
  write_half(scratch.path());
  EXPECT_THAT(entries_of(scratch.path()), ElementsAre()) << "a folder that was there stays";
}

TEST(EventFolder, IsRefusedWhereThereIsSomethingOrNothingCanBeMade) {
  const servers::TempDir scratch;
  const std::string file = scratch.path() + "/notes";
  std::ofstream(file) << "keep";
  const auto full = EventFolder::open(scratch.path(), export_time);
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, AllOf(HasSubstr(scratch.path()), HasSubstr("is not empty; name a new folder")));
  const auto plain = EventFolder::open(file, export_time);
  ASSERT_FALSE(plain);
  EXPECT_THAT(plain.error().message, HasSubstr("notes is not a folder"));
  EXPECT_THAT(entries_of(scratch.path()), ElementsAre("notes"));
  const auto unwritable = EventFolder::open("/proc/events", export_time);
  ASSERT_FALSE(unwritable);
  EXPECT_THAT(unwritable.error().message, HasSubstr("/proc/events"));
}

TEST(EventFolder, IsRemovedWhenTheDiskIsFull) {
  WITH_OWN_MOUNTS();
  const servers::TempDir scratch;
  const servers::SmallDisk disk(scratch.path(), 1 << 20);
  {
    Result<EventFolder> folder = EventFolder::open(scratch.path() + "/events", export_time);
    ASSERT_TRUE(folder->begin(first_trial));
    ASSERT_TRUE(folder->write(std::string(500'000, 'a')));
    ASSERT_TRUE(folder->end());
    ASSERT_TRUE(folder->begin(second_trial));
    const Result<void> written = folder->write(std::string(2'000'000, 'b'));
    ASSERT_FALSE(written);
    EXPECT_TRUE(loop::is_disk_full(written.error())) << written.error().message;
    EXPECT_THAT(entries_of(scratch.path() + "/events/12.4"), ElementsAre("partial"));
  }
  EXPECT_THAT(entries_of(scratch.path()), ElementsAre());
}

}  // namespace
}  // namespace cadre::cli
