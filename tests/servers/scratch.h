/// Folders for tests that are gone when the test program ends, however it ends. One thread at a time.
#pragma once

#include <string>

namespace cadre::servers {

/// A new folder; removed with this object, or, should the program be killed, by a small process that outlives it.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cadre::servers
