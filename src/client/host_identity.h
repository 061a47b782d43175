/// Who and where this process is, as far as others on the same machine must know it. Safe on any thread.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cadre::client {

/// Equal for two processes that reach each other's files and loopback: one machine since its start, one network, one
/// user. As the calling thread sees it.
std::string host_identity();

/// Equal for two processes that share a loopback and the names of unix sockets without files: one machine since its
/// start, one network. As the calling thread sees it.
std::string network_identity();

/// Numeric IPv4 addresses at which others may reach this host.
std::vector<std::string> addresses_of_host();

/// getpid() that does not ask the system each time.
pid_t own_pid();

/// A folder that only this user can look into; goes with this object.
class PrivateFolder {
 public:
  /// Under XDG_RUNTIME_DIR, or else under /tmp. Removes those that killed processes of this user have left there.
  [[nodiscard]] static Result<std::unique_ptr<PrivateFolder>> make();
  /// One with that name, which processes of this user on this host share, and which stays.
  [[nodiscard]] static Result<std::string> named(const std::string& name);
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();
  const std::string& path() const { return path_; }
  /// Removes those beside it that killed processes of this user have left.
  void sweep() const;

 private:
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

}  // namespace cadre::client
