#include "objects/checked_source.h"

#include <array>

#include "objects/key.h"

namespace cadre::objects {

CheckedSource::CheckedSource(std::string key, Digest digest, ByteSource& source)
    : key_(std::move(key)), digest_(std::move(digest)), source_(source), left_(digest_.size) {}

Failure CheckedSource::corrupt(const std::string& why) const {
  return fail(Errc::corrupt, "the content for " + shown_key(key_) + " " + why +
                                 "; nothing was stored; check that its file is not being written, then send it again");
}

Result<void> CheckedSource::begin() { return left_ == 0 ? check_end() : Result<void>(); }

Result<std::size_t> CheckedSource::read(std::span<std::byte> into) {
  if (failed_) return Failure(*failed_);
  if (static_cast<std::uint64_t>(left_) < into.size()) into = into.first(static_cast<std::size_t>(left_));
  if (into.empty()) return std::size_t{0};
  Result<std::size_t> read = read_next(into);
  if (!read) failed_ = read.error();
  return read;
}

Result<std::size_t> CheckedSource::read_next(std::span<std::byte> into) {
  TRY_ASSIGN(size, source_.read(into));
  if (size < into.size()) {
    return corrupt("ends after " + std::to_string(digest_.size - left_ + static_cast<std::int64_t>(size)) + " of " +
                   std::to_string(digest_.size) + " bytes");
  }
  sum_.update(into);
  left_ -= static_cast<std::int64_t>(size);
  if (left_ == 0) TRY(check_end());
  return size;
}

Result<void> CheckedSource::check_end() {
  std::array<std::byte, 1> beyond{};
  TRY_ASSIGN(more, source_.read(beyond));
  if (more > 0) return corrupt("is longer than the " + std::to_string(digest_.size) + " bytes announced");
  if (const std::string hash = sum_.finish(); hash != digest_.sha256) {
    return corrupt("has the SHA-256 " + hash + " instead of " + digest_.sha256);
  }
  return {};
}

bool CheckedSource::rewind() {
  if (failed_ || !source_.rewind()) return false;
  left_ = digest_.size;
  sum_ = Sha256();
  return true;
}

}  // namespace cadre::objects
