#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "cli/fake_master_test.h"
#include "cli/program_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
namespace requests = cluster::requests;

template <class T>
FakeMaster::Script always(const T& value) {
  return [answer = told(value)](const FakeMaster::Request&) { return std::optional(answer); };
}

Said ask(const FakeMaster& master, std::vector<std::string> words) {
  words.insert(words.end(), {"--master", master.folder()});
  return cadre(std::move(words));
}

TEST(Commands, ListJobs) {
  FakeMaster none(always(requests::Jobs{}));
  EXPECT_EQ(ask(none, {"job", "list"}).out, "no jobs yet; run one with: cadre run -- hostname\n");
  EXPECT_EQ(ask(none, {"job", "list", "--active"}).out,
            "no waiting or running jobs; to list all jobs: cadre job list\n");
  EXPECT_EQ(ask(none, {"job", "list", "--json"}).out, "{\"jobs\":[],\"actors_skipped\":0}\n");
  const auto asked = none.asked<requests::ListJobs>();
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_TRUE(asked[0].ended);
  EXPECT_EQ(asked[0].most, 100);
  EXPECT_FALSE(asked[1].ended);

  requests::JobView job;
  job.id = {17};
  job.name = "train";
  job.submitted = TimePoint(0s);
  const FakeMaster one(always(requests::Jobs{{job}, std::nullopt}));
  EXPECT_THAT(ask(one, {"job", "list"}).out, HasSubstr("\n17   train  queued         42"));
  EXPECT_THAT(ask(one, {"job", "list", "--json"}).out, HasSubstr("\"submitted\":\"1970-01-01T00:00:00Z\""));
  EXPECT_THAT(ask(one, {"task", "list"}).out, HasSubstr("\n17          queued"));
  EXPECT_EQ(ask(one, {"task", "list", "--json"}).out, "{\"tasks\":[]}\n");
}

TEST(Commands, ListAllPages) {
  // Three pages of jobs, of which the second contains nothing that the caller may see.
  FakeMaster master([](const FakeMaster::Request& request) -> std::optional<Answer> {
    const auto* list = std::get_if<requests::ListJobs>(&request);
    if (list == nullptr) return std::nullopt;
    requests::Jobs page;
    const std::uint64_t before = list->before.value_or(cluster::JobId{1'000}).value;
    if (before > 900) {
      page.jobs.resize(2);
      page.jobs[0].id = {999};
      page.jobs[1].id = {998};
      page.next = cluster::JobId{900};
    } else if (before == 900) {
      page.next = cluster::JobId{800};
    } else {
      page.jobs.resize(1);
      page.jobs[0].id = {7};
    }
    return told(page);
  });
  EXPECT_THAT(ask(master, {"job", "list"}).out,
              testing::AllOf(HasSubstr("\n999 "), HasSubstr("\n998 "), HasSubstr("\n7 ")));
  EXPECT_EQ(master.asked<requests::ListJobs>().size(), 3U);
  EXPECT_THAT(ask(master, {"job", "list", "--most", "2"}).out, testing::Not(HasSubstr("\n7 ")));
  const auto asked = master.asked<requests::ListJobs>();
  EXPECT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[3].most, 2);
  ask(master, {"job", "list", "--most", "1", "--owner", "eve", "--workspace", "lab"});
  EXPECT_EQ(master.asked<requests::ListJobs>().back().owner, "eve");
  EXPECT_EQ(master.asked<requests::ListJobs>().back().workspace, "lab");
}

TEST(Commands, DescribeJobsAndTasks) {
  FakeMaster master;
  EXPECT_THAT(ask(master, {"job", "describe", "17"}).out, StartsWith("job       17\n"));
  const Said early = ask(master, {"task", "describe", "17"});
  EXPECT_EQ(early.code, failed);
  EXPECT_EQ(early.err, "cadre task describe: there is no task 17.0\n");
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
  EXPECT_EQ(ask(master, {"task", "kill", "17"}).out, "job 17 is being killed\n");
  const auto ends = master.asked<requests::EndJob>();
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].job.value, 17U);
  EXPECT_EQ(ends[0].grace, std::nullopt);
  EXPECT_EQ(ends[1].grace, Duration(0));

  EXPECT_EQ(ask(master, {"task", "stop", "17.1", "--grace", "5s"}).out, "job 17 is stopping\n");
  EXPECT_EQ(ask(master, {"task", "kill", "17.1"}).code, done);
  const auto tasks = master.asked<requests::EndTask>();
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(to_string(tasks[0].task), "17.1");
  EXPECT_EQ(tasks[0].grace, Duration(5s));
  EXPECT_EQ(tasks[1].grace, Duration(0));

  master.end_task(cluster::lease::Reason::killed_by_user, 9);
  EXPECT_EQ(ask(master, {"task", "stop", "17"}).out, "job 17 has ended: stopped\n");
}

