/// Who and where this process is, as far as others on the same machine must know it. Safe on any thread.
#pragma once

#include <string>

#include "base/result.h"

namespace cadre::client {

/// Equal for two processes that reach each other's files and loopback: one machine since its start, one network, one
/// user. As the calling thread sees it.
std::string host_identity();

/// Letters and digits from the system's randomness; nobody guesses one of 32.
std::string random_word(std::size_t length);

/// A folder that only this user can look into; goes with this object.
class PrivateFolder {
 public:
  PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cadre::client
