#include "agent/process/data_folders.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/host_facts.h"
#include "base/hash.h"
#include "loop/descriptor.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;

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

/// All of them; stops at the first error, as what is not read is not hidden.
Result<std::vector<fs::path>> entries_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) found.push_back(i->path());
  if (error) return fail(Errc::unavailable, folder + ": " + error.message());
  return found;
}

void remove_links_to_nothing(const std::string& place) {
  for (const fs::path& entry : entries_of(place).value_or(std::vector<fs::path>())) {
    // A folder of a file system that does not answer at the moment may come back.
    std::error_code unknown;
    if (fs::is_symlink(entry, unknown) && fs::status(entry, unknown).type() == fs::file_type::not_found) {
      ::unlink(entry.c_str());
    }
  }
}

bool is_there(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) == 0 || errno != ENOENT;
}

}  // namespace

DataFolders DataFolders::of_this_account() {
  Places places;
  const std::string home = home_of_account();
  std::error_code error;
  if (home.size() > 1 && fs::is_directory(home, error)) {
    places.home = home + "/.local/state/cadre/data-folders";
    places.host = facts_of_host().name;
  }
  places.shared = "/var/tmp";
  places.prefix = "cadre-data-folders-" + std::to_string(::geteuid());
  return DataFolders(std::move(places));
}

Result<std::string> DataFolders::place_in_home() const {
  if (places_.home.empty()) return fail(Errc::not_found, "the account has no home folder");
  std::string place = places_.home + "/" + places_.host;
  std::error_code error;
  fs::create_directories(places_.home, error);
  if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST) return loop::system_failure(place);
  if (!is_own(place)) return fail(Errc::denied, place + " can be written by other users; remove it");
  return place;
}

Result<std::string> DataFolders::shared_place() const {
  TRY_ASSIGN(places, shared_places());
  if (!places.empty()) return places.front();
  // Others can make a folder of any name that they can guess.
  std::string place = places_.shared + "/" + places_.prefix + "-XXXXXX";
  if (::mkdtemp(place.data()) == nullptr) return loop::system_failure(place);
  return place;
}

Result<std::vector<std::string>> DataFolders::shared_places() const {
  TRY_ASSIGN(entries, entries_of(places_.shared));
  std::vector<std::string> places;
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename();
    const bool is_named = name == places_.prefix || name.starts_with(places_.prefix + "-");
    if (is_named && is_own(entry)) places.push_back(entry);
  }
  std::ranges::sort(places);
  return places;
}

Result<void> DataFolders::add(const std::string& folder) const {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error) return fail(Errc::not_found, folder + ": " + error.message());
  const auto enter = [&](const std::string& place) -> Result<void> {
    remove_links_to_nothing(place);
    const std::string link = place + "/" + std::to_string(fnv1a(real.string()));
    if (::symlink(real.c_str(), link.c_str()) != 0 && errno != EEXIST) return loop::system_failure(link);
    return {};
  };
  if (place_in_home().and_then(enter)) return {};
  return shared_place().and_then(enter);
}

Result<std::vector<std::string>> DataFolders::listed() const {
  TRY_ASSIGN(places, shared_places());
  if (!places_.home.empty() && is_there(places_.home)) {
    TRY_ASSIGN(hosts, entries_of(places_.home));  // also of other names that this host had
    for (const fs::path& host : hosts) {
      if (!is_own(host)) return fail(Errc::denied, host.string() + " can be written by other users");
      places.push_back(host);
    }
  }
  std::vector<std::string> found;
  for (const std::string& place : places) {
    std::error_code error;
    found.push_back(fs::canonical(place, error).string());
    TRY_ASSIGN(entries, entries_of(place));
    for (const fs::path& entry : entries) {
      if (std::string folder = target_of(entry); !folder.empty()) found.push_back(std::move(folder));
    }
  }
  std::erase(found, "");
  std::ranges::sort(found);
  return found;
}

Result<std::vector<std::string>> DataFolders::all(const std::string& own) const {
  TRY_ASSIGN(found, listed());
  std::error_code error;
  const std::string entered = fs::canonical(own, error).string();
  if (error || !std::ranges::binary_search(found, entered)) return fail(Errc::not_found, own + " is not in it");
  return found;
}

}  // namespace cadre::agent
