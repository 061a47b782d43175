#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/fake_master_test.h"
#include "cli/program_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
namespace requests = cluster::requests;

FakeMaster::Script always(requests::Reply reply) {
  return [reply = std::move(reply)](const requests::Request&) { return std::optional(FakeMaster::Replies{reply}); };
}

Said ask(const FakeMaster& master, std::vector<std::string> words) {
  words.insert(words.end(), {"--master", master.folder()});
  return cadre(std::move(words));
}

TEST(Commands, ListJobs) {
  FakeMaster none(always(requests::Jobs{}));
  EXPECT_EQ(ask(none, {"job", "list"}).out, "no jobs yet; run one with: cadre run -- hostname\n");
  EXPECT_EQ(ask(none, {"job", "list", "--active"}).out, "no job waits or runs; all of them: cadre job list\n");
  EXPECT_EQ(ask(none, {"job", "list", "--json"}).out, "{\"jobs\":[]}\n");
  const auto asked = none.asked<requests::ListJobs>();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_TRUE(asked[0].ended);
  EXPECT_EQ(asked[0].most, 100);
  EXPECT_FALSE(asked[1].ended);

  requests::JobView job;
  job.id = {17};
  job.name = "train";
  job.submitted = TimePoint(0s);
  const FakeMaster one(always(requests::Jobs{{job}}));
  EXPECT_THAT(ask(one, {"job", "list"}).out, HasSubstr("\n17   train  queued  42"));
  EXPECT_THAT(ask(one, {"job", "list", "--json"}).out, HasSubstr("\"submitted\":\"1970-01-01T00:00:00Z\""));
  EXPECT_THAT(ask(one, {"task", "list"}).out, HasSubstr("\n17          queued"));
  EXPECT_EQ(ask(one, {"task", "list", "--json"}).out, "{\"tasks\":[]}\n");
}

TEST(Commands, DescribeJobsAndTasks) {
  FakeMaster master;
  EXPECT_THAT(ask(master, {"job", "describe", "17"}).out, StartsWith("job       17\n"));
  const Said early = ask(master, {"task", "describe", "17"});
  EXPECT_EQ(early.code, failed);
  EXPECT_EQ(early.err, "cadre task describe: job 17 has no tasks yet, it is queued; see cadre why 17\n");
  master.start_task();
  EXPECT_THAT(ask(master, {"task", "describe", "17"}).out, HasSubstr("agent           blue\n"));
  EXPECT_THAT(ask(master, {"task", "describe", "17.0", "--json"}).out, StartsWith("{\"id\":\"17.0\""));
  EXPECT_THAT(ask(master, {"task", "describe", "17.3"}).err, HasSubstr("there is no task 17.3"));
}

TEST(Commands, MoveAndSetJobs) {
  FakeMaster master;
  EXPECT_EQ(ask(master, {"job", "move", "17", "--ahead-of", "12"}).out, "job 17 is now ahead of job 12\n");
  EXPECT_EQ(ask(master, {"job", "move", "17", "--behind", "12"}).out, "job 17 is now behind job 12\n");
  const auto moves = master.asked<requests::MoveJob>();
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].job.value, 17U);
  EXPECT_EQ(moves[0].other.value, 12U);
  EXPECT_FALSE(moves[0].behind);
  EXPECT_TRUE(moves[1].behind);
  EXPECT_EQ(cadre({"job", "move", "17"}).code, bad_usage);
  EXPECT_EQ(cadre({"job", "move", "17", "--ahead-of", "1", "--behind", "2"}).code, bad_usage);

  EXPECT_EQ(ask(master, {"job", "set", "17", "--priority", "3", "--weight", "2.5", "--max-slots", "8"}).code, done);
  const auto sets = master.asked<requests::SetJob>();
  ASSERT_EQ(sets.size(), 1U);
  EXPECT_EQ(sets[0].job.value, 17U);
  EXPECT_EQ(sets[0].priority, 3);
  EXPECT_EQ(sets[0].weight, 2.5);
  EXPECT_EQ(sets[0].max_slots, 8);
  EXPECT_EQ(cadre({"job", "set", "17"}).code, bad_usage);
  EXPECT_EQ(cadre({"job", "set", "17", "--priority", "100"}).code, bad_usage);
}

