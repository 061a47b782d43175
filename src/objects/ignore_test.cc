#include "objects/ignore.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/seeds.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::objects {
namespace {

bool out(const Ignore& ignore, std::string_view path) { return ignore.leaves_out(path, Ignore::Kind::file); }
bool folder_out(const Ignore& ignore, std::string_view path) { return ignore.leaves_out(path, Ignore::Kind::folder); }

TEST(Ignore, ReadsRulesAsGitDoes) {
  const Ignore ignore("# a comment\n\n*.o\n!keep.o\n/top\nlogs/\na/b\nx/**/y\n**/z\nw/**\nspace\\ \nt[0-9]\n\\#h  \n");
  EXPECT_TRUE(out(ignore, "a.o"));
  EXPECT_TRUE(out(ignore, "deep/er/a.o"));
  EXPECT_FALSE(out(ignore, "keep.o"));
  EXPECT_TRUE(out(ignore, "top"));
  EXPECT_FALSE(out(ignore, "deep/top"));
  EXPECT_FALSE(out(ignore, "logs"));
  EXPECT_TRUE(folder_out(ignore, "deep/logs"));
  EXPECT_TRUE(out(ignore, "a/b"));
  EXPECT_FALSE(out(ignore, "c/a/b"));
  EXPECT_TRUE(out(ignore, "x/y"));
  EXPECT_TRUE(out(ignore, "x/1/2/y"));
  EXPECT_TRUE(out(ignore, "q/z"));
  EXPECT_FALSE(out(ignore, "w"));
  EXPECT_TRUE(out(ignore, "w/1/2"));
  EXPECT_TRUE(out(ignore, "space "));
  EXPECT_FALSE(out(ignore, "space"));
  EXPECT_TRUE(out(ignore, "t7"));
  EXPECT_TRUE(out(ignore, "#h"));
  EXPECT_FALSE(out(ignore, "a comment"));
}

std::string random_rule(Dice& dice) {
  static constexpr std::string_view pieces[] = {"a", "b", "c", "*", "?", "**", "[ab]", "a*"};
  std::string rule = dice.percent(25) ? "!" : "";
  if (dice.percent(20)) rule += "/";
  for (std::size_t names = 1 + dice.below(3); names > 0; --names) {
    rule += pieces[dice.below(std::size(pieces))];
    if (dice.percent(30)) rule += pieces[dice.below(3)];
    if (names > 1) rule += "/";
  }
  return rule + (dice.percent(20) ? "/" : "") + "\n";
}

void collect(const Ignore& ignore, const std::string& top, const std::string& prefix, std::set<std::string>& found) {
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(top) / prefix)) {
    const std::string path = prefix + entry.path().filename().string();
    const bool is_folder = entry.is_directory();
    if (ignore.leaves_out(path, is_folder ? Ignore::Kind::folder : Ignore::Kind::file)) continue;
    if (is_folder) collect(ignore, top, path + "/", found);
    if (!is_folder) found.insert(path);
  }
}

TEST(Ignore, LeavesOutTheSameFilesAsGit) {
  ASSERT_EQ(std::system("git --version > /dev/null 2>&1"), 0) << "git is missing; tools/install_packages run test";
  const servers::TempDir scratch;
  const std::string top = scratch.path() + "/tree";
  static constexpr std::string_view names[] = {"a", "b", "c", "ab", "ac"};
  for (const auto one : names) {
    for (const auto two : names) {
      const std::string folder = top + "/" + std::string(one) + "x/" + std::string(two);
      for (const auto three : names) write_file(folder + "/" + std::string(three), "x");
      write_file(top + "/" + std::string(one) + "/" + std::string(two), "x");
    }
    write_file(top + "/" + std::string(one) + "y", "x");
  }
  ASSERT_EQ(std::system(("git init -q " + top).c_str()), 0);
  FOR_SEEDS(100, [&](Dice& dice) {
    std::string rules;
    for (std::size_t left = 1 + dice.below(5); left > 0; --left) rules += random_rule(dice);
    write_file(scratch.path() + "/rules", rules);
    const std::string command = "cd " + top +
                                " && git -c core.quotepath=off ls-files --others --exclude-from=" + scratch.path() +
                                "/rules > ../listed";
    ASSERT_EQ(std::system(command.c_str()), 0);
    std::set<std::string> theirs;
    std::ifstream listed(scratch.path() + "/listed");
    for (std::string line; std::getline(listed, line);) theirs.insert(line);
    std::set<std::string> ours;
    collect(Ignore(rules + ".git\n"), top, "", ours);
    EXPECT_EQ(ours, theirs) << rules;
  });
}

}  // namespace
}  // namespace cadre::objects
