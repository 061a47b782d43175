#include "objects/hash.h"

#include <fcntl.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "loop/file.h"

namespace cadre::objects {

using loop::copy_bytes;
using loop::File;

namespace {

constexpr std::size_t hash_bytes = 32;

EVP_MD_CTX* context_of(const auto& held) { return static_cast<EVP_MD_CTX*>(held.get()); }

}  // namespace

void Sha256::Free::operator()(void* context) const { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context)); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr);
  CHECK(EVP_DigestInit_ex(context_of(context_), EVP_sha256(), nullptr) == 1);
}

void Sha256::update(BytesView bytes) { CHECK(EVP_DigestUpdate(context_of(context_), bytes.data(), bytes.size()) == 1); }

std::string Sha256::finish() {
  std::array<unsigned char, hash_bytes> hash{};
  CHECK(EVP_DigestFinal_ex(context_of(context_), hash.data(), nullptr) == 1);
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : hash) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string sha256(BytesView bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Result<std::string> sha256_of_file(const std::string& path) {
  TRY_ASSIGN(file, File::open(path, O_RDONLY));
  Sha256 hash;
  Bytes buffer(copy_bytes);
  while (true) {
    TRY_ASSIGN(read, file.read(buffer));
    if (read == 0) return hash.finish();
    hash.update(BytesView(buffer).first(read));
  }
}

bool is_hash(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 2 * hash_bytes && std::ranges::all_of(text, is_digit);
}

}  // namespace cadre::objects