TEST(Commands, StopAndKillTasks) {
  FakeMaster master;
  master.start_task();
  EXPECT_EQ(ask(master, {"task", "stop", "17"}).out, "job 17 is stopping\n");
  EXPECT_EQ(ask(master, {"task", "stop", "17.0", "--grace", "5s"}).code, done);
  EXPECT_EQ(ask(master, {"task", "kill", "17"}).out, "job 17 is being killed\n");
  const auto ends = master.asked<requests::EndJob>();
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[0].grace, std::nullopt);
  EXPECT_EQ(ends[1].grace, Duration(5s));
  EXPECT_EQ(ends[2].grace, Duration(0));

  master.change([](requests::JobView& job) { job.tasks.push_back(running_task({job.id, 1})); });
  const Said one = ask(master, {"task", "stop", "17.1"});
  EXPECT_EQ(one.code, refused);
  EXPECT_EQ(one.err, "cadre task stop: the 2 tasks of job 17 end together; to end them all: cadre task stop 17\n");
  EXPECT_EQ(master.asked<requests::EndJob>().size(), 3U);
}

TEST(Commands, LookAfterAgents) {
  requests::AgentView agent;
  agent.id = cluster::AgentId("blue");
  agent.state = "up";
  const FakeMaster list(always(requests::Agents{{agent}}));
  EXPECT_THAT(ask(list, {"agent", "list"}).out, HasSubstr("\nblue   up     0/0"));
  EXPECT_THAT(ask(list, {"agent", "list", "--json"}).out, StartsWith("{\"agents\":[{\"id\":\"blue\""));

  FakeMaster set(always(requests::Done{}));
  EXPECT_EQ(ask(set, {"agent", "enable", "blue"}).out, "agent blue takes work\n");
  EXPECT_THAT(ask(set, {"agent", "disable", "blue", "--slot", "3"}).out, StartsWith("slot 3 of agent blue takes no"));
  EXPECT_THAT(ask(set, {"agent", "drain", "blue", "--json"}).out, HasSubstr("\"state\":\"draining\""));
  const auto sets = set.asked<requests::SetAgent>();
  ASSERT_EQ(sets.size(), 3U);
  EXPECT_EQ(sets[0].state, cluster::control::SlotState::enabled);
  EXPECT_EQ(sets[1].state, cluster::control::SlotState::disabled);
  EXPECT_EQ(sets[1].slot, 3);
  EXPECT_EQ(sets[2].state, cluster::control::SlotState::draining);
}

TEST(Commands, MakeTokensAndSayHowToUseThem) {
  FakeMaster master(always(requests::Text{"abc"}));
  const Said said = ask(master, {"agent", "token", "--pool", "gpu", "--valid", "10m"});
  EXPECT_EQ(said.out, "cadre agent --join abc\n");
  EXPECT_EQ(said.err, "On the host that is to join, once, within 10m:\n");
  EXPECT_EQ(ask(master, {"agent", "token", "--json"}).out,
            "{\"token\":\"abc\",\"pool\":\"default\",\"valid\":\"1h\"}\n");
  const auto asked = master.asked<requests::MakeJoinToken>();
  EXPECT_EQ(asked.at(0).pool, "gpu");
  EXPECT_EQ(asked.at(0).valid, Duration(10min));
  EXPECT_EQ(asked.at(1).valid, Duration(1h));
}

TEST(Commands, ShowTheStatus) {
  requests::Status status;
  status.agents = 1;
  status.slots = 8;
  const FakeMaster master(always(status));
  EXPECT_THAT(ask(master, {"status"}).out, StartsWith("agents  0 of 1 up\nslots   0 of 8 in use"));
  EXPECT_THAT(ask(master, {"status", "--json"}).out, StartsWith("{\"agents\":1,\"agents_up\":0,\"slots\":8"));
}

TEST(Commands, TakeTheMasterBeforeThemToo) {
  FakeMaster one(always(requests::Status{}));
  FakeMaster other(always(requests::Status{}));
  EXPECT_EQ(cadre({"--master", one.folder(), "status"}).code, done);
  EXPECT_EQ(one.asked<requests::GetStatus>().size(), 1U);
  EXPECT_EQ(cadre({"--master", one.folder(), "status", "--master", other.folder()}).code, done);
  EXPECT_EQ(other.asked<requests::GetStatus>().size(), 1U) << "the inner one counts";
  EXPECT_EQ(one.asked<requests::GetStatus>().size(), 1U);
}

