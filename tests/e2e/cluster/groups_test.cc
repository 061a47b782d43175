// Groups of components through the real program, on two agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <set>

#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/process.h"

namespace cadre::e2e {
namespace {

using cluster::JobStage;
using cluster::lease::Reason;
using cluster::requests::JobView;
using testing::HasSubstr;
using testing::IsEmpty;

class Groups : public testing::Test {
 protected:
  Groups() {
    cluster_.start_agent("a1");
    cluster_.start_agent("a2");
  }
  /// A file with these components, each a line.
  std::string file(const std::string& components) const {
    const std::string path = cluster_.folder() + "/group.yaml";
    write_text(path, "name: demo\ncomponents:\n" + components);
    return path;
  }
  /// A component that runs this in a shell.
  static std::string component(const std::string& type, const std::string& command, const std::string& rest = "") {
    return "  - {type: " + type + ", command: [sh, -c, '" + command + "']" + rest + "}\n";
  }
  Said run(const std::string& components) const { return cluster_.cadre({"group", "run", file(components)}); }
  std::uint64_t detach(const std::string& components) const {
    return std::stoull(cluster_.cadre({"group", "run", "--detach", file(components)}).out);
  }
  std::int64_t slots_used() const {
    std::int64_t used = 0;
    for (const auto& agent : cluster_.agents()) used += agent.slots_used;
    return used;
  }
  std::size_t running(std::uint64_t id) const {
    const JobView job = cluster_.job(id);
    return static_cast<std::size_t>(std::count_if(job.tasks.begin(), job.tasks.end(), [](const auto& task) {
      return task.stage == cluster::lease::Stage::running;
    }));
  }
  bool is_left() const { return !cluster_.task_processes("a1").empty() || !cluster_.task_processes("a2").empty(); }

