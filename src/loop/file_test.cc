#include "loop/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/servers/scratch.h"

namespace cadre::loop {
namespace {

TEST(WriteWhole, IsNotReachedByAWriterThatWasStoppedInTheMiddle) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/logins";
  auto stopped = File::open(path + ".new", O_WRONLY | O_CREAT | O_EXCL).value();
  ASSERT_TRUE(stopped.write(as_bytes("the first half, ")));
  ASSERT_TRUE(write_whole(path, as_bytes("new")));
  ASSERT_TRUE(stopped.write(as_bytes("the second half")));
  EXPECT_EQ(read_file(path).value(), "new");
}

TEST(Draft, IsReusedOnlyIfNotShared) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/ending.new";
  const auto inode = [](const File& file) {
    struct stat facts {};
    return ::fstat(file.fd(), &facts) == 0 ? facts.st_ino : 0;
  };
  auto first = File::open_draft(path).value();
  ASSERT_TRUE(first.write(as_bytes("old")));
  const auto second = File::open_draft(path).value();
  EXPECT_EQ(inode(second), inode(first));
  EXPECT_EQ(second.size().value(), 0);
  ASSERT_EQ(::link(path.c_str(), (folder.path() + "/other").c_str()), 0);
  const auto third = File::open_draft(path).value();
  EXPECT_NE(inode(third), inode(first));
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_NE(inode(File::open_draft(path).value()), inode(third));
}

}  // namespace
}  // namespace cadre::loop
