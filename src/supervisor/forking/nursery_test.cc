// Where supervisors come from.
#include "supervisor/forking/nursery.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "supervisor/processes.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;

class NurseryOf : public Rig {};

TEST_F(NurseryOf, TwoHundredAtOnce) {
  std::vector<std::string> folders;
  for (int i = 0; i < 200; ++i) {
    folders.push_back(begin(script("echo task " + std::to_string(i) + "; while [ ! -e go ]; do sleep 0.5; done; exit " +
                                   std::to_string(i % 100))));
  }
  for (const std::string& folder : folders) wait_for("output", [&] { return !output(folder).empty(); });
  for (const std::string& folder : folders) EXPECT_TRUE(write_whole(folder + "/work/go", {}));
  for (int i = 0; i < 200; ++i) {
    const std::string& folder = folders[static_cast<std::size_t>(i)];
    EXPECT_EQ(wait_for_ending(folder).code, i % 100);
    EXPECT_EQ(output(folder), "task " + std::to_string(i) + "\n");
  }
}

TEST_F(NurseryOf, AnAgentThatDiesEndsWithItAndTheTasksGoOn) {
  Launch launch = script("while [ ! -e go ]; do sleep 0.05; done; exit 8");
  const std::string folder = make_folder(launch);
  Result<Pipe> pipe = make_pipe();
  ASSERT_TRUE(pipe);
  const pid_t agent = ::fork();
  ASSERT_GE(agent, 0);
  if (agent == 0) {
    auto nursery = Nursery::open(supervisor_program);
    if (!nursery) ::_exit(1);
    pid_t pids[2] = {(*nursery)->pid(), (*nursery)->start(folder).value().pid};
    if (::write(pipe->write.get(), pids, sizeof(pids)) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t pids[2] = {};
  pipe->write.close();
  ASSERT_EQ(::read(pipe->read.get(), pids, sizeof(pids)), static_cast<ssize_t>(sizeof(pids)));
  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);
  wait_for("the nursery's end", [&] { return !is_alive(pids[0]); });
  EXPECT_TRUE(is_alive(pids[1]));
  wait_for("its working folder", [&] { return std::filesystem::exists(folder + "/work"); });
  EXPECT_TRUE(write_whole(folder + "/work/go", {}));
  EXPECT_EQ(wait_for_ending(folder).code, 8);
}

TEST_F(NurseryOf, ItHoldsNothingOfTheAgentOpen) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  for (const pid_t pid : {nursery().pid(), last_supervisor}) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      std::error_code error;
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      const bool is_known = target == "/dev/null" || target.starts_with("socket:") || target.starts_with("pipe:") ||
                            target.starts_with("anon_inode:[signalfd]") || target.starts_with(folder) ||
                            target == "/proc" || target == "/dev/shm" || target.starts_with("mnt:") ||
                            target.starts_with("ipc:") || target.starts_with("user:") || target.starts_with("/proc/");
      EXPECT_TRUE(error || is_known) << pid << " " << target;
    }
  }
  const auto line = read_file("/proc/" + std::to_string(last_supervisor) + "/stat");
  ASSERT_TRUE(line);
  EXPECT_EQ(parse_process(*line).parent, nursery().pid());
}

TEST_F(NurseryOf, ItLeavesNoZombies) {
  for (int i = 0; i < 20; ++i) run(program({"true"}));
  wait_for("all to be reaped", [&] { return descendants(nursery().pid()).empty(); });
}

TEST_F(NurseryOf, AFolderThatIsNotThereIsNoHarm) {
  const auto born = nursery().start(root + "/nowhere");
  ASSERT_TRUE(born);
  wait_for("its end", [&] { return !is_alive(born->pid); });
  EXPECT_FALSE(nursery().start(std::string(5000, 'x')));
  EXPECT_EQ(run(program({"true"})).code, 0);
}

TEST_F(NurseryOf, AFolderWithoutALaunchGetsAnEnding) {
  std::filesystem::create_directories(root + "/empty");
  ASSERT_TRUE(nursery().start(root + "/empty"));
  EXPECT_EQ(wait_for_ending(root + "/empty").reason, Reason::failed_to_start);
}

}  // namespace
}  // namespace cadre::supervisor
