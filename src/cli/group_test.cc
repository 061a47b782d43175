#include <fstream>

#include "cli/fake_master_test.h"
#include "cli/program_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using cluster::lease::Reason;
using logs::Stream;
using testing::HasSubstr;
namespace requests = cluster::requests;

struct Group : testing::Test {
  std::string file(const std::string& text) const {
    const std::string path = master.folder() + "/group.yaml";
    std::ofstream(path) << text;
    return path;
  }
  std::future<Said> run(std::vector<std::string> words) {
    words.insert(words.begin(), {"group", "run", "--master", master.folder()});
    return cadre_beside(std::move(words));
  }
  FakeMaster master;
  const std::string demo = file(
      "name: demo\n"
      "components:\n"
      "  - {type: worker, command: [./worker], restart: {type: on_failure}}\n");
};

TEST_F(Group, IsSubmittedAsOneJobWithItsGroupInEachTask) {
  const Said said = run({"--detach", demo}).get();
  EXPECT_EQ(said.code, done);
  EXPECT_EQ(said.out, "17\n");
  const auto jobs = master.asked<requests::Submit>();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job.name, "demo");
  const cluster::MemberSpec& member = jobs[0].job.members.at(0);
  EXPECT_EQ(member.role, "worker");
  EXPECT_EQ(member.command.variables.at("CADRE_GROUP_NAME"), "demo");
  EXPECT_TRUE(member.restart.has_value());
}

TEST_F(Group, IsFollowedWithTheNamesOfItsComponentsAndTheirRestarts) {
  auto said = run({demo});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  ASSERT_TRUE(master.wait_asked<requests::GetJob>(2));
  const cluster::LeaseId first{{{17}, 0}, {1}};
  const cluster::LeaseId second{{{17}, 0}, {2}};
  master.write(first, Stream::out, "one");
  const std::int64_t end = master.output_end(first);
  master.change([&](requests::JobView& job) {
    job.tasks[0].stage = cluster::lease::Stage::queued;
    job.tasks[0].ending = cluster::TaskEnding{Reason::exited, 3, "", {}, end};
    job.tasks[0].restart_at = TimePoint{};  // it is due
  });
  ASSERT_TRUE(master.wait_asked<requests::GetJob>(3));
  master.start_task(2);
  master.write(second, Stream::out, "two");
  master.end_task(Reason::exited, 65, "exit code 65 ends all tasks");
  const Said all = said.get();
  EXPECT_EQ(all.code, 65);
  EXPECT_EQ(all.out, "[worker-0] one\n[worker-0] two\n");
  EXPECT_EQ(all.err, "cadre group run: worker-0 exited with 3; it is restarted in 0 s\n");
}

TEST_F(Group, IsTheOneValueAsJson) {
  auto said = run({"--json", demo});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.write({{{17}, 0}, {1}}, Stream::out, "one");
  master.end_task(Reason::exited, 0);
  const Said all = said.get();
  EXPECT_EQ(all.code, done);
  EXPECT_EQ(describe::read_json<requests::JobView>(all.out)->id.value, 17U);
  EXPECT_EQ(all.err, "[worker-0] one\n");
}

TEST_F(Group, OfAFaultyFileIsNotSubmitted) {
  const std::string bad = file("name: demo\ncomponents: [{type: worker}]\n");
  const Said said = run({bad}).get();
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(said.err, bad +
                          ":2:14: components[0].command: is required unless class is set\n"
                          "cadre group run: nothing was submitted; cadre group run --help lists the options, "
                          "docs/reference/ the fields of files\n");
  EXPECT_THAT(run({master.folder() + "/missing"}).get().err, HasSubstr("missing"));
  EXPECT_TRUE(master.heard().empty());
}

}  // namespace
}  // namespace cadre::cli
