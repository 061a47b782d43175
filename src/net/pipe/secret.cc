#include "net/pipe/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>
#include <zmq.h>

#include <memory>
#include <string>

#include "base/check.h"

namespace cadre::net {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Raw = std::array<std::uint8_t, 32>;

Raw raw_of(const std::string& text) {
  Raw raw{};
  CHECK(zmq_z85_decode(raw.data(), text.c_str()) != nullptr);
  return raw;
}

const std::uint8_t* start_of(BytesView bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

SharedSecret hmac(BytesView key, const std::string& text) {
  SharedSecret made;
  unsigned int size = made.size();
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), start_of(as_bytes(text)), text.size(),
             reinterpret_cast<std::uint8_t*>(made.data()), &size) != nullptr);
  return made;
}

}  // namespace

Result<SharedSecret> shared_secret(const SecretKey& own, const PublicKey& peer) {
  if (peer.empty()) return fail(Errc::invalid, "the key of the other side is missing");
  Raw mine = raw_of(own.reveal());
  const Raw theirs = raw_of(peer.text());
  const Key secret(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, mine.data(), mine.size()));
  explicit_bzero(mine.data(), mine.size());
  const Key open(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, theirs.data(), theirs.size()));
  CHECK(secret && open);
  const std::unique_ptr<EVP_PKEY_CTX, Free> context(EVP_PKEY_CTX_new(secret.get(), nullptr));
  SharedSecret point;
  std::size_t size = point.size();
  const bool is_good = context && EVP_PKEY_derive_init(context.get()) == 1 &&
                       EVP_PKEY_derive_set_peer(context.get(), open.get()) == 1 &&
                       EVP_PKEY_derive(context.get(), reinterpret_cast<std::uint8_t*>(point.data()), &size) == 1;
  if (!is_good) return fail(Errc::invalid, "the key of the other side is invalid");  // a point of small order
  const SharedSecret made = hmac(point, "cadre pipe");
  explicit_bzero(point.data(), point.size());
  return made;
}

SharedSecret proof_of(const SharedSecret& secret, std::string_view label, BytesView first, BytesView second) {
  std::string text(label);
  text += as_text(first);
  text += as_text(second);
  return hmac(secret, text);
}

bool is_same(const SharedSecret& a, BytesView b) {
  return b.size() == a.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

SharedSecret random_bytes() {
  SharedSecret made;
  CHECK(RAND_bytes(reinterpret_cast<std::uint8_t*>(made.data()), static_cast<int>(made.size())) == 1);
  return made;
}

}  // namespace cadre::net
