#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "loop/deep_folders_for_tests.h"
#include "loop/file.h"
#include "tests/servers/scratch.h"

namespace cadre::loop {
namespace {

namespace fs = std::filesystem;

class RemovalTest : public testing::Test {
 protected:
  RemovalTest() { fs::create_directory(folder); }

  servers::TempDir scratch;
  std::string folder = scratch.path() + "/folder";
};

TEST_F(RemovalTest, RemovesFoldersOfAnyDepthWithFewDescriptors) {
  make_deep_folders(folder, 20'000);
  const FewDescriptors few(64);
  const Result<void> removed = remove_all(folder);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(RemovalTest, EmptiesFoldersThatAreDeepAndWideWhateverTheirNames) {
  for (int i = 0; i < 40; ++i) {
    const std::string name = folder + "/" + std::to_string(i);  // as folders that are moved up are called
    if (i % 3 == 0) {
      std::ofstream(name) << "x";
    } else {
      fs::create_directory(name);
      make_deep_folders(name, i);
    }
  }
  ASSERT_TRUE(empty_folder(folder));
  EXPECT_TRUE(fs::is_empty(folder));
}

/// Makes folders in the one that is open, for some seconds, as another user.
[[noreturn]] void keep_filling(int folder, int ready) {
  if (::setuid(234'567) != 0) ::_exit(1);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
  for (int i = 0; std::chrono::steady_clock::now() < end; ++i) {
    if (::fchdir(folder) != 0) continue;
    const std::string name = "n" + std::to_string(i);
    for (int level = 0; level < 20; ++level) {
      if (::mkdir(name.c_str(), 0700) != 0 || ::chdir(name.c_str()) != 0) break;
    }
    if (i == 0) [[maybe_unused]]
      const ssize_t told = ::write(ready, "x", 1);
  }
  ::_exit(0);
}

TEST_F(RemovalTest, EndsThoughAnotherUserKeepsWriting) {
  if (::geteuid() != 0) return;
  const std::string inner = folder + "/inner";
  fs::create_directory(inner);
  ASSERT_EQ(::chown(inner.c_str(), 234'567, 234'567), 0);
  const Descriptor held(::open(inner.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) keep_filling(held.get(), ready[1]);
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  const Result<void> removed = remove_all(folder);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it still tries";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : ready) ::close(end);
}

TEST_F(RemovalTest, FollowsNoLinks) {
  const std::string other = scratch.path() + "/other";
  fs::create_directory(other);
  std::ofstream(other + "/file") << "x";
  fs::create_directory_symlink(other, folder + "/link");
  fs::create_directory_symlink(other, scratch.path() + "/link");
  EXPECT_TRUE(remove_all(folder));
  EXPECT_TRUE(remove_all(scratch.path() + "/link"));
  EXPECT_TRUE(fs::exists(other + "/file"));
  EXPECT_FALSE(fs::exists(scratch.path() + "/link"));
}

TEST_F(RemovalTest, RemovesWhatItsOwnerMayNotWrite) {
  const uid_t user = ::geteuid() == 0 ? 65'534 : ::geteuid();  // root may write everything
  const std::string closed = folder + "/closed";
  fs::create_directory(closed);
  constexpr int levels = 70;
  make_deep_folders(closed, levels);
  std::vector<std::string> paths{folder, closed};
  for (int level = 0; level < levels; ++level) paths.push_back(paths.back() + "/d");
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    ASSERT_EQ(::chmod(path->c_str(), path->size() % 4 == 0 ? 0500 : 0000), 0);
    ASSERT_EQ(::chown(path->c_str(), user, static_cast<gid_t>(-1)), 0);
  }
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(user, user, user) == 0 && empty_folder(folder) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(RemovalTest, RemovingAMissingPathSucceeds) {
  EXPECT_TRUE(remove_all(folder + "/none"));
  EXPECT_FALSE(empty_folder(folder + "/none"));
}

}  // namespace
}  // namespace cadre::loop
