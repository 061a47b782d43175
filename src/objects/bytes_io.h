/// Where the bytes of an object come from and where they go. Everything blocks and is called on the thread that asked
/// for it; one thread at a time for each object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "loop/file.h"

namespace cadre::objects {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The next bytes, as many as fit if there are so many; fewer at the end, and then none.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
  /// Begins again at the first byte, for a store that has to repeat an upload; false when that is not possible.
  [[nodiscard]] virtual bool rewind() { return false; }
};

/// Bytes that outlive it.
class BytesSource final : public ByteSource {
 public:
  explicit BytesSource(BytesView bytes) : bytes_(bytes) {}
  Result<std::size_t> read(std::span<std::byte> into) override;
  bool rewind() override { return at_ = 0, true; }

 private:
  BytesView bytes_;
  std::size_t at_ = 0;
};

/// A file from its beginning.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(loop::File file) : file_(std::move(file)) {}
  [[nodiscard]] static Result<FileSource> open(const std::string& path);
  Result<std::size_t> read(std::span<std::byte> into) override;
  bool rewind() override { return at_ = 0, true; }

 private:
  loop::File file_;
  std::int64_t at_ = 0;
};

/// What a function gives; it cannot begin again.
class CallSource final : public ByteSource {
 public:
  using Call = std::function<Result<std::size_t>(std::span<std::byte>)>;
  explicit CallSource(Call call) : call_(std::move(call)) {}
  Result<std::size_t> read(std::span<std::byte> into) override { return call_(into); }

 private:
  Call call_;
};

struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// Takes bytes in order. An error ends what calls it, which returns this error.
using ByteSink = std::function<Result<void>(BytesView)>;

}  // namespace cadre::objects
