// Processes that agents keep ready, and what becomes of them when anything around them is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

namespace fs = std::filesystem;
using cluster::lease::Reason;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kept = 3;

class Warm : public testing::Test {
 protected:
  Warm() { start_agent(); }
  ~Warm() override { ::unsetenv("CADRE_TOKEN"); }

  void start_agent() {
    cluster_.start_agent("a1", {"--artificial-slots", "4", "--cpus", "64", "--warm", std::to_string(kept)});
  }

  struct Wish {
    std::string script;
    std::string argument = "";
    std::string variables = "";  ///< further lines of the file
    std::string member = "";     ///< the same
  };
  /// The arguments for a job that is a shell script in a process that may have waited for it.
  std::vector<std::string> job_of(const Wish& wish) const {
    static int number = 0;
    const std::string path = cluster_.folder() + "/job-" + std::to_string(++number) + ".yaml";
    const std::string argument = wish.argument.empty() ? "" : ", " + wish.argument;
    write_text(path, "members:\n- command:\n    argv: [" CADRE_WARM_HOST + argument + "]\n    warm: true\n" +
                         "    variables:\n      CADRE_SCRIPT: '" + wish.script + "'\n" + wish.variables + wish.member);
    return {"--file", path};
  }
  Said run(const Wish& wish) const {
    std::vector<std::string> arguments = job_of(wish);
    arguments.insert(arguments.begin(), "run");
    return cluster_.cadre(arguments);
  }
  /// Runs it again and again until it was run by a process that had waited.
  Said run_waited(const Wish& wish) const {
    Said said;
    EXPECT_TRUE(TestCluster::until([&] {
      said = run(wish);
      return said.out.find("waited yes") != std::string::npos;
    })) << said.out
        << said.err;
    return said;
  }
  /// Those that wait for a task; one that has found a task runs something else.
  std::vector<pid_t> waiting() const {
    std::vector<pid_t> found = cluster_.task_processes("a1");
    std::erase_if(found, [](pid_t pid) {
      return read_text("/proc/" + std::to_string(pid) + "/environ").find("CADRE_WARM=1") == std::string::npos;
    });
    return found;
  }
  bool is_full() const { return waiting().size() == kept; }
  static pid_t parent_of(pid_t pid) {
    const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
    const std::size_t name_end = stat.rfind(')');
    // The line is cut where the name ends when the process ends while it is read.
    return name_end == std::string::npos || name_end + 4 >= stat.size() ? 0 : std::stoi(stat.substr(name_end + 4));
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(cluster_.agent_folder("a1") + "/tasks")) {
      if (!entry.path().filename().string().starts_with("spare-")) names.push_back(entry.path().filename());
    }
    return names;
  }
  /// The control groups of the agent's tasks.
  std::vector<std::string> groups() const { return cluster_.groups_of_tasks("a1"); }
  /// Those in which they are.
  std::vector<std::string> parents_of_groups() const { return cluster_.groups_of_agent("a1"); }
  /// Root can make control groups; where there are none, their end shows nothing.
  static bool has_none_by_right(const std::vector<std::string>& groups) { return groups.empty() && ::geteuid() == 0; }
  /// Speaks for a user from now on.
  void be(const std::string& user) {
    ::unsetenv("CADRE_TOKEN");
    EXPECT_EQ(cluster_.cadre({"user", "create", user, "--no-password", "--role", "editor"}).code, 0);
    std::string token = cluster_.cadre({"token", "create", "--user", user}).out;
    token.resize(token.find('\n'));
    ::setenv("CADRE_TOKEN", token.c_str(), 1);
  }

  TestCluster cluster_;
};

const std::string who = "echo waited $WAITED, task $CADRE_TASK $CADRE_SLOTS $MINE, $CADRE_WARM$(ls)";

TEST_F(Warm, AWarmProcessBecomesTheRequestedTask) {
  EXPECT_THAT(run({who}).out, HasSubstr("waited no, task 1.0"));
  const Said said = run_waited({.script = who + "; exit 7", .member = "  slots: 2\n"});
  EXPECT_THAT(said.out, testing::ContainsRegex("task [0-9]+\\.0 [0-3],[0-3] ,"));
  EXPECT_EQ(said.code, 7) << said.err;
  EXPECT_THAT(run_waited({.script = who, .variables = "      MINE: mine\n"}).out, HasSubstr(" mine,"));
}

TEST_F(Warm, GroupsOfAHostThatWasKilledGoWhenAnotherAgentStarts) {
  run({who});
  ASSERT_FALSE(has_none_by_right(parents_of_groups()));
  cluster_.kill_host("a1");
  cluster_.start_agent("a2");
  EXPECT_THAT(parents_of_groups(), testing::IsEmpty());
}

