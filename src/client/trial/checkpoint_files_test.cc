#include "client/trial/checkpoint_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/seeds.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::client {
namespace {

using objects::read_whole;
using testing::ElementsAre;
using testing::HasSubstr;

class Files : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& content) const { objects::write_file(path(name), content); }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  const servers::TempDir folder_;
};

std::vector<std::string> names_of(const std::vector<CheckpointFile>& files) {
  std::vector<std::string> names;
  for (const CheckpointFile& file : files) names.push_back(file.name);
  return names;
}
CheckpointFile file_of(const std::string& name, const std::string& content) {
  return {name, static_cast<std::int64_t>(content.size()), objects::sha256(as_bytes(content))};
}

TEST_F(Files, AreListedWithTheirHashes) {
  put("in/b", "B");
  put("in/a/model", "weights");
  put("in/empty", "");
  std::filesystem::create_directory(path("in/nothing"));
  std::filesystem::create_symlink(path("in/b"), path("in/link"));
  const auto files = list_files(path("in"));
  ASSERT_DONE(files);
  EXPECT_THAT(*files, ElementsAre(file_of("a/model", "weights"), file_of("b", "B"), file_of("empty", ""),
                                  file_of("link", "B")));
}

TEST_F(Files, OtherThingsAreNamed) {
  put("in/a", "A");
  ASSERT_EQ(mkfifo(path("in/pipe").c_str(), 0600), 0);
  const auto files = list_files(path("in"));
  EXPECT_ERROR(Errc::invalid, files);
  EXPECT_THAT(files.error().message, HasSubstr("in/pipe is not a file"));
  EXPECT_ERROR(Errc::invalid, list_files(path("in/a")));
  EXPECT_ERROR(Errc::invalid, list_files(path("no")));
}

TEST_F(Files, NeverLeaveTheirFolder) {
  for (const char* name : {"", "/a", "a//b", "../a", "a/..", ".", "a/./b", "a/", "\xff"}) {
    EXPECT_ERROR(Errc::invalid, check_file_name(name));
    EXPECT_FALSE(IncomingFile::open(path("out"), {name, 0, ""})) << name;
  }
  for (const char* name : {"a", "a/b", "..a", "a..b/.c", "größe"}) ASSERT_DONE(check_file_name(name));
}

TEST_F(Files, AppearOnlyWhenTheyAreWholeAndRight) {
  const CheckpointFile file = file_of("a/model", "weights");
  {
    auto incoming = IncomingFile::open(path("out"), file);
    ASSERT_DONE(incoming);
    ASSERT_DONE(incoming->append(as_bytes("wei")));
    EXPECT_FALSE(incoming->is_whole());
    EXPECT_FALSE(std::filesystem::exists(path("out/a/model")));
    ASSERT_DONE(incoming->append(as_bytes("ghts")));
    ASSERT_DONE(incoming->finish());
  }
  EXPECT_EQ(read_whole(path("out/a/model")), "weights");
  for (const std::string wrong : {"weighty", "weights!"}) {
    auto incoming = IncomingFile::open(path("other"), file);
    ASSERT_DONE(incoming);
    Result<void> done = incoming->append(as_bytes(wrong));
    if (done) done = incoming->finish();
    EXPECT_ERROR(Errc::corrupt, done);
  }
  EXPECT_TRUE(objects::shown_tree(path("other")) == (std::map<std::string, std::string>{{"a", "folder"}}));
}

TEST(Shares, OfAllRanksAreMerged) {
  const std::vector<Share> shares = {{0, {file_of("common", "x"), file_of("w0", "0")}},
                                     {1, {file_of("common", "x"), file_of("w1", "1")}}};
  const auto merged = merge_shares(shares);
  ASSERT_DONE(merged);
  EXPECT_THAT(names_of(*merged), ElementsAre("common", "w0", "w1"));
  EXPECT_THAT(names_of(own_files(shares, 0)), ElementsAre("common", "w0"));
  EXPECT_THAT(names_of(own_files(shares, 1)), ElementsAre("w1"));
}

TEST(Shares, ThatDifferAreNamedWithTheirRanks) {
  const auto merged = merge_shares({{0, {}}, {1, {file_of("w", "1")}}, {2, {file_of("w", "2")}}});
  EXPECT_ERROR(Errc::conflict, merged);
  EXPECT_THAT(merged.error().message, HasSubstr("rank 1 and rank 2 save different files named w"));
}

TEST(Shares, AreBroughtExactlyOnce) {
  FOR_SEEDS(200, [](Dice& dice) {
    std::vector<Share> shares;
    for (std::uint32_t rank = 0; rank < 1 + dice.below(4); ++rank) {
      Share& share = shares.emplace_back();
      share.rank = rank;
      for (char name = 'a'; name < 'f'; ++name) {
        if (dice.percent(50)) share.files.push_back(file_of(std::string(1, name), "same"));
      }
    }
    std::vector<std::string> brought;
    for (const Share& share : shares) {
      for (const std::string& name : names_of(own_files(shares, share.rank))) brought.push_back(name);
    }
    std::sort(brought.begin(), brought.end());
    EXPECT_EQ(brought, names_of(merge_shares(shares).value()));
  });
}

TEST_F(Files, AreCopiedAndMoved) {
  put("in/a/model", "weights");
  put("in/b", "B");
  const auto files = list_files(path("in")).value();
  ASSERT_DONE(copy_files(path("in"), path("copy"), files));
  ASSERT_DONE(move_files(path("copy"), path("moved"), files));
  EXPECT_EQ(list_files(path("moved")).value(), files);
  EXPECT_TRUE(list_files(path("copy")).value().empty());
  EXPECT_EQ(list_files(path("in")).value(), files);
}

}  // namespace
}  // namespace cadre::client
