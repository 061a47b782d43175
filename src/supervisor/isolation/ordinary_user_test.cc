// All of it once more as an ordinary user, whom user namespaces let do what root may do without.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

TEST(OrdinaryUser, PassesAllTestsThatNeedNoRoot) {
  if (::geteuid() != 0) return;  // it is being run by one
  namespace fs = std::filesystem;
  std::string folder = "/tmp/cadre-test-user-XXXXXX";  // an ordinary user may not see the build folder
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  fs::permissions(folder, fs::perms(0755));
  fs::copy_file("/proc/self/exe", folder + "/test");
  fs::copy_file(supervisor_program, folder + "/cadre-supervisor");
  for (const char* name : {"/test", "/cadre-supervisor"}) fs::permissions(folder + name, fs::perms(0755));
  const std::string command = "cd / && HOME=/ CADRE_TEST_SUPERVISOR=" + folder +
                              "/cadre-supervisor setpriv --reuid nobody --regid nogroup --clear-groups " + folder +
                              "/test --gtest_filter=-OrdinaryUser.* --gtest_brief=1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace cadre::supervisor