TEST_F(Warm, WithoutIsolationToo) {
  const Wish wish{.script = who + "; test -S $CADRE_SOCKET && cd $(dirname $CADRE_SOCKET)/work && echo in",
                  .member = "  policy: {isolation: \"off\"}\n"};
  EXPECT_THAT(run_waited(wish).out, HasSubstr("in\n"));
}

TEST_F(Warm, ManyAreStartedAtOnceEachOfThemAsItself) {
  run_waited({who});
  ASSERT_TRUE(TestCluster::until([&] { return is_full(); }));
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(cluster_.submit(job_of({who})));
  int waited = 0;
  for (const std::uint64_t id : ids) {
    EXPECT_EQ(cluster_.wait_for_end(id).code, 0);
    std::string output;
    EXPECT_TRUE(TestCluster::until([&] { return !(output = cluster_.output(id)).empty(); }));
    EXPECT_THAT(output, HasSubstr("task " + std::to_string(id) + ".0 "));
    if (output.find("waited yes") != std::string::npos) ++waited;
  }
  EXPECT_GE(waited, 1);
  EXPECT_TRUE(TestCluster::until([&] { return is_full() && folders().size() == kept; })) << "each was replaced";
}

TEST_F(Warm, NothingIsEverSharedBetweenUsers) {
  be("ann");
  run_waited({who + "; echo planted > /tmp/planted; echo planted > planted"});
  ASSERT_TRUE(TestCluster::until([&] { return is_full(); }));
  be("bob");
  const std::string look = who + "; cat /tmp/planted planted 2> /dev/null || echo nothing";
  const Said first = run({look});
  EXPECT_THAT(first.out, HasSubstr("waited no")) << "those that wait are of the other one";
  const Said later = run_waited({look});
  for (const Said& said : {first, later}) {
    EXPECT_THAT(said.out, HasSubstr("nothing\n"));
    EXPECT_THAT(said.out, Not(HasSubstr("planted")));
  }
}

TEST_F(Warm, OneThatIsKilledIsReplaced) {
  run_waited({who});
  ASSERT_TRUE(TestCluster::until([&] { return is_full(); }));
  const auto is_full_without = [&](pid_t gone) {
    const std::vector<pid_t> now = waiting();
    return now.size() == kept && std::find(now.begin(), now.end(), gone) == now.end();
  };
  const pid_t process = waiting().front();
  ::kill(process, SIGKILL);
  EXPECT_TRUE(TestCluster::until([&] { return is_full_without(process); }));
  const pid_t orphan = waiting().front();
  ::kill(parent_of(orphan), SIGKILL);
  EXPECT_TRUE(TestCluster::until([&] { return is_full_without(orphan); }));
  EXPECT_THAT(run_waited({who}).out, HasSubstr("waited yes"));
  EXPECT_TRUE(TestCluster::until([&] { return is_full() && folders().size() == kept; }));
}

TEST_F(Warm, ATaskIsStartedAnywayWhenTheProcessForItDies) {
  std::array<int, 2> killed{};
  int exited = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    run_waited({who});
    const std::uint64_t id = cluster_.submit(job_of({who}));
    for (const pid_t pid : waiting()) {
      const pid_t victim = i % 2 == 0 ? parent_of(pid) : pid;
      if (victim > 1 && ::kill(victim, SIGKILL) == 0) ++killed[i % 2];
    }
    const std::optional<Reason> reason = cluster_.wait_for_end(id).reason;
    EXPECT_TRUE(reason == Reason::exited || reason == Reason::signalled) << "it may have begun already";
    exited += reason == Reason::exited ? 1 : 0;
  }
  EXPECT_THAT(killed, testing::Each(testing::Gt(0))) << "supervisors, and processes that waited";
  EXPECT_GT(exited, 0);
}

TEST_F(Warm, WithoutTheAgentNothingIsLeft) {
  run_waited({who});
  ASSERT_TRUE(TestCluster::until([&] { return is_full(); }));
  ASSERT_FALSE(has_none_by_right(groups()));
  cluster_.kill_agent("a1");
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes("a1").empty(); }));
  start_agent();
  EXPECT_TRUE(TestCluster::until([&] { return folders().empty(); }));
  EXPECT_THAT(groups(), IsEmpty());
  run_waited({who});
  cluster_.stop_agent("a1");
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes("a1").empty() && groups().empty(); }));
}

