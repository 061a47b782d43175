/// Tokens and passwords: how they are made and checked. Safe on any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "access/requests.h"
#include "base/result.h"
#include "cluster/ids.h"

namespace cadre::gateway {

/// A new secret for a user's token, and what of it may be kept.
struct NewSecret {
  std::string text;  ///< what the user gets
  access::Secret kept;
};
[[nodiscard]] NewSecret make_secret();
/// The same one each time from 64 hexadecimal digits that nobody can guess.
[[nodiscard]] NewSecret secret_of(std::string_view digits);
/// The hash under which a token is stored.
[[nodiscard]] std::string hash_of_token(std::string_view token);

/// A password with salt and cost, by scrypt. Takes some 50 ms and 32 MiB, by intent.
[[nodiscard]] Result<std::string> hash_password(std::string_view password);
/// Whether it is the password; takes as long when there is no hash to check against.
[[nodiscard]] Result<bool> is_password(std::string_view password, std::string_view hash);

/// Tokens of tasks: nothing is kept of them, since they say for which lease they are good and are signed.
class Passes {
 public:
  /// A random text of at least 32 bytes that outlives the master.
  explicit Passes(std::string secret) : secret_(std::move(secret)) {}

  [[nodiscard]] std::string make(cluster::LeaseId lease) const;
  /// Whether it looks like one at all.
  static bool is_pass(std::string_view token) { return token.starts_with(prefix); }
  /// For which lease it was made; nothing: it was not made here, or could be made by everybody for want of a secret.
  [[nodiscard]] std::optional<cluster::LeaseId> check(std::string_view token) const;
  /// 64 hexadecimal digits that only who knows the secret can make of a text; other ones for each purpose.
  [[nodiscard]] std::string digest(std::string_view purpose, std::string_view text) const {
    return sign("digest " + std::string(purpose) + "\n" + std::string(text));
  }

 private:
  static constexpr std::string_view prefix = "cadre-task-";
  std::string sign(std::string_view text) const;

  std::string secret_;
};

/// As many random bytes, in hexadecimal digits.
[[nodiscard]] std::string random_text(std::size_t bytes);

}  // namespace cadre::gateway
