/// Memory that two processes of one host share: pieces of it, each a file of its own without a name, so that nothing is
/// left when both are gone. One process fills pieces and sends them, the other looks at them and gives them back.
/// Both may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::tensor {

/// A mapped piece; unmapped with the last who holds it.
class SharedPiece {
 public:
  SharedPiece(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  SharedPiece(const SharedPiece&) = delete;
  SharedPiece& operator=(const SharedPiece&) = delete;
  ~SharedPiece();
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* const data_;
  const std::size_t size_;
};

/// The side that fills.
class SharedPool {
 public:
  struct Taken {
    std::uint32_t number = 0;
    std::shared_ptr<SharedPiece> piece;
    int file = -1;        ///< the pool's own
    bool is_new = false;  ///< the other side has not seen it
  };

  /// Pieces that are used take at most so much together, those kept for the next ones at most that much.
  SharedPool(std::size_t bytes_max, std::size_t kept_max) : bytes_max_(bytes_max), kept_max_(kept_max) {}

  /// A piece of at least that size; nothing when there is no room for it, or the system gives none.
  [[nodiscard]] std::optional<Taken> take(std::size_t size);
  /// The other side has given it back. Says whether the piece is gone for good, which that side is to be told: what is
  /// over `kept_max` is not kept. Numbers that are not in use are ignored.
  bool give_back(std::uint32_t number);

  std::size_t bytes() const;  ///< of all pieces, used or kept

 private:
  struct Piece {
    std::shared_ptr<SharedPiece> memory;
    loop::Descriptor file;
    bool is_used = false;
  };
  static std::size_t capacity_for(std::size_t size);

  const std::size_t bytes_max_;
  const std::size_t kept_max_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Piece> pieces_;
  std::multimap<std::size_t, std::uint32_t> free_;  ///< by capacity
  std::size_t bytes_ = 0;
  std::size_t free_bytes_ = 0;
  std::uint32_t last_ = 0;
};

/// The side that looks.
class SharedViews {
 public:
  /// Maps a piece that the other side has sent. `corrupt` when it is not what its sender must have made: one that could
  /// shrink would kill who looks at it.
  [[nodiscard]] Result<void> add(std::uint32_t number, const loop::Descriptor& file);
  /// Nothing when there is no such piece.
  [[nodiscard]] std::shared_ptr<SharedPiece> find(std::uint32_t number) const;
  void remove(std::uint32_t number);

 private:
  static constexpr std::size_t pieces_max = 65'536;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<SharedPiece>> pieces_;
};

}  // namespace cadre::tensor
