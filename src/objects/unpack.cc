#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "loop/file.h"
#include "objects/pack.h"
#include "objects/pack_format.h"

namespace cadre::objects {

using loop::copy_bytes;
using loop::File;
using loop::remove_all;
using loop::system_failure;

namespace {

/// Takes bytes from the front of a file.
class Source {
 public:
  explicit Source(File file) : file_(std::move(file)), buffer_(copy_bytes) {}

  /// At least one byte and at most `most`; empty at the end of the file.
  Result<BytesView> some(std::size_t most) {
    if (at_ == filled_) {
      TRY_ASSIGN(read, file_.read(buffer_));
      at_ = 0;
      filled_ = read;
    }
    const std::size_t size = std::min(most, filled_ - at_);
    return BytesView(buffer_).subspan(std::exchange(at_, at_ + size), size);
  }

  Result<Bytes> exactly(std::size_t size) {
    Bytes bytes;
    while (bytes.size() < size) {
      TRY_ASSIGN(piece, some(size - bytes.size()));
      if (piece.empty()) return corrupt("it ends too early");
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    return bytes;
  }

  Failure corrupt(std::string_view what) const {
    return fail(Errc::corrupt, file_.path() + " is not packed code: " + std::string(what));
  }

 private:
  File file_;
  Bytes buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
};

class Unpacking {
 public:
  Unpacking(Source& source, const UnpackOptions& options) : source_(source), options_(options) {}

  Result<void> go(File folder) {
    TRY_ASSIGN(magic, source_.exactly(pack_magic.size()));
    if (as_text(magic) != pack_magic) return source_.corrupt("its first bytes are wrong");
    open_.push_back({std::move(folder), ""});
    while (!open_.empty()) TRY(take_entry());
    TRY_ASSIGN(rest, source_.some(1));
    if (!rest.empty()) return source_.corrupt("it has extra bytes after its end");
    return {};
  }

 private:
  struct Open {
    File folder;
    std::string last;  ///< the name before this one
  };

  Result<void> take_entry() {
    TRY_ASSIGN(bytes, source_.exactly(pack_header_bytes));
    const PackHeader header = decode_header(bytes);
    const bool has_content = header.kind >= EntryKind::file && header.kind <= EntryKind::link;
    if (!has_content && header.kind != EntryKind::folder && header.kind != EntryKind::end) {
      return source_.corrupt("an entry of an unknown kind");
    }
    if (header.size < 0 || (header.size > 0 && !has_content)) return source_.corrupt("an entry of an impossible size");
    TRY_ASSIGN(name_bytes, source_.exactly(header.name_bytes));
    const std::string name(as_text(name_bytes));
    if (header.kind == EntryKind::end) {
      if (!name.empty()) return source_.corrupt("an end entry with a name");
      open_.pop_back();
      return {};
    }
    TRY(check_name(name));
    if (++entries_ > options_.entries_max) return fail(Errc::invalid, "packed code with too many files");
    bytes_ += std::min(header.size, options_.bytes_max.value + 1);
    if (bytes_ > options_.bytes_max.value) {
      return fail(Errc::invalid, "packed code of more than " + to_string(options_.bytes_max) + " when unpacked");
    }
    open_.back().last = name;
    switch (header.kind) {
      case EntryKind::folder: return take_folder(name);
      case EntryKind::link: return take_link(name, header.size);
      default: return take_file(name, header);
    }
  }

  Result<void> check_name(const std::string& name) const {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return source_.corrupt("an invalid file name");
    }
    if (name <= open_.back().last) return source_.corrupt("names that are not in order");
    return {};
  }

  Result<void> take_folder(const std::string& name) {
    if (open_.size() > pack_depth_max) return source_.corrupt("folders are nested too deeply");
    const File& parent = open_.back().folder;
    if (mkdirat(parent.fd(), name.c_str(), 0755) != 0) return system_failure(parent.path() + "/" + name);
    TRY_ASSIGN(folder, parent.open_entry(name, O_RDONLY | O_DIRECTORY));
    if (fchmod(folder.fd(), 0755) != 0) return system_failure(folder.path());
    open_.push_back({std::move(folder), ""});
    return {};
  }

  Result<void> take_link(const std::string& name, std::int64_t size) {
    if (size == 0 || size > link_bytes_max) return source_.corrupt("a link of an impossible length");
    TRY_ASSIGN(bytes, source_.exactly(static_cast<std::size_t>(size)));
    const std::string target(as_text(bytes));
    if (target.find('\0') != std::string::npos) return source_.corrupt("a link with an invalid target");
    const File& parent = open_.back().folder;
    if (symlinkat(target.c_str(), parent.fd(), name.c_str()) != 0) {
      return system_failure(parent.path() + "/" + name);
    }
    return {};
  }

  Result<void> take_file(const std::string& name, const PackHeader& header) {
    TRY_ASSIGN(file, open_.back().folder.open_entry(name, O_WRONLY | O_CREAT | O_EXCL));
    for (std::int64_t left = header.size; left > 0;) {
      TRY_ASSIGN(piece, source_.some(static_cast<std::size_t>(left)));
      if (piece.empty()) return source_.corrupt("it ends too early");
      TRY(file.write(piece));
      left -= static_cast<std::int64_t>(piece.size());
    }
    if (fchmod(file.fd(), header.kind == EntryKind::program ? 0755 : 0644) != 0) {
      return system_failure(file.path());
    }
    return {};
  }

  Source& source_;
  const UnpackOptions& options_;
  std::vector<Open> open_;  ///< the folders that the present entry is in
  std::int64_t bytes_ = 0;
  std::int64_t entries_ = 0;
};

Result<void> unpack_into(const std::string& file, const std::string& folder, const UnpackOptions& options) {
  TRY_ASSIGN(opened, File::open(file, O_RDONLY));
  TRY_ASSIGN(root, File::open(folder, O_RDONLY | O_DIRECTORY));
  if (fchmod(root.fd(), 0755) != 0) return system_failure(folder);
  Source source(std::move(opened));
  return Unpacking(source, options).go(std::move(root));
}

Result<void> put_in_place(const std::string& made, const std::string& folder) {
  if (rename(made.c_str(), folder.c_str()) == 0) return {};
  if (errno == ENOTEMPTY || errno == EEXIST) return fail(Errc::conflict, folder + ": there already, and not empty");
  return system_failure(folder);
}

}  // namespace

Result<void> unpack(const std::string& file, const std::string& folder, const UnpackOptions& options) {
  std::string made = folder + ".tmp-XXXXXX";
  if (mkdtemp(made.data()) == nullptr) return system_failure(folder);
  Result<void> done = unpack_into(file, made, options);
  if (done) done = put_in_place(made, folder);
  if (!done) static_cast<void>(remove_all(made));
  return done;
}

}  // namespace cadre::objects
