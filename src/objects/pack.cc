#include "objects/pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>

#include "loop/file.h"
#include "objects/hash.h"
#include "objects/ignore.h"
#include "objects/pack_format.h"

namespace cadre::objects {

using loop::copy_bytes;
using loop::File;
using loop::system_failure;

namespace {

/// Rules before and after those of .cadreignore: what programs leave behind where they run, and what is never needed.
const std::string ignored_unless_taken_back = "cadre-runs/\n__pycache__/\n";
const std::string always_ignored = ".git\n";
constexpr std::size_t named_max = 5;  // of what is too large, or skipped

/// Rounded, for people.
std::string about(std::int64_t bytes) {
  std::int64_t unit = 1;
  while (bytes / unit >= 10 * 1024) unit *= 1024;
  return to_string(ByteSize{bytes / unit * unit});
}

/// What is to be packed, in its order in the file.
struct PackedEntry {
  EntryKind kind = EntryKind::end;
  std::string path;  ///< from the top
  std::size_t name_at = 0;
  std::int64_t size = 0;
  std::string name() const { return path.substr(name_at); }
};

Result<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return system_failure(folder);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<Ignore> rules_of(const std::string& folder, PackOptions::Rules rules) {
  if (rules == PackOptions::Rules::none) return Ignore();
  Result<File> file = File::open(folder + "/.cadreignore", O_RDONLY);
  if (!file && file.error().code == Errc::not_found) return Ignore(ignored_unless_taken_back + always_ignored);
  if (!file) return Failure(std::move(file).error());
  Bytes bytes(std::size_t{1} << 20);
  TRY_ASSIGN(read, file->read(bytes));
  if (read == bytes.size()) return fail(Errc::invalid, file->path() + " is over 1 MiB; shorten it");
  return Ignore(ignored_unless_taken_back + std::string(as_text(BytesView(bytes).first(read))) + "\n" + always_ignored);
}

class Walk {
 public:
  Walk(std::string folder, const PackOptions& options, Ignore ignore)
      : folder_(std::move(folder)), options_(options), ignore_(std::move(ignore)) {}

  Result<void> go() {
    TRY(enter("", 0));
    if (bytes_ <= options_.bytes_max.value && count_ <= options_.entries_max) return {};
    return fail(Errc::invalid, complaint());
  }

  const std::vector<PackedEntry>& entries() const { return entries_; }
  std::vector<std::string> skipped() const { return skipped_; }
  std::vector<std::string> private_folders() const { return private_folders_; }

 private:
  struct Share {
    std::int64_t bytes = 0;
    std::int64_t entries = 0;
  };

  Result<void> enter(const std::string& prefix, std::size_t depth) {
    if (depth > pack_depth_max) return fail(Errc::invalid, folder_ + "/" + prefix + ": folders are nested too deeply");
    TRY_ASSIGN(names, names_in(folder_ + "/" + prefix));
    for (const std::string& name : names) TRY(take(prefix + name, prefix.size(), depth));
    put({EntryKind::end, "", 0, 0});
    return {};
  }

  Result<void> take(const std::string& path, std::size_t name_at, std::size_t depth) {
    struct stat facts {};
    if (lstat((folder_ + "/" + path).c_str(), &facts) != 0) return system_failure(folder_ + "/" + path);
    const bool is_folder = S_ISDIR(facts.st_mode);
    if (ignore_.leaves_out(path, is_folder ? Ignore::Kind::folder : Ignore::Kind::file)) return {};
    if (!is_folder && !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode)) {
      if (skipped_.size() < named_max) skipped_.push_back(path);
      return {};
    }
    if (is_folder && options_.is_private && options_.is_private(folder_ + "/" + path)) {
      private_folders_.push_back(path);
      return {};
    }
    Share& share = shares_[path.substr(0, path.find('/'))];
    ++share.entries;
    ++count_;
    if (is_folder) {
      put({EntryKind::folder, path, name_at, 0});
      return enter(path + "/", depth + 1);
    }
    const bool runs = (facts.st_mode & S_IXUSR) != 0;
    const EntryKind kind = S_ISLNK(facts.st_mode) ? EntryKind::link : runs ? EntryKind::program : EntryKind::file;
    share.bytes += facts.st_size;
    bytes_ += facts.st_size;
    put({kind, path, name_at, facts.st_size});
    return {};
  }

  /// What is over the bound is only counted, so that the complaint can say what is large.
  void put(PackedEntry entry) {
    if (count_ <= options_.entries_max) entries_.push_back(std::move(entry));
  }

