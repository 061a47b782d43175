#include "app/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "agent/process/data_folders.h"

namespace cadre::app {

namespace fs = std::filesystem;

namespace {

Result<void> set_mode(const std::string& path, mode_t mode, mode_t wanted, Log& log) {
  if ((mode & 07777) == wanted) return {};
  if (::chmod(path.c_str(), wanted) != 0)
    return loop::system_failure("cannot remove the access of other users to " + path);
  if ((mode & 077) != 0) log.warning(path + " was accessible to other users; that access is now removed");
  return {};
}

}  // namespace

Result<std::string> make_private_folder(const std::string& path, Log& log) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  const std::string name = absolute.string();
  fs::create_directories(absolute.parent_path(), error);
  if (::mkdir(name.c_str(), 0700) != 0 && errno != EEXIST) {
    return loop::system_failure("cannot create the folder " + name);
  }
  struct stat about {};
  if (::stat(name.c_str(), &about) != 0) return loop::system_failure("cannot read the attributes of " + name);
  if (!S_ISDIR(about.st_mode)) return fail(Errc::invalid, name + " is not a folder");
  if (about.st_uid != ::geteuid()) {
    return fail(Errc::denied, name +
                                  " belongs to another user, and that user has access to its contents; choose "
                                  "another folder, or make the user that runs cadre its owner");
  }
  TRY(set_mode(name, about.st_mode, 0700, log));
  return name;
}

Result<std::string> open_data_folder(const std::string& path, Log& log) {
  ::umask(077);
  TRY_ASSIGN(data, make_private_folder(path, log));
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(data, error)) {
    struct stat about {};
    if (::lstat(entry.path().c_str(), &about) != 0 || about.st_uid != ::geteuid()) continue;
    if (S_ISREG(about.st_mode)) TRY(set_mode(entry.path(), about.st_mode, 0600, log));
    if (S_ISDIR(about.st_mode)) TRY(set_mode(entry.path(), about.st_mode, 0700, log));
  }
  return data;
}

Result<loop::Descriptor> lock_folder(const std::string& data) {
  loop::Descriptor file(::open((data + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return loop::system_failure("cannot write in " + data);
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail(Errc::conflict, "another master or agent uses " + data + "; stop it, or use another --data folder");
}

void hide_from_tasks(const std::string& data, Log& log) {
  const Result<void> listed = agent::DataFolders::of_this_account().add(data);
  if (listed) return;
  log.warning("other agents of this account do not hide " + data + " from their tasks: " + listed.error().message);
}

}  // namespace cadre::app