TEST(Commands, LookAfterAgents) {
  requests::AgentView agent;
  agent.id = cluster::AgentId("blue");
  agent.state = "up";
  const FakeMaster list(always(requests::Agents{{agent}, std::nullopt}));
  EXPECT_THAT(ask(list, {"agent", "list"}).out, HasSubstr("\nblue   up     0/0"));
  EXPECT_THAT(ask(list, {"agent", "list", "--json"}).out, StartsWith("{\"agents\":[{\"id\":\"blue\""));

  FakeMaster set(always(requests::Done{}));
  EXPECT_EQ(ask(set, {"agent", "enable", "blue"}).out, "agent blue is enabled: it accepts tasks\n");
  EXPECT_THAT(ask(set, {"agent", "disable", "blue", "--slot", "3"}).out,
              StartsWith("slot 3 of agent blue is disabled: "));
  EXPECT_EQ(ask(set, {"agent", "drain", "blue", "--json"}).out, "{}\n");
  const auto sets = set.asked<requests::SetAgent>();
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].agent.value, "blue");
  EXPECT_EQ(sets[0].state, cluster::control::SlotState::enabled);
  EXPECT_EQ(sets[1].state, cluster::control::SlotState::draining);
  const auto slots = set.asked<requests::SetSlot>();
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_EQ(slots[0].state, cluster::control::SlotState::disabled);
  EXPECT_EQ(slots[0].slot, 3);
}

TEST(Commands, ListAllAgentsOfALargeCluster) {
  FakeMaster master([](const FakeMaster::Request& request) -> std::optional<Answer> {
    const auto* list = std::get_if<requests::ListAgents>(&request);
    if (list == nullptr) return std::nullopt;
    requests::Agents page;
    page.agents.resize(1);
    page.agents[0].id = cluster::AgentId(list->after.value.empty() ? "blue" : "green");
    if (list->after.value.empty()) page.next = cluster::AgentId("blue");
    return told(page);
  });
  EXPECT_THAT(ask(master, {"agent", "list"}).out, testing::AllOf(HasSubstr("\nblue "), HasSubstr("\ngreen ")));
  const std::string json = ask(master, {"agent", "list", "--json"}).out;
  EXPECT_THAT(json, testing::AllOf(HasSubstr("\"blue\""), HasSubstr("\"green\"")));
  EXPECT_THAT(json, testing::Not(HasSubstr("\"next\""))) << "there are no more";
}

TEST(Commands, MakeTokensAndSayHowToUseThem) {
  FakeMaster master(always(requests::Text{"abc"}));
  const Said said = ask(master, {"agent", "token", "--pool", "gpu", "--valid", "10m"});
  EXPECT_EQ(said.out, "cadre agent --join abc\n");
  EXPECT_EQ(said.err, "Run this command once on the host that joins, within 10 min:\n");
  EXPECT_EQ(ask(master, {"agent", "token", "--json"}).out,
            "{\"token\":\"abc\",\"pool\":\"default\",\"valid\":\"1h\"}\n");
  const auto asked = master.asked<requests::MakeJoinToken>();
  EXPECT_EQ(asked.at(0).pool, "gpu");
  EXPECT_EQ(asked.at(0).valid, Duration(10min));
  EXPECT_EQ(asked.at(1).valid, Duration(1h));
}

TEST(Commands, LookAfterActors) {
  const FakeMaster none(always(requests::Actors{}));
  EXPECT_EQ(ask(none, {"actor", "list"}).out,
            "no active actors; to include actors that have ended: cadre actor list --all\n");
  EXPECT_EQ(ask(none, {"actor", "list", "--all"}).out, "no actors; programs create actors after they connect\n");
  requests::ActorView actor;
  actor.id = {17};
  actor.actor = "Counter";
  actor.session = cluster::SessionId("abc");
  actor.calls = 12;
  FakeMaster one(always(requests::Actors{{actor}, std::nullopt}));
  EXPECT_THAT(ask(one, {"actor", "list"}).out, HasSubstr("\n17     Counter        queued"));
  EXPECT_THAT(ask(one, {"actor", "list", "--session", "abc", "--all", "--json"}).out,
              StartsWith("{\"actors\":[{\"id\":17,\"actor\":\"Counter\""));
  const auto lists = one.asked<requests::ListActors>();
  EXPECT_FALSE(lists.at(0).ended);
  EXPECT_EQ(lists.at(0).session, std::nullopt);
  EXPECT_TRUE(lists.at(1).ended);
  EXPECT_EQ(lists.at(1).session, cluster::SessionId("abc"));
}

