#include "agent/process/data_folders.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

class DataFoldersTest : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return fs::canonical(folder_.path()).string() + "/" + name; }
  std::string make(const std::string& name) const {
    fs::create_directory(in(name));
    return in(name);
  }

  servers::TempDir folder_;
};

TEST_F(DataFoldersTest, KeepsEveryFolderOnceAndItsOwnPlace) {
  const std::string place = in("above/list");
  ASSERT_TRUE(DataFolders({place}).add(make("a b")));
  ASSERT_TRUE(DataFolders({place}).add(make("c")));
  ASSERT_TRUE(DataFolders({place}).add(in("c/../a b")));
  EXPECT_THAT(DataFolders({place}).all(), UnorderedElementsAre(place, in("a b"), in("c")));
}

TEST_F(DataFoldersTest, ForgetsFoldersThatAreGone) {
  const DataFolders folders({in("list")});
  ASSERT_TRUE(folders.add(make("a")));
  fs::remove(in("a"));
  EXPECT_THAT(folders.all(), UnorderedElementsAre(in("list")));
  ASSERT_TRUE(folders.add(make("b")));
  EXPECT_EQ(std::distance(fs::directory_iterator(in("list")), fs::directory_iterator()), 1);
}

TEST_F(DataFoldersTest, UsesTheNextPlaceWhereOneCannotBeWritten) {
  const std::string file = in("file");
  ASSERT_EQ(::mknod(file.c_str(), S_IFREG | 0600, 0), 0);
  const DataFolders folders({file + "/list", in("list")});
  ASSERT_TRUE(folders.add(make("a")));
  EXPECT_THAT(folders.all(), Contains(in("a")));
}

TEST_F(DataFoldersTest, RefusesAPlaceThatOthersCanWrite) {
  const std::string place = make("list");
  ASSERT_EQ(::chmod(place.c_str(), 0777), 0);
  ASSERT_EQ(::symlink("/usr", (place + "/1").c_str()), 0);
  const DataFolders folders({place});
  EXPECT_FALSE(folders.add(make("a")));
  EXPECT_THAT(folders.all(), IsEmpty());
}

TEST_F(DataFoldersTest, RefusesALinkInPlaceOfTheList) {
  fs::create_directory_symlink(make("elsewhere"), in("list"));
  const DataFolders folders({in("list")});
  EXPECT_FALSE(folders.add(make("a")));
  EXPECT_THAT(folders.all(), Not(Contains(in("a"))));
}

}  // namespace
}  // namespace cadre::agent
