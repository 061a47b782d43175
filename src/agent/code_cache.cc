#include "agent/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <tuple>

#include "loop/file.h"
#include "objects/hash.h"
#include "objects/pack.h"
#include "objects/tree.h"

namespace cadre::agent {

namespace {

constexpr std::string_view size_suffix = ".size";
constexpr std::size_t setup_digits = 32;

Result<std::string> read_text(const std::string& path) {
  TRY_ASSIGN(file, loop::File::open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  Bytes bytes(256);
  TRY_ASSIGN(read, file.read(bytes));
  return std::string(as_text(BytesView(bytes).first(read)));
}

Result<void> write_text(const std::string& path, std::string_view text) {
  return loop::write_whole(path, as_bytes(text), loop::Durable::no);  // all goes at the next start of the host
}

void put_text(objects::Sha256& hash, std::string_view text) {
  hash.update(as_bytes(std::to_string(text.size()) + ":"));
  hash.update(as_bytes(text));
}

Result<void> rename_to(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return loop::system_failure(to);
  return {};
}

/// Measures a tree that is whole and puts it in its place.
Result<std::int64_t> keep_tree(const std::string& made, const std::string& path, const std::string& size_path) {
  TRY_ASSIGN(size, objects::size_of_tree(made));
  TRY(write_text(size_path, std::to_string(size.value)));
  TRY(rename_to(made, path));
  return size.value;
}

/// Trees of an earlier agent, by when they were used.
Result<std::vector<std::tuple<std::int64_t, std::string, std::int64_t>>> find_trees(const std::string& folder) {
  std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return loop::system_failure(folder);
  while (const dirent* entry = readdir(entries.get())) {
    std::string_view name = entry->d_name;
    if (!name.ends_with(size_suffix)) continue;
    name.remove_suffix(size_suffix.size());
    const std::string path = folder + "/" + std::string(name);
    struct stat facts {};
    std::int64_t size = 0;
    const std::string text = read_text(path + std::string(size_suffix)).value_or("");
    const bool is_whole = std::from_chars(text.data(), text.data() + text.size(), size).ec == std::errc{} &&
                          access(path.c_str(), F_OK) == 0 &&
                          stat((path + std::string(size_suffix)).c_str(), &facts) == 0;
    if (is_whole) found.emplace_back(facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec, name, size);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

std::string CodeCache::key_of(const CodeRequest& request) {
  if (request.setup.empty()) return request.hash;
  objects::Sha256 hash;
  put_text(hash, request.scope);
  for (const std::string& command : request.setup) put_text(hash, command);
  for (const auto& [name, value] : request.variables) {
    put_text(hash, name);
    put_text(hash, value);
  }
  return request.hash + "-" + hash.finish().substr(0, setup_digits);
}

Result<std::unique_ptr<CodeCache>> CodeCache::open(CodeCacheOptions options, loop::Loop& loop, loop::BlockingPool& pool,
                                                   BulkLink& link, Log& log) {
  std::unique_ptr<CodeCache> cache(new CodeCache(std::move(options), loop, pool, link, log));
  TRY(cache->load());
  return cache;
}

CodeCache::CodeCache(CodeCacheOptions options, loop::Loop& loop, loop::BlockingPool& pool, BulkLink& link, Log& log)
    : loop_(loop),
      pool_(pool),
      log_(log),
      options_(std::move(options)),
      puller_({loop, pool, link}, {options_.packed_bytes_max, options_.answer_max, options_.stall_max}),
      tasks_(loop) {}

CodeCache::~CodeCache() {
  ending_ = true;
  tasks_.destroy_all();
}

Result<void> CodeCache::load() {
  const std::string boot_path = options_.folder + "/boot";
  TRY_ASSIGN(boot, read_text("/proc/sys/kernel/random/boot_id"));
  TRY(loop::make_folder(options_.folder));
  TRY(loop::remove_all(options_.folder + "/making"));
  if (read_text(boot_path).value_or("") != boot) {
    TRY(loop::remove_all(options_.folder + "/trees"));
    TRY(write_text(boot_path, boot));
  }
  TRY(loop::make_folder(options_.folder + "/making"));
  TRY(loop::make_folder(options_.folder + "/trees"));
  TRY_ASSIGN(found, find_trees(options_.folder + "/trees"));
  for (const auto& [time, key, bytes] : found) put(key, bytes);
  make_room();
  return {};
}

std::string CodeCache::new_path() { return options_.folder + "/making/" + std::to_string(++made_); }

loop::Task<Result<CodeCache::Tree>> CodeCache::fetch(CodeRequest request) {
  if (!request.hash.empty() && !objects::is_hash(request.hash)) {
    co_return fail(Errc::invalid, "`" + request.hash + "` is not a hash of packed code");
  }
  const std::string key = key_of(request);
  if (key.empty()) co_return fail(Errc::invalid, "the request names neither code nor setup commands");
  if (trees_.contains(key)) co_return lend(key);
  if (!request.setup.empty()) co_return fail(Errc::not_found, "its setup commands have not run on this agent");
  auto making = making_.find(key);
  if (making == making_.end()) {
    making = making_.emplace(key, std::make_shared<Making>(loop_)).first;
    tasks_.spawn(make(key, std::move(request), making->second));
  }
  const std::shared_ptr<Making> made = making->second;
  co_await made->done.passed();
  if (!made->result) co_return Failure(made->result.error());
  if (!trees_.contains(key)) co_return fail(Errc::unavailable, "there is no space for packed code; raise its limit");
  co_return lend(key);
}

loop::Task<Result<void>> CodeCache::place(CodeRequest request, std::string folder) {
  CO_TRY_ASSIGN(tree, co_await fetch(std::move(request)));
  const std::string from = tree.path();
  Result<void> copied = co_await pool_.run([&from, &folder] { return objects::copy_tree(from, folder); });
  co_return copied;
}

loop::Task<void> CodeCache::make(std::string key, CodeRequest request, std::shared_ptr<Making> making) {
  Result<std::int64_t> bytes = co_await make_tree(key, std::move(request));
  if (bytes) {
    put(key, *bytes);
  } else {
    making->result = Failure(std::move(bytes).error());
  }
  making_.erase(key);
  // Whoever waits for it takes it before others can make it go.
  std::optional<Tree> held;
  if (making->result) held = lend(key);
  making->done.open();
  co_await loop::sleep(loop_, std::chrono::milliseconds(1));
}

loop::Task<Result<std::int64_t>> CodeCache::make_tree(std::string key, CodeRequest request) {
  const std::string made = new_path();
  const Result<void> filled = co_await unpack_into(made, request.hash);
  if (!filled) {
    tasks_.spawn(remove_later(made));
    co_return Failure(filled.error());
  }
  const std::string path = path_of(key);
  const std::string size_path = size_path_of(key);
  Result<std::int64_t> kept = co_await pool_.run([&] { return keep_tree(made, path, size_path); });
  co_return kept;
}

loop::Task<Result<void>> CodeCache::unpack_into(std::string folder, std::string hash) {
  const std::string file = new_path();
  Result<void> done = co_await puller_.pull(std::move(hash), file);
  if (done) {
    const objects::UnpackOptions bounds{.bytes_max = options_.unpacked_bytes_max};
    done = co_await pool_.run([&] { return objects::unpack(file, folder, bounds); });
  }
  unlink(file.c_str());
  co_return done;
}

loop::Task<Result<void>> CodeCache::publish(CodeRequest request, std::string folder) {
  const std::string key = key_of(request);
  if (trees_.contains(key)) co_return Result<void>();
  const std::string made = new_path();
  const std::string path = path_of(key);
  const std::string size_path = size_path_of(key);
  const objects::TreeBounds bounds{options_.unpacked_bytes_max, options_.setup_length_max, options_.setup_entries_max};
  const Result<std::int64_t> kept = co_await pool_.run([&]() -> Result<std::int64_t> {
    TRY(objects::copy_tree(folder, made, bounds));
    return keep_tree(made, path, size_path);
  });
  if (!kept) {
    tasks_.spawn(remove_later(made));
    co_return Failure(kept.error());
  }
  put(key, *kept);
  make_room();
  co_return Result<void>();
}

loop::Task<void> CodeCache::remove_later(std::string path) {
  const Result<void> removed = co_await pool_.run([&path] { return loop::remove_all(path); });
  if (!removed) log_.warning("cannot remove packed code that is no longer needed: " + removed.error().message);
}

void CodeCache::put(const std::string& key, std::int64_t bytes) {
  trees_[key] = {bytes, 0, used_.insert(used_.end(), key)};
  bytes_ += bytes;
}

CodeCache::Tree CodeCache::lend(const std::string& key) {
  ++trees_.at(key).users;
  touch(key);
  return {*this, key};
}

void CodeCache::release(const std::string& key) {
  --trees_.at(key).users;
  touch(key);
  make_room();
}

/// The order outlives the process as the times of the files.
void CodeCache::touch(const std::string& key) {
  used_.splice(used_.end(), used_, trees_.at(key).used);
  utimensat(AT_FDCWD, size_path_of(key).c_str(), nullptr, 0);
}

void CodeCache::make_room() {
  if (ending_) return;
  for (auto at = used_.begin(); at != used_.end() && bytes_ > options_.bytes_max.value;) {
    const auto key = at++;
    const auto tree = trees_.find(*key);
    if (tree->second.users > 0) continue;
    const std::string gone = new_path();
    unlink(size_path_of(*key).c_str());
    if (const Result<void> moved = rename_to(path_of(*key), gone); moved) tasks_.spawn(remove_later(gone));
    bytes_ -= tree->second.bytes;
    trees_.erase(tree);
    used_.erase(key);
  }
}

}  // namespace cadre::agent
