#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>

#include "loop/file.h"

namespace cadre::loop {

namespace {

/// Levels of folders that are open at a time. What is nested deeper is moved up first, so that memory and descriptors
/// are bounded whatever the depth.
constexpr int levels_max = 16;
/// After so long somebody writes faster than we remove.
constexpr auto time_max = std::chrono::minutes(2);

Descriptor open_folder(int parent, const char* name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Descriptor opened(::openat(parent, name, flags));
  if (!opened && errno == EACCES && ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0) {
    opened = Descriptor(::openat(parent, name, flags));
  }
  return opened;
}

/// Opens a folder for us alone: who has it open still can look into it, but add nothing, if it was another user's.
void take_over(int folder) {
  if (::geteuid() == 0) static_cast<void>(::fchown(folder, 0, 0));
  ::fchmod(folder, 0700);
}

/// Removes what is in one folder, also where its owner has taken away the rights to do so.
class Removal {
 public:
  Removal(const std::string& path, int top) : path_(path), top_(top) {}

  Result<void> run() {
    take_over(top_);
    do {
      moved_ = false;
      Descriptor again = open_folder(top_, ".");
      if (!again) return system_failure(path_);
      empty(std::move(again), 1);
    } while (moved_ && !error_);
    if (error_) return Failure(*error_);
    return {};
  }

 private:
  void empty(Descriptor folder, int level) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
    if (!entries) return failed();
    const int fd = folder.release();
    while (!is_late()) {
      errno = 0;
      const dirent* entry = ::readdir(entries.get());
      if (entry == nullptr && errno != 0) failed();
      if (entry == nullptr) return;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") remove(fd, entry->d_name, level);
    }
  }

  void remove(int folder, const char* name, int level) {
    if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return;
    if (errno != EISDIR) return failed();
    if (is_folder_removed(folder, name)) return;
    if (errno != ENOTEMPTY && errno != EEXIST) return failed();
    if (level == levels_max) return move_up(folder, name);
    Descriptor inner = open_folder(folder, name);
    if (!inner) return failed();
    take_over(inner.get());
    empty(std::move(inner), level + 1);
    if (!is_folder_removed(folder, name)) failed();
  }

  bool is_late() {
    if (!error_ && std::chrono::steady_clock::now() - begun_ > time_max) {
      error_ = Error{Errc::timed_out, path_ + " is not empty after 2 min; something writes to it, or it is very large"};
    }
    return error_ && error_->code == Errc::timed_out;
  }

  static bool is_folder_removed(int folder, const char* name) {
    return ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
  }

  void move_up(int folder, const char* name) {
    ::fchmodat(folder, name, 0700, AT_SYMLINK_NOFOLLOW);  // a folder that its owner may not write cannot be moved
    while (::renameat(folder, name, top_, std::to_string(++last_name_).c_str()) != 0) {
      const bool is_taken = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
      if (!is_taken) return failed();
    }
    moved_ = true;
  }

  void failed() {
    if (!error_) error_ = system_error(path_, errno);
  }

  const std::string& path_;
  int top_;
  std::uint64_t last_name_ = 0;
  bool moved_ = false;  ///< the topmost folder has entries that may not have been seen there
  std::optional<Error> error_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<void> empty_folder(const std::string& folder) {
  const Descriptor top = open_folder(AT_FDCWD, folder.c_str());
  if (!top) return system_failure(folder);
  return Removal(folder, top.get()).run();
}

Result<void> remove_all(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  if (errno != EISDIR) return system_failure(path);
  if (::rmdir(path.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return system_failure(path);
  TRY(empty_folder(path));
  return ::rmdir(path.c_str()) == 0 ? Result<void>() : system_failure(path);
}

}  // namespace cadre::loop