  TestCluster cluster_;
};

const std::string restarts = ", restart: {type: on_failure, max_restarts: 5, first_wait: 100ms}";

TEST_F(Groups, KnowTheirNameTypeAndNumber) {
  const Said said = run(component("boss", "echo $CADRE_GROUP $CADRE_ROLE $CADRE_ROLE_RANK") +
                        component("worker", "echo $CADRE_GROUP $CADRE_ROLE $CADRE_ROLE_RANK", ", count: 2"));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  for (const char* line :
       {"[boss-0] demo-1 boss 0\n", "[worker-0] demo-1 worker 0\n", "[worker-1] demo-1 worker 1\n"}) {
    EXPECT_THAT(said.out, HasSubstr(line));
  }
  EXPECT_EQ(run(component("boss", "echo $CADRE_GROUP")).out, "[boss-0] demo-2\n") << "another run is another group";
}

TEST_F(Groups, HaveComponentsThatAreObjectsOfARegisteredClass) {
  const Said said =
      run("  - {type: worker, class: {name: Simulator, program: [sh, -c, \'echo $CADRE_CLASS in $CADRE_ROLE\']}}\n");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "[worker-0] Simulator in worker\n");
}

TEST_F(Groups, StartAllTogetherOrNotAtAll) {
  const std::uint64_t other = cluster_.submit({"--slots", "4", "--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return slots_used() == 4; }));
  const std::uint64_t group = detach(component("worker", "sleep 1000", ", count: 2, slots: 3"));
  EXPECT_EQ(cluster_.job(group).stage, JobStage::queued);
  EXPECT_THAT(cluster_.job(group).tasks, IsEmpty());
  EXPECT_EQ(slots_used(), 4) << "there would be room for one of them";
  const std::uint64_t small = cluster_.submit({"--slots", "1", "--", "true"});
  EXPECT_EQ(cluster_.wait_for_end(small).code, 0) << "what the group does not need is free";
  ASSERT_EQ(cluster_.cadre({"task", "kill", std::to_string(other)}).code, 0);
  EXPECT_TRUE(TestCluster::until([&] { return running(group) == 2; }));
  ASSERT_EQ(cluster_.cadre({"task", "kill", std::to_string(group)}).code, 0);
  cluster_.wait_for_end(group);
  EXPECT_EQ(slots_used(), 0);
}

TEST_F(Groups, ThatCouldNeverRunAreRefused) {
  const Said said = run(component("worker", "true", ", count: 3, slots: 3"));
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("can never run"));
  EXPECT_EQ(slots_used(), 0);
}

TEST_F(Groups, AreSpreadOrPacked) {
  for (const auto& [layout, agents] : {std::pair("spread", 2U), std::pair("pack", 1U)}) {
    const std::uint64_t id = detach(component("worker", "true", ", count: 2, slots: 1, cpus: 0.1") +
                                    "strategy: {layout: " + layout + ", by: cpus}\n");
    std::set<std::string> on;
    for (const auto& task : cluster_.wait_for_end(id).tasks) on.insert(task.agent.value);
    EXPECT_EQ(on.size(), agents) << layout;
  }
}

TEST_F(Groups, RestartAComponentThatFailsWhileTheOthersGoOn) {
  const Said said =
      run(component("server", "echo up $CADRE_EPOCH; sleep 3") +
          component("worker", "echo run $CADRE_EPOCH; test $CADRE_EPOCH = 3 || exit 7", ", slots: 1" + restarts));
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* line : {"[worker-0] run 1\n", "[worker-0] run 2\n", "[worker-0] run 3\n", "[server-0] up 1\n"}) {
    EXPECT_THAT(said.out, HasSubstr(line)) << said.err;
  }
  EXPECT_THAT(said.err, HasSubstr("worker-0 exited with 7; it is restarted in"));
  EXPECT_EQ(slots_used(), 0);
}

TEST_F(Groups, GiveAComponentUpAtTheMaximum) {
  const Said said =
      run(component("worker", "echo run; exit 7", ", restart: {type: on_failure, max_restarts: 2, first_wait: 0s}"));
  EXPECT_EQ(said.code, 7);
  EXPECT_EQ(said.out, "[worker-0] run\n[worker-0] run\n[worker-0] run\n");
}

TEST_F(Groups, DoNotRestartAComponentWithExitCode64) {
  const Said said = run(component("worker", "echo run; exit 64", restarts) + component("server", "sleep 3; echo done"));
  EXPECT_EQ(said.code, 64);
  EXPECT_THAT(said.out, HasSubstr("[worker-0] run\n"));
  EXPECT_THAT(said.out, HasSubstr("[server-0] done\n")) << "the others go on";
  EXPECT_THAT(said.err, HasSubstr("worker-0 exited with 64: exit code 64 prevents a restart"));
}

TEST_F(Groups, EndAsAWholeWithExitCode65) {
  const Said said =
      run(component("server", "sleep 1000", restarts) + component("worker", "sleep 1; exit 65", restarts));
  EXPECT_EQ(said.code, 65);
  EXPECT_TRUE(TestCluster::until([&] { return !is_left(); }));
}

TEST_F(Groups, EndWhenTooFewAreLeft) {
  const Said said = run(component("server", "sleep 1000", ", count: 2") +
                        component("worker", "test $CADRE_ROLE_RANK = 0 || exit 7; sleep 1000",
                                  ", count: 2, minimal_peers: {count: 2, within: 1s}"));
  EXPECT_EQ(said.code, 7);
  EXPECT_TRUE(TestCluster::until([&] { return !is_left(); }));
  EXPECT_THAT(cluster_.job(1).detail, HasSubstr("fewer than 2 tasks of role worker were available for 1 s"));
}

TEST_F(Groups, EndWithTheCommandThatIsInterrupted) {
  const auto command =
      cluster_.start_cadre({"group", "run",
                            file(component("server", "sleep 1000", ", count: 2") +
                                 component("worker", "exit 7", ", restart: {type: on_failure, first_wait: 60s}"))});
  ASSERT_TRUE(TestCluster::until([&] {
    const auto jobs = cluster_.jobs();
    return jobs.size() == 1 && running(1) == 2 && jobs[0].tasks.size() == 3 && jobs[0].tasks[2].restart_at;
  }));
  ::kill(command.pid, SIGINT);
  const Said said = command.wait();
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("stopping job 1"));
  EXPECT_EQ(cluster_.job(1).reason, Reason::killed_by_user);
  EXPECT_FALSE(is_left());
}

TEST_F(Groups, KeepTheirRulesWithoutTheCommandAndThroughARestartOfTheMaster) {
  const std::uint64_t id = detach(component("server", "sleep 1000") +
                                  component("worker", "test $CADRE_EPOCH = 1 && exit 7; exit 65",
                                            ", restart: {type: on_failure, first_wait: 3s, longest_wait: 3s}"));
  ASSERT_TRUE(TestCluster::until([&] {
    const JobView job = cluster_.job(id);
    return job.tasks.size() == 2 && job.tasks[1].restart_at.has_value();
  }));
  cluster_.kill_master();
  cluster_.start_master();
  const JobView job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 65);
  EXPECT_EQ(job.runs, 1) << "only the one that failed is started again";
  EXPECT_EQ(job.tasks.at(1).epoch, 2U);
}

#ifdef CADRE_PYTHON_PATH
TEST_F(Groups, GreetEachOtherAsTheExampleSays) {
  const std::string example = std::string(CADRE_SOURCE_DIR) + "/examples/components";
  const Said said = cluster_.cadre({"group", "run", "--dir", example, example + "/group.yaml"});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* name : {"worker-0", "worker-1", "worker-2"}) {
    EXPECT_THAT(said.out, HasSubstr(std::string("[greeter-0] I am ") + name + "\n")) << said.err;
  }
}
#endif  // CADRE_PYTHON_PATH

}  // namespace
}  // namespace cadre::e2e
