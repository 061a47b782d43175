#include "objects/store.h"

#include <fcntl.h>

#include <algorithm>

#include "loop/boot_clock.h"
#include "loop/file.h"
#include "objects/hash.h"
#include "objects/key.h"

namespace cadre::objects {

namespace {

constexpr Duration clean_every = std::chrono::hours(1);
constexpr std::size_t cursor_bytes_max = 1'024;

}  // namespace

Result<void> check_same(const std::string& key, const Digest& there, const Digest& wanted) {
  if (there == wanted) return {};
  return fail(Errc::conflict, "the object " + shown_key(key) + " exists with other content, of " +
                                  std::to_string(there.size) + " bytes and SHA-256 " + there.sha256 +
                                  "; use another key, or remove it first");
}

Result<void> Store::put(const std::string& key, const Digest& digest, ByteSource& source) {
  TRY(check_key(key));
  if (digest.size < 0 || !is_hash(digest.sha256)) {
    return fail(Errc::invalid,
                "the object " + shown_key(key) + " needs a size and a SHA-256 of 64 hexadecimal digits in lower case");
  }
  if (digest.size > object_bytes_max()) {
    return fail(Errc::invalid, "the object " + shown_key(key) + " has " + to_string(ByteSize{digest.size}) +
                                   "; this store takes objects of at most " + to_string(ByteSize{object_bytes_max()}));
  }
  const Result<Digest> there = find(key);
  if (there) return check_same(key, *there, digest);
  if (there.error().code != Errc::not_found) return Failure(there.error());
  clean_now_and_then();
  CheckedSource content(key, digest, source);
  TRY(content.begin());
  return write(key, content);
}

/// One thread each hour. That it fails is no reason not to store the object, which will say what is wrong.
void Store::clean_now_and_then() {
  const Duration::rep present = loop::boot_now().time_since_epoch().count();
  Duration::rep due = clean_after_.load();
  if (present < due || !clean_after_.compare_exchange_strong(due, present + clean_every.count())) return;
  static_cast<void>(clean_up());
}

Result<Digest> Store::stat(const std::string& key) {
  TRY(check_key(key));
  return find(key);
}

Result<void> Store::fetch_exactly(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) {
  if (range.size == 0) return {};
  std::int64_t left = range.size;
  TRY(fetch(key, digest, range, [&](BytesView piece) -> Result<void> {
    if (piece.size() > static_cast<std::uint64_t>(left)) {
      return fail(Errc::corrupt, "more bytes of the object " + shown_key(key) + " came than it has");
    }
    left -= static_cast<std::int64_t>(piece.size());
    return sink(piece);
  }));
  if (left == 0) return {};
  return fail(Errc::corrupt,
              "the last " + std::to_string(left) + " bytes of the object " + shown_key(key) + " are missing");
}

Result<Digest> Store::get(const std::string& key, const ByteSink& sink) {
  TRY_ASSIGN(digest, stat(key));
  Sha256 sum;
  TRY(fetch_exactly(key, digest, {0, digest.size}, [&](BytesView piece) {
    sum.update(piece);
    return sink(piece);
  }));
  if (const std::string hash = sum.finish(); hash != digest.sha256) {
    return fail(Errc::corrupt, "the content of the object " + shown_key(key) + " is damaged: its SHA-256 is " + hash +
                                   " instead of " + digest.sha256 + "; remove it, and store it again");
  }
  return digest;
}

Result<Digest> Store::get_range(const std::string& key, std::int64_t offset, std::int64_t bytes_max,
                                const ByteSink& sink) {
  TRY_ASSIGN(digest, stat(key));
  if (offset < 0 || bytes_max < 0 || offset > digest.size) {
    return fail(Errc::invalid, "a range of " + std::to_string(bytes_max) + " bytes from " + std::to_string(offset) +
                                   " on is not within the object " + shown_key(key) + ", which has " +
                                   std::to_string(digest.size) + " bytes");
  }
  TRY(fetch_exactly(key, digest, {offset, std::min(bytes_max, digest.size - offset)}, sink));
  return digest;
}

Result<ObjectPage> Store::list(const std::string& prefix, const std::string& after, std::int32_t limit) {
  TRY(check_key_prefix(prefix));
  if (after.size() > cursor_bytes_max || after.find('\0') != std::string::npos) {
    return fail(Errc::invalid, "the cursor of a list is not one that a page has given");
  }
  if (limit < 1 || limit > page_max) {
    return fail(Errc::invalid,
                "a page of a list has 1 to " + std::to_string(page_max) + " objects, not " + std::to_string(limit));
  }
  return list_page(prefix, after, static_cast<std::size_t>(limit));
}

Result<void> Store::remove(const std::string& key) {
  TRY(check_key(key));
  return erase(key);
}

Result<std::int64_t> remove_folder(Store& store, const std::string& folder) {
  if (!folder.ends_with('/')) {
    return fail(Errc::invalid, "the folder " + shown_key(folder) +
                                   " must end with a slash, or keys that only begin "
                                   "alike would be removed too");
  }
  std::int64_t removed = 0;
  std::string after;
  do {
    TRY_ASSIGN(page, store.list(folder, after));
    for (const ListedObject& object : page.objects) {
      TRY(store.remove(object.key));
      ++removed;
    }
    after = std::move(page.next);
  } while (!after.empty());
  return removed;
}

Result<Digest> put_file(Store& store, const std::string& key, const std::string& path) {
  TRY_ASSIGN(source, FileSource::open(path));
  Digest digest;
  Sha256 sum;
  Bytes buffer(loop::copy_bytes);
  while (true) {
    TRY_ASSIGN(read, source.read(buffer));
    if (read == 0) break;
    sum.update(BytesView(buffer).first(read));
    digest.size += static_cast<std::int64_t>(read);
  }
  digest.sha256 = sum.finish();
  static_cast<void>(source.rewind());
  TRY(store.put(key, digest, source));
  return digest;
}

Result<Digest> get_file(Store& store, const std::string& key, const std::string& path) {
  const std::string part = path + ".part";
  TRY_ASSIGN(file, loop::File::open_draft(part));
  Result<Digest> got = store.get(key, [&](BytesView piece) { return file.write(piece); });
  if (got) {
    if (Result<void> there = file.finish().and_then([&] { return loop::rename_file(part, path); }); !there) {
      got = Failure(std::move(there).error());
    }
  }
  if (!got) loop::unlink_file(part);
  return got;
}

}  // namespace cadre::objects
