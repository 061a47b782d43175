#include "agent/process/uid_claims.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;

bool is_missing(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) != 0 && errno == ENOENT;
}

/// Not one that cannot be looked at for the moment, or whose file system may not be mounted.
bool is_gone(const std::string& path) {
  std::error_code error;
  const bool has_others = !fs::is_empty(fs::path(path).parent_path(), error) && !error;
  return is_missing(path) && has_others;
}

/// Other users of the host must not be able to take part in the claims, or to hold them up.
Result<void> check_is_private(int folder, const std::string& path) {
  struct stat facts {};
  if (::fstat(folder, &facts) != 0) return loop::system_failure(path);
  if (facts.st_uid == ::geteuid() && (facts.st_mode & 0077) == 0) return {};
  return fail(Errc::denied, path + " must belong to the user of the agent and be closed to others; run: chown " +
                                std::to_string(::geteuid()) + " " + path + " && chmod 700 " + path);
}

/// Other agents hold it only shortly.
Result<void> lock_soon(int folder, const std::string& path) {
  constexpr int attempts_max = 400;  // 2 s; on a busy host they hold it that long
  for (int attempt = 0; ::flock(folder, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) return loop::system_failure(path);
    if (attempt == attempts_max) return fail(Errc::unavailable, path + " is locked by another process; try again");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

}  // namespace

Result<std::optional<std::int64_t>> UidClaims::claim(std::int64_t first, std::int64_t last) const {
  const bool is_new = is_missing(folder_);
  TRY(loop::make_folder(folder_));
  for (fs::path above = folder_; is_new && above.has_relative_path();) {
    above = above.parent_path();
    TRY(loop::sync_folder(above));
  }
  const loop::Descriptor lock(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock) return loop::system_failure(folder_);
  TRY(check_is_private(lock.get(), folder_));
  TRY(lock_soon(lock.get(), folder_));
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