TEST(Commands, SayWhyWithTheLastLines) {
  FakeMaster master;
  EXPECT_EQ(ask(master, {"why", "17"}).out, "job 17: waits for 1 slot\n");
  master.start_task();
  for (int i = 0; i < 8; ++i) {
    master.write({{{17}, 0}, {1}}, logs::Stream::err, "line " + std::to_string(i));
  }
  master.end_task(cluster::lease::Reason::exited, 3);
  EXPECT_EQ(ask(master, {"why", "17.0"}).out,
            "job 17: waits for 1 slot\nits last lines:\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7\n");
  EXPECT_THAT(ask(master, {"why", "17", "--json"}).out, HasSubstr("\"last_lines\":[\"line 3\","));
}

TEST(Commands, EndWithWhatTheMasterSays) {
  const auto code_of = [](Errc code) {
    const FakeMaster master(always(requests::Failed{code, "since it is so"}));
    const Said said = ask(master, {"status"});
    EXPECT_EQ(said.out, "");
    EXPECT_EQ(said.err, "cadre status: since it is so\n");
    return said.code;
  };
  EXPECT_EQ(code_of(Errc::denied), refused);
  EXPECT_EQ(code_of(Errc::conflict), refused);
  EXPECT_EQ(code_of(Errc::invalid), refused);
  EXPECT_EQ(code_of(Errc::not_found), failed);
  EXPECT_EQ(code_of(Errc::unavailable), unreachable);
  const FakeMaster other(always(requests::Done{}));
  EXPECT_EQ(ask(other, {"status"}).err,
            "cadre status: the master gave an answer of another kind; is it of another version?\n");
}

TEST(Commands, AllEndUnreachableWithoutAMaster) {
  const servers::TempDir empty;
  const std::vector<std::vector<std::string>> all = {{"status"},
                                                     {"why", "1"},
                                                     {"job", "list"},
                                                     {"job", "describe", "1"},
                                                     {"task", "list"},
                                                     {"task", "stop", "1"},
                                                     {"agent", "list"},
                                                     {"agent", "token"},
                                                     {"task", "logs", "1"},
                                                     {"run", "--", "x"},
                                                     {"task", "exec", "1", "--", "x"}};
  for (std::vector<std::string> words : all) {
    words.insert(words.begin() + (words[0] == "run" || words[0] == "status" || words[0] == "why" ? 1 : 2),
                 {"--master", empty.path()});
    const Said said = cadre(words);
    EXPECT_EQ(said.code, unreachable) << words[0];
    EXPECT_EQ(said.out, "") << words[0];
    EXPECT_THAT(said.err, HasSubstr("no master answers at " + empty.path() + "; start one with `cadre up`"));
  }
}

TEST(BadUsage, SaysWhereAndWhatToDo) {
  Said said = cadre({"run", "--slotz", "2", "--", "x"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_EQ(said.err,
            "cadre run: '--slotz' is not understood here; did you mean '--slots'? Options of what is to be run come "
            "after --\ncadre run --help says more\n");
  said = cadre({"job", "lsit"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_EQ(said.err, "cadre job: 'lsit' is not understood here; did you mean 'list'?\ncadre job --help says more\n");
  said = cadre({"task", "stop", "seventeen"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_THAT(said.err, HasSubstr("task: 'seventeen' is neither a job nor a task; write a number like 17, or 17.0"));
  said = cadre({"run", "--priority", "0", "--cpus", "-1", "--", "x"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_EQ(said.err,
            "--priority: must be from 1 to 99, is 0\n--cpus: must be from 0 to 1000000, is -1.0\n"
            "cadre run: nothing was submitted; cadre run --help lists the options\n");
  EXPECT_EQ(cadre({"agent", "token", "--valid", "0s"}).code, bad_usage);
  EXPECT_EQ(cadre({"task", "exec", "17"}).code, bad_usage);
  EXPECT_EQ(cadre({"completion", "tcsh"}).code, bad_usage);
  EXPECT_EQ(cadre({"status", "--master", "http://there"}).code, bad_usage);
}

}  // namespace
}  // namespace cadre::cli
