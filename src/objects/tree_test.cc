#include "objects/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/seeds.h"
#include "loop/file.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::objects {
namespace {

TEST(Trees, HolesInFilesAreCopiedAsHoles) {
  FOR_SEEDS(30, [](Dice& dice) {
    const servers::TempDir scratch;
    const std::string from = scratch.path() + "/from";
    const std::string to = scratch.path() + "/to";
    std::filesystem::create_directory(from);
    auto file = loop::File::open(from + "/file", O_WRONLY | O_CREAT | O_EXCL);
    ASSERT_TRUE(file);
    for (std::uint64_t parts = dice.below(5); parts > 0; --parts) {
      ASSERT_GE(::lseek(file->fd(), static_cast<off_t>(dice.below(8 << 20)), SEEK_CUR), 0);
      ASSERT_TRUE(file->write(as_bytes(std::string(dice.below(50'000), 'x'))));
    }
    ASSERT_TRUE(file->truncate(::lseek(file->fd(), 0, SEEK_CUR) + static_cast<off_t>(dice.below(8 << 20))));
    ASSERT_TRUE(copy_tree(from, to));
    EXPECT_TRUE(read_whole(to + "/file") == read_whole(from + "/file"));
    ASSERT_TRUE(size_of_tree(to));
    EXPECT_LE(*size_of_tree(to), ByteSize{5 * 60'000});
  });
}

TEST(Trees, AreMeasuredUpToTheirBounds) {
  const servers::TempDir scratch;
  const std::string folder = scratch.path() + "/tree";
  write_file(folder + "/a/b/file", std::string(10'000, 'x'));
  EXPECT_TRUE(size_of_tree(folder, {.length_max = ByteSize{10'000}, .entries_max = 3, .levels_max = 3}));
  EXPECT_EQ(size_of_tree(folder, {.disk_max = ByteSize{1'024}}).error().message,
            "it takes more than 1KiB of disk space");
  EXPECT_EQ(size_of_tree(folder, {.length_max = ByteSize{9'999}}).error().message,
            "it takes more than 9999 in files, with the holes in them");
  EXPECT_EQ(size_of_tree(folder, {.entries_max = 2}).error().message, "it has more than 2 files and folders");
  EXPECT_EQ(size_of_tree(folder, {.levels_max = 2}).error().message, "its folders are nested deeper than 2 levels");
}

}  // namespace
}  // namespace cadre::objects
