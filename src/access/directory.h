/// The users, tokens, workspaces and members that there are, and which of their rows have changed since they were last
/// written. Knows no rules but those that rows must keep. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "access/rows.h"

namespace cadre::access {

struct User {
  UserRow row;
  std::map<std::string, Role> roles;  ///< by workspace
  std::set<std::string> tokens;       ///< ids
};

struct Workspace {
  WorkspaceRow row;
  std::map<std::string, Role> members;  ///< by user
};

class Directory {
 public:
  explicit Directory(const Rows& rows);

  const std::map<std::string, User>& users() const { return users_; }
  const std::map<std::string, Workspace>& workspaces() const { return workspaces_; }
  const User* find_user(const std::string& name) const;
  const Workspace* find_workspace(const std::string& name) const;
  const TokenRow* find_token(const std::string& id) const;
  const TokenRow* find_token_by_hash(const std::string& hash) const;
  /// Admins of the cluster who are active.
  std::int64_t admins() const { return admins_; }

  /// New, or in place of the one of that name.
  void put_user(UserRow row);
  /// Also removes the user's tokens and roles.
  void remove_user(const std::string& name);
  /// New, or in place of the one of that id. Its user must be there.
  void put_token(TokenRow row);
  void remove_token(const std::string& id);
  /// The one that expires first, if that is not after `now`.
  std::optional<std::string> expired(TimePoint now) const;
  void put_workspace(WorkspaceRow row);
  void remove_workspace(const std::string& name);
  /// User and workspace must be there.
  void put_member(const MemberRow& row);
  void remove_member(const std::string& workspace, const std::string& user);
  /// Puts in the number.
  void note(AuditRow row);

  /// What has changed since the last time.
  Writes take();

 private:
  static int counts_as_admin(const UserRow& row) { return row.is_admin && row.is_active ? 1 : 0; }

  std::map<std::string, User> users_;
  std::map<std::string, Workspace> workspaces_;
  std::unordered_map<std::string, TokenRow> tokens_;        ///< by id
  std::unordered_map<std::string, std::string> token_ids_;  ///< by hash
  std::set<std::pair<TimePoint, std::string>> expiries_;    ///< of tokens that expire, with their ids
  std::int64_t admins_ = 0;
  std::uint64_t last_audit_;

  std::set<std::string> users_changed_;
  std::set<std::string> tokens_changed_;
  std::set<std::string> workspaces_changed_;
  std::set<std::pair<std::string, std::string>> members_changed_;  ///< workspace, user
  std::vector<AuditRow> audit_;
};

}  // namespace cadre::access
