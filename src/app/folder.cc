#include "app/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

namespace cadre::app {

namespace fs = std::filesystem;

Result<std::string> make_private_folder(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  fs::create_directories(absolute.parent_path(), error);
  if (::mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) {
    return loop::system_failure("cannot make the folder " + absolute.string());
  }
  if (!fs::is_directory(absolute, error)) return fail(Errc::invalid, absolute.string() + " is not a folder");
  return absolute.string();
}

Result<loop::Descriptor> lock_folder(const std::string& data) {
  loop::Descriptor file(::open((data + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return loop::system_failure("cannot write in " + data);
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return fail(Errc::conflict,
              "another master or agent uses " + data + "; stop it, or give this one another --data folder");
}

}  // namespace cadre::app
