#include "objects/stores/folder_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "loop/file.h"
#include "loop/random_word.h"
#include "objects/hash.h"
#include "objects/key.h"
#include "objects/stores/folder_lock.h"
#include "objects/stores/folder_walk.h"

namespace cadre::objects {

using loop::File;
using loop::make_folder;
using loop::sync_folder;
using loop::system_failure;
using loop::unlink_file;

namespace {

constexpr Duration lock_wait = std::chrono::seconds(30);
constexpr std::int64_t upload_age_max_s = 3'600;
constexpr std::size_t upload_name_length = 24;

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Whether there is nothing at this path; errors other than that are left to who opens it.
bool is_absent(const std::string& path) {
  struct stat facts {};
  return ::lstat(path.c_str(), &facts) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

std::string written(const Digest& digest) { return digest.sha256 + " " + std::to_string(digest.size) + "\n"; }

std::optional<Digest> parse_digest(std::string_view text) {
  Digest digest{0, std::string(text.substr(0, text.find(' ')))};
  if (!is_hash(digest.sha256) || !text.ends_with('\n')) return std::nullopt;
  const std::string_view size = text.substr(digest.sha256.size() + 1, text.size() - digest.sha256.size() - 2);
  const auto [end, problem] = std::from_chars(size.data(), size.data() + size.size(), digest.size);
  if (problem != std::errc() || end != size.data() + size.size() || digest.size < 0) return std::nullopt;
  return digest;
}

/// Files that were written for an object, and that are removed unless the object has appeared.
class Uploaded {
 public:
  explicit Uploaded(const std::string& folder) : content_(folder + "/" + loop::random_word(upload_name_length)) {}
  Uploaded(const Uploaded&) = delete;
  Uploaded& operator=(const Uploaded&) = delete;
  ~Uploaded() {
    unlink_file(content_);
    unlink_file(hash());
  }
  const std::string& content() const { return content_; }
  std::string hash() const { return content_ + ".hash"; }

 private:
  const std::string content_;
};

class FolderStore final : public Store {
 public:
  explicit FolderStore(std::string path) : path_(std::move(path)) {}
  Result<void> prepare();

 private:
  std::int64_t object_bytes_max() const override { return std::numeric_limits<std::int64_t>::max(); }
  Result<Digest> find(const std::string& key) override;
  Result<void> write(const std::string& key, CheckedSource& content) override;
  Result<void> fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) override;
  Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) override;
  Result<void> erase(const std::string& key) override;
  Result<void> clean_up() override;

  std::string objects() const { return path_ + "/objects"; }
  std::string hashes() const { return path_ + "/hashes"; }
  std::string uploads() const { return path_ + "/uploads"; }
  std::string object_of(const std::string& key) const { return objects() + "/" + key; }
  std::string hash_of(const std::string& key) const { return hashes() + "/" + key; }
  Result<loop::Descriptor> lock() const { return lock_folder(path_ + "/lock", lock_wait); }

  Result<void> write_content(const std::string& path, CheckedSource& content);
  Result<void> appear(const std::string& key, const Digest& digest, const Uploaded& uploaded);
  Result<void> remove_remains(const std::string& key);
  Result<void> make_folders(const std::string& top, const std::string& key);
  Result<void> sync_folders(const std::string& top, const std::string& key);
  void remove_empty_folders(const std::string& top, const std::string& key);
  Result<std::vector<FolderEntry>> read_folder(const FolderQuestion& question);

  const std::string path_;
};

Result<void> FolderStore::prepare() {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) {
    if (errno != ENOENT) return system_failure(path_);
    return fail(Errc::not_found, "the folder " + path_ + " does not exist: mount it or create it, or correct `path`");
  }
  if (!S_ISDIR(facts.st_mode)) return fail(Errc::invalid, path_ + " is not a folder: correct `path`");
  for (const std::string& folder : {objects(), hashes(), uploads()}) {
    if (Result<void> made = make_folder(folder); !made) {
      made.error().message += "; the folder of a store must be writable for this user";
      return made;
    }
  }
  return sync_folder(path_);
}

