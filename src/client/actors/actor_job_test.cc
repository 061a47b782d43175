#include "client/actors/actor_job.h"

#include <gtest/gtest.h>

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

TEST(ActorJob, IsOneWarmTaskWithWhatTheActorNeeds) {
  cluster::Command command;
  command.argv = {"./program"};
  command.variables["OWN"] = "kept";
  const cluster::JobSpec job = actor_job({"Counter", 2, 0.25, ByteSize{7}, "gpus", "lab", 3, 9s}, command);
  EXPECT_EQ(job.name, "Counter");
  EXPECT_EQ(job.actor, "Counter");
  EXPECT_EQ(job.pool, "gpus");
  EXPECT_EQ(job.workspace, "lab");
  ASSERT_EQ(job.members.size(), 1U);
  const cluster::MemberSpec& member = job.members.front();
  EXPECT_EQ(member.count, 1);
  EXPECT_EQ(member.slots, 2);
  EXPECT_EQ(member.cpus, plan::Cpus{250});
  EXPECT_EQ(member.memory, ByteSize{7});
  EXPECT_EQ(member.policy.liveness, 9s);
  EXPECT_TRUE(member.command.warm);
  EXPECT_EQ(member.command.argv, command.argv);
  EXPECT_EQ(member.command.variables.at("OWN"), "kept");
  EXPECT_EQ(member.command.variables.at("CADRE_ACTOR_LANES"), "3");
}

TEST(ActorJob, LeavesPoolAndWorkspaceToTheDefaultsOfAJob) {
  const cluster::JobSpec job = actor_job({}, {});
  EXPECT_EQ(job.pool, cluster::JobSpec().pool);
  EXPECT_EQ(job.workspace, cluster::JobSpec().workspace);
}

}  // namespace
}  // namespace cadre::client
