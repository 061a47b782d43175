#include "agent/process/task_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>

#include "cluster/ending.h"
#include "describe/describe.h"
#include "loop/deep_folders_for_tests.h"
#include "loop/file.h"
#include "loop/power_loss_for_tests.h"
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
    launch.protocols = protocol::own();
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
    ASSERT_TRUE(loop::write_whole(folder.path() + "/ending", cluster::seal(cluster::TaskEnding{})));
  }
  ino_t number_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_ino;
  }

  servers::TempDir scratch;
  std::string tasks = scratch.path();
  TaskFolders folders{tasks};
  SilentLog log;
};

TEST_F(Folders, OneThatIsGivenBackServesTheNextTaskWithNothingLeftInIt) {
  const TaskFolder first = used(1);
  end(first);
  const ino_t number = number_of(first.path());
  const loop::Descriptor kept(::open(first.work().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(folders.give_back(first));
  EXPECT_FALSE(fs::exists(first.path()));
  const TaskFolder second = folders.make(lease_of(2)).value();
  EXPECT_EQ(number_of(second.path()), number);
  EXPECT_THAT(names_in(second.path()), UnorderedElementsAre("work", "ending.new"));
  EXPECT_THAT(names_in(second.work()), IsEmpty());
  std::ofstream(second.work() + "/mine") << "secret";
  EXPECT_NE(::faccessat(kept.get(), "mine", F_OK, 0), 0) << "who held the folder of the first one sees the second";
  EXPECT_EQ(fs::file_size(second.path() + "/ending.new"), 0U);
  EXPECT_FALSE(second.ending());
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST_F(Folders, DeepFoldersOfATaskNeedFewDescriptorsWhenTheyAreRemoved) {
  const TaskFolder ended = used(1);
  loop::make_deep_folders(ended.work(), 3'000);
  end(ended);
  const TaskFolder killed = used(2);
  loop::make_deep_folders(killed.work(), 3'000);
  ::unlink((killed.path() + "/launch").c_str());
  const loop::FewDescriptors few(64);
  const auto given_back = folders.give_back(ended);
  EXPECT_TRUE(given_back) << given_back.error().message;
  EXPECT_THAT(names_in(folders.make(lease_of(3)).value().work()), IsEmpty());
  EXPECT_THAT(find_tasks(tasks, "boot", log), IsEmpty());
  EXPECT_FALSE(fs::exists(killed.path()));
}

TEST_F(Folders, OneThatATaskHasChangedOrMayStillUseIsNotUsedAgain) {
  const TaskFolder opened = used(1);
  end(opened);
  fs::permissions(opened.work(), fs::perms::all);
  ASSERT_TRUE(folders.give_back(opened));
  const TaskFolder replaced = used(2);
  end(replaced);
  fs::remove_all(replaced.path() + "/tmp");
  fs::create_directory_symlink("/etc", replaced.path() + "/tmp");
  ASSERT_TRUE(folders.give_back(replaced));
  const TaskFolder killed = used(3);  // with its supervisor: there is no ending
  ASSERT_TRUE(folders.give_back(killed));
  EXPECT_THAT(names_in(tasks), IsEmpty());
  EXPECT_THAT(names_in(folders.make(lease_of(4)).value().path()), ElementsAre("work"));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
}

TEST_F(Folders, DoesNotFollowFilesReplacedByATask) {
  const std::string outside = scratch.path() + "/../outside-" + std::to_string(::getpid());
  std::ofstream(outside) << "precious";
  const auto plant = [&](std::uint64_t job, const std::string& name,
                         const std::function<void(const std::string&)>& put) {
    const TaskFolder folder = used(job);
    end(folder);
    ::unlink((folder.path() + "/" + name).c_str());
    put(folder.path() + "/" + name);
    EXPECT_TRUE(folders.give_back(folder)) << name;
    const TaskFolder next = folders.make(lease_of(job + 100)).value();
    cluster::supervision::Launch launch;
    launch.protocols = protocol::own();
    launch.lease = lease_of(job + 100);
    launch.command.argv = {"true"};
    EXPECT_TRUE(next.write_launch(launch)) << name;  // and does not hang
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(next.path() + "/launch"))) << name;
    end(next);
    EXPECT_EQ(loop::read_file(outside).value_or(""), "precious") << name;
  };
  std::uint64_t job = 0;
  for (const char* name : {"launch", "ending", "launch.new", "ending.new"}) {
    plant(++job, name, [&](const std::string& path) { fs::create_symlink(outside, path); });
    plant(++job, name, [&](const std::string& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); });
    plant(++job, name, [&](const std::string& path) { fs::create_hard_link(outside, path); });
  }
  fs::remove(outside);
}

TEST_F(Folders, LeavesATaskWithALivingSupervisorAlone) {
  const TaskFolder folder = used(1);
  end(folder);
  const loop::Descriptor supervisor(::open((folder.path() + "/launch").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(is_supervised(folder.path()));
  ASSERT_EQ(::flock(supervisor.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(is_supervised(folder.path()));
  std::ofstream(folder.path() + "/launch") << "of another version";
  EXPECT_THAT(find_tasks(tasks, "boot", log), IsEmpty());
  EXPECT_TRUE(fs::exists(folder.path()));
  ASSERT_EQ(::flock(supervisor.get(), LOCK_UN), 0);
  EXPECT_THAT(find_tasks(tasks, "boot", log), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST_F(Folders, AnAgentThatComesFindsTasksAndNoSpareFolders) {
  const TaskFolder given_back = used(1);
  end(given_back);
  ASSERT_TRUE(folders.give_back(given_back));
  const TaskFolder running = used(2);
  const TaskFolder ended = used(3);
  end(ended);
  const TaskFolder begun = folders.make(lease_of(4)).value();
  std::vector<FoundTask> found = find_tasks(tasks, "boot", log);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.lease < b.lease; });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].lease, lease_of(2));
  EXPECT_FALSE(found[0].ending);
  EXPECT_EQ(found[1].lease, lease_of(3));
  EXPECT_TRUE(found[1].ending);
  EXPECT_THAT(names_in(tasks), UnorderedElementsAre("2.0-1", "3.0-1"));
}

TEST_F(Folders, ATaskThatWaitedIsInTheFolderInWhichItDid) {
  const TaskFolder folder = used(1);
  cluster::supervision::Launch launch;
  launch.protocols = protocol::own();
  launch.lease = lease_of(7);
  launch.waited_as = lease_of(1);
  launch.command.argv = {"true"};
  ASSERT_TRUE(folder.write_launch(launch));
  const std::vector<FoundTask> found = find_tasks(tasks, "boot", log);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].lease, lease_of(7));
  folders.settle(lease_of(7), lease_of(1));
  EXPECT_EQ(folders.at(lease_of(7)).path(), folder.path());
  end(folder);
  ASSERT_TRUE(folders.give_back(folders.at(lease_of(7))));
  EXPECT_FALSE(fs::exists(folder.path()));
  EXPECT_NE(folders.at(lease_of(7)).path(), folder.path()) << "that is forgotten";
}

TEST_F(Folders, RemovesAWarmProcessFolderOnceTheProcessHasEnded) {
  const TaskFolder folder = used(1);
  cluster::supervision::Launch launch;
  launch.protocols = protocol::own();
  launch.lease = lease_of(1);
  launch.waited_as = launch.lease;
  launch.command.argv = {"true"};
  ASSERT_TRUE(folder.write_launch(launch));
  auto supervisor =
      std::make_unique<loop::Descriptor>(::open((folder.path() + "/launch").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(supervisor->get(), LOCK_EX | LOCK_NB), 0);
  auto found = std::async([&] { return find_tasks(tasks, "boot", log); });
  EXPECT_EQ(found.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  EXPECT_TRUE(fs::exists(folder.path()));
  supervisor.reset();
  EXPECT_THAT(found.get(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST_F(Folders, KeepsNoMoreThanSome) {
  std::vector<TaskFolder> many;
  for (std::uint64_t job = 1; job <= 160; ++job) {
    many.push_back(used(job));
    end(many.back());
  }
  for (const TaskFolder& folder : many) ASSERT_TRUE(folders.give_back(folder));
  EXPECT_EQ(names_in(tasks).size(), 128U);
}

TEST_F(Folders, KnowsWhatTheHostWasRebootedUnder) {
  const auto launch_at = [&](std::uint64_t job, const std::string& boot) {
    const TaskFolder folder = used(job);
    cluster::supervision::Launch launch;
    launch.protocols = protocol::own();
    launch.lease = lease_of(job);
    launch.command.argv = {"true"};
    launch.boot = boot;
    EXPECT_TRUE(folder.write_launch(launch));
    return folder;
  };
  launch_at(1, "this boot");
  launch_at(2, "the boot before");
  launch_at(3, "");  // of an earlier version
  const TaskFolder whole = launch_at(4, "the boot before");
  end(whole);
  const TaskFolder torn = launch_at(5, "the boot before");
  const Bytes bytes = describe::write_msgpack(cluster::TaskEnding{});
  ASSERT_TRUE(loop::write_whole(torn.path() + "/ending", bytes));  // all of it, but nothing says so
  std::map<cluster::LeaseId, FoundTask> found;
  for (const FoundTask& one : find_tasks(tasks, "this boot", log)) found[one.lease] = one;
  ASSERT_EQ(found.size(), 5U);
  EXPECT_FALSE(found[lease_of(1)].rebooted);
  EXPECT_TRUE(found[lease_of(2)].rebooted);
  EXPECT_FALSE(found[lease_of(3)].rebooted);
  EXPECT_TRUE(found[lease_of(4)].ending) << "it had ended before";
  EXPECT_FALSE(found[lease_of(5)].ending) << "nobody knows whether that is what was written";
}

TEST_F(Folders, ATaskInSetupIsLostWithItsAgent) {
  const TaskFolder folder = used(1);
  cluster::supervision::Launch launch;
  launch.protocols = protocol::own();
  launch.lease = lease_of(1);
  launch.prepares = true;
  launch.command.argv = {"true"};
  ASSERT_TRUE(folder.write_launch(launch));
  end(folder);  // of the setup, not of the task
  const std::vector<FoundTask> found = find_tasks(tasks, "boot", log);
  ASSERT_EQ(found.size(), 1U);
  ASSERT_TRUE(found[0].ending);
  EXPECT_EQ(found[0].ending->reason, cluster::lease::Reason::agent_lost);
}

TEST_F(Folders, PipesInPlaceOfOurFilesDoNotBlock) {
  const TaskFolder folder = used(1);
  for (const char* name : {"ending", "agent.sock", "task.sock"}) {
    ASSERT_EQ(::mkfifo((folder.path() + "/" + name).c_str(), 0600), 0);
  }
  const std::vector<FoundTask> found = find_tasks(tasks, "boot", log);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].ending);
  ::unlink((folder.path() + "/launch").c_str());
  ASSERT_EQ(::mkfifo((folder.path() + "/launch").c_str(), 0600), 0);
  EXPECT_THAT(find_tasks(tasks, "boot", log), IsEmpty());
  EXPECT_FALSE(fs::exists(folder.path()));
}

TEST_F(Folders, AnEndingIsWholeOrMissingAfterAPowerLossAtAnyMoment) {
  const TaskFolder folder = used(1);
  fs::remove_all(folder.output());
  fs::remove_all(folder.work());
  cluster::TaskEnding ending;
  ending.reason = cluster::lease::Reason::signalled;
  ending.code = 11;
  ending.detail = "SIGSEGV";
  ending.output_end = 12'345;
  for (const loop::Durable durable : {loop::Durable::no, loop::Durable::yes}) {
    ::unlink((folder.path() + "/ending").c_str());
    loop::PowerLoss loss(folder.path());
    ASSERT_TRUE(loop::write_whole(folder.path() + "/ending", cluster::seal(ending), durable));
    int whole = 0;
    int missing = 0;
    loss.each([&](const std::string& left, std::size_t done) {
      const fs::path moved = tasks + "/" + fs::path(folder.path()).filename().string();
      fs::remove_all(moved);
      fs::copy(left, moved, fs::copy_options::recursive);
      const auto found = folder.ending(cluster::SealRequired::yes);
      EXPECT_TRUE(!found || *found == ending);
      found ? ++whole : ++missing;
      EXPECT_TRUE(found || done < loss.operations() || durable == loop::Durable::no);
    });
    EXPECT_GT(whole, 0);
    EXPECT_GT(missing, 0);
  }
}

}  // namespace
}  // namespace cadre::agent
