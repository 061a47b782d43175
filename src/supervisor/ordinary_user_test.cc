// All of it once more as an ordinary user, whom user namespaces let do what root may do without.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cadre::supervisor {
namespace {

TEST(OrdinaryUser, AllThatNeedsNoRootHoldsForHimToo) {
  if (::geteuid() != 0) return;  // it is being run by one
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "cd / && HOME=/ setpriv --reuid nobody --regid nogroup --clear-groups " + program +
                              " --gtest_filter=-OrdinaryUser.* --gtest_brief=1";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace cadre::supervisor
