/// The keys by which processes know each other: CURVE25519, in the 40 characters of Z85. Values; safe on any
/// thread. No message made here and no log holds a secret key.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/dice.h"
#include "base/result.h"

namespace cadre::net {

/// Made by parse_public_key only, or empty: nobody's.
class PublicKey {
 public:
  PublicKey() = default;
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const PublicKey&) const = default;

 private:
  friend Result<PublicKey> parse_public_key(std::string_view text);
  explicit PublicKey(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);

/// Nothing prints it, and its memory is wiped in the end.
class SecretKey {
 public:
  explicit SecretKey(std::string text) : text_(std::move(text)) {}
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey& other);
  ~SecretKey();

  const std::string& reveal() const { return text_; }

 private:
  std::string text_;
};

struct Keys {
  PublicKey open;    ///< to be known to all
  SecretKey secret;  ///< belongs to `open`
};

/// How the two sides of a unix socket prove who they are: by being able to reach a private folder, or, as over TCP, by
/// their keys besides.
enum class UnixProof : std::uint8_t { folder, keys };

/// New keys, from the system's randomness.
[[nodiscard]] Keys make_keys();

/// The same keys for the same dice: for tests and simulations, never for a network.
[[nodiscard]] Keys draw_keys(Dice& dice);

/// Writes a new file that only its owner can read; conflict when there is one already.
[[nodiscard]] Result<void> save_keys(const Keys& keys, const std::string& path);

/// Denied when others could read the file, corrupt when it holds no keys that belong together.
[[nodiscard]] Result<Keys> load_keys(const std::string& path);

}  // namespace cadre::net

template <>
struct std::hash<cadre::net::PublicKey> {
  std::size_t operator()(const cadre::net::PublicKey& key) const noexcept {
    return std::hash<std::string>{}(key.text());
  }
};
