/// Who there is and what they may: users, tokens, workspaces, quotas, and what is audited. Pure: no I/O, no clock, no
/// secrets but their hashes. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "access/login_guard.h"
#include "access/principal.h"
#include "access/requests.h"
#include "access/rows.h"
#include "base/result.h"

namespace cadre::access {

struct Settings {
  std::int64_t users_max = 100'000;
  std::int64_t tokens_max_each = 100;
  std::int64_t workspaces_max = 10'000;
  GuardSettings guard;
};

/// With what a login is decided.
struct Challenge {
  std::string password;  ///< the hash to check against; empty: nobody can pass, but let it take as long
};

class Access {
 public:
  Access(Settings settings, const Rows& rows);

  /// Makes what must always be there where it is not: the default workspace and, while there are no users at all, the
  /// first one, `admin`, without a password.
  void found(TimePoint now);

  /// Who shows a token of this hash. `denied` when it is unknown, revoked, expired, or its user is not active.
  [[nodiscard]] Result<Principal> who(const std::string& token_hash, TimePoint now) const;
  /// Who a task of this user in this workspace speaks for: the user, in that workspace only, as editor at most.
  [[nodiscard]] Result<Principal> who_of_task(const std::string& user, const std::string& workspace,
                                              std::string task) const;

  /// Decides and does. The error says what is wrong, for who asked: `denied`, `not_found` (also of what he may not
  /// see), `conflict`, `invalid`.
  [[nodiscard]] Result<Reply> ask(const Principal& who, const Request& request, TimePoint now);

  /// Somebody wants to log in from an address. `unavailable` when he must wait, with the seconds in words.
  [[nodiscard]] Result<Challenge> begin_login(const std::string& user, const std::string& address, TimePoint now);
  enum class Passed : bool { no, yes };
  struct LoginEnd {
    std::string user;
    std::string address;
    Passed passed = Passed::no;
    Duration valid{};
    Secret secret;
  };
  [[nodiscard]] Result<NewToken> end_login(const LoginEnd& end, TimePoint now);
  /// The hash of a user's password, for who checks the old one before it is changed.
  [[nodiscard]] std::string password_of(const std::string& user) const;

  /// A token that the shell gives to whoever owns the data folder. In place of the one before it of that id.
  void put_token(TokenRow token);

  [[nodiscard]] bool has_workspace(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_user(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_workspace(const std::string& name) const;

  /// Notes what was asked and how it ended; the number is put in.
  void audit(AuditRow row);

  /// Removes tokens that have expired. To be called now and then.
  void tidy(TimePoint now);

  /// What has changed since the last time.
  [[nodiscard]] Writes take();
};

}  // namespace cadre::access
