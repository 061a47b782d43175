#include "cli/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace cadre::cli {
namespace {

/// A file of this content that is gone with the test.
class TextFile {
 public:
  explicit TextFile(const std::string& content)
      : path_(testing::TempDir() + "/cadre_files_" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ReadFile, GivesEveryByte) {
  std::string content(200'000, 'x');
  content[5] = '\0';
  content[70'000] = '\n';
  const TextFile file(content);
  EXPECT_EQ(read_file(file.path()).value_or("failed"), content);
}

TEST(ReadFile, OfNothingIsEmpty) {
  const TextFile file("");
  EXPECT_EQ(read_file(file.path()).value_or("failed"), "");
}

TEST(ReadFile, SaysWhatIsWrong) {
  const auto none = read_file("/nonexistent/plan.yaml");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
  EXPECT_EQ(none.error().message, "cannot read /nonexistent/plan.yaml: No such file or directory");
  const auto folder = read_file("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Errc::invalid);
  EXPECT_EQ(folder.error().message, "/ is a directory; name a file");
}

TEST(ReadFile, HasABound) {
  const auto endless = read_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().message, "/dev/zero is larger than 64 MiB");
}

}  // namespace
}  // namespace cadre::cli
