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
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class DataFoldersTest : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return fs::canonical(folder_.path()).string() + "/" + name; }
  std::string make(const std::string& name) const {
    fs::create_directories(in(name));
    return in(name);
  }
  DataFolders at(const std::string& host = "here") const {
    return DataFolders({in("home"), host, in("shared"), "list-7"});
  }
  DataFolders without_home() const { return DataFolders({"", "", in("shared"), "list-7"}); }
  void SetUp() override { make("shared"); }

  servers::TempDir folder_;
};

TEST_F(DataFoldersTest, KeepsEveryFolderOnceAndItsOwnPlace) {
  ASSERT_TRUE(at().add(make("a b")));
  ASSERT_TRUE(at().add(make("c")));
  ASSERT_TRUE(at().add(in("c/../a b")));
  EXPECT_THAT(at().all(in("c")).value(), UnorderedElementsAre(in("home/here"), in("a b"), in("c")));
}

TEST_F(DataFoldersTest, ForgetsRemovedFolders) {
  ASSERT_TRUE(at().add(make("a")));
  fs::remove(in("a"));
  ASSERT_TRUE(at().add(make("b")));
  EXPECT_THAT(at().all(in("b")).value(), UnorderedElementsAre(in("home/here"), in("b")));
  EXPECT_EQ(std::distance(fs::directory_iterator(in("home/here")), fs::directory_iterator()), 1);
}

TEST_F(DataFoldersTest, HasThoseOfOtherNamesOfTheHost) {
  ASSERT_TRUE(at("before").add(make("a")));
  ASSERT_TRUE(at().add(make("b")));
  EXPECT_THAT(at().all(in("b")).value(), Contains(in("a")));
}

TEST_F(DataFoldersTest, UsesAnotherPlaceWhereTheHomeFolderCannotBeWritten) {
  ASSERT_EQ(::mknod(in("file").c_str(), S_IFREG | 0600, 0), 0);
  const DataFolders folders({in("file/home"), "here", in("shared"), "list-7"});
  ASSERT_TRUE(folders.add(make("a")));
  ASSERT_TRUE(without_home().add(make("b")));
  EXPECT_THAT(without_home().all(in("b")).value(), Contains(in("a")));
}

TEST_F(DataFoldersTest, AFolderThatOthersMadeUnderItsNameChangesNothing) {
  ASSERT_EQ(::chmod(make("shared/list-7").c_str(), 0777), 0);
  ASSERT_EQ(::symlink("/usr", in("shared/list-7/1").c_str()), 0);
  ASSERT_TRUE(without_home().add(make("a")));
  const std::vector<std::string> all = without_home().all(in("a")).value();
  EXPECT_EQ(all.size(), 2u);
  EXPECT_THAT(all, Contains(in("a")));
  ASSERT_TRUE(without_home().add(make("b")));
  EXPECT_EQ(without_home().all(in("b"))->size(), 3u) << "both are in one place";
}

TEST_F(DataFoldersTest, DoesNotTakeTheListOfAnotherAccountForItsOwn) {
  ASSERT_TRUE(DataFolders({"", "", in("shared"), "list-70"}).add(make("a")));
  ASSERT_TRUE(without_home().add(make("b")));
  EXPECT_EQ(without_home().all(in("b"))->size(), 2u);
}

TEST_F(DataFoldersTest, IsNotReadInPart) {
  ASSERT_TRUE(at().add(make("a")));
  ASSERT_TRUE(at().all(in("a")));
  ASSERT_EQ(::chmod(in("home/here").c_str(), 0777), 0);
  EXPECT_THAT(at().all(in("a")).error().message, HasSubstr("can be written by other users"));
  EXPECT_TRUE(at().add(make("b"))) << "in the other place";
  EXPECT_FALSE(at().all(in("b")));
  fs::remove_all(in("home"));
  EXPECT_THAT(at().all(in("a")).error().message, HasSubstr("a is not in it"));
  EXPECT_THAT(at().listed().value(), testing::Contains(in("b"))) << "in the other place";
  fs::remove_all(in("shared"));
  EXPECT_FALSE(at().all(in("a")));
  EXPECT_FALSE(without_home().add(in("a")));
}

TEST_F(DataFoldersTest, RefusesALinkInPlaceOfTheList) {
  make("home");
  fs::create_directory_symlink(make("elsewhere"), in("home/here"));
  EXPECT_TRUE(at().add(make("a"))) << "in the other place";
  EXPECT_FALSE(at().all(in("a")));
  EXPECT_TRUE(fs::is_empty(in("elsewhere")));
}

}  // namespace
}  // namespace cadre::agent
