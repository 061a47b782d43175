#include "names/file/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <tuple>

#include "base/bytes.h"
#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::names {

namespace {

constexpr int looks_max = 4;               // at a folder that seems empty because a name in it is just being changed
constexpr int count_attempts_max = 1'000;  // to be the one who counts
constexpr const char* rooms[] = {"epoch", "keys", "values", "alive", "new"};

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size();
}

std::string_view cut_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

Duration time_of(const struct stat& facts) {
  return std::chrono::seconds(facts.st_mtim.tv_sec) + std::chrono::nanoseconds(facts.st_mtim.tv_nsec);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<void> create_empty(const std::string& path) {
  const loop::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return file_failure(path, errno);
  return {};
}

/// A reply may be lost on the way, and the repetition then fails: whether what it was to make is there decides.
Result<bool> rename_if_there(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return true;
  if (errno == ENOENT) return exists(to);
  return file_failure(from, errno);
}

std::uint64_t micros(Duration time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

Failure file_failure(const std::string& path, int error_number) {
  Error error = loop::system_error(path, error_number);
  if (error.code != Errc::denied) error.code = Errc::unavailable;
  return Failure(std::move(error));
}

Result<void> as_lost(Result<void> result) {
  if (!result && result.error().code != Errc::denied) result.error().code = Errc::unavailable;
  return result;
}

std::string Mark::name() const {
  const std::string begin = std::to_string(epoch) + ".";
  if (kind == Kind::expired) return begin + "expired";
  if (kind == Kind::removed) return begin + "removed";
  const auto ttl_ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl).count();
  return begin + session + "." + std::to_string(serial) + "." + std::to_string(ttl_ms);
}

std::optional<Mark> Mark::parse(std::string_view name) {
  Mark mark;
  if (!read_number(cut_word(name), mark.epoch)) return std::nullopt;
  if (name == "expired" || name == "removed") {
    mark.kind = name == "expired" ? Kind::expired : Kind::removed;
    return mark;
  }
  mark.session = cut_word(name);
  std::uint64_t ttl_ms = 0;
  if (mark.session.empty() || !read_number(cut_word(name), mark.serial)) return std::nullopt;
  if (!read_number(name, ttl_ms) || ttl_ms > 1'000'000'000) return std::nullopt;
  mark.ttl = std::chrono::milliseconds(ttl_ms);
  return mark;
}

std::string Layout::value_path(const Mark& mark) const {
  return path("values/" + mark.session + "." + std::to_string(mark.serial));
}

std::string Layout::name_of(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '/', ',');
  return name;
}

std::string Layout::key_of(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), ',', '/');
  return key;
}

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  std::vector<std::string> names;
  if (!opened && errno == ENOENT) return names;
  if (!opened) return file_failure(folder, errno);
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(opened.get());
    if (entry == nullptr && errno != 0) return file_failure(folder, errno);
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

std::optional<Duration> changed_at(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
  return time_of(facts);
}

/// All of it appears at once, so that there is never more than one that counts. It goes on from the time of day: a
/// folder that was removed and is made again gives out larger epochs than before.
Result<void> Layout::ensure() const {
  if (exists(path("epoch"))) return {};
  TRY(as_lost(loop::make_folder(folder_)));
  std::string draft = folder_ + "/new-XXXXXX";
  if (::mkdtemp(draft.data()) == nullptr) return file_failure(draft, errno);
  for (const char* room : rooms) TRY(as_lost(loop::make_folder(draft + "/" + room)));
  const Duration begin = changed_at(draft).value_or(Duration::zero());
  TRY(create_empty(draft + "/epoch/" + std::to_string(micros(begin))));
  if (::rename(draft.c_str(), root_.c_str()) == 0) return {};
  const int problem = errno;
  TRY(as_lost(loop::remove_all(draft)));
  if (exists(path("epoch"))) return {};
  return file_failure(root_, problem);
}

Result<std::optional<Mark>> Layout::look(const std::string& key) const {
  const std::string folder = path("keys/" + name_of(key));
  for (int attempt = 0; attempt < looks_max; ++attempt) {
    TRY_ASSIGN(names, names_in(folder));
    std::optional<Mark> last;
    for (const std::string& name : names) {
      std::optional<Mark> mark = Mark::parse(name);
      if (!mark) continue;
      const auto order = [](const Mark& m) { return std::tuple(m.epoch, m.kind, m.serial); };
      if (!last || order(*last) < order(*mark)) last = std::move(mark);
    }
    if (last || !exists(folder)) return last;
  }
  return std::nullopt;
}

Result<bool> Layout::replace(const std::string& key, const Mark& seen, const Mark& by) const {
  const std::string folder = path("keys/" + name_of(key)) + "/";
  return rename_if_there(folder + seen.name(), folder + by.name());
}

Result<bool> Layout::create(const std::string& key, const Mark& mark) const {
  const std::string draft = path("new/" + mark.session + "." + std::to_string(mark.serial));
  const std::string folder = path("keys/" + name_of(key));
  if (::mkdir(draft.c_str(), 0700) != 0 && errno != EEXIST) return file_failure(draft, errno);
  TRY(create_empty(draft + "/" + mark.name()));
  if (::rename(draft.c_str(), folder.c_str()) == 0) return true;
  const int problem = errno;
  if (problem == ENOENT && exists(folder + "/" + mark.name())) return true;
  TRY(as_lost(loop::remove_all(draft)));
  if (problem == ENOTEMPTY || problem == EEXIST || problem == ENOENT) return false;
  return file_failure(folder, problem);
}

void Layout::forget(const std::string& key, const Mark& mark) const {
  const std::string folder = path("keys/" + name_of(key));
  ::unlink((folder + "/" + mark.name()).c_str());
  ::rmdir(folder.c_str());  // not if somebody has just put a mark there
}

Result<std::uint64_t> Layout::next_epoch(std::uint64_t floor) const {
  const std::string folder = path("epoch");
  for (int attempt = 0; attempt < count_attempts_max; ++attempt) {
    TRY_ASSIGN(names, names_in(folder));
    std::uint64_t last = 0;
    for (const std::string& name : names) {
      std::uint64_t number = 0;
      if (read_number(name, number)) last = std::max(last, number);
    }
    const std::uint64_t next = std::max(last, floor) + 1;
    const std::string from = folder + "/" + std::to_string(last);
    if (::rename(from.c_str(), (folder + "/" + std::to_string(next)).c_str()) == 0) return next;
    if (errno != ENOENT) return file_failure(from, errno);
  }
  return fail(Errc::unavailable,
              folder + ": too many processes use this counter at once, or its file is missing; if no process uses " +
                  root_ + ", remove it");
}

Result<Duration> Layout::server_time() const {
  std::string probe = path("new/time-XXXXXX");
  const loop::Descriptor file(::mkstemp(probe.data()));
  if (!file) return file_failure(probe, errno);
  struct stat facts {};
  const bool known = ::futimens(file.get(), nullptr) == 0 && ::fstat(file.get(), &facts) == 0;  // at the server's time
  ::unlink(probe.c_str());
  if (!known) return file_failure(probe, errno);
  return time_of(facts);
}

}  // namespace cadre::names
