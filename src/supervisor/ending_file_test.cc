// The ending of a task is written on a full disk, too, and is whole or missing after a power loss.
#include "supervisor/ending_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "cluster/ending.h"
#include "loop/power_loss_for_tests.h"
#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::supervisor {
namespace {

cluster::TaskEnding an_ending() {
  cluster::TaskEnding ending;
  ending.reason = cluster::lease::Reason::signalled;
  ending.code = 11;
  ending.detail = "SIGSEGV";
  ending.output_end = 12'345;
  ending.output_lost = 678;
  return ending;
}

/// As a supervisor is in the folder of its task.
class Inside {
 public:
  explicit Inside(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

Result<cluster::TaskEnding> read_ending(const std::string& folder) {
  TRY_ASSIGN(bytes, loop::read_own_file(folder + "/ending"));
  return cluster::unseal(as_bytes(bytes), cluster::SealRequired::yes);
}

TEST(EndingFile, IsWholeOrMissingAfterAPowerLossAtAnyMoment) {
  for (const loop::Durable durable : {loop::Durable::no, loop::Durable::yes}) {
    const servers::TempDir folder;
    const Inside inside(folder.path());
    loop::PowerLoss loss(folder.path());
    EndingFile file;
    ASSERT_TRUE(file.reserve());
    ASSERT_TRUE(file.write(an_ending(), durable));
    int whole = 0;
    loss.each([&](const std::string& left, std::size_t done) {
      const auto found = read_ending(left);
      EXPECT_TRUE(!found || *found == an_ending());
      whole += found ? 1 : 0;
      EXPECT_TRUE(found || done < loss.operations() || durable == loop::Durable::no);
    });
    EXPECT_GT(whole, 0);
  }
}

TEST(EndingFile, IsWrittenThoughTheDiskIsFull) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  const servers::SmallDisk disk(folder.path(), 1 << 20);
  const Inside inside(folder.path());
  EndingFile file;
  ASSERT_TRUE(file.reserve());
  const int filler = ::open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string bytes(4096, 'x');
  while (::write(filler, bytes.data(), bytes.size()) > 0) {
  }
  ::close(filler);
  ASSERT_FALSE(loop::write_whole("other", as_bytes("text")));
  const auto written = file.write(an_ending(), loop::Durable::yes);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(read_ending(folder.path()).value(), an_ending());
  EndingFile next;
  const auto reserved = next.reserve();
  ASSERT_FALSE(reserved);
  EXPECT_TRUE(loop::is_disk_full(reserved.error())) << reserved.error().message;
}

TEST(EndingFile, DoesNotFollowAFileThatReplacedIt) {
  const servers::TempDir folder;
  const Inside inside(folder.path());
  EndingFile file;
  ASSERT_TRUE(file.reserve());
  ASSERT_TRUE(loop::write_whole("precious", as_bytes("precious")));
  ASSERT_EQ(::unlink("ending.new"), 0);
  ASSERT_EQ(::symlink("precious", "ending.new"), 0);
  ASSERT_TRUE(file.write(an_ending(), loop::Durable::no));
  EXPECT_EQ(loop::read_file("precious").value_or(""), "precious");
  EXPECT_EQ(read_ending(folder.path()).value(), an_ending());
}

}  // namespace
}  // namespace cadre::supervisor
