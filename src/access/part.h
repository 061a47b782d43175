/// Access control as the first part of a master: users, tokens, workspaces, the audit log and idempotency keys. Pure;
/// one thread at a time.
#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <variant>

#include "access/access.h"
#include "api/journal.h"
#include "api/part.h"

namespace cadre::access {

/// A login begins. The reply is a Challenge: what the password is to be checked against.
struct BeginLogin {
  static constexpr std::string_view type_name = "begin_login";
  static constexpr bool is_anonymous = true;
  std::string user;
};

/// A login ends. The reply is a NewToken, without its secret.
struct EndLogin {
  static constexpr std::string_view type_name = "end_login";
  static constexpr bool is_anonymous = true;
  Access::LoginEnd end;
};

/// The password of the caller, to check it before it is changed. The reply is a Challenge.
struct GetPassword {
  static constexpr std::string_view type_name = "get_password";
};

/// Requests that are not in `Request`: the audit log is read from the database, logins are of no one yet.
using Special = std::variant<ListAudit, BeginLogin, EndLogin, GetPassword>;

/// Effect: read these entries of the audit log, newest first.
struct ReadAudit {
  api::CallId call = 0;
  ListAudit request;
};
/// News: they were read.
struct AuditWasRead {
  api::CallId call = 0;
  std::int32_t most = 0;
  Result<std::vector<AuditRow>> rows;
};

class AccessPart final : public api::Part, public api::Journal {
 public:
  using RowTypes = std::tuple<UserRow, TokenRow, WorkspaceRow, MemberRow, IdempotencyRow, AuditRow>;
  struct Options {
    Settings settings;
    std::optional<TokenRow> local_token;  ///< of the owner of the data folder
  };
  [[nodiscard]] static api::PartType type(Options options);

  AccessPart(const Options& options, const Rows& rows, const api::Now& now);

  std::optional<Result<Principal>> identify(const api::Credential& credential, const api::Now& now) const override;
  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request) override;
  std::optional<api::Reply> serve_created(const api::Call& call, const api::Created& created) override;
  void hear(const std::any& news, const api::Now& now) override;
  void tidy(const api::Now& now) override { access_.tidy(now.wall); }
  api::Outcome settle(const api::Now& now) override;

  void audit(const api::Call& call, api::AuditEntry entry) override;
  Result<std::optional<api::Created>> created_by(const std::string& user,
                                                 const api::IdempotencyKey& key) const override;
  void remember(const api::Call& call, const api::IdempotencyKey& key, const api::Created& created) override;

  const Access& access() const { return access_; }

 private:
  api::Reply begin_login(const std::string& user, const api::Call& call);
  api::Reply end_login(const Access::LoginEnd& end, const api::Call& call);

  Access access_;
  api::Outcome outcome_;
};

/// Everything that AccessPart is made from.
[[nodiscard]] Result<Rows> read_rows(api::RowReader& reader);
/// What the database is to do for these; what is gone goes before what is written.
[[nodiscard]] api::Writes to_rows(Writes writes);

}  // namespace cadre::access
