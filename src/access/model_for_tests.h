/// The rules of access said once more, plainly: tables and one question after the other, without indexes and without
/// regard to speed. Shares nothing with the core but rows, requests and replies. One thread at a time.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "access/access_fixture_for_tests.h"

namespace cadre::access {

struct ModelRules {
  ModelDatabase tables;
  Settings settings;

  /// What the core must answer; of an error only the code counts.
  Result<Reply> ask(const Principal& asker, const Request& request, TimePoint time) {
    who = asker;
    now = time;
    if (!is_believed()) return fail(Errc::denied, "");
    const bool is_open =
        std::visit(overloaded{[](const GetMe&) { return true; }, [](const GetUser&) { return true; },
                              [](const ListWorkspaces&) { return true; }, [](const GetWorkspace&) { return true; },
                              [](const auto&) { return false; }},
                   request);
    if (!who.task.empty() && !is_open) return fail(Errc::denied, "");
    return std::visit([&](const auto& one) { return answer(one); }, request);
  }

  Result<NewToken> end_login(const Access::LoginEnd& end, TimePoint time) {
    now = time;
    const auto user = tables.users.find(end.user);
    if (end.passed == Access::Passed::no || user == tables.users.end() || !user->second.is_active) {
      return fail(Errc::denied, "");
    }
    drop_expired(end.user);
    const auto mine = tokens_of(end.user);
    const auto oldest = std::find_if(mine.begin(), mine.end(), [](const TokenRow& row) { return row.name == "login"; });
    if (std::ssize(mine) >= settings.tokens_max_each && oldest != mine.end()) tables.tokens.erase(oldest->id);
    return add({end.secret.id, end.secret.hash, end.user, "login", now, now + end.valid});
  }

  Result<Principal> believe(const std::string& hash, TimePoint time) const {
    for (const auto& [id, row] : tables.tokens) {
      if (row.hash != hash) continue;
      const UserRow& user = tables.users.at(row.user);
      if (!user.is_active || (row.expires != TimePoint() && row.expires <= time)) return fail(Errc::denied, "");
      return Principal{row.user, user.is_admin, roles_of(row.user), id, ""};
    }
    return fail(Errc::denied, "");
  }

  Result<Principal> believe_task(const std::string& user, const std::string& workspace) const {
    const auto found = tables.users.find(user);
    if (found == tables.users.end() || !found->second.is_active) return fail(Errc::denied, "");
    if (!tables.workspaces.contains(workspace)) return fail(Errc::denied, "");
    const auto member = tables.members.find({workspace, user});
    if (found->second.is_admin) return Principal{user, false, {{workspace, Role::editor}}, "", "1.0"};
    if (member == tables.members.end()) return fail(Errc::denied, "");
    const Role role = member->second.role == Role::viewer ? Role::viewer : Role::editor;
    return Principal{user, false, {{workspace, role}}, "", "1.0"};
  }

  void tidy(TimePoint time) {
    std::erase_if(tables.tokens,
                  [&](const auto& one) { return one.second.expires != TimePoint() && one.second.expires <= time; });
  }

  std::int64_t admins() const {
    return std::count_if(tables.users.begin(), tables.users.end(),
                         [](const auto& one) { return one.second.is_admin && one.second.is_active; });
  }

 private:
  Principal who;
  TimePoint now;

  bool is_admin() const { return who.is_admin && who.task.empty() && tables.users.at(who.user).is_admin; }

  /// The role of the caller, if both the credentials and the tables contain one.
  std::optional<Role> role_in(const std::string& workspace) const {
    const auto shown = who.roles.find(workspace);
    if (shown == who.roles.end() || !tables.workspaces.contains(workspace)) return std::nullopt;
    if (tables.users.at(who.user).is_admin) return shown->second;
    const auto member = tables.members.find({workspace, who.user});
    if (member == tables.members.end()) return std::nullopt;
    return std::min(shown->second, member->second.role);
  }

  bool is_believed() const {
    const auto user = tables.users.find(who.user);
    if (user == tables.users.end() || !user->second.is_active) return false;
    if (who.token.empty()) return true;
    const auto token = tables.tokens.find(who.token);
    if (token == tables.tokens.end() || token->second.user != who.user) return false;
    return token->second.expires == TimePoint() || token->second.expires > now;
  }

  std::map<std::string, Role> roles_of(const std::string& user) const {
    std::map<std::string, Role> roles;
    for (const auto& [key, row] : tables.members) {
      if (row.user == user) roles[row.workspace] = row.role;
    }
    return roles;
  }

  UserView show_user(const std::string& name) const {
    const UserRow& row = tables.users.at(name);
    UserView view{name,          row.is_admin,   row.is_active, !row.password.empty(),
                  row.max_slots, roles_of(name), row.created,   row.unix_user};
    if (who.task.empty()) return view;
    view.is_admin = false;
    view.workspaces.clear();
    for (const auto& [workspace, role] : who.roles) {
      if (const auto mine = role_in(workspace)) view.workspaces[workspace] = *mine;
    }
    return view;
  }

