#include "objects/webhdfs/webhdfs_store.h"

#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "loop/random_word.h"
#include "objects/hash.h"
#include "objects/key.h"
#include "objects/stores/attempts.h"
#include "objects/stores/folder_walk.h"
#include "objects/webhdfs/client.h"
#include "objects/webhdfs/file_names.h"

namespace cadre::objects {

using webhdfs::Client;
using webhdfs::FileStatus;
using webhdfs::path_of_key;

namespace {

constexpr const char* hash_attribute = "user.sha256";
constexpr Duration unfinished_age_max = std::chrono::hours(24);  // HDFS does not say that a file is still written
constexpr std::size_t upload_name_length = 24;

class WebhdfsStore final : public Store {
 public:
  WebhdfsStore(const WebhdfsStoreConfig& config, std::unique_ptr<Client> client, const StoreOptions& options)
      : path_(config.path), options_(options), client_(std::move(client)) {}

 private:
  std::int64_t object_bytes_max() const override { return std::int64_t{1} << 50; }
  Result<Digest> find(const std::string& key) override;
  Result<void> write(const std::string& key, CheckedSource& content) override;
  Result<void> fetch(const std::string& key, const Digest&, ByteRange range, const ByteSink& sink) override {
    return client_->read(object_of(key), range, sink);
  }
  Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) override;
  Result<void> erase(const std::string& key) override;
  Result<void> clean_up() override;

  std::string objects() const { return path_ + "/objects"; }
  std::string uploads() const { return path_ + "/uploads"; }
  std::string object_of(const std::string& key) const { return objects() + "/" + path_of_key(key); }
  Result<void> prepare();
  Result<void> write_content(const std::string& path, CheckedSource& content);
  Result<void> mark(const std::string& path, const Digest& digest);
  Result<void> appear(const std::string& key, const Digest& digest, const std::string& path);
  Result<std::vector<FolderEntry>> read_folder(const FolderQuestion& question);

  const std::string path_;
  const StoreOptions options_;
  const std::unique_ptr<Client> client_;
  std::atomic<bool> is_prepared_ = false;
};

Result<Digest> WebhdfsStore::find(const std::string& key) {
  Result<FileStatus> status = client_->status(object_of(key));
  const bool is_absent =
      status ? status->is_folder : status.error().code == Errc::not_found || status.error().code == Errc::conflict;
  if (is_absent) return fail(Errc::not_found, "there is no object " + shown_key(key));
  if (!status) return Failure(std::move(status).error());
  TRY_ASSIGN(hash, client_->attribute(object_of(key), hash_attribute));
  if (!is_hash(hash)) {
    return fail(Errc::corrupt, object_of(key) + " has no SHA-256 as attribute " + hash_attribute +
                                   "; remove the object, and store it again");
  }
  return Digest{status->size, std::move(hash)};
}

/// The folder must exist: a wrong path should not become a new folder.
Result<void> WebhdfsStore::prepare() {
  if (is_prepared_) return {};
  const Result<FileStatus> folder = client_->status(path_);
  if (!folder && folder.error().code != Errc::not_found) return Failure(folder.error());
  if (!folder || !folder->is_folder) {
    return fail(Errc::invalid, "the folder " + path_ + " does not exist in HDFS: create it, or correct `path`");
  }
  TRY(client_->make_folder(objects()));
  TRY(client_->make_folder(uploads()));
  is_prepared_ = true;
  return {};
}

Result<void> WebhdfsStore::write(const std::string& key, CheckedSource& content) {
  TRY(prepare());
  const std::string upload = uploads() + "/" + loop::random_word(upload_name_length);
  Result<void> done = write_content(upload, content);
  if (done) done = mark(upload, content.digest());
  if (done) done = appear(key, content.digest(), upload);
  if (!done) static_cast<void>(client_->remove(upload));
  return done;
}

Result<void> WebhdfsStore::write_content(const std::string& path, CheckedSource& content) {
  Attempts attempts(options_);
  while (true) {
    Result<void> created = client_->create(path, content);
    if (created) break;
    if (!is_transient(created.error()) || !content.rewind() || !attempts.next()) return created;
  }
  TRY_ASSIGN(status, client_->status(path));
  if (status.size == content.digest().size) return {};
  return fail(Errc::corrupt, path + " has " + std::to_string(status.size) + " bytes in HDFS instead of " +
                                 std::to_string(content.digest().size) + "; repeat the upload");
}

/// An attempt whose response was lost may have done it.
Result<void> WebhdfsStore::mark(const std::string& path, const Digest& digest) {
  Result<void> set = client_->set_attribute(path, hash_attribute, digest.sha256);
  if (set) return set;
  const Result<std::string> there = client_->attribute(path, hash_attribute);
  return there && *there == digest.sha256 ? Result<void>() : set;
}

Result<void> WebhdfsStore::appear(const std::string& key, const Digest& digest, const std::string& path) {
  const std::string object = object_of(key);
  TRY(client_->make_folder(object.substr(0, object.rfind('/'))));
  const Result<FileStatus> before = client_->status(object);
  if (before && before->is_folder) {
    return fail(Errc::conflict, shown_key(key) + " is a folder of other objects; use another key");
  }
  const Result<bool> renamed = client_->rename(path, object);
  const Result<Digest> there = find(key);
  if (there) {
    if (!renamed || !*renamed) static_cast<void>(client_->remove(path));
    return check_same(key, *there, digest);
  }
  return renamed ? Failure(there.error()) : Failure(renamed.error());
}

Result<std::vector<FolderEntry>> WebhdfsStore::read_folder(const FolderQuestion& question) {
  const std::string folder = question.folder.empty() ? objects() : object_of(question.folder);
  Result<std::vector<FileStatus>> files = client_->list(folder);
  if (!files && files.error().code == Errc::not_found) return std::vector<FolderEntry>();
  if (!files) return Failure(std::move(files).error());
  FirstEntries first(question);
  for (const FileStatus& file : *files) {
    if (Result<std::string> name = webhdfs::part_of_name(file.name)) {
      first.add({*std::move(name), file.is_folder, file.size});
    }
  }
  return first.take();
}

Result<ObjectPage> WebhdfsStore::list_page(const std::string& prefix, const std::string& after, std::size_t limit) {
  return walk_folders(prefix, after, limit, [this](const FolderQuestion& question) { return read_folder(question); });
}

/// Empty folders stay: removing them could meet an object that is about to appear there.
Result<void> WebhdfsStore::erase(const std::string& key) {
  const Result<FileStatus> status = client_->status(object_of(key));
  if (status && status->is_folder) return {};
  if (!status && (status.error().code == Errc::not_found || status.error().code == Errc::conflict)) return {};
  if (!status) return Failure(status.error());
  return client_->remove(object_of(key));
}

Result<void> WebhdfsStore::clean_up() {
  const Result<std::vector<FileStatus>> files = client_->list(uploads());
  if (!files && files.error().code == Errc::not_found) return {};
  if (!files) return Failure(files.error());
  const auto present = std::chrono::system_clock::now().time_since_epoch();
  for (const FileStatus& file : *files) {
    if (file.is_folder || present - file.modified.time_since_epoch() < unfinished_age_max) continue;
    TRY(client_->remove(uploads() + "/" + file.name));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_webhdfs_store(const WebhdfsStoreConfig& config, const StoreOptions& options) {
  TRY_ASSIGN(client, Client::make(config, options));
  return std::make_unique<WebhdfsStore>(config, std::move(client), options);
}

}  // namespace cadre::objects
