/// Writes MessagePack piece by piece: each value in its smallest format, doubles in 8 bytes. A value; one thread at a
/// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace cadre::describe {

class Packer {
 public:
  void null() { tag(0xc0); }
  void truth(bool value) { tag(value ? 0xc3 : 0xc2); }
  void number(std::int64_t value);
  void number(std::uint64_t value);
  void number(double value);
  void text(std::string_view value);
  void bytes(BytesView value);
  /// So many values follow.
  void list(std::size_t size);
  /// So many pairs of a text and a value follow.
  void map(std::size_t size);
  /// What is written until close_extension(), which takes what this gives, is of an application's own type.
  [[nodiscard]] std::size_t open_extension(std::int8_t type);
  void close_extension(std::size_t place);
  /// Bytes as they are, inside an extension.
  void raw(BytesView value) { out_.insert(out_.end(), value.begin(), value.end()); }

  const Bytes& written() const { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  struct SizeTags;
  void tag(unsigned byte) { out_.push_back(static_cast<std::byte>(byte)); }
  template <class T>
  void integer(T value);
  void size(std::size_t count, const SizeTags& tags);

  Bytes out_;
};

}  // namespace cadre::describe
