/// Who there is and what they may: users, tokens, workspaces, quotas, and what is audited. Pure: no I/O, no clock, no
/// secrets but their hashes. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "access/directory.h"
#include "access/idempotency.h"
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
  IdempotencySettings idempotency;
  GuardSettings guard;
};

/// The id of the token of whoever owns the data folder of the master: a file there holds it, and a new password of its
/// user does not end it.
constexpr std::string_view local_token_id = "local";

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

  /// Nothing, if there is no such user.
  [[nodiscard]] const UserRow* find_user(const std::string& name) const {
    const User* user = directory_.find_user(name);
    return user == nullptr ? nullptr : &user->row;
  }

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

  /// A token that the shell gives to whoever owns the data folder. In place of the one before it of that id.
  /// `not_found` when its user is not there.
  [[nodiscard]] Result<void> put_token(TokenRow token);

  [[nodiscard]] bool has_workspace(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_user(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_workspace(const std::string& name) const;

  /// Notes what was asked and how it ended; the number is put in.
  void audit(AuditRow row) { directory_.note(std::move(row)); }

  /// Removes tokens that have expired. To be called now and then.
  void tidy(TimePoint now);

  /// What a request of this user with this key has created; null: nothing so far. `conflict` when it was another one.
  [[nodiscard]] Result<const IdempotencyRow*> created_by(const std::string& user, const IdempotencyKey& key) const {
    return keys_.find(user, key);
  }
  void remember(IdempotencyRow row) { keys_.put(std::move(row)); }
  /// A token as it was shown when it was made, but for its secret.
  [[nodiscard]] Result<Reply> token_made(const std::string& id) const;

  /// What has changed since the last time.
  [[nodiscard]] Writes take() {
    Writes writes = directory_.take();
    keys_.take(writes);
    return writes;
  }

 private:
  struct Asked {
    Principal who;
    TimePoint now;
  };

  /// What of somebody's rights is left today: he may have been believed some time ago.
  Result<Principal> still(const Principal& who, TimePoint now) const;

  Result<Reply> answer(const Asked& asked, const Logout& request);
  Result<Reply> answer(const Asked& asked, const GetMe& request);
  Result<Reply> answer(const Asked& asked, const ListUsers& request);
  Result<Reply> answer(const Asked& asked, const GetUser& request);
  Result<Reply> answer(const Asked& asked, const CreateUser& request);
  Result<Reply> answer(const Asked& asked, const SetUser& request);
  Result<Reply> answer(const Asked& asked, const DeleteUser& request);
  Result<Reply> answer(const Asked& asked, const ListTokens& request);
  Result<Reply> answer(const Asked& asked, const CreateToken& request);
  Result<Reply> answer(const Asked& asked, const RevokeToken& request);
  Result<Reply> answer(const Asked& asked, const ListWorkspaces& request);
  Result<Reply> answer(const Asked& asked, const GetWorkspace& request);
  Result<Reply> answer(const Asked& asked, const CreateWorkspace& request);
  Result<Reply> answer(const Asked& asked, const SetWorkspace& request);
  Result<Reply> answer(const Asked& asked, const DeleteWorkspace& request);
  Result<Reply> answer(const Asked& asked, const SetMember& request);
  Result<Reply> answer(const Asked& asked, const RemoveMember& request);

  /// `not_found` also for what is there, if he may not see it.
  Result<const User*> see_user(const Principal& who, const std::string& name) const;
  Result<const Workspace*> see_workspace(const Principal& who, const std::string& name) const;
  /// `denied` to who sees it, but is neither admin of it nor of the cluster.
  Result<const Workspace*> govern(const Principal& who, const std::string& workspace) const;
  /// `conflict` if the cluster would be left without an admin who is active.
  Result<void> check_admins(const UserRow& before, const std::optional<UserRow>& after) const;
  UserView view_for(const Principal& who, const User& user) const;
  /// `conflict` when the user has too many, or the id or hash is taken.
  Result<NewToken> add_token(TokenRow token);
  void drop_expired(const User& user, TimePoint now);
  /// All of a user but that of the data folder.
  void end_tokens(const std::string& name);
  void make_room_for_login(const User& user);

  Settings settings_;
  Directory directory_;
  LoginGuard guard_;
  IdempotencyKeys keys_;
};

}  // namespace cadre::access
