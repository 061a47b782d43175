#include "tensor/shared_pool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace cadre::tensor {
namespace {

constexpr std::size_t smallest = 64 << 10;
constexpr std::size_t pieces_max = 256;
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::shared_ptr<SharedPiece> map(int file, std::size_t size) {
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::make_shared<SharedPiece>(static_cast<std::byte*>(data), size);
}

}  // namespace

SharedPiece::~SharedPiece() { ::munmap(data_, size_); }

std::size_t SharedPool::capacity_for(std::size_t size) { return std::bit_ceil(std::max(size, smallest)); }

std::optional<SharedPool::Taken> SharedPool::take(std::size_t size) {
  if (size > bytes_max_) return std::nullopt;
  const std::size_t capacity = capacity_for(size);
  const std::lock_guard lock(mutex_);
  if (bytes_ - free_bytes_ + capacity > bytes_max_) return std::nullopt;
  if (const auto kept = free_.find(capacity); kept != free_.end()) {
    const std::uint32_t number = kept->second;
    free_.erase(kept);
    free_bytes_ -= capacity;
    Piece& piece = pieces_.at(number);
    piece.is_used = true;
    return Taken{number, piece.memory, piece.file.get(), false};
  }
  if (pieces_.size() >= pieces_max) return std::nullopt;  // each has a descriptor
  Piece piece;
  piece.file = loop::Descriptor(::memfd_create("cadre", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!piece.file || ::ftruncate(piece.file.get(), static_cast<off_t>(capacity)) != 0) return std::nullopt;
  if (::fcntl(piece.file.get(), F_ADD_SEALS, seals) != 0) return std::nullopt;
  piece.memory = map(piece.file.get(), capacity);
  if (!piece.memory) return std::nullopt;
  piece.is_used = true;
  bytes_ += capacity;
  const Taken taken{++last_, piece.memory, piece.file.get(), true};
  pieces_.emplace(last_, std::move(piece));
  return taken;
}

bool SharedPool::give_back(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(number);
  if (found == pieces_.end() || !found->second.is_used) return false;
  const std::size_t capacity = found->second.memory->size();
  if (free_bytes_ + capacity > kept_max_) {
    bytes_ -= capacity;
    pieces_.erase(found);
    return true;
  }
  found->second.is_used = false;
  free_.emplace(capacity, number);
  free_bytes_ += capacity;
  return false;
}

std::size_t SharedPool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

Result<void> SharedViews::add(std::uint32_t number, const loop::Descriptor& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return loop::system_failure("shared memory");
  if ((::fcntl(file.get(), F_GET_SEALS) & seals) != seals) return fail(Errc::corrupt, "shared memory is not sealed");
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::lock_guard lock(mutex_);
  if (size == 0 || pieces_.size() >= pieces_max || pieces_.contains(number)) {
    return fail(Errc::corrupt, "a piece of shared memory is empty, repeated or exceeds the limit");
  }
  std::shared_ptr<SharedPiece> piece = map(file.get(), size);
  if (!piece) return loop::system_failure("cannot map shared memory");
  pieces_.emplace(number, std::move(piece));
  return {};
}

std::shared_ptr<SharedPiece> SharedViews::find(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = pieces_.find(number);
  return found == pieces_.end() ? nullptr : found->second;
}

void SharedViews::remove(std::uint32_t number) {
  const std::lock_guard lock(mutex_);
  pieces_.erase(number);
}

}  // namespace cadre::tensor