  WorkspaceView show_workspace(const std::string& name) const {
    const WorkspaceRow& row = tables.workspaces.at(name);
    WorkspaceView view{name, row.max_slots, {}, row.created};
    for (const auto& [key, member] : tables.members) {
      if (member.workspace == name) view.members[member.user] = member.role;
    }
    return view;
  }

  static TokenView show_token(const TokenRow& row) {
    TokenView view{row.id, row.user, row.name, row.created, {}};
    if (row.expires != TimePoint()) view.expires = row.expires;
    return view;
  }

  /// The oldest first.
  std::vector<TokenRow> tokens_of(const std::string& user) const {
    std::vector<TokenRow> list;
    for (const auto& [id, row] : tables.tokens) {
      if (row.user == user) list.push_back(row);
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const TokenRow& a, const TokenRow& b) { return a.created < b.created; });
    return list;
  }

  void drop_expired(const std::string& user) {
    for (const TokenRow& row : tokens_of(user)) {
      if (row.expires != TimePoint() && row.expires <= now) tables.tokens.erase(row.id);
    }
  }

  Result<NewToken> add(const TokenRow& row) {
    if (tables.tokens.contains(row.id)) return fail(Errc::conflict, "");
    for (const auto& [id, other] : tables.tokens) {
      if (other.hash == row.hash) return fail(Errc::conflict, "");
    }
    if (std::ssize(tokens_of(row.user)) >= settings.tokens_max_each) return fail(Errc::conflict, "");
    tables.tokens[row.id] = row;
    return NewToken{"", show_token(row)};
  }

  static bool is_good_name(const std::string& name) {
    return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") ==
               std::string::npos;
  }
  static std::optional<std::int64_t> limit(std::int64_t number) {
    return number == -1 ? std::nullopt : std::optional(number);
  }

  bool sees_user(const std::string& name) const {
    return tables.users.contains(name) && (is_admin() || name == who.user);
  }
  bool sees_workspace(const std::string& name) const {
    return tables.workspaces.contains(name) && (is_admin() || role_in(name));
  }
  bool governs(const std::string& name) const { return is_admin() || role_in(name) == Role::admin; }
  /// Whether the cluster had no admin left without this one.
  bool needs(const UserRow& row) const { return row.is_admin && row.is_active && admins() == 1; }

