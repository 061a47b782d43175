/// Access control: users, tokens, workspaces, quotas and the audit log. Pure: no I/O, no clock, no secrets but their
/// hashes. One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "access/directory.h"
#include "access/idempotency.h"
#include "access/login_guard.h"
#include "access/requests.h"
#include "access/rows.h"
#include "api/principal.h"
#include "base/result.h"

namespace cadre::access {

struct Settings {
  std::int64_t users_max = 100'000;
  std::int64_t tokens_max_each = 100;
  std::int64_t workspaces_max = 10'000;
  IdempotencySettings idempotency;
  GuardSettings guard;
};

/// The id of the token of the owner of the master's data folder: it is stored in a file there, and a new password of
/// its user does not revoke it.
constexpr std::string_view local_token_id = "local";

/// What a login is checked against.
struct Challenge {
  std::string password;  ///< the hash to check against; empty: the login fails, but must take as long
};

class Access {
 public:
  Access(Settings settings, const Rows& rows);

  /// Creates the default workspace if it is missing and, while there are no users at all, the first one, `admin`,
  /// without a password.
  void found(TimePoint now);

  /// The caller with a token of this hash. `denied` when it is unknown, revoked, expired, or its user is not active.
  [[nodiscard]] Result<Principal> who(const std::string& token_hash, TimePoint now) const;
  /// The rights of a task of this user in this workspace: those of the user, in that workspace only, as editor at most.
  [[nodiscard]] Result<Principal> who_of_task(const std::string& user, const std::string& workspace,
                                              std::string task) const;

  /// Nothing, if there is no such user.
  [[nodiscard]] const UserRow* find_user(const std::string& name) const {
    const User* user = directory_.find_user(name);
    return user == nullptr ? nullptr : &user->row;
  }

  /// Checks and executes a request. The error is for the caller: `denied`, `not_found` (also for what the caller may
  /// not see), `conflict`, `invalid`.
  [[nodiscard]] Result<Reply> ask(const Principal& who, const Request& request, TimePoint now);

  /// Starts a login from an address. `unavailable` when the rate limit is exceeded, with the time to wait.
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

  /// Stores the token of the owner of the data folder, in place of the previous one of that id. `not_found` when its
  /// user does not exist.
  [[nodiscard]] Result<void> put_token(TokenRow token);

  [[nodiscard]] const Directory& directory() const { return directory_; }
  [[nodiscard]] bool has_workspace(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_user(const std::string& name) const;
  [[nodiscard]] std::optional<std::int64_t> quota_of_workspace(const std::string& name) const;

  /// Adds an entry to the audit log and numbers it. What may repeat the words of a client is shortened.
  void audit(AuditRow row);

  /// Removes expired tokens. Call it periodically.
  void tidy(TimePoint now);

  /// What a request of this user with this key has created; null: nothing so far. `conflict` when it was another one.
  [[nodiscard]] Result<const IdempotencyRow*> created_by(const std::string& user, const IdempotencyKey& key) const {
    return keys_.find(user, key);
  }
  void remember(IdempotencyRow row) { keys_.put(std::move(row)); }
  /// A token as it was shown when it was created, without its secret.
  [[nodiscard]] Result<Reply> token_made(const std::string& id) const;

  /// What has changed since the last time.
  [[nodiscard]] Writes take() {
    Writes writes = directory_.take();
    keys_.take(writes);
    return writes;
  }

 private:
  struct Caller {
    Principal who;
    TimePoint now;
  };

  /// The current rights of a caller who was authenticated some time ago.
  Result<Principal> still(const Principal& who, TimePoint now) const;

  Result<Reply> answer(const Caller& caller, const Logout& request);
  Result<Reply> answer(const Caller& caller, const GetMe& request);
  Result<Reply> answer(const Caller& caller, const ListUsers& request);
  Result<Reply> answer(const Caller& caller, const GetUser& request);
  Result<Reply> answer(const Caller& caller, const CreateUser& request);
  Result<Reply> answer(const Caller& caller, const SetUser& request);
  Result<Reply> answer(const Caller& caller, const DeleteUser& request);
  Result<Reply> answer(const Caller& caller, const ListTokens& request);
  Result<Reply> answer(const Caller& caller, const CreateToken& request);
  Result<Reply> answer(const Caller& caller, const RevokeToken& request);
  Result<Reply> answer(const Caller& caller, const ListWorkspaces& request);
  Result<Reply> answer(const Caller& caller, const GetWorkspace& request);
  Result<Reply> answer(const Caller& caller, const CreateWorkspace& request);
  Result<Reply> answer(const Caller& caller, const SetWorkspace& request);
  Result<Reply> answer(const Caller& caller, const DeleteWorkspace& request);
  Result<Reply> answer(const Caller& caller, const SetMember& request);
  Result<Reply> answer(const Caller& caller, const RemoveMember& request);

  /// `not_found` also for what exists but the caller may not see.
  Result<const User*> see_user(const Principal& who, const std::string& name) const;
  Result<const Workspace*> see_workspace(const Principal& who, const std::string& name) const;
  /// `denied` if the caller sees it, but is neither an admin of it nor of the cluster.
  Result<const Workspace*> govern(const Principal& who, const std::string& workspace) const;
  /// `conflict` if the cluster would be left without an admin who is active.
  Result<void> check_admins(const UserRow& before, const std::optional<UserRow>& after) const;
  UserView view_for(const Principal& who, const User& user) const;
  /// `conflict` when the user has too many, or the id or hash is taken.
  Result<NewToken> add_token(TokenRow token);
  void drop_expired(const User& user, TimePoint now);
  /// Revokes all tokens of a user except the one of the data folder.
  void end_tokens(const std::string& name);
  void make_room_for_login(const User& user);

  Settings settings_;
  Directory directory_;
  LoginGuard guard_;
  IdempotencyKeys keys_;
};

}  // namespace cadre::access
