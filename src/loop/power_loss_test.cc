// What is written whole is old or new after a power loss at any moment.
#include "loop/power_loss_for_tests.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "loop/file.h"

namespace cadre::loop {
namespace {

using testing::Contains;

constexpr const char* nothing = "(nothing)";

/// Every content that a file may have after a loss during `write`; and only the last one after it.
std::set<std::string> possible(const std::string& folder, const std::string& name, const std::function<void()>& write,
                               std::set<std::string>& at_the_end) {
  PowerLoss loss(folder);
  write();
  std::set<std::string> found;
  const int states = loss.each([&](const std::string& left, std::size_t done) {
    const std::string content = read_file(left + "/" + name).value_or(nothing);
    found.insert(content);
    if (done == loss.operations()) at_the_end.insert(content);
  });
  EXPECT_GT(states, 5);
  return found;
}

TEST(PowerLoss, LeavesTheOldOrTheNewContentOfADurableFile) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/secret";
  ASSERT_TRUE(write_whole(path, as_bytes("the old secret")));
  ASSERT_TRUE(write_whole(path + ".new", as_bytes("left by a writer that was killed")));
  std::set<std::string> at_the_end;
  const auto found = possible(
      folder.path(), "secret", [&] { ASSERT_TRUE(write_whole(path, as_bytes("the new secret"))); }, at_the_end);
  EXPECT_EQ(found, (std::set<std::string>{"the old secret", "the new secret"}));
  EXPECT_EQ(at_the_end, (std::set<std::string>{"the new secret"}));
}

TEST(PowerLoss, LeavesNothingOrAllOfANewDurableFile) {
  const servers::TempDir folder;
  std::set<std::string> at_the_end;
  const auto found = possible(
      folder.path(), "identity", [&] { ASSERT_TRUE(write_whole(folder.path() + "/identity", as_bytes("who I am"))); },
      at_the_end);
  EXPECT_EQ(found, (std::set<std::string>{nothing, "who I am"}));
  EXPECT_EQ(at_the_end, (std::set<std::string>{"who I am"}));
}

TEST(PowerLoss, MayTearWhatIsNotDurableUntilItIsMade) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/ending";
  std::set<std::string> at_the_end;
  const auto found = possible(
      folder.path(), "ending", [&] { ASSERT_TRUE(write_whole(path, as_bytes("12345678"), Durable::no)); }, at_the_end);
  EXPECT_THAT(found, Contains("1234")) << "else this test could find nothing";
  EXPECT_THAT(at_the_end, Contains(nothing));
  ::unlink(path.c_str());
  at_the_end.clear();
  possible(
      folder.path(), "ending",
      [&] {
        ASSERT_TRUE(write_whole(path, as_bytes("12345678"), Durable::no));
        ASSERT_TRUE(make_durable(path));
      },
      at_the_end);
  EXPECT_EQ(at_the_end, (std::set<std::string>{"12345678"}));
}

TEST(OwnFile, IsNeitherALinkNorAPipeNorAFolder) {
  const servers::TempDir folder;
  const std::string file = folder.path() + "/file";
  ASSERT_TRUE(write_whole(file, as_bytes("text")));
  EXPECT_EQ(read_own_file(file).value_or(""), "text");
  const std::string link = folder.path() + "/link";
  ASSERT_EQ(::symlink(file.c_str(), link.c_str()), 0);
  EXPECT_FALSE(read_own_file(link));
  const std::string pipe = folder.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_own_file(pipe).error().code, Errc::denied);  // and does not wait for a writer
  EXPECT_FALSE(File::open_own(pipe, O_WRONLY));
  EXPECT_FALSE(read_own_file(folder.path()));
  EXPECT_FALSE(read_own_file("/dev/zero"));
}

}  // namespace
}  // namespace cadre::loop
