/// Folders nested deeper than any path is long, and few descriptors to deal with them. For tests; one thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <string>

#include "loop/descriptor.h"

namespace cadre::loop {

/// Nests so many folders in `folder`. Each holds a file as well.
inline void make_deep_folders(const std::string& folder, int levels) {
  Descriptor at(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < levels; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
    ASSERT_EQ(::mknodat(at.get(), "file", S_IFREG | 0600, 0), 0);
    at = Descriptor(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
}

/// As long as it lives, this process may have so many descriptors open.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace cadre::loop
