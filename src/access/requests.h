/// Requests and responses for users, tokens and workspaces. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/rows.h"
#include "api/principal.h"
#include "api/route.h"
#include "base/time.h"
#include "describe/checks.h"

namespace cadre::access {

using api::Need;
using api::Repeated;
using api::Route;

/// Maximum length of names of users and workspaces. They consist of letters, digits, - _ . @ and start with neither a
/// dot nor -.
constexpr std::size_t name_most = 64;
constexpr std::size_t password_least = 8;
constexpr std::size_t password_most = 1024;
constexpr std::string_view unix_user_doc =
    "Unix account as which tasks of this user run on agents that run as root; empty: a separate user ID on each agent.";
/// In place of a number: no limit.
constexpr std::int64_t unlimited = -1;

// Responses.

struct Done {
  static constexpr std::string_view type_name = "done";
};
template <class V>
void describe(V&, Done&) {}

struct UserView {
  static constexpr std::string_view type_name = "user";
  static constexpr std::string_view doc = "A user of the cluster.";
  std::string name;
  bool is_admin = false;
  bool is_active = true;
  bool has_password = false;
  std::optional<std::int64_t> max_slots;
  std::map<std::string, Role> workspaces;
  TimePoint created;
  std::string unix_user;
};
template <class V>
void describe(V& v, UserView& m) {
  v.required("name", m.name, "User name.");
  v.field("admin", m.is_admin, "Whether the user is an admin of the cluster, with access to everything.");
  v.field("active", m.is_active, "Whether the user may use the cluster.");
  v.field("has_password", m.has_password,
          "Whether the user can log in with a password; otherwise only tokens can be used.");
  v.field("max_slots", m.max_slots, "Maximum slots that the user's jobs may hold together; omitted: no limit.");
  v.field("workspaces", m.workspaces, "Role of the user in each workspace.");
  v.field("created", m.created, "Time of creation.");
  v.field("unix_user", m.unix_user, unix_user_doc);
}

struct Users {
  static constexpr std::string_view type_name = "users";
  std::vector<UserView> users;
  std::string next;
};
template <class V>
void describe(V& v, Users& m) {
  v.required("users", m.users, "Users, by name.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; empty on the last page.");
}

struct TokenView {
  static constexpr std::string_view type_name = "token";
  static constexpr std::string_view doc = "A token, without its secret.";
  std::string id;
  std::string user;
  std::string name;
  TimePoint created;
  std::optional<TimePoint> expires;
};
template <class V>
void describe(V& v, TokenView& m) {
  v.required("id", m.id, "Token ID.");
  v.required("user", m.user, "User of the token.");
  v.field("name", m.name, "Purpose of the token.");
  v.field("created", m.created, "Time of creation.");
  v.field("expires", m.expires, "Time at which it expires; omitted: never.");
}

struct Tokens {
  static constexpr std::string_view type_name = "tokens";
  std::vector<TokenView> tokens;
};
template <class V>
void describe(V& v, Tokens& m) {
  v.required("tokens", m.tokens, "Tokens by user, oldest first.");
}

/// A new token. Its secret is shown only once.
struct NewToken {
  static constexpr std::string_view type_name = "new_token";
  static constexpr std::string_view doc = "A new token. Its secret is shown only once.";
  std::string token;  ///< set by the shell that created it
  TokenView about;
};
template <class V>
void describe(V& v, NewToken& m) {
  v.required("token", m.token, "The token, to be sent as `Authorization: Bearer TOKEN`. It is shown only once.");
  v.required("about", m.about, "The token without its secret.");
}

struct WorkspaceView {
  static constexpr std::string_view type_name = "workspace";
  static constexpr std::string_view doc = "A workspace, with the roles that give users access to the objects in it.";
  std::string name;
  std::optional<std::int64_t> max_slots;
  std::map<std::string, Role> members;
  TimePoint created;
};
template <class V>
void describe(V& v, WorkspaceView& m) {
  v.required("name", m.name, "Workspace name.");
  v.field("max_slots", m.max_slots, "Maximum slots that its jobs may hold together; omitted: no limit.");
  v.field("members", m.members, "Users and their roles.");
  v.field("created", m.created, "Time of creation.");
}

struct Workspaces {
  static constexpr std::string_view type_name = "workspaces";
  std::vector<WorkspaceView> workspaces;
};
template <class V>
void describe(V& v, Workspaces& m) {
  v.required("workspaces", m.workspaces, "Workspaces, by name.");
}

struct Me {
  static constexpr std::string_view type_name = "me";
  static constexpr std::string_view doc = "The user of the token.";
  UserView user;
  std::optional<TokenView> token;
  std::string task;
};
template <class V>
void describe(V& v, Me& m) {
  v.required("user", m.user, "The user, with the rights that this token grants.");
  v.field("token", m.token, "The token, unless it is the token of a task.");
  v.field("task", m.task, "Task ID, if it is the token of a task.");
}

struct AuditEntry {
  static constexpr std::string_view doc = "An attempt to change something.";
  std::uint64_t number = 0;
  TimePoint time;
  std::string user;
  std::string token;
  std::string address;
  std::string act;
  std::string object;
  bool is_done = true;
  std::string detail;
};
template <class V>
void describe(V& v, AuditEntry& m) {
  v.required("number", m.number, "Sequence number; grows with each entry.");
  v.required("time", m.time, "Time of the request.");
  v.field("user", m.user, "User name; empty: the token was not valid.");
  v.field("token", m.token, "ID of the token, or of the task to which it belongs.");
  v.field("address", m.address, "Address of the client.");
  v.field("act", m.act, "Requested action.");
  v.field("object", m.object, "Object of the action.");
  v.field("done", m.is_done, "Whether it was done; otherwise it was refused.");
  v.field("detail", m.detail, "Why it was refused.");
}

struct AuditPage {
  static constexpr std::string_view type_name = "audit_page";
  std::vector<AuditEntry> entries;
  std::uint64_t next = 0;
};
template <class V>
void describe(V& v, AuditPage& m) {
  v.required("entries", m.entries, "Entries, newest first.");
  v.field("next", m.next, "Cursor for the next page, to pass as `before`; 0 on the last page.");
}

// Requests.

/// What a shell has created for a new token; the secret itself stays with the shell.
struct Secret {
  std::string id;
  std::string hash;
};

struct Login {
  static constexpr std::string_view type_name = "login";
  static constexpr Route route =
      Route{"POST", "/login", "Creates a token for a user with a password.", Need::nothing}.with_body_max({16 << 10});
  using Answer = NewToken;
  std::string user;
  std::string password;
  Duration valid = std::chrono::hours(24 * 30);
};
template <class V>
void describe(V& v, Login& m) {
  v.required("user", m.user, "User name.", length(1, name_most));
  v.required("password", m.password, "Password of the user.", length(1, password_most));
  v.field("valid", m.valid, "Validity period of the token.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

struct Logout {
  static constexpr std::string_view type_name = "logout";
  static constexpr Route route{"POST", "/logout", "Revokes the token of this request.", Need::token};
  using Answer = Done;
};
template <class V>
void describe(V&, Logout&) {}

struct GetMe {
  static constexpr std::string_view type_name = "get_me";
  static constexpr Route route{"GET", "/me", "Returns the user of the token.", Need::token};
  using Answer = Me;
};
template <class V>
void describe(V&, GetMe&) {}

struct ListUsers {
  static constexpr std::string_view type_name = "list_users";
  static constexpr Route route{"GET", "/users", "Lists the users, by name.", Need::admin};
  using Answer = Users;
  std::string after;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, ListUsers& m) {
  v.field("after", m.after, "Only users after this name; pass `next` of the previous page.");
  v.field("most", m.most, "Maximum number of users in the page.", range(1, 1'000));
}

struct GetUser {
  static constexpr std::string_view type_name = "get_user";
  static constexpr Route route{"GET", "/users/{user}", "Returns one user; only admins can see other users.",
                               Need::token};
  using Answer = UserView;
  std::string user;
};
template <class V>
void describe(V& v, GetUser& m) {
  v.required("user", m.user, "User name.");
}

struct CreateUser {
  static constexpr std::string_view type_name = "create_user";
  static constexpr Route route{"POST", "/users", "Creates a user.", Need::admin, Repeated::keyed};
  using Answer = UserView;
  std::string name;
  std::string password;  ///< hashed by the shell before the core sees it
  bool is_admin = false;
  std::int64_t max_slots = unlimited;
  std::string unix_user;
};
template <class V>
void describe(V& v, CreateUser& m) {
  v.required("name", m.name, "User name: letters, digits, - _ . @", length(1, name_most));
  v.field("password", m.password, "Password for logging in. Default: none; the user can only use tokens.",
          length(0, password_most));
  v.field("admin", m.is_admin, "Whether the user is an admin of the cluster.");
  v.field("max_slots", m.max_slots, "Maximum slots that the user's jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
  v.field("unix_user", m.unix_user, unix_user_doc, length(0, name_most));
  v.check(m.password.empty() || m.password.size() >= password_least, "password",
          "is too short; use at least 8 characters");
}

struct SetUser {
  static constexpr std::string_view type_name = "set_user";
  static constexpr Route route{"PATCH", "/users/{user}",
                               "Changes a user; users without the admin role can only change their own password.",
                               Need::token};
  using Answer = UserView;
  std::string user;
  std::optional<std::string> password;      ///< hashed by the shell before the core sees it
  std::optional<std::string> old_password;  ///< checked by the shell; admins need none for others
  bool keep_tokens = false;
  std::optional<bool> is_admin;
  std::optional<bool> is_active;
  std::optional<std::int64_t> max_slots;
  std::optional<std::string> unix_user;
};
template <class V>
void describe(V& v, SetUser& m) {
  v.required("user", m.user, "User name.");
  v.field("password", m.password, "New password; empty: removes the password.", length(0, password_most));
  v.field("old_password", m.old_password, "Current password; required to change one's own.", length(0, password_most));
  v.field("keep_tokens", m.keep_tokens, "Whether the tokens of the user stay valid when the password changes.");
  v.field("admin", m.is_admin, "Whether the user is an admin of the cluster.");
  v.field("active", m.is_active,
          "Whether the user may use the cluster; if not, their tokens are refused and their jobs continue.");
  v.field("max_slots", m.max_slots, "Maximum slots that the user's jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
  v.field("unix_user", m.unix_user, unix_user_doc, length(0, name_most));
  v.check(!m.password || m.password->empty() || m.password->size() >= password_least, "password",
          "is too short; use at least 8 characters");
}

struct DeleteUser {
  static constexpr std::string_view type_name = "delete_user";
  static constexpr Route route{"DELETE", "/users/{user}",
                               "Removes a user and their tokens; refused while they have jobs that have not ended.",
                               Need::admin};
  using Answer = Done;
  std::string user;
};
template <class V>
void describe(V& v, DeleteUser& m) {
  v.required("user", m.user, "User name.");
}

struct ListTokens {
  static constexpr std::string_view type_name = "list_tokens";
  static constexpr Route route{"GET", "/tokens",
                               "Lists the caller's tokens; admins can also list those of other users.", Need::token};
  using Answer = Tokens;
  std::optional<std::string> user;
  bool all = false;
};
template <class V>
void describe(V& v, ListTokens& m) {
  v.field("user", m.user, "Only tokens of this user; only for admins.");
  v.field("all", m.all, "Whether to list the tokens of all users; only for admins.");
}

struct CreateToken {
  static constexpr std::string_view type_name = "create_token";
  static constexpr Route route{"POST", "/tokens", "Creates a token for the caller or, as admin, for another user.",
                               Need::token, Repeated::keyed};
  using Answer = NewToken;
  std::string name;
  std::optional<std::string> user;
  std::optional<Duration> valid;
  Secret secret;  ///< set by the shell
};
template <class V>
void describe(V& v, CreateToken& m) {
  v.field("name", m.name, "Purpose of the token.", length(0, 128));
  v.field("user", m.user, "User of the token. Default: the caller.", length(0, name_most));
  v.field("valid", m.valid, "Validity period of the token. Default: until it is revoked.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365 * 10)));
}

struct RevokeToken {
  static constexpr std::string_view type_name = "revoke_token";
  static constexpr Route route =
      Route{"DELETE", "/tokens/{token}", "Revokes a token at once.", Need::token}.with_secret_object();
  using Answer = Done;
  std::string token;
};
template <class V>
void describe(V& v, RevokeToken& m) {
  v.required("token", m.token, "Token ID.");
}

struct ListWorkspaces {
  static constexpr std::string_view type_name = "list_workspaces";
  static constexpr Route route{"GET", "/workspaces", "Lists the workspaces visible to the caller.", Need::token};
  using Answer = Workspaces;
};
template <class V>
void describe(V&, ListWorkspaces&) {}

struct GetWorkspace {
  static constexpr std::string_view type_name = "get_workspace";
  static constexpr Route route{"GET", "/workspaces/{workspace}", "Returns one workspace.", Need::viewer};
  using Answer = WorkspaceView;
  std::string workspace;
};
template <class V>
void describe(V& v, GetWorkspace& m) {
  v.required("workspace", m.workspace, "Workspace name.");
}

struct CreateWorkspace {
  static constexpr std::string_view type_name = "create_workspace";
  static constexpr Route route{"POST", "/workspaces", "Creates a workspace.", Need::admin, Repeated::keyed};
  using Answer = WorkspaceView;
  std::string name;
  std::int64_t max_slots = unlimited;
};
template <class V>
void describe(V& v, CreateWorkspace& m) {
  v.required("name", m.name, "Workspace name: letters, digits, - _ . @", length(1, name_most));
  v.field("max_slots", m.max_slots, "Maximum slots that its jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
}

struct SetWorkspace {
  static constexpr std::string_view type_name = "set_workspace";
  static constexpr Route route{"PATCH", "/workspaces/{workspace}", "Changes a workspace.", Need::admin};
  using Answer = WorkspaceView;
  std::string workspace;
  std::optional<std::int64_t> max_slots;
};
template <class V>
void describe(V& v, SetWorkspace& m) {
  v.required("workspace", m.workspace, "Workspace name.");
  v.field("max_slots", m.max_slots, "Maximum slots that its jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
}

struct DeleteWorkspace {
  static constexpr std::string_view type_name = "delete_workspace";
  static constexpr Route route{"DELETE", "/workspaces/{workspace}",
                               "Deletes a workspace; refused while it has jobs that have not ended.", Need::admin};
  using Answer = Done;
  std::string workspace;
};
template <class V>
void describe(V& v, DeleteWorkspace& m) {
  v.required("workspace", m.workspace, "Workspace name.");
}

/// For admins of the cluster and of the workspace.
struct SetMember {
  static constexpr std::string_view type_name = "set_member";
  static constexpr Route route{"PUT", "/workspaces/{workspace}/members/{user}", "Gives a user a role in a workspace.",
                               Need::token};
  using Answer = WorkspaceView;
  std::string workspace;
  std::string user;
  Role role = Role::viewer;
};
template <class V>
void describe(V& v, SetMember& m) {
  v.required("workspace", m.workspace, "Workspace name.");
  v.required("user", m.user, "User name.");
  v.required("role", m.role,
             "viewer: reads; editor: also creates, and changes their own objects; admin: changes everything in it.");
}

struct RemoveMember {
  static constexpr std::string_view type_name = "remove_member";
  static constexpr Route route{"DELETE", "/workspaces/{workspace}/members/{user}", "Removes a user from a workspace.",
                               Need::token};
  using Answer = Done;
  std::string workspace;
  std::string user;
};
template <class V>
void describe(V& v, RemoveMember& m) {
  v.required("workspace", m.workspace, "Workspace name.");
  v.required("user", m.user, "User name.");
}

/// Answered by the shell, from the records.
struct ListAudit {
  static constexpr std::string_view type_name = "list_audit";
  static constexpr Route route{"GET", "/audit", "Lists the entries of the audit log, newest first.", Need::admin};
  using Answer = AuditPage;
  std::uint64_t before = 0;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, ListAudit& m) {
  v.field("before", m.before, "Only entries before this number; 0: start with the newest.");
  v.field("most", m.most, "Maximum number of entries in the page.", range(1, 1'000));
}

using Request = std::variant<Logout, GetMe, ListUsers, GetUser, CreateUser, SetUser, DeleteUser, ListTokens,
                             CreateToken, RevokeToken, ListWorkspaces, GetWorkspace, CreateWorkspace, SetWorkspace,
                             DeleteWorkspace, SetMember, RemoveMember>;
using Reply = std::variant<Done, UserView, Users, TokenView, Tokens, NewToken, WorkspaceView, Workspaces, Me>;

}  // namespace cadre::access
