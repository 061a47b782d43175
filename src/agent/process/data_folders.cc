#include "agent/process/data_folders.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "agent/host_facts.h"
#include "base/hash.h"
#include "loop/descriptor.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;

std::string home_of_account() {
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const bool is_known =
      ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return is_known ? entry.pw_dir : "";
}

/// Others could write into a folder in /var/tmp that they made under our name.
bool is_own(const std::string& place) {
  struct stat facts {};
  return ::lstat(place.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & 022) == 0;
}

/// What a link of the list leads to; empty for one to a folder that is gone.
std::string target_of(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::canonical(link, error);
  return error || !fs::is_directory(target, error) ? "" : target.string();
}

void remove_links_to_nothing(const std::string& place) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
    // A folder of a file system that does not answer at the moment may come back.
    std::error_code unknown;
    if (entry.is_symlink(unknown) && fs::status(entry.path(), unknown).type() == fs::file_type::not_found) {
      ::unlink(entry.path().c_str());
    }
  }
}

}  // namespace

DataFolders DataFolders::of_this_account() {
  std::vector<std::string> places;
  const std::string home = home_of_account();
  std::error_code error;
  if (home.size() > 1 && fs::is_directory(home, error)) {
    places.push_back(home + "/.local/state/cadre/data-folders/" + facts_of_host().name);
  }
  places.push_back("/var/tmp/cadre-data-folders-" + std::to_string(::geteuid()));
  return DataFolders(std::move(places));
}

Result<void> DataFolders::add(const std::string& folder) const {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return fail(Errc::not_found, folder + ": " + error.message());
  Result<void> added = fail(Errc::unavailable, "there is no place for the list of data folders");
  for (const std::string& place : places_) {
    fs::create_directories(fs::path(place).parent_path(), error);
    if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) {
      added = loop::system_failure(place);
      continue;
    }
    if (!is_own(place)) {
      added = fail(Errc::denied, place + " can be written by other users; remove it");
      continue;
    }
    remove_links_to_nothing(place);
    const std::string link = place + "/" + std::to_string(fnv1a(real.string()));
    if (::symlink(real.c_str(), link.c_str()) == 0 || errno == EEXIST) return {};
    added = loop::system_failure(link);
  }
  return added;
}

std::vector<std::string> DataFolders::all() const {
  std::vector<std::string> found;
  for (const std::string& place : places_) {
    if (!is_own(place)) continue;
    std::error_code error;
    found.push_back(fs::canonical(place, error).string());
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
      if (std::string folder = target_of(entry.path()); !folder.empty()) found.push_back(std::move(folder));
    }
  }
  std::erase(found, "");
  return found;
}

}  // namespace cadre::agent
