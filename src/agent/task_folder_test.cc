#include "agent/task_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "describe/describe.h"
#include "loop/file.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

cluster::LeaseId lease_of(std::uint64_t job) { return {{{job}, 0}, {1}}; }

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

class Folders : public ::testing::Test {
 protected:
  /// As an agent and a supervisor leave it.
  TaskFolder used(std::uint64_t job) {
    TaskFolder folder = folders.make(lease_of(job)).value();
    cluster::supervision::Launch launch;
    launch.lease = lease_of(job);
    launch.command.argv = {"true"};
    EXPECT_TRUE(folder.write_launch(launch));
    fs::create_directory(folder.path() + "/tmp");
    fs::permissions(folder.path() + "/tmp", fs::perms::owner_all);
    std::ofstream(folder.work() + "/result") << "secret";
    fs::create_directories(folder.work() + "/deep/er");
    fs::create_symlink("/etc", folder.work() + "/link");
    std::ofstream(folder.path() + "/tmp/.hidden") << "secret";
    fs::create_directories(folder.output());
    std::ofstream(folder.output() + "/000000000000.log") << "secret";
    return folder;
  }
  void end(const TaskFolder& folder) {
    ASSERT_TRUE(loop::write_whole(folder.path() + "/ending", describe::write_msgpack(cluster::TaskEnding{})));
  }
  ino_t number_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_ino;
  }

  servers::TempDir scratch;
  std::string tasks = scratch.path();
  TaskFolders folders{tasks};
};

TEST_F(Folders, OneThatIsGivenBackServesTheNextTaskWithNothingLeftInIt) {
  const TaskFolder first = used(1);
  end(first);
  const ino_t number = number_of(first.path());
  folders.give_back(first);
  EXPECT_FALSE(fs::exists(first.path()));
  const TaskFolder second = folders.make(lease_of(2)).value();
  EXPECT_EQ(number_of(second.path()), number);
  EXPECT_THAT(names_in(second.path()), UnorderedElementsAre("work", "tmp", "launch.new", "ending.new"));
  EXPECT_THAT(names_in(second.work()), IsEmpty());
  EXPECT_THAT(names_in(second.path() + "/tmp"), IsEmpty());
  EXPECT_EQ(fs::file_size(second.path() + "/launch.new"), 0U);
  EXPECT_EQ(fs::file_size(second.path() + "/ending.new"), 0U);
  EXPECT_FALSE(second.ending());
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST_F(Folders, OneThatATaskHasChangedOrMayStillUseIsNotUsedAgain) {
  const TaskFolder opened = used(1);
  end(opened);
  fs::permissions(opened.work(), fs::perms::all);
  folders.give_back(opened);
  const TaskFolder replaced = used(2);
  end(replaced);
  fs::remove_all(replaced.path() + "/tmp");
  fs::create_directory_symlink("/etc", replaced.path() + "/tmp");
  folders.give_back(replaced);
  const TaskFolder killed = used(3);  // with its supervisor: there is no ending
  folders.give_back(killed);
  EXPECT_THAT(names_in(tasks), IsEmpty());
  EXPECT_THAT(names_in(folders.make(lease_of(4)).value().path()), ElementsAre("work"));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST_F(Folders, AnAgentThatComesFindsTasksAndNoSpareFolders) {
  const TaskFolder given_back = used(1);
  end(given_back);
  folders.give_back(given_back);
  const TaskFolder running = used(2);
  const TaskFolder ended = used(3);
  end(ended);
  const TaskFolder begun = folders.make(lease_of(4)).value();
  std::vector<FoundTask> found = find_tasks(tasks);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.lease < b.lease; });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].lease, lease_of(2));
  EXPECT_FALSE(found[0].ending);
  EXPECT_EQ(found[1].lease, lease_of(3));
  EXPECT_TRUE(found[1].ending);
  EXPECT_THAT(names_in(tasks), UnorderedElementsAre("2.0-1", "3.0-1"));
}

TEST_F(Folders, KeepsNoMoreThanSome) {
  std::vector<TaskFolder> many;
  for (std::uint64_t job = 1; job <= 80; ++job) {
    many.push_back(folders.make(lease_of(job)).value());
    end(many.back());
  }
  for (const TaskFolder& folder : many) folders.give_back(folder);
  EXPECT_EQ(names_in(tasks).size(), 64U);
}

}  // namespace
}  // namespace cadre::agent
