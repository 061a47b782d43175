#include "access/directory.h"

#include <vector>

#include "base/check.h"

namespace cadre::access {
namespace {

template <class Map>
auto find_in(Map& map, const typename Map::key_type& key) -> decltype(&map.begin()->second) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

Directory::Directory(const Rows& rows) : last_audit_(rows.last_audit) {
  for (const UserRow& row : rows.users) put_user(row);
  for (const WorkspaceRow& row : rows.workspaces) put_workspace(row);
  for (const TokenRow& row : rows.tokens) put_token(row);
  for (const MemberRow& row : rows.members) put_member(row);
  users_changed_.clear();
  workspaces_changed_.clear();
  tokens_changed_.clear();
  members_changed_.clear();
}

const User* Directory::find_user(const std::string& name) const { return find_in(users_, name); }

const Workspace* Directory::find_workspace(const std::string& name) const { return find_in(workspaces_, name); }

const TokenRow* Directory::find_token(const std::string& id) const { return find_in(tokens_, id); }

const TokenRow* Directory::find_token_by_hash(const std::string& hash) const {
  const std::string* id = find_in(token_ids_, hash);
  return id == nullptr ? nullptr : find_token(*id);
}

void Directory::put_user(UserRow row) {
  users_changed_.insert(row.name);
  User& user = users_[row.name];
  if (!user.row.name.empty()) admins_ -= counts_as_admin(user.row);
  admins_ += counts_as_admin(row);
  user.row = std::move(row);
}

void Directory::remove_user(const std::string& name) {
  const auto found = users_.find(name);
  CHECK(found != users_.end());
  const User user = found->second;
  for (const std::string& id : user.tokens) remove_token(id);
  for (const auto& [workspace, role] : user.roles) remove_member(workspace, name);
  admins_ -= counts_as_admin(user.row);
  users_.erase(found);
  users_changed_.insert(name);
}

void Directory::put_token(TokenRow row) {
  if (tokens_.contains(row.id)) remove_token(row.id);
  if (const TokenRow* same = find_token_by_hash(row.hash)) remove_token(std::string(same->id));
  User* user = find_in(users_, row.user);
  CHECK(user != nullptr);
  user->tokens.insert(row.id);
  token_ids_.emplace(row.hash, row.id);
  if (row.expires != TimePoint()) expiries_.insert({row.expires, row.id});
  tokens_changed_.insert(row.id);
  const std::string id = row.id;
  tokens_.emplace(id, std::move(row));
}

void Directory::remove_token(const std::string& id) {
  const auto found = tokens_.find(id);
  CHECK(found != tokens_.end());
  const TokenRow& row = found->second;
  users_.at(row.user).tokens.erase(row.id);
  token_ids_.erase(row.hash);
  expiries_.erase({row.expires, row.id});
  tokens_changed_.insert(row.id);
  tokens_.erase(found);
}

std::optional<std::string> Directory::expired(TimePoint now) const {
  if (expiries_.empty() || expiries_.begin()->first > now) return std::nullopt;
  return expiries_.begin()->second;
}

void Directory::put_workspace(WorkspaceRow row) {
  workspaces_changed_.insert(row.name);
  WorkspaceRow& place = workspaces_[row.name].row;
  place = std::move(row);
}

void Directory::remove_workspace(const std::string& name) {
  const auto found = workspaces_.find(name);
  CHECK(found != workspaces_.end());
  const Workspace workspace = found->second;
  for (const auto& [user, role] : workspace.members) remove_member(name, user);
  workspaces_.erase(found);
  workspaces_changed_.insert(name);
}

void Directory::put_member(const MemberRow& row) {
  User* user = find_in(users_, row.user);
  Workspace* workspace = find_in(workspaces_, row.workspace);
  CHECK(user != nullptr && workspace != nullptr);
  user->roles.insert_or_assign(row.workspace, row.role);
  workspace->members.insert_or_assign(row.user, row.role);
  members_changed_.insert({row.workspace, row.user});
}

void Directory::remove_member(const std::string& workspace, const std::string& user) {
  users_.at(user).roles.erase(workspace);
  workspaces_.at(workspace).members.erase(user);
  members_changed_.insert({workspace, user});
}

void Directory::note(AuditRow row) {
  row.number = ++last_audit_;
  audit_.push_back(std::move(row));
}

Writes Directory::take() {
  Writes writes;
  for (const std::string& name : std::exchange(users_changed_, {})) {
    const User* user = find_user(name);
    user != nullptr ? writes.users.push_back(user->row) : writes.users_gone.push_back(name);
  }
  for (const std::string& id : std::exchange(tokens_changed_, {})) {
    const TokenRow* token = find_token(id);
    token != nullptr ? writes.tokens.push_back(*token) : writes.tokens_gone.push_back(id);
  }
  for (const std::string& name : std::exchange(workspaces_changed_, {})) {
    const Workspace* workspace = find_workspace(name);
    workspace != nullptr ? writes.workspaces.push_back(workspace->row) : writes.workspaces_gone.push_back(name);
  }
  for (const auto& [workspace, user] : std::exchange(members_changed_, {})) {
    const User* found = find_user(user);
    const Role* role = found == nullptr ? nullptr : find_in(found->roles, workspace);
    if (role != nullptr) {
      writes.members.push_back({workspace, user, *role});
    } else {
      writes.members_gone.emplace_back(workspace, user);
    }
  }
  writes.audit = std::exchange(audit_, {});
  return writes;
}

}  // namespace cadre::access