TEST(Commands, ShowWhatActorsWriteAndKillThem) {
  FakeMaster master;
  master.start_task();
  const Said plain = ask(master, {"actor", "kill", "17"});
  EXPECT_EQ(plain.code, refused);
  EXPECT_EQ(plain.err, "cadre actor kill: job 17 is not an actor; kill it with: cadre task kill 17\n");
  EXPECT_TRUE(master.asked<requests::KillJob>().empty());
  master.change([](requests::JobView& job) { job.actor = "Counter"; });
  EXPECT_EQ(ask(master, {"actor", "kill", "17", "18"}).out,
            "actor 17 (Counter) is being killed\nactor 18 (Counter) is being killed\n");
  const auto kills = master.asked<requests::KillJob>();
  ASSERT_EQ(kills.size(), 2U);
  EXPECT_EQ(kills[1].job, cluster::JobId{18});
  master.write({{{17}, 0}, {1}}, logs::Stream::out, "counted");
  EXPECT_EQ(ask(master, {"actor", "logs", "17"}).out, "counted\n");
  EXPECT_EQ(cadre({"actor", "kill", "x"}).code, bad_usage);
  EXPECT_EQ(cadre({"actor", "kill"}).code, bad_usage);
}

TEST(Commands, LookAfterSessions) {
  const FakeMaster none(always(requests::Sessions{}));
  EXPECT_EQ(ask(none, {"session", "list"}).out,
            "no sessions; a session begins when a program connects and ends with the program\n");
  requests::SessionView session;
  session.id = cluster::SessionId("abc");
  session.program = "train.py";
  const FakeMaster one(always(requests::Sessions{{session}, std::nullopt}));
  EXPECT_THAT(ask(one, {"session", "list"}).out, HasSubstr("\nabc             train.py"));
  FakeMaster ending(always(requests::Done{}));
  EXPECT_EQ(ask(ending, {"session", "end", "abc"}).out, "session abc has ended; its jobs are being killed\n");
  EXPECT_EQ(ending.asked<requests::EndSession>().at(0).session, cluster::SessionId("abc"));
}

TEST(Commands, ShowTheStatus) {
  requests::Status status;
  status.agents = 1;
  status.slots = 8;
  const FakeMaster master(always(status));
  EXPECT_THAT(ask(master, {"status"}).out, StartsWith("agents    0 of 1 up\nslots     0 of 8 in use"));
  EXPECT_THAT(ask(master, {"status", "--json"}).out,
              StartsWith("{\"agents\":1,\"agents_up\":0,\"agents_off\":[],\"slots\":8"));
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
            "job 17: waits for 1 slot\nlast lines of its output:\n  line 3\n  line 4\n  line 5\n  line 6\n  line 7\n");
  EXPECT_THAT(ask(master, {"why", "17", "--json"}).out, HasSubstr("\"last_lines\":[\"line 3\","));
}

TEST(Commands, EndWithWhatTheMasterSays) {
  struct Case {
    int status;
    int code;
  };
  for (const Case& one : {Case{400, refused}, Case{403, refused}, Case{404, failed}, Case{409, refused},
                          Case{429, unreachable}, Case{503, unreachable}}) {
    const FakeMaster master([status = one.status](const FakeMaster::Request&) {
      return std::optional(told_no(status, "since it is so", {{"most", "is too much"}}));
    });
    for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                  {"why", "17"},
                                                  {"job", "list"},
                                                  {"task", "list"},
                                                  {"job", "set", "17", "--pool", "x"},
                                                  {"task", "describe", "17"},
                                                  {"task", "kill", "17"},
                                                  {"task", "logs", "17"},
                                                  {"agent", "list"},
                                                  {"agent", "drain", "blue"},
                                                  {"agent", "token"}}) {
      const Said said = ask(master, words);
      EXPECT_EQ(said.code, one.code) << words[0];
      EXPECT_EQ(said.out, "") << words[0];
      EXPECT_THAT(said.err, StartsWith("cadre " + words[0])) << words[0];
      EXPECT_THAT(said.err, testing::EndsWith(": since it is so\n  most: is too much\n")) << words[0];
    }
    const Said exec = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
    EXPECT_EQ(exec.code, own_failure);
    EXPECT_EQ(exec.err, "cadre task exec: since it is so\n  most: is too much\n");
    const Said run = cadre({"run", "--master", master.folder(), "--", "x"});
    EXPECT_EQ(run.code, own_failure);
    EXPECT_EQ(run.err, "cadre run: since it is so\n  most: is too much\n");
  }
  const FakeMaster other(always(requests::Done{}));
  EXPECT_THAT(ask(other, {"why", "17"}).err, HasSubstr("; check that `cadre` and the master have the same version\n"));
}

