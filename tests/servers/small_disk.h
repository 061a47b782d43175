/// A file system of a few megabytes, to be filled by tests. Mounts are made in a mount namespace of their own, which
/// ends with its last process: none is left behind. Works for root, and for others where user namespaces are allowed.
#pragma once

#include <cstdint>
#include <string>

namespace cadre::servers {

/// Whether this process was started by rerun_with_own_mounts.
bool has_own_mounts();
/// Runs this test program again, with the one test, in a mount namespace of its own; gives its exit status.
int rerun_with_own_mounts(const std::string& test);

class SmallDisk {
 public:
  /// Mounts it on a folder; throws std::runtime_error when that is not possible.
  SmallDisk(std::string folder, std::int64_t size_bytes);
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk();

  const std::string& path() const { return folder_; }
  void resize(std::int64_t size_bytes);

 private:
  std::string folder_;
};

}  // namespace cadre::servers

/// Runs the test in a process that may mount. For files that include GoogleTest: the benchmarks of the program link
/// this library, and are built where GoogleTest is not installed.
#define WITH_OWN_MOUNTS()                                                                                  \
  if (!cadre::servers::has_own_mounts()) {                                                                 \
    const auto* self = testing::UnitTest::GetInstance()->current_test_info();                              \
    const std::string name = std::string(self->test_suite_name()) + "." + self->name();                    \
    EXPECT_EQ(cadre::servers::rerun_with_own_mounts(name), 0) << "see above what failed in the inner run"; \
    return;                                                                                                \
  }                                                                                                        \
  static_assert(true)
