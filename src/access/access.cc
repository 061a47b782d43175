#include "access/access.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "access/words.h"
#include "describe/utf8.h"

namespace cadre::access {
namespace {

template <class Request>
constexpr bool open_to_tasks = std::is_same_v<Request, GetMe> || std::is_same_v<Request, GetUser> ||
                               std::is_same_v<Request, ListWorkspaces> || std::is_same_v<Request, GetWorkspace>;

Result<void> check_active(const User& user) {
  if (user.row.is_active) return {};
  return fail(Errc::denied,
              "user '" + user.row.name + "' is not active; ask an admin of the cluster to activate the account");
}

Failure token_has_expired() { return fail(Errc::denied, "this token has expired; log in again, or use another token"); }

}  // namespace

Access::Access(Settings settings, const Rows& rows)
    : settings_(settings), directory_(rows), guard_(settings.guard), keys_(settings.idempotency, rows.keys) {}

void Access::found(TimePoint now) {
  if (!has_workspace(default_workspace)) directory_.put_workspace({default_workspace, std::nullopt, now});
  if (!directory_.users().empty()) return;
  UserRow admin;
  admin.name = "admin";
  admin.is_admin = true;
  admin.created = now;
  directory_.put_user(std::move(admin));
}

Result<Principal> Access::who(const std::string& token_hash, TimePoint now) const {
  const TokenRow* token = directory_.find_token_by_hash(token_hash);
  if (token == nullptr) {
    return fail(Errc::denied, "unknown token: it was revoked, or is incomplete; log in again, or use another token");
  }
  if (token->has_expired(now)) return token_has_expired();
  const User& user = directory_.users().at(token->user);
  TRY(check_active(user));
  return Principal{user.row.name, user.row.is_admin, user.roles, token->id, ""};
}

Result<Principal> Access::who_of_task(const std::string& user, const std::string& workspace, std::string task) const {
  const User* owner = directory_.find_user(user);
  if (owner == nullptr) return fail(Errc::denied, "user '" + user + "', the owner of this task, no longer exists");
  TRY(check_active(*owner));
  const auto role = owner->roles.find(workspace);
  if (!has_workspace(workspace) || (role == owner->roles.end() && !owner->row.is_admin)) {
    return fail(Errc::denied, "user '" + user + "', the owner of this task, no longer has a role in workspace '" +
                                  workspace + "'; ask an admin of the workspace for one");
  }
  const Role most = owner->row.is_admin ? Role::editor : std::min(role->second, Role::editor);
  return Principal{user, false, {{workspace, most}}, "", std::move(task)};
}

Result<Principal> Access::still(const Principal& who, TimePoint now) const {
  const User* user = directory_.find_user(who.user);
  if (user == nullptr) return fail(Errc::denied, "user '" + who.user + "' no longer exists; log in as another user");
  TRY(check_active(*user));
  if (!who.token.empty()) {
    const TokenRow* token = directory_.find_token(who.token);
    if (token == nullptr || token->user != who.user) {
      return fail(Errc::denied, "this token was revoked; log in again, or use another token");
    }
    if (token->has_expired(now)) return token_has_expired();
  }
  Principal left = who;
  left.is_admin = who.is_admin && user->row.is_admin && who.task.empty();
  left.roles.clear();
  for (const auto& [workspace, given] : who.roles) {
    const auto role = user->roles.find(workspace);
    if (user->row.is_admin && has_workspace(workspace)) {
      left.roles.emplace(workspace, given);
    } else if (role != user->roles.end()) {
      left.roles.emplace(workspace, std::min(given, role->second));
    }
  }
  return left;
}

Result<Reply> Access::ask(const Principal& who, const Request& request, TimePoint now) {
  TRY_ASSIGN(left, still(who, now));
  const Caller caller{std::move(left), now};
  return std::visit(
      [&]<class One>(const One& one) -> Result<Reply> {
        if (!caller.who.task.empty() && !open_to_tasks<One>) return not_for_tasks();
        return answer(caller, one);
      },
      request);
}

bool Access::has_workspace(const std::string& name) const { return directory_.find_workspace(name) != nullptr; }

std::optional<std::int64_t> Access::quota_of_user(const std::string& name) const {
  const User* user = directory_.find_user(name);
  return user == nullptr ? std::nullopt : user->row.max_slots;
}

std::optional<std::int64_t> Access::quota_of_workspace(const std::string& name) const {
  const Workspace* workspace = directory_.find_workspace(name);
  return workspace == nullptr ? std::nullopt : workspace->row.max_slots;
}

void Access::tidy(TimePoint now) {
  while (const auto id = directory_.expired(now)) directory_.remove_token(*id);
  guard_.tidy(now);
  keys_.tidy(now);
}

void Access::audit(AuditRow row) {
  row.object = describe::shortened(row.object, audit_text_most);
  row.detail = describe::shortened(row.detail, audit_text_most);
  directory_.note(std::move(row));
}

}  // namespace cadre::access
