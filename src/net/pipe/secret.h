/// What only two processes know that know each other's public keys: no one else can compute it. Values; safe on any
/// thread.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "net/keys.h"

namespace cadre::net {

using SharedSecret = std::array<std::byte, 32>;

/// The same for (my secret key, your public one) and (your secret key, my public one). `invalid` for a public key that
/// is none.
[[nodiscard]] Result<SharedSecret> shared_secret(const SecretKey& own, const PublicKey& peer);

/// A proof that its maker knows the secret, for what was just said: HMAC-SHA256.
[[nodiscard]] SharedSecret proof_of(const SharedSecret& secret, std::string_view label, BytesView first,
                                    BytesView second);
bool is_same(const SharedSecret& a, BytesView b);

/// From the system's randomness.
[[nodiscard]] SharedSecret random_bytes();

}  // namespace cadre::net
