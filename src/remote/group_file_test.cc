#include "remote/group_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace cadre::remote {
namespace {

namespace fs = std::filesystem;

std::string golden(const std::string& name) { return std::string(CADRE_SOURCE_DIR) + "/tests/golden/" + name; }

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_golden(const fs::path& path, const std::string& text) {
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  EXPECT_EQ(text_of(path), text) << path << "; if it should change: CADRE_UPDATE_GOLDEN=1";
}

std::vector<fs::path> files_of(const std::string& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(golden(folder))) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  EXPECT_FALSE(files.empty());
  return files;
}

TEST(GroupFile, BecomesTheJobThatItDid) {
  for (const fs::path& path : files_of("group")) {
    SCOPED_TRACE(path);
    const auto file = read_group_file(text_of(path));
    ASSERT_TRUE(file) << to_text(file.error(), path.filename().string());
    const cluster::JobSpec job = to_job(*file);
    expect_golden(fs::path(path).replace_extension(".json"), write_json(job, describe::Indent::two_spaces) + "\n");
    EXPECT_EQ(describe::read_json<cluster::JobSpec>(describe::write_json(job)), job) << "the cluster takes it";
    EXPECT_EQ(read_group_file(describe::write_json(*file)), *file) << "what is read can be written and read again";
  }
}

TEST(GroupFile, TellsAllFaultsAtOnce) {
  for (const fs::path& path : files_of("group_faults")) {
    SCOPED_TRACE(path);
    const auto file = read_group_file(text_of(path));
    ASSERT_FALSE(file);
    expect_golden(fs::path(path).replace_extension(".txt"), to_text(file.error(), path.filename().string()));
  }
}

TEST(GroupFile, IsPlacedAsOneGangWithARoleForEachType) {
  const auto file = read_group_file(text_of(golden("group/learner-and-workers.yaml")));
  ASSERT_TRUE(file);
  const plan::Gang gang = cluster::gang_of({1}, 0, to_job(*file));
  const auto* roles = std::get_if<plan::Roles>(&gang.wants);
  ASSERT_NE(roles, nullptr);
  ASSERT_EQ(roles->size(), file->components.size());
  for (std::size_t at = 0; at < roles->size(); ++at) {
    EXPECT_EQ((*roles)[at].name, file->components[at].type);
    EXPECT_EQ((*roles)[at].least_count(), file->components[at].count) << "all or nothing";
    EXPECT_EQ((*roles)[at].layout, file->strategy.layout);
  }
}

TEST(GroupFile, NamesItsTasksAsTheyAreNumbered) {
  const auto file =
      read_group_file("{name: g, components: [{type: a, count: 2, command: [x]}, {type: b, command: [x]}]}");
  ASSERT_TRUE(file);
  EXPECT_THAT(names_of(*file), testing::ElementsAre("a-0", "a-1", "b-0"));
}

TEST(GroupFile, HasItsRulesKeptByTheCluster) {
  const auto file = read_group_file(text_of(golden("group/learner-and-workers.yaml")));
  ASSERT_TRUE(file);
  const cluster::JobSpec job = to_job(*file);
  for (const cluster::MemberSpec& member : job.members) EXPECT_EQ(member.layout_by, plan::Measure::cpus);
  EXPECT_EQ(job.members[0].restart, cluster::restart::Policy(cluster::restart::Never{}))
      << "the others go on without it";
  const auto* restart = std::get_if<cluster::restart::OnFailure>(&*job.members[1].restart);
  ASSERT_NE(restart, nullptr);
  EXPECT_EQ(restart->max_restarts, 5);
  EXPECT_EQ(restart->first_wait, std::chrono::milliseconds(500));
  EXPECT_EQ(job.members[1].minimum, (cluster::Minimum{4, std::chrono::minutes(1)}));
}

TEST(GroupFile, ThatIsNoFileIsRefused) {
  for (const std::string text : {"", "42", "- 1", "name: [", "components: 3"}) EXPECT_FALSE(read_group_file(text));
}

}  // namespace
}  // namespace cadre::remote
