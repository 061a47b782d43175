#include <algorithm>
#include <cctype>

#include "access/access.h"
#include "access/views.h"
#include "access/words.h"

namespace cadre::access {

namespace {

/// Characters of account names; agents would refuse others anyway.
Result<void> check_unix_user(const std::string& name) {
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  if (name.empty() || (std::ranges::all_of(name, is_allowed) && name.front() != '-')) return {};
  return fail(Errc::invalid, "unix_user: '" + name + "' is not a valid account name; use letters, digits, - _ and .");
}

}  // namespace

Result<const User*> Access::see_user(const Principal& who, const std::string& name) const {
  const User* user = directory_.find_user(name);
  if (user == nullptr || (!who.is_admin && name != who.user)) return no_user(who, name);
  return user;
}

/// A task sees of its user only what it may itself do.
UserView Access::view_for(const Principal& who, const User& user) const {
  UserView view = view_of(user);
  if (who.task.empty()) return view;
  view.is_admin = who.is_admin;
  view.workspaces = who.roles;
  return view;
}

Result<void> Access::check_admins(const UserRow& before, const std::optional<UserRow>& after) const {
  const bool stays = after && after->is_admin && after->is_active;
  if (stays || !before.is_admin || !before.is_active || directory_.admins() > 1) return {};
  return fail(Errc::conflict,
              "user '" + before.name + "' is the last active admin of the cluster; make another one admin first");
}

Result<Reply> Access::answer(const Caller& caller, const GetMe&) {
  const User& user = *directory_.find_user(caller.who.user);
  Me me;
  me.user = view_for(caller.who, user);
  if (const TokenRow* token = directory_.find_token(caller.who.token)) me.token = view_of(*token);
  me.task = caller.who.task;
  return me;
}

Result<Reply> Access::answer(const Caller& caller, const ListUsers& request) {
  if (!caller.who.is_admin) return only_for_admins("list the users");
  const auto most = static_cast<std::size_t>(std::clamp(request.most, 1, 1'000));
  Users page;
  for (auto at = directory_.users().upper_bound(request.after); at != directory_.users().end(); ++at) {
    if (page.users.size() == most) {
      page.next = page.users.back().name;
      break;
    }
    page.users.push_back(view_of(at->second));
  }
  return page;
}

Result<Reply> Access::answer(const Caller& caller, const GetUser& request) {
  TRY_ASSIGN(user, see_user(caller.who, request.user));
  return view_for(caller.who, *user);
}

Result<Reply> Access::answer(const Caller& caller, const CreateUser& request) {
  if (!caller.who.is_admin) return only_for_admins("create users");
  TRY(check_name(request.name));
  TRY_ASSIGN(max_slots, limit_from(request.max_slots));
  if (directory_.find_user(request.name) != nullptr) {
    return fail(Errc::conflict, "user '" + request.name + "' already exists; choose another name, or change that user");
  }
  if (static_cast<std::int64_t>(directory_.users().size()) >= settings_.users_max) {
    return fail(Errc::conflict,
                "there are " + std::to_string(settings_.users_max) + " users, which is the limit; delete some first");
  }
  TRY(check_unix_user(request.unix_user));
  directory_.put_user(
      {request.name, request.password, request.is_admin, true, max_slots, caller.now, request.unix_user});
  return view_of(*directory_.find_user(request.name));
}

Result<Reply> Access::answer(const Caller& caller, const SetUser& request) {
  TRY_ASSIGN(user, see_user(caller.who, request.user));
  if (!caller.who.is_admin && (request.is_admin || request.is_active || request.max_slots || request.unix_user)) {
    return only_for_admins("change anything but the password of a user");
  }
  UserRow row = user->row;
  if (request.password) row.password = *request.password;
  row.is_admin = request.is_admin.value_or(row.is_admin);
  row.is_active = request.is_active.value_or(row.is_active);
  if (request.max_slots) {
    TRY_ASSIGN(max_slots, limit_from(*request.max_slots));
    row.max_slots = max_slots;
  }
  if (request.unix_user) {
    TRY(check_unix_user(*request.unix_user));
    row.unix_user = *request.unix_user;
  }
  TRY(check_admins(user->row, row));
  const bool ends_tokens = row.password != user->row.password && !request.keep_tokens;
  if (row != user->row) directory_.put_user(std::move(row));
  if (ends_tokens) end_tokens(request.user);
  return view_for(caller.who, *directory_.find_user(request.user));
}

void Access::end_tokens(const std::string& name) {
  const std::set<std::string> ids = directory_.find_user(name)->tokens;
  for (const std::string& id : ids) {
    if (id != local_token_id) directory_.remove_token(id);
  }
}

Result<Reply> Access::answer(const Caller& caller, const DeleteUser& request) {
  TRY_ASSIGN(user, see_user(caller.who, request.user));
  if (!caller.who.is_admin) return only_for_admins("delete users");
  TRY(check_admins(user->row, std::nullopt));
  directory_.remove_user(request.user);
  return Done{};
}

}  // namespace cadre::access
