#include "cli/words.h"

#include <gtest/gtest.h>

#include "cli/views.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using cluster::lease::Reason;
using cluster::requests::JobView;

TEST(Words, GiveTimesInTwoUnitsAtMost) {
  EXPECT_EQ(short_duration(-5s), "0s");
  EXPECT_EQ(short_duration(900ms), "0s");
  EXPECT_EQ(short_duration(42s), "42s");
  EXPECT_EQ(short_duration(3min), "3m");
  EXPECT_EQ(short_duration(3min + 20s), "3m20s");
  EXPECT_EQ(short_duration(12min + 20s), "12m");
  EXPECT_EQ(short_duration(1h + 20min), "1h20m");
  EXPECT_EQ(short_duration(26h), "1d2h");
  EXPECT_EQ(short_duration(24h * 400), "400d");
}

TEST(Words, CountTimesFromNow) {
  const TimePoint now{1'000'000s};
  EXPECT_EQ(ago(std::nullopt, now), "");
  EXPECT_EQ(ago(now, now), "just now");
  EXPECT_EQ(ago(now + 5s, now), "just now");
  EXPECT_EQ(ago(now - 90s, now), "1m30s ago");
}

TEST(Words, GiveSizesInThreeDigits) {
  EXPECT_EQ(short_size({0}), "0");
  EXPECT_EQ(short_size({999}), "999B");
  EXPECT_EQ(short_size({1000}), "1KiB");
  EXPECT_EQ(short_size({1536}), "1.5KiB");
  EXPECT_EQ(short_size({std::int64_t{512} << 20}), "512MiB");
  EXPECT_EQ(short_size({134'895'140'864}), "126GiB");
}

TEST(Words, JoinSlotsThatStandTogether) {
  EXPECT_EQ(ranges({}), "");
  EXPECT_EQ(ranges({3}), "3");
  EXPECT_EQ(ranges({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(Words, CountNouns) {
  EXPECT_EQ(counted(1, "slot"), "1 slot");
  EXPECT_EQ(counted(2, "slot"), "2 slots");
}

TEST(Endings, AreSaidInWordsAndCodes) {
  EXPECT_EQ(ending_words(Reason::exited, 0, ""), "ended well");
  EXPECT_EQ(ending_words(Reason::exited, 3, ""), "exited with 3");
  EXPECT_EQ(ending_words(Reason::signalled, 11, ""), "ended by signal 11 (SIGSEGV)");
  EXPECT_EQ(ending_words(Reason::out_of_memory, 9, "used 512MiB of 512MiB"),
            "ran out of memory: used 512MiB of 512MiB");
  EXPECT_EQ(exit_code_of(Reason::exited, 0), 0);
  EXPECT_EQ(exit_code_of(Reason::exited, 3), 3);
  EXPECT_EQ(exit_code_of(Reason::signalled, 9), 137);
  for (const Reason reason : {Reason::killed_by_user, Reason::preempted, Reason::out_of_memory, Reason::unresponsive,
                              Reason::agent_lost, Reason::failed_to_start}) {
    EXPECT_EQ(exit_code_of(reason, 0), 125) << static_cast<int>(reason);
  }
}

TEST(Views, SayWhatToDoWhenThereIsNothing) {
  EXPECT_EQ(jobs_text({}, {}), "no jobs yet; run one with: cadre run -- hostname\n");
  EXPECT_EQ(tasks_text({}, {}), "no tasks yet; run one with: cadre run -- hostname\n");
  EXPECT_EQ(agents_text({}, {}),
            "no agents; start one on this host with: cadre agent; for another host, create a token with: cadre agent "
            "token\n");
}

JobView waiting() {
  JobView job;
  job.id = {18};
  job.name = "eval";
  job.pool = "default";
  job.slots = 2;
  job.submitted = TimePoint(1'000'000s);
  return job;
}

JobView ended() {
  JobView job = waiting();
  job.id = {17};
  job.name = "train";
  job.stage = cluster::JobStage::ended;
  job.started = TimePoint(1'000'010s);
  job.ended = TimePoint(1'003'620s);
  job.reason = Reason::out_of_memory;
  job.detail = "used 512MiB of 512MiB";
  cluster::requests::TaskView task;
  task.id = {{17}, 0};
  task.role = "task";
  task.stage = cluster::lease::Stage::ended;
  task.epoch = 2;
  task.agent = cluster::AgentId("blue");
  task.slots = {0, 1};
  task.started = job.started;
  task.ended = job.ended;
  task.ending = cluster::TaskEnding{Reason::out_of_memory, 9, "used 512MiB of 512MiB", {}, 0};
  task.usage = {{std::int64_t{1} << 20}, {std::int64_t{512} << 20}, 90s, 3};
  job.tasks = {task};
  return job;
}

const Showing later{TimePoint(1'003'680s), false};

TEST(Views, ShowJobs) {
  EXPECT_EQ(jobs_text({waiting(), ended()}, later),
            "JOB  NAME   STATE              OWNER  PRIORITY  SLOTS  POOL     SUBMITTED  RUNTIME\n"
            "18   eval   queued                    42        2      default  1h1m ago   \n"
            "17   train  ran out of memory         42        2      default  1h1m ago   1h\n");
}

TEST(Views, ShowTasksAndJobsThatHaveNoneYet) {
  EXPECT_EQ(tasks_text({waiting(), ended()}, later),
            "TASK  ROLE  STATE              AGENT  SLOTS  MEMORY  RUNTIME\n"
            "18          queued                                   \n"
            "17.0  task  ran out of memory  blue   0-1    1MiB    1h\n");
}

TEST(Views, ShowOneJobWithTimes) {
  const std::string text = job_text(ended(), later);
  EXPECT_NE(text.find("state      ran out of memory: used 512MiB of 512MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ended      1m ago (1970-01-12T14:47:00Z)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n\nTASK"), std::string::npos) << text;
  EXPECT_EQ(text.find("group"), std::string::npos) << "what is empty is left out";
}

TEST(Views, ShowOneTask) {
  const std::string text = task_text(ended().tasks[0], later);
  EXPECT_NE(text.find("memory          1MiB, at most 512MiB\n"), std::string::npos) << text;
  EXPECT_NE(text.find("slots           0-1\n"), std::string::npos) << text;
}

TEST(Views, ShowAgentsWithWhatTheUsersWant) {
  cluster::requests::AgentView agent;
  agent.id = cluster::AgentId("blue");
  agent.pool = "default";
  agent.host = "host1";
  agent.version = "0.2";
  agent.state = "up";
  agent.slot_kind = plan::SlotKind::cuda;
  agent.slots = 4;
  agent.slots_used = 3;
  agent.slot_states.assign(4, cluster::control::SlotState::enabled);
  agent.cpus = {8'500};
  agent.memory = {std::int64_t{64} << 30};
  agent.load = {1.25, {std::int64_t{3} << 30}};
  agent.tasks = 2;
  EXPECT_EQ(agents_text({agent}, later),
            "AGENT  STATE  SLOTS  KIND  CPUS  MEMORY      LOAD  TASKS  POOL     HOST   VERSION\n"
            "blue   up     3/4    cuda  8.5   3GiB/64GiB  1.2   2      default  host1  0.2\n");
  agent.slot_states[2] = cluster::control::SlotState::disabled;
  EXPECT_NE(agents_text({agent}, later).find("up, 1 slot off"), std::string::npos);
  agent.draining = true;
  EXPECT_NE(agents_text({agent}, later).find("up, draining"), std::string::npos);
  agent.enabled = false;
  EXPECT_NE(agents_text({agent}, later).find("up, disabled"), std::string::npos);
}

TEST(Views, ShowTheWholeCluster) {
  cluster::requests::Status status;
  status.agents = 3;
  status.agents_up = 2;
  status.slots = 8;
  status.slots_used = 4;
  status.cpus = {32'000};
  status.cpus_used = {1'500};
  status.load = 2;
  status.queued = 1;
  status.running = 2;
  status.ended = 14;
  status.actors = 5;
  status.sessions = 2;
  EXPECT_EQ(status_text(status),
            "agents    2 of 3 up\n"
            "slots     4 of 8 in use  [██████████          ]\n"
            "cpus      1.5 of 32 in use  [█                   ]\n"
            "memory    0 of 0 in use  [                    ]\n"
            "load      2.0\n"
            "jobs      1 waiting, 2 running, 14 ended\n"
            "actors    5\n"
            "sessions  2\n");
  EXPECT_NE(status_text({}).find("start an agent with: cadre agent"), std::string::npos);
}

TEST(Views, DescribeTheCommandRequestsAndStopOfAJob) {
  JobView job = ended();
  job.reason = Reason::killed_by_user;
  job.detail.clear();
  job.stopped_by = "ann";
  job.stop = "killed by ann";
  job.runs = 3;
  cluster::requests::MemberView member;
  member.role = "task";
  member.count = 4;
  member.argv = {"python3", "train.py", "--name", "it's mine"};
  member.slots = 1;
  member.slot_kind = plan::SlotKind::cuda;
  member.cpus = {2'000};
  member.memory = {std::int64_t{8} << 30};
  member.variables = {"MODE", "SECRET"};
  job.members = {member};
  cluster::control::Attempt attempt;
  attempt.run = 1;
  attempt.started = TimePoint(1'000'000s);
  attempt.ended = TimePoint(1'000'060s);
  attempt.reason = Reason::preempted;
  attempt.stop = "preempted for job 12 (priority 10)";
  attempt.agents = {cluster::AgentId("blue"), cluster::AgentId("red")};
  job.attempts = {attempt};
  const std::string text = job_text(job, later);
  for (const char* line : {"state        killed by ann\n", "command      python3 train.py --name 'it'\\''s mine'\n",
                           "requests     4 tasks, each with 1 cuda slot, 2 cpus, 8GiB of memory\n",
                           "environment  MODE, SECRET\n", "attempts     3\n",
                           "\nearlier runs\nRUN  STARTED   RUNTIME  AGENTS    ENDED\n"
                           "1    1h1m ago  1m       blue,red  preempted for job 12 (priority 10)\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "is missing in\n" << text;
  }
}

TEST(Views, NameAgentsThatTakeNoWork) {
  cluster::requests::Status status;
  status.agents = 4;
  status.agents_up = 2;
  status.agents_off = {{cluster::AgentId("blue"), "draining"},
                       {cluster::AgentId("green"), "silent"},
                       {cluster::AgentId("red"), "draining"}};
  EXPECT_NE(status_text(status).find("agents      2 of 4 up\n  draining  blue, red\n  silent    green\n"),
            std::string::npos)
      << status_text(status);
}

TEST(Views, JsonOfAJobThatRunsHasNoEnding) {
  JobView job = waiting();
  job.stage = cluster::JobStage::running;
  const std::string running = describe::write_json(job);
  EXPECT_EQ(running.find("\"reason\""), std::string::npos) << running;
  EXPECT_EQ(running.find("\"code\""), std::string::npos) << running;
  job.stage = cluster::JobStage::ended;
  job.reason = Reason::exited;
  job.code = 0;
  EXPECT_NE(describe::write_json(job).find("\"reason\":\"exited\",\"code\":0"), std::string::npos);
}

}  // namespace
}  // namespace cadre::cli