TEST_F(Warm, AnAgentThatEndsTakesItsControlGroupsAlong) {  // an ordinary user's has none
  EXPECT_EQ(cluster_.cadre({"run", "--", "true"}).code, 0);
  ASSERT_TRUE(TestCluster::until([&] { return groups().empty(); }));
  ASSERT_FALSE(has_none_by_right(parents_of_groups()));
  cluster_.stop_agent("a1");
  EXPECT_THAT(parents_of_groups(), IsEmpty());
}

TEST_F(Warm, AnAgentThatIsStartedAtOnceFindsNoneOfThem) {
  for (int i = 0; i < 3; ++i) {
    run_waited({who});
    ASSERT_TRUE(TestCluster::until([&] { return is_full(); }));
    cluster_.kill_agent("a1");
    start_agent();
    EXPECT_TRUE(TestCluster::until([&] { return waiting().empty() && folders().empty(); }));
  }
}

TEST_F(Warm, ATaskThatWaitedGoesOnWithoutTheAgentAndIsFoundAgain) {
  run_waited({who});
  const Wish wish{who + "; while [ ! -e go ]; do sleep 0.05; done; echo went; exit 9"};
  std::uint64_t id = 0;
  ASSERT_TRUE(TestCluster::until([&] {
    id = cluster_.submit(job_of(wish));
    std::string output;
    EXPECT_TRUE(TestCluster::until([&] { return !(output = cluster_.output(id)).empty(); }));
    if (output.find("waited yes") != std::string::npos) return true;
    cluster_.cadre({"task", "kill", std::to_string(id)});
    return false;
  }));
  cluster_.kill_agent("a1");
  start_agent();
  ASSERT_TRUE(TestCluster::until([&] {  // the master may not have noticed yet
    return cluster_.cadre({"task", "exec", std::to_string(id), "--", "touch", "go"}).code == 0;
  }));
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 9);
  EXPECT_EQ(job.runs, 1) << "it was never run again";
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(id).ends_with("went\n"); }));
  EXPECT_TRUE(TestCluster::until([&] { return folders().empty() && groups().empty(); }));
}

TEST_F(Warm, AnAgentThatIsKilledWhileATaskBeginsLosesNone) {
  // The task begins under the old agent, or under the new one, which then keeps others of its kind ready.
  const auto nothing_is_left = [&] {
    const std::size_t ready = waiting().size();
    return folders().size() == ready && (ready == 0 ? groups().empty() : ready == kept);
  };
  for (int i = 0; i < 5; ++i) {
    run_waited({who});
    const std::uint64_t id = cluster_.submit(job_of({who}));
    cluster_.kill_agent("a1");
    start_agent();
    EXPECT_EQ(cluster_.wait_for_end(id).code, 0);
    EXPECT_TRUE(TestCluster::until(nothing_is_left));
  }
}

TEST_F(Warm, ATaskStoppedDuringItsStartEnds) {
  run_waited({who});
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t id = cluster_.submit(job_of({"sleep 1000"}));
    EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(id)}).code, 0);
    EXPECT_EQ(cluster_.wait_for_end(id).reason, Reason::killed_by_user);
  }
  EXPECT_TRUE(TestCluster::until([&] { return is_full() && folders().size() == kept; }));
}

TEST_F(Warm, LimitsAreThoseOfTheTask) {
  run_waited({who});
  const Wish greedy{.script = who + "; exec /usr/bin/python3 -c \"x = bytearray(300 << 20)\"",
                    .member = "  memory: 64MiB\n"};
  EXPECT_TRUE(TestCluster::until([&] {
    const std::uint64_t id = cluster_.submit(job_of(greedy));
    EXPECT_EQ(cluster_.wait_for_end(id).reason, Reason::out_of_memory);
    std::string output;
    EXPECT_TRUE(TestCluster::until([&] { return !(output = cluster_.output(id)).empty(); }));
    return output.find("waited yes") != std::string::npos;
  }));
}

TEST_F(Warm, ThoseThatAlwaysFailAreGivenUp) {
  const Wish broken{.script = who, .argument = "broken"};
  const auto log = [&] { return read_text(cluster_.folder() + "/a1.log"); };
  EXPECT_THAT(run(broken).out, HasSubstr("waited no"));
  EXPECT_TRUE(
      TestCluster::until([&] { return log().find("are kept ready until it is started") != std::string::npos; }));
  EXPECT_THAT(log(), HasSubstr("exited 3"));
  EXPECT_TRUE(TestCluster::until([&] { return folders().empty(); }));
  EXPECT_THAT(run(broken).out, HasSubstr("waited no"));
}

}  // namespace
}  // namespace cadre::e2e
