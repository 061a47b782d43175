#include "cli/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "describe/describe.h"
#include "tests/servers/scratch.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using cluster::JobSpec;
using testing::HasSubstr;

tl::expected<JobSpec, std::string> parse(std::vector<std::string> words) {
  CLI::App app("run");
  JobOptions options;
  add_job_options(app, options);
  std::reverse(words.begin(), words.end());
  app.parse(std::move(words));
  return make_job(options);
}

TEST(JobOptions, MakeTheJobThatAFileWould) {
  const auto job = parse({"--name",
                          "n",
                          "--pool",
                          "gpu",
                          "--priority",
                          "7",
                          "--max-time",
                          "1h",
                          "--slots",
                          "2",
                          "--slot-kind",
                          "cuda",
                          "--cpus",
                          "1.5",
                          "--memory",
                          "2GiB",
                          "--count",
                          "3",
                          "--env",
                          "A=1",
                          "--env",
                          "B=x=y",
                          "--workdir",
                          "/w",
                          "--mount",
                          "/data:/d:rw",
                          "--mount",
                          "/m:/n",
                          "--python",
                          "/venv",
                          "--setup",
                          "make",
                          "--setup",
                          "make install",
                          "--preemptible",
                          "--group",
                          "g",
                          "--selector",
                          "disk=fast",
                          "--exclude",
                          "blue",
                          "--exclude",
                          "green",
                          "--single-agent",
                          "--uneven",
                          "--grace",
                          "5s",
                          "--preemption-grace",
                          "1m",
                          "--liveness",
                          "2s",
                          "--fence",
                          "strict",
                          "--isolation",
                          "off",
                          "--processes",
                          "10",
                          "--spool-size",
                          "1MiB",
                          "--spool-full",
                          "drop_oldest",
                          "--",
                          "python3",
                          "-c",
                          "print(1)",
                          "--slots"});
  ASSERT_TRUE(job) << job.error();
  JobSpec want;
  want.name = "n";
  want.pool = "gpu";
  want.priority = 7;
  want.max_time = 1h;
  want.preemptible = true;
  want.group = "g";
  want.selector = {{"disk", "fast"}};
  want.exclude = {cluster::AgentId("blue"), cluster::AgentId("green")};
  want.single_agent = true;
  want.uneven = true;
  cluster::MemberSpec member;
  member.slots = 2;
  member.slot_kind = plan::SlotKind::cuda;
  member.cpus = {1'500};
  member.memory = {std::int64_t{2} << 30};
  member.count = 3;
  member.command.argv = {"python3", "-c", "print(1)", "--slots"};
  member.command.variables = {{"A", "1"}, {"B", "x=y"}};
  member.command.folder = "/w";
  member.command.mounts = {{"/data", "/d", true}, {"/m", "/n", false}};
  member.command.python = "/venv";
  member.command.setup = {"make", "make install"};
  member.policy = {5s, 1min, 2s, cluster::Fence::strict, cluster::Isolation::off};
  member.limits.processes = 10;
  member.limits.spool = {std::int64_t{1} << 20};
  member.limits.spool_full = cluster::SpoolFull::drop_oldest;
  want.members = {member};
  EXPECT_EQ(describe::write_json(*job, describe::Indent::two_spaces),
            describe::write_json(want, describe::Indent::two_spaces));
  EXPECT_EQ(*job, want);
}

TEST(JobOptions, LeaveTheRestToTheDescription) {
  const auto job = parse({"--", "hostname", "-f"});
  ASSERT_TRUE(job) << job.error();
  JobSpec want;
  want.name = "hostname -f";
  want.members.resize(1);
  want.members[0].command.argv = {"hostname", "-f"};
  EXPECT_EQ(*job, want);
}

TEST(JobOptions, GiveEveryFaultWithItsPlaceAtOnce) {
  const auto job = parse({"--priority", "120", "--cpus", "many", "--memory", "2XB", "--fence", "none", "--env", "A",
                          "--mount", "/a", "--", "x"});
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error(), HasSubstr("--priority: must be from 1 to 99, is 120\n"));
  EXPECT_THAT(job.error(), HasSubstr("--cpus: "));
  EXPECT_THAT(job.error(), HasSubstr("--memory: "));
  EXPECT_THAT(job.error(), HasSubstr("--fence: \"none\" is not a known choice; the known ones are: keep, strict\n"));
  EXPECT_THAT(job.error(), HasSubstr("--env: 'A' is not of the form NAME=VALUE\n"));
  EXPECT_THAT(job.error(), HasSubstr("--mount: '/a' is not of the form SOURCE:TARGET[:rw]\n"));
}

TEST(JobOptions, NeedACommand) {
  const auto job = parse({"--slots", "1"});
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error(), "there is no command to run; write it after --, as in: cadre run -- hostname\n");
}

struct JobFile : testing::Test {
  std::string write(const std::string& text) {
    std::ofstream(folder.path() + "/job.yaml") << text;
    return folder.path() + "/job.yaml";
  }
  servers::TempDir folder;
};

TEST_F(JobFile, MayBeOverriddenFromTheCommandLine) {
  const std::string file = write("name: a\npriority: 3\nmembers:\n  - {slots: 2, command: {argv: [x]}}\n");
  const auto job = parse({"--file", file, "--priority", "9"});
  ASSERT_TRUE(job) << job.error();
  EXPECT_EQ(job->name, "a");
  EXPECT_EQ(job->priority, 9);
  EXPECT_EQ(job->members.at(0).slots, 2);
}

TEST_F(JobFile, ShowsItsFaultsWithTheirLines) {
  const std::string file = write("priority: 300\nmembers:\n  - {slot: 2, command: {argv: []}}\n");
  const auto job = parse({"--file", file});
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error(), HasSubstr(file + ":1:11: priority: must be from 1 to 99, is 300\n"));
  EXPECT_THAT(job.error(), HasSubstr("did you mean 'slots'?"));
  EXPECT_THAT(job.error(), HasSubstr("members[0].command.argv"));
}

TEST_F(JobFile, TakesNoOptionsOfMembersAndNoCommand) {
  const std::string file = write("members:\n  - {command: {argv: [x]}}\n");
  const auto job = parse({"--file", file, "--slots", "2", "--", "y"});
  ASSERT_FALSE(job);
  EXPECT_THAT(job.error(), HasSubstr("--slots: applies to a member of the job; set it in " + file + "\n"));
  EXPECT_THAT(job.error(), HasSubstr("'y' after --: the commands of this job are in " + file));
  EXPECT_THAT(parse({"--file", "/nonexistent"}).error(), HasSubstr("--file: cannot read /nonexistent: No such file"));
}

}  // namespace
}  // namespace cadre::cli