TEST(Commands, AllEndUnreachableWithoutAMaster) {
  const servers::TempDir empty;
  FakeMaster gone;
  gone.stop();
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
  for (const auto& [folder, where] : {std::pair{empty.path(), empty.path()}, std::pair{gone.folder(), gone.url()}}) {
    for (std::vector<std::string> words : all) {
      words.insert(words.begin() + (words[0] == "run" || words[0] == "status" || words[0] == "why" ? 1 : 2),
                   {"--master", folder});
      const auto begun = std::chrono::steady_clock::now();
      const Said said = cadre(words);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 4s) << words[0];
      const bool passes = words[0] == "run" || words[1] == "exec";
      EXPECT_EQ(said.code, passes ? own_failure : unreachable) << words[0];
      EXPECT_EQ(said.out, "") << words[0];
      EXPECT_THAT(said.err, HasSubstr("no master answers at " + where + "; start one with `cadre up`"));
    }
  }
}

TEST(BadUsage, SaysWhereAndWhatToDo) {
  Said said = cadre({"run", "--slotz", "2", "--", "x"});
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(
      said.err,
      "cadre run: unknown option '--slotz'; did you mean '--slots'? Write options of the command to run after --\n"
      "for help, run: cadre run --help\n");
  said = cadre({"job", "lsit"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_EQ(said.err,
            "cadre job: unknown command 'lsit'; did you mean 'cadre job list'?\nfor help, run: cadre job --help\n");
  said = cadre({"task", "stop", "seventeen"});
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_THAT(said.err,
              HasSubstr("job: 'seventeen' is neither a job ID nor a task ID; use a number such as 17 or 17.0"));
  said = cadre({"run", "--priority", "0", "--cpus", "-1", "--", "x"});
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(
      said.err,
      "--priority: must be from 1 to 99, is 0\n--cpus: must be from 0 to 1000000, is -1.0\n"
      "cadre run: nothing was submitted; cadre run --help lists the options, docs/reference/ the fields of files\n");
  EXPECT_EQ(cadre({"agent", "token", "--valid", "0s"}).code, bad_usage);
  EXPECT_EQ(cadre({"task", "exec", "17"}).code, own_failure);
  EXPECT_EQ(cadre({"completion", "tcsh"}).code, bad_usage);
  EXPECT_EQ(cadre({"status", "--master", "ftp://there"}).code, bad_usage);
}

TEST(BadUsage, SuggestsTheCommandThatIsMeant) {
  const Program program;
  const auto suggested = [&](const std::string& word) { return unknown_command(program.app, word); };
  EXPECT_EQ(suggested("ps"),
            "cadre: unknown command 'ps'; did you mean 'cadre job list'?\ncadre --help lists the commands\n");
  EXPECT_THAT(suggested("submit"), HasSubstr("did you mean 'cadre run'?"));
  EXPECT_THAT(suggested("log"), HasSubstr("did you mean 'cadre logs'?"));
  EXPECT_THAT(suggested("describe"), HasSubstr("did you mean 'cadre task describe' or 'cadre job describe'"));
  EXPECT_THAT(suggested("nodes"), HasSubstr("did you mean 'cadre agent list'?"));
  EXPECT_EQ(suggested("xyzzyplugh"), "cadre: unknown command 'xyzzyplugh'\ncadre --help lists the commands\n");
  EXPECT_THAT(cadre({"job", "cancel", "17"}).err, HasSubstr("did you mean 'cadre job stop'?"));
  EXPECT_THAT(cadre({"task", "ls"}).err, HasSubstr("did you mean 'cadre task list'?"));
  EXPECT_THAT(cadre({"agent", "kill", "blue"}).err, HasSubstr("did you mean 'cadre kill'"));
}

TEST(Commands, EndSeveralJobsAndGoOnAfterOneThatIsNot) {
  FakeMaster master([](const FakeMaster::Request& request) -> std::optional<Answer> {
    const auto* end = std::get_if<requests::EndJob>(&request);
    if (end != nullptr && end->job.value == 18) return told_no(404, "there is no job 18");
    return std::nullopt;
  });
  master.start_task();
  for (const std::vector<std::string>& noun : {std::vector<std::string>{}, {"job"}, {"task"}}) {
    const auto with = [&](std::vector<std::string> words) {
      words.insert(words.begin(), noun.begin(), noun.end());
      return words;
    };
    const Said killed = ask(master, with({"kill", "17", "18", "19"}));
    EXPECT_EQ(killed.code, failed);
    EXPECT_EQ(killed.out, "job 17 is being killed\njob 19 is being killed\n");
    EXPECT_THAT(killed.err, HasSubstr("kill: there is no job 18\n"));
    EXPECT_EQ(ask(master, with({"stop", "--grace", "1s", "17"})).out, "job 17 is stopping\n");
    EXPECT_THAT(ask(master, with({"kill", "--json", "17", "19"})).out, StartsWith("[{\"id\":17"));
  }
  EXPECT_EQ(master.asked<requests::EndJob>().size(), 3U * 6U);
}

TEST(Commands, WaitForJobsAndPassOnHowTheyEnded) {
  FakeMaster master;
  master.start_task();
  auto said = cadre_beside({"wait", "--master", master.folder(), "17"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>(2));
  master.end_task(cluster::lease::Reason::exited, 3);
  const Said all = said.get();
  EXPECT_EQ(all.code, 3);
  EXPECT_EQ(all.out, "job 17: exited with 3\n");
  EXPECT_TRUE(master.asked<requests::ReadLogs>().empty()) << "nobody wants its output";
  EXPECT_EQ(ask(master, {"job", "wait", "17", "17"}).out, "job 17: exited with 3\njob 17: exited with 3\n");
  const servers::TempDir empty;
  EXPECT_EQ(cadre({"wait", "--master", empty.path(), "17"}).code, own_failure);
}

TEST(Commands, ShowTheLogsOfSeveralJobs) {
  FakeMaster master;
  master.start_task();
  master.write({{{17}, 0}, {1}}, logs::Stream::out, "hello");
  master.end_task(cluster::lease::Reason::exited, 0);
  EXPECT_EQ(ask(master, {"logs", "17"}).out, "hello\n");
  EXPECT_EQ(ask(master, {"job", "logs", "17", "17.0"}).out, "[17.0] hello\n[17.0] hello\n");
  EXPECT_EQ(ask(master, {"logs", "-f", "17", "17"}).out, "[17.0] hello\n[17.0] hello\n");
}

TEST(Commands, ListJobsWithoutActorsAndByFilter) {
  requests::JobView job;
  job.id = {17};
  requests::Jobs jobs{{job}, std::nullopt};
  jobs.actors_skipped = 12;
  FakeMaster master(always(jobs));
  EXPECT_THAT(ask(master, {"job", "list"}).out,
              testing::EndsWith("\n12 actors are not shown; show them with --kind all, or cadre actor list\n"));
  EXPECT_THAT(ask(master, {"task", "list"}).out, HasSubstr("12 actors are not shown"));
  ask(master, {"job", "list", "--kind", "all"});
  ask(master, {"job", "list", "--kind", "actor", "--state", "failed", "--name", "train", "--owner", "ann"});
  const auto asked = master.asked<requests::ListJobs>();
  ASSERT_EQ(asked.size(), 4U);
  EXPECT_EQ(asked[0].kind, requests::JobKind::job);
  EXPECT_EQ(asked[2].kind, std::nullopt);
  EXPECT_EQ(asked[3].kind, requests::JobKind::actor);
  EXPECT_EQ(asked[3].state, requests::JobState::failed);
  EXPECT_EQ(asked[3].name, "train");
  EXPECT_EQ(asked[3].owner, "ann");
  EXPECT_THAT(cadre({"job", "list", "--state", "faild"}).err, HasSubstr("did you mean 'failed'?"));
  FakeMaster none(always(requests::Jobs{}));
  EXPECT_EQ(ask(none, {"job", "list", "--name", "x"}).out, "no matching jobs; to list all jobs: cadre job list\n");
}

TEST(Commands, WatchAListUntilInterrupted) {
  FakeMaster master(always(requests::Jobs{}));
  auto said = cadre_beside({"job", "list", "--watch", "--master", master.folder()});
  ASSERT_TRUE(master.wait_asked<requests::ListJobs>(3));
  std::raise(SIGINT);
  const Said all = said.get();
  EXPECT_EQ(all.code, done);
  EXPECT_THAT(all.out, StartsWith("no jobs yet; run one with: cadre run -- hostname\nno jobs yet"));
}

}  // namespace
}  // namespace cadre::cli