Result<Digest> FolderStore::find(const std::string& key) {
  if (is_absent(hash_of(key)) || is_absent(object_of(key))) {
    return fail(Errc::not_found, "there is no object " + shown_key(key));
  }
  struct stat facts {};
  if (::stat(object_of(key).c_str(), &facts) != 0) return system_failure(object_of(key));
  if (S_ISDIR(facts.st_mode)) return fail(Errc::not_found, shown_key(key) + " is a folder of objects, not an object");
  TRY_ASSIGN(text, loop::read_file(hash_of(key)));
  const std::optional<Digest> digest = parse_digest(text);
  if (!digest) return fail(Errc::corrupt, hash_of(key) + " is damaged; remove the object, and store it again");
  if (digest->size != facts.st_size) {
    return fail(Errc::corrupt, object_of(key) + " is damaged: it has " + std::to_string(facts.st_size) +
                                   " bytes instead of " + std::to_string(digest->size) +
                                   "; remove the object, and store it again");
  }
  return *digest;
}

Result<void> FolderStore::write(const std::string& key, CheckedSource& content) {
  const Uploaded uploaded(uploads());
  TRY(write_content(uploaded.content(), content));
  TRY_ASSIGN(hash, File::open(uploaded.hash(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW));
  TRY(hash.write(as_bytes(written(content.digest()))));
  TRY(hash.sync());
  TRY(hash.finish());
  TRY(appear(key, content.digest(), uploaded));
  TRY(sync_folders(objects(), key));
  TRY(sync_folders(hashes(), key));
  return sync_folder(uploads());
}

Result<void> FolderStore::write_content(const std::string& path, CheckedSource& content) {
  TRY_ASSIGN(file, File::open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW));
  Bytes buffer(loop::copy_bytes);
  while (content.left() > 0) {
    TRY_ASSIGN(size, content.read(buffer));
    TRY(file.write(BytesView(buffer).first(size)));
  }
  TRY(file.sync());
  return file.finish();
}

/// The order does not matter, since an object needs both files, and nobody else changes them meanwhile.
Result<void> FolderStore::appear(const std::string& key, const Digest& digest, const Uploaded& uploaded) {
  TRY_ASSIGN(held, lock());
  const Result<Digest> there = find(key);
  if (there) return check_same(key, *there, digest);
  if (there.error().code != Errc::not_found) return Failure(there.error());
  TRY(make_folders(hashes(), key));
  TRY(make_folders(objects(), key));
  TRY(remove_remains(key));
  if (is_absent(uploaded.content()) || is_absent(uploaded.hash())) {
    return fail(Errc::unavailable, "the upload of " + shown_key(key) + " was removed from " + uploads() +
                                       ", because it had not continued for an hour; repeat it");
  }
  TRY(loop::rename_file(uploaded.hash(), hash_of(key)));
  return loop::rename_file(uploaded.content(), object_of(key));
}

/// One file of an object that did not appear, as a crash may leave it, must not be combined with one of another.
Result<void> FolderStore::remove_remains(const std::string& key) {
  for (const std::string& path : {hash_of(key), object_of(key)}) {
    if (is_absent(path)) continue;
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
      if (::rmdir(path.c_str()) == 0) continue;  // empty, as a crash leaves it
      return fail(Errc::conflict, shown_key(key) + " is a folder of other objects; use another key");
    }
    if (!unlink_file(path)) return system_failure(path);
    TRY(sync_folder(parent_of(path)));
  }
  return {};
}

