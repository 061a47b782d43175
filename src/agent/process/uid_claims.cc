#include "agent/process/uid_claims.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;

/// Not one that cannot be looked at for the moment.
bool is_gone(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) != 0 && errno == ENOENT;
}

}  // namespace

Result<std::optional<std::int64_t>> UidClaims::claim(std::int64_t first, std::int64_t last) const {
  const bool is_new = is_gone(folder_);
  TRY(loop::make_folder(folder_));
  for (fs::path above = folder_; is_new && above.has_relative_path();) {
    above = above.parent_path();
    TRY(loop::sync_folder(above));
  }
  const loop::Descriptor lock(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) return loop::system_failure(folder_);
  for (std::int64_t uid = first; uid <= last; ++uid) {
    TRY_ASSIGN(is_ours, take(uid));
    if (!is_ours) continue;
    TRY(loop::sync_folder(folder_));
    return uid;
  }
  return std::nullopt;
}

Result<bool> UidClaims::take(std::int64_t uid) const {
  const std::string link = folder_ + "/" + std::to_string(uid);
  if (::symlink(holder_.c_str(), link.c_str()) == 0) return true;
  if (errno != EEXIST) return loop::system_failure(link);
  std::error_code error;
  const std::string other = fs::read_symlink(link, error).string();
  if (error) return fail(Errc::corrupt, link + " is not a symbolic link to a data folder; remove it");
  if (other == holder_) return true;
  if (!is_gone(other)) return false;
  if (::unlink(link.c_str()) != 0 || ::symlink(holder_.c_str(), link.c_str()) != 0) return loop::system_failure(link);
  return true;
}

}  // namespace cadre::agent
