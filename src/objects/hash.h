/// SHA-256, by which objects are known. Values; safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::objects {

/// Takes bytes piece by piece.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept = default;
  Sha256& operator=(Sha256&&) noexcept = default;
  ~Sha256() = default;

  void update(BytesView bytes);
  /// In 64 hexadecimal digits, small letters. Nothing can be added after that.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // OpenSSL's, which stays out of this header
};

[[nodiscard]] std::string sha256(BytesView bytes);
[[nodiscard]] Result<std::string> sha256_of_file(const std::string& path);

/// Whether it is written as finish() writes it, and so can be a file's name.
bool is_hash(std::string_view text);

}  // namespace cadre::objects