  Result<Reply> answer(const Logout&) {
    if (who.token.empty()) return fail(Errc::invalid, "");
    tables.tokens.erase(who.token);
    return Done{};
  }
  Result<Reply> answer(const GetMe&) {
    Me me{show_user(who.user), {}, who.task};
    if (!who.token.empty()) me.token = show_token(tables.tokens.at(who.token));
    return me;
  }
  Result<Reply> answer(const ListUsers& request) {
    if (!is_admin()) return fail(Errc::denied, "");
    Users page;
    for (const auto& [name, row] : tables.users) {
      if (name <= request.after) continue;
      if (std::ssize(page.users) == request.most) {
        page.next = page.users.back().name;
        break;
      }
      page.users.push_back(show_user(name));
    }
    return page;
  }
  Result<Reply> answer(const GetUser& request) {
    if (!sees_user(request.user)) return fail(Errc::not_found, "");
    return show_user(request.user);
  }
  Result<Reply> answer(const CreateUser& request) {
    if (!is_admin()) return fail(Errc::denied, "");
    if (!is_good_name(request.name) || request.max_slots < -1) return fail(Errc::invalid, "");
    if (tables.users.contains(request.name)) return fail(Errc::conflict, "");
    if (std::ssize(tables.users) >= settings.users_max) return fail(Errc::conflict, "");
    tables.users[request.name] = {request.name, request.password, request.is_admin, true, limit(request.max_slots),
                                  now,          request.unix_user};
    return show_user(request.name);
  }
  Result<Reply> answer(const SetUser& request) {
    if (!sees_user(request.user)) return fail(Errc::not_found, "");
    if (!is_admin() && (request.is_admin || request.is_active || request.max_slots)) return fail(Errc::denied, "");
    if (request.max_slots && *request.max_slots < -1) return fail(Errc::invalid, "");
    UserRow& row = tables.users.at(request.user);
    const bool loses = (request.is_admin && !*request.is_admin) || (request.is_active && !*request.is_active);
    if (loses && needs(row)) return fail(Errc::conflict, "");
    if (request.password && *request.password != row.password) {
      row.password = *request.password;
      std::erase_if(tables.tokens, [&](const auto& one) {
        return !request.keep_tokens && one.second.user == request.user && one.first != local_token_id;
      });
    }
    if (request.is_admin) row.is_admin = *request.is_admin;
    if (request.is_active) row.is_active = *request.is_active;
    if (request.max_slots) row.max_slots = limit(*request.max_slots);
    if (request.unix_user) row.unix_user = *request.unix_user;
    return show_user(request.user);
  }
  Result<Reply> answer(const DeleteUser& request) {
    if (!sees_user(request.user)) return fail(Errc::not_found, "");
    if (!is_admin()) return fail(Errc::denied, "");
    if (needs(tables.users.at(request.user))) return fail(Errc::conflict, "");
    std::erase_if(tables.tokens, [&](const auto& one) { return one.second.user == request.user; });
    std::erase_if(tables.members, [&](const auto& one) { return one.second.user == request.user; });
    tables.users.erase(request.user);
    return Done{};
  }
  Result<Reply> answer(const ListTokens& request) {
    if (request.all && !is_admin()) return fail(Errc::denied, "");
    if (request.all && request.user) return fail(Errc::invalid, "");
    const std::string wanted = request.user.value_or(who.user);
    if (!request.all && !sees_user(wanted)) return fail(Errc::not_found, "");
    Tokens list;
    for (const auto& [name, row] : tables.users) {
      if (!request.all && name != wanted) continue;
      for (const TokenRow& token : tokens_of(name)) {
        if (token.expires == TimePoint() || token.expires > now) list.tokens.push_back(show_token(token));
      }
    }
    return list;
  }
  Result<Reply> answer(const CreateToken& request) {
    const std::string user = request.user.value_or(who.user);
    if (!sees_user(user)) return fail(Errc::not_found, "");
    if (request.valid && *request.valid <= Duration(0)) return fail(Errc::invalid, "");
    drop_expired(user);
    const TimePoint expires = request.valid ? now + *request.valid : TimePoint();
    return add({request.secret.id, request.secret.hash, user, request.name, now, expires});
  }
  Result<Reply> answer(const RevokeToken& request) {
    const auto found = tables.tokens.find(request.token);
    if (found == tables.tokens.end()) return fail(Errc::not_found, "");
    const TokenRow& row = found->second;
    if (!is_admin() && row.user != who.user) return fail(Errc::not_found, "");
    if (row.expires != TimePoint() && row.expires <= now) return fail(Errc::not_found, "");
    tables.tokens.erase(found);
    return Done{};
  }
  Result<Reply> answer(const ListWorkspaces&) {
    Workspaces list;
    for (const auto& [name, row] : tables.workspaces) {
      if (sees_workspace(name)) list.workspaces.push_back(show_workspace(name));
    }
    return list;
  }
  Result<Reply> answer(const GetWorkspace& request) {
    if (!sees_workspace(request.workspace)) return fail(Errc::not_found, "");
    return show_workspace(request.workspace);
  }
  Result<Reply> answer(const CreateWorkspace& request) {
    if (!is_admin()) return fail(Errc::denied, "");
    if (!is_good_name(request.name) || request.max_slots < -1) return fail(Errc::invalid, "");
    if (tables.workspaces.contains(request.name)) return fail(Errc::conflict, "");
    if (std::ssize(tables.workspaces) >= settings.workspaces_max) return fail(Errc::conflict, "");
    tables.workspaces[request.name] = {request.name, limit(request.max_slots), now};
    return show_workspace(request.name);
  }
  Result<Reply> answer(const SetWorkspace& request) {
    if (!sees_workspace(request.workspace)) return fail(Errc::not_found, "");
    if (!is_admin()) return fail(Errc::denied, "");
    if (request.max_slots && *request.max_slots < -1) return fail(Errc::invalid, "");
    if (request.max_slots) tables.workspaces.at(request.workspace).max_slots = limit(*request.max_slots);
    return show_workspace(request.workspace);
  }
  Result<Reply> answer(const DeleteWorkspace& request) {
    if (!sees_workspace(request.workspace)) return fail(Errc::not_found, "");
    if (!is_admin()) return fail(Errc::denied, "");
    if (request.workspace == "default") return fail(Errc::conflict, "");
    std::erase_if(tables.members, [&](const auto& one) { return one.second.workspace == request.workspace; });
    tables.workspaces.erase(request.workspace);
    return Done{};
  }
  Result<Reply> answer(const SetMember& request) {
    if (!sees_workspace(request.workspace)) return fail(Errc::not_found, "");
    if (!governs(request.workspace)) return fail(Errc::denied, "");
    if (!tables.users.contains(request.user)) return fail(Errc::not_found, "");
    tables.members[{request.workspace, request.user}] = {request.workspace, request.user, request.role};
    return show_workspace(request.workspace);
  }
  Result<Reply> answer(const RemoveMember& request) {
    if (!sees_workspace(request.workspace)) return fail(Errc::not_found, "");
    if (!governs(request.workspace)) return fail(Errc::denied, "");
    if (!tables.members.contains({request.workspace, request.user})) return fail(Errc::not_found, "");
    tables.members.erase({request.workspace, request.user});
    return Done{};
  }
};

}  // namespace cadre::access
