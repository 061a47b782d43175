#include "gateway/secrets.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "objects/hash.h"

namespace cadre::gateway {
namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::uint64_t scrypt_n = 1 << 15;
constexpr std::uint64_t scrypt_r = 8;
constexpr std::uint64_t scrypt_p = 1;
constexpr std::uint64_t scrypt_memory_max = std::uint64_t{128} << 20;
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t key_bytes = 32;
constexpr std::size_t secret_bytes_least = 32;
constexpr std::string_view scheme = "scrypt$15$8$1$";  ///< log2 of n, r, p

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

Result<std::string> derive(std::string_view password, std::string_view salt) {
  std::array<unsigned char, key_bytes> key{};
  const int made = EVP_PBE_scrypt(password.data(), password.size(), reinterpret_cast<const unsigned char*>(salt.data()),
                                  salt.size(), scrypt_n, scrypt_r, scrypt_p, scrypt_memory_max, key.data(), key.size());
  if (made != 1) return fail(Errc::unavailable, "not enough memory to check a password; try again later");
  return hexadecimal(key.data(), key.size());
}

bool are_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

std::string random_text(std::size_t bytes) {
  std::vector<unsigned char> drawn(bytes);
  CHECK(RAND_bytes(drawn.data(), static_cast<int>(drawn.size())) == 1);
  return hexadecimal(drawn.data(), drawn.size());
}

std::string hash_of_token(std::string_view token) { return objects::sha256(as_bytes(token)); }

NewSecret make_secret() {
  NewSecret made;
  made.text = "cadre-" + random_text(24);
  made.kept.id = random_text(6);
  made.kept.hash = hash_of_token(made.text);
  return made;
}

NewSecret secret_of(std::string_view digits) {
  CHECK(digits.size() >= 60);
  NewSecret made;
  made.text = "cadre-" + std::string(digits.substr(0, 48));
  made.kept.id = std::string(digits.substr(48, 12));
  made.kept.hash = hash_of_token(made.text);
  return made;
}

Result<std::string> hash_password(std::string_view password) {
  const std::string salt = random_text(salt_bytes);
  TRY_ASSIGN(key, derive(password, salt));
  return std::string(scheme) + salt + "$" + key;
}

Result<bool> is_password(std::string_view password, std::string_view hash) {
  const std::size_t begin = hash.starts_with(scheme) ? scheme.size() : std::string_view::npos;
  const std::size_t end = begin == std::string_view::npos ? begin : hash.find('$', begin);
  const bool is_hash = end != std::string_view::npos;
  const std::string_view salt = is_hash ? hash.substr(begin, end - begin) : "a salt that no stored password has";
  TRY_ASSIGN(key, derive(password, salt));
  return is_hash && are_equal(key, hash.substr(end + 1));
}

std::string Passes::sign(std::string_view text) const {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size) != nullptr);
  return hexadecimal(mac.data(), size);
}

std::string Passes::make(cluster::LeaseId lease) const {
  const std::string text = std::string(prefix) + to_string(lease);
  return text + "-" + sign(text);
}

std::optional<cluster::LeaseId> Passes::check(std::string_view token) const {
  const std::size_t dash = token.rfind('-');
  if (!is_pass(token) || dash < prefix.size() || secret_.size() < secret_bytes_least) return std::nullopt;
  if (!are_equal(sign(token.substr(0, dash)), token.substr(dash + 1))) return std::nullopt;
  const auto lease = cluster::parse_lease_id(token.substr(prefix.size(), dash - prefix.size()));
  return lease ? std::optional(*lease) : std::nullopt;
}

}  // namespace cadre::gateway