Result<void> FolderStore::make_folders(const std::string& top, const std::string& key) {
  const std::string folder = parent_of(top + "/" + key);
  for (std::size_t slash = key.find('/'); slash != std::string::npos; slash = key.find('/', slash + 1)) {
    struct stat facts {};
    if (::stat((top + "/" + key.substr(0, slash)).c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
      return fail(Errc::conflict, shown_key(key.substr(0, slash)) + " is an object, so it cannot be a folder of " +
                                      shown_key(key) + "; use another key");
    }
  }
  return make_folder(folder);
}

/// From the folder of the object up to the top one, since any of them may be new.
Result<void> FolderStore::sync_folders(const std::string& top, const std::string& key) {
  for (std::string path = parent_of(top + "/" + key); path.size() >= top.size(); path = parent_of(path)) {
    if (is_absent(path)) continue;  // the object was removed meanwhile
    TRY(sync_folder(path));
  }
  return {};
}

Result<void> FolderStore::fetch(const std::string& key, const Digest&, ByteRange range, const ByteSink& sink) {
  TRY_ASSIGN(file, File::open(object_of(key), O_RDONLY | O_NOFOLLOW));
  Bytes buffer(loop::copy_bytes);
  while (range.size > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(range.size, std::ssize(buffer)));
    TRY_ASSIGN(read, file.read_at(range.offset, std::span(buffer).first(wanted)));
    if (read == 0) return {};  // who counts the bytes says what is missing
    TRY(sink(BytesView(buffer).first(read)));
    range.offset += static_cast<std::int64_t>(read);
    range.size -= static_cast<std::int64_t>(read);
  }
  return {};
}

Result<std::vector<FolderEntry>> FolderStore::read_folder(const FolderQuestion& question) {
  const std::string folder = question.folder.empty() ? objects() : object_of(question.folder);
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  if (!opened) {
    if (errno == ENOENT || errno == ENOTDIR) return std::vector<FolderEntry>();
    return system_failure(folder);
  }
  FirstEntries first(question);
  errno = 0;
  while (const dirent* entry = ::readdir(opened.get())) {
    const std::string name = entry->d_name;
    struct stat facts {};
    const bool is_known = entry->d_type == DT_DIR || entry->d_type == DT_REG;
    if (!is_known && ::fstatat(::dirfd(opened.get()), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_folder = is_known ? entry->d_type == DT_DIR : S_ISDIR(facts.st_mode);
    if (name != "." && name != ".." && (is_known || is_folder || S_ISREG(facts.st_mode))) first.add({name, is_folder});
    errno = 0;
  }
  if (errno != 0) return system_failure(folder);
  std::vector<FolderEntry> entries = first.take();
  const std::string above = question.folder.empty() ? "" : question.folder + "/";
  for (FolderEntry& entry : entries) {
    struct stat facts {};
    if (entry.is_folder || is_absent(hash_of(above + entry.name))) continue;
    if (::fstatat(::dirfd(opened.get()), entry.name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0)
      entry.size = facts.st_size;
  }
  return entries;
}

Result<ObjectPage> FolderStore::list_page(const std::string& prefix, const std::string& after, std::size_t limit) {
  return walk_folders(prefix, after, limit, [this](const FolderQuestion& question) { return read_folder(question); });
}

Result<void> FolderStore::erase(const std::string& key) {
  TRY_ASSIGN(held, lock());
  struct stat facts {};
  if (::lstat(object_of(key).c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) return {};
  for (const std::string& path : {object_of(key), hash_of(key)}) {
    if (is_absent(path)) continue;
    if (!unlink_file(path)) return system_failure(path);
    TRY(sync_folder(parent_of(path)));
  }
  remove_empty_folders(objects(), key);
  remove_empty_folders(hashes(), key);
  return {};
}

void FolderStore::remove_empty_folders(const std::string& top, const std::string& key) {
  for (std::string path = parent_of(top + "/" + key); path.size() > top.size(); path = parent_of(path)) {
    if (::rmdir(path.c_str()) != 0) return;
  }
}

Result<void> FolderStore::clean_up() {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(uploads().c_str()), ::closedir);
  if (!opened) return system_failure(uploads());
  const std::time_t oldest = std::time(nullptr) - upload_age_max_s;
  while (const dirent* entry = ::readdir(opened.get())) {
    struct stat facts {};
    if (::fstatat(::dirfd(opened.get()), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(facts.st_mode) && facts.st_mtime < oldest) unlink_file(uploads() + "/" + entry->d_name);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_folder_store(const FileStoreConfig& config) {
  auto store = std::make_unique<FolderStore>(config.path);
  TRY(store->prepare());
  return store;
}

}  // namespace cadre::objects
