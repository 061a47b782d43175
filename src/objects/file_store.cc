#include "objects/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <vector>

#include "loop/file.h"

namespace cadre::objects {

using loop::copy_bytes;
using loop::File;
using loop::make_folder;
using loop::sync_folder;
using loop::system_failure;

namespace {

constexpr std::string_view part_suffix = ".part";
constexpr std::int64_t sync_every_bytes = std::int64_t{16} << 20;  // so that the last sync is not a long one

constexpr std::int64_t block_bytes = 4'096;  // that a file takes at least
constexpr std::int64_t part_age_max_s = 3'600;

std::int64_t on_disk(std::int64_t bytes) {
  return std::max(block_bytes, (bytes + block_bytes - 1) / block_bytes * block_bytes);
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

Result<std::unique_ptr<FileStore>> FileStore::open(FileStoreOptions options) {
  std::unique_ptr<FileStore> store(new FileStore(std::move(options)));
  TRY(store->load());
  return store;
}

FileStore::~FileStore() {
  if (lock_ >= 0) ::close(lock_);
}

Result<void> FileStore::load() {
  TRY(make_folder(options_.folder));
  lock_ = ::open((options_.folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return system_failure(options_.folder);
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    return fail(Errc::conflict, options_.folder + ": another process keeps objects there");
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(options_.folder.c_str()), closedir);
  if (!entries) return system_failure(options_.folder);
  std::vector<std::tuple<std::int64_t, std::string, State>> found;  // by when they were used
  while (const dirent* entry = readdir(entries.get())) {
    std::string_view name = entry->d_name;
    const bool is_part = name.ends_with(part_suffix);
    if (is_part) name.remove_suffix(part_suffix.size());
    struct stat facts {};
    if (!is_hash(name) || fstatat(dirfd(entries.get()), entry->d_name, &facts, 0) != 0) continue;
    found.emplace_back(nanoseconds(facts.st_mtim), name, State{facts.st_size, !is_part});
  }
  std::ranges::sort(found, {}, [](const auto& one) { return std::get<0>(one); });
  for (const auto& [time, hash, state] : found) {
    if (!objects_.contains(hash)) put(hash, state);
  }
  make_room(0, {});
  return {};
}

FileStore::Objects::iterator FileStore::put(const std::string& hash, State state) {
  const auto object = objects_.try_emplace(hash).first;
  object->second.state = state;
  object->second.used = used_.insert(used_.end(), hash);
  if (!state.complete) object->second.part = parts_.insert(parts_.end(), hash);
  bytes_ += on_disk(state.have);
  return object;
}

/// The order outlives the process as the times of the files.
void FileStore::touch(Objects::iterator object) {
  if (!object->second.state.complete) parts_.splice(parts_.end(), parts_, object->second.part);
  if (object->second.used == std::prev(used_.end())) return;
  used_.splice(used_.end(), used_, object->second.used);
  const std::string path = object->second.state.complete ? path_of(object->first) : part_path_of(object->first);
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

void FileStore::erase(Objects::iterator object) {
  loop::unlink_file(object->second.state.complete ? path_of(object->first) : part_path_of(object->first));
  bytes_ -= on_disk(object->second.state.have);
  used_.erase(object->second.used);
  if (!object->second.state.complete) parts_.erase(object->second.part);
  objects_.erase(object);
}

bool FileStore::is_safe(const std::string& hash) const { return kept_.contains(hash) && have(hash).complete; }

void FileStore::make_room(std::int64_t bytes, std::string_view but) {
  for (auto hash = used_.begin(); hash != used_.end() && bytes_ + bytes > options_.bytes_max.value;) {
    const std::string& candidate = *hash++;
    if (candidate != but && !is_safe(candidate)) erase(objects_.find(candidate));
  }
}

/// The user with the most parts, the new one included, loses the part that was written to least recently: however many
/// one user begins, those of others stay.
void FileStore::make_room_for_part(std::string_view user) {
  while (!parts_.empty() && parts_.size() >= options_.parts_max) {
    std::map<std::string, std::size_t, std::less<>> counts;
    const auto count = [&](const std::string& hash) -> std::size_t& { return counts[objects_.at(hash).user]; };
    for (const std::string& hash : parts_) ++count(hash);
    if (const auto own = counts.find(user); own != counts.end()) ++own->second;
    erase(objects_.find(*std::ranges::max_element(parts_, {}, count)));  // the first of equals
  }
}

/// By the times of the files, which say how late it is when the newest of them was written.
void FileStore::drop_old_parts(const std::string& newest) {
  struct stat facts {};
  if (::stat(part_path_of(newest).c_str(), &facts) != 0) return;
  const std::int64_t oldest = facts.st_mtim.tv_sec - part_age_max_s;
  for (auto hash = parts_.begin(); hash != parts_.end();) {
    const std::string& candidate = *hash++;
    if (::stat(part_path_of(candidate).c_str(), &facts) == 0 && facts.st_mtim.tv_sec >= oldest) return;
    erase(objects_.find(candidate));
  }
}

FileStore::State FileStore::have(std::string_view hash) const {
  const auto object = objects_.find(std::string(hash));
  return object == objects_.end() ? State{} : object->second.state;
}

Result<FileStore::State> FileStore::append(const std::string& hash, const Part& part) {
  const auto bytes = static_cast<std::int64_t>(part.bytes.size());
  if (!is_hash(hash) || part.offset < 0 || part.size < bytes || part.offset > part.size - bytes) {
    return fail(Errc::invalid, "a part of an object that exceeds it, or has no hash");
  }
  if (part.size > options_.object_bytes_max.value) {
    return fail(Errc::invalid, "an object of " + to_string(ByteSize{part.size}) + " is too large; " +
                                   to_string(options_.object_bytes_max) + " are allowed");
  }
  if (have(hash).have > part.size && !have(hash).complete) remove(hash);  // somebody sent something else
  const State before = have(hash);
  if (before.complete) return before;
  if (part.offset + bytes <= before.have && before.have < part.size) return before;
  if (part.offset != before.have) {
    return fail(Errc::conflict, "object " + hash + " continues at offset " + std::to_string(before.have));
  }
  auto object = objects_.find(hash);
  const bool is_new = object == objects_.end();
  const std::int64_t needed = on_disk(before.have + bytes) - (is_new ? 0 : on_disk(before.have));
  make_room(needed, hash);
  if (bytes_ + needed > options_.bytes_max.value) {
    return fail(Errc::unavailable, options_.folder + ": all of the " + to_string(options_.bytes_max) +
                                       " for objects are in use; raise the limit, or end the tasks that use them");
  }
  if (is_new) {
    make_room_for_part(part.user);
    object = put(hash, {});
  }
  object->second.user = part.user;
  if (Result<void> written = write(object, part); !written) {
    // What a failed sync or cut has left is not known; nor is there a reason to keep an empty file.
    if (object->second.state.have != before.have || before.have == 0) erase(object);
    return Failure(std::move(written).error());
  }
  touch(object);
  if (is_new) drop_old_parts(hash);
  if (object->second.state.have < part.size) return object->second.state;
  if (Result<void> finished = finish(object); !finished) {
    erase(object);
    return Failure(std::move(finished).error());
  }
  return object->second.state;
}

void FileStore::grow(Objects::iterator object, std::int64_t bytes) {
  std::int64_t& have = object->second.state.have;
  bytes_ += on_disk(have + bytes) - on_disk(have);
  have += bytes;
}

Result<void> FileStore::write(Objects::iterator object, const Part& part) {
  auto& [hash, known] = *object;
  if (!known.sum) TRY(sum_up(object));
  TRY_ASSIGN(file, File::open(part_path_of(hash), O_WRONLY | O_CREAT | O_APPEND));
  const auto bytes = static_cast<std::int64_t>(part.bytes.size());
  if (Result<void> written = file.write(part.bytes); !written) {
    if (!file.truncate(known.state.have)) grow(object, bytes);
    return written;
  }
  known.sum->update(part.bytes);
  grow(object, bytes);
  known.unsynced += bytes;
  if (known.unsynced < sync_every_bytes) return {};
  known.unsynced = 0;
  return file.sync();
}

Result<void> FileStore::sum_up(Objects::iterator object) {
  Sha256 sum;
  if (object->second.state.have > 0) {
    TRY_ASSIGN(begun, File::open(part_path_of(object->first), O_RDONLY));
    Bytes buffer(copy_bytes);
    for (std::size_t read = 1; read > 0;) {
      TRY_ASSIGN(more, begun.read(buffer));
      sum.update(BytesView(buffer).first(more));
      read = more;
    }
  }
  object->second.sum = std::move(sum);
  return {};
}

Result<void> FileStore::finish(Objects::iterator object) {
  const std::string& hash = object->first;
  if (std::exchange(object->second.sum, std::nullopt)->finish() != hash) {
    return fail(Errc::corrupt, "the content that was sent as " + hash + " has another hash; send it again");
  }
  TRY_ASSIGN(file, File::open(part_path_of(hash), O_RDONLY));
  TRY(file.sync());
  TRY(loop::rename_file(part_path_of(hash), path_of(hash)));
  object->second.state.complete = true;
  parts_.erase(object->second.part);
  return sync_folder(options_.folder);
}

Result<std::string> FileStore::path(const std::string& hash) {
  const auto object = objects_.find(hash);
  if (object == objects_.end() || !object->second.state.complete) {
    return fail(Errc::not_found, "there is no object " + hash + ", or not all of it");
  }
  touch(object);
  return path_of(hash);
}

Result<Bytes> FileStore::read(const std::string& hash, std::int64_t offset, std::size_t bytes_max) {
  TRY_ASSIGN(file_path, path(hash));
  TRY_ASSIGN(file, File::open(file_path, O_RDONLY));
  Bytes bytes(bytes_max);
  TRY_ASSIGN(read, file.read_at(offset, bytes));
  bytes.resize(read);
  return bytes;
}

void FileStore::keep(const std::string& hash) { ++kept_[hash]; }

void FileStore::release(const std::string& hash) {
  const auto kept = kept_.find(hash);
  if (kept != kept_.end() && --kept->second == 0) kept_.erase(kept);
}

void FileStore::remove(const std::string& hash) {
  if (const auto object = objects_.find(hash); object != objects_.end()) erase(object);
}

}  // namespace cadre::objects