  std::string complaint() const {
    const bool too_large = bytes_ > options_.bytes_max.value;
    std::vector<std::pair<std::int64_t, std::string>> largest;
    for (const auto& [name, share] : shares_) largest.emplace_back(too_large ? share.bytes : share.entries, name);
    std::ranges::sort(largest, std::greater());
    std::string text = folder_ + " is too large to be sent as code: ";
    text += too_large ? about(bytes_) + ", and " + to_string(options_.bytes_max) + " are allowed"
                      : std::to_string(count_) + " files and folders, and " + std::to_string(options_.entries_max) +
                            " are allowed";
    text += ". The largest in it:";
    for (std::size_t i = 0; i < std::min(named_max, largest.size()); ++i) {
      text += (i == 0 ? " " : ", ") + largest[i].second + " (";
      text += too_large ? about(largest[i].first) : std::to_string(largest[i].first);
      text += ")";
    }
    return text + ". Name what is not needed in " + folder_ + "/.cadreignore.";
  }

  const std::string folder_;
  const PackOptions& options_;
  const Ignore ignore_;
  std::vector<PackedEntry> entries_;
  std::vector<std::string> skipped_;
  std::vector<std::string> private_folders_;
  std::map<std::string, Share> shares_;  ///< of what lies at the top
  std::int64_t bytes_ = 0;
  std::int64_t count_ = 0;
};

class Writer {
 public:
  Writer(std::string folder, File file) : folder_(std::move(folder)), file_(std::move(file)) {}

  Result<void> begin() { return put(as_bytes(pack_magic)); }

  Result<void> put_entry(const PackedEntry& entry) {
    switch (entry.kind) {
      case EntryKind::link: return put_link(entry);
      case EntryKind::file:
      case EntryKind::program: return put_file(entry);
      default: return put_header(entry, 0);
    }
  }

  Result<std::string> finish() {
    TRY(flush());
    return hash_.finish();
  }
  std::int64_t size() const { return size_; }

 private:
  Result<void> put_header(const PackedEntry& entry, std::int64_t size) {
    const std::string name = entry.name();
    TRY(put(encode(PackHeader{entry.kind, static_cast<std::uint8_t>(name.size()), size})));
    return put(as_bytes(name));
  }

  Result<void> put_link(const PackedEntry& entry) {
    const std::string path = folder_ + "/" + entry.path;
    std::string target(link_bytes_max + 1, '\0');
    const ssize_t size = readlink(path.c_str(), target.data(), target.size());
    if (size < 0) return system_failure(path);
    if (size > link_bytes_max) return fail(Errc::invalid, path + ": the link is too long");
    TRY(put_header(entry, size));
    return put(as_bytes(target).first(static_cast<std::size_t>(size)));
  }

  Result<void> put_file(const PackedEntry& entry) {
    const std::string path = folder_ + "/" + entry.path;
    Result<File> file = File::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file && file.error().code == Errc::denied) {
      return fail(Errc::denied, file.error().message + ". Make it readable, or name it in " + folder_ +
                                    "/.cadreignore to leave it out.");
    }
    if (!file) return Failure(std::move(file).error());
    TRY(put_header(entry, entry.size));
    Bytes bytes(copy_bytes);
    for (std::int64_t left = entry.size; left > 0;) {
      const auto wanted = std::min(bytes.size(), static_cast<std::size_t>(left));
      TRY_ASSIGN(read, file->read(std::span(bytes).first(wanted)));
      if (read == 0) return fail(Errc::conflict, path + " became shorter while it was packed; try again");
      TRY(put(BytesView(bytes).first(read)));
      left -= static_cast<std::int64_t>(read);
    }
    return {};
  }

  Result<void> put(BytesView bytes) {
    size_ += static_cast<std::int64_t>(bytes.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    return buffer_.size() < copy_bytes ? Result<void>() : flush();
  }

  Result<void> flush() {
    hash_.update(buffer_);
    TRY(file_.write(buffer_));
    buffer_.clear();
    return {};
  }

  const std::string folder_;
  File file_;
  Sha256 hash_;
  Bytes buffer_;
  std::int64_t size_ = 0;
};

Result<Packed> write_pack(const Walk& walk, const std::string& folder, const std::string& path) {
  TRY_ASSIGN(file, File::open(path, O_WRONLY | O_CREAT | O_TRUNC));
  Writer writer(folder, std::move(file));
  TRY(writer.begin());
  for (const PackedEntry& entry : walk.entries()) TRY(writer.put_entry(entry));
  TRY_ASSIGN(hash, writer.finish());
  return Packed{std::move(hash), ByteSize{writer.size()}, static_cast<std::int64_t>(walk.entries().size()),
                walk.skipped(), walk.private_folders()};
}

}  // namespace

Result<Packed> pack(const std::string& folder, const std::string& file, const PackOptions& options) {
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0) return system_failure(folder);
  if (!S_ISDIR(facts.st_mode)) return fail(Errc::invalid, folder + " is not a folder");
  TRY_ASSIGN(ignore, rules_of(folder, options.rules));
  Walk walk(folder, options, std::move(ignore));
  TRY(walk.go());
  Result<Packed> packed = write_pack(walk, folder, file);
  if (!packed) unlink(file.c_str());
  return packed;
}

}  // namespace cadre::objects
