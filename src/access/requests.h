/// What is asked of users, tokens and workspaces, and what is answered. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/principal.h"
#include "access/route.h"
#include "access/rows.h"
#include "base/time.h"
#include "describe/checks.h"

namespace cadre::access {

/// Of users and workspaces: letters, digits, - _ . @, not first a dot or -.
constexpr std::size_t name_most = 64;
constexpr std::size_t password_least = 8;
constexpr std::size_t password_most = 1024;
constexpr std::string_view unix_user_doc =
    "Account as which tasks of this user run on agents that run as root; empty: a number of its own on each agent.";
/// In place of a number: no limit.
constexpr std::int64_t unlimited = -1;

// What is answered.

struct Done {
  static constexpr std::string_view type_name = "done";
};
template <class V>
void describe(V&, Done&) {}

struct UserView {
  static constexpr std::string_view type_name = "user";
  static constexpr std::string_view doc = "Somebody who may use the cluster.";
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
  v.required("name", m.name, "What he is called.");
  v.field("admin", m.is_admin, "Whether he is admin of the cluster: sees and does all.");
  v.field("active", m.is_active, "Whether he may use it at the moment.");
  v.field("has_password", m.has_password, "Whether he can log in, and not only by a token made for him.");
  v.field("max_slots", m.max_slots, "Most slots that his jobs may hold together; left out: no limit.");
  v.field("workspaces", m.workspaces, "His role in each of his workspaces.");
  v.field("created", m.created, "Since when.");
  v.field("unix_user", m.unix_user, unix_user_doc);
}

struct Users {
  static constexpr std::string_view type_name = "users";
  std::vector<UserView> users;
  std::string next;
};
template <class V>
void describe(V& v, Users& m) {
  v.required("users", m.users, "By their names.");
  v.field("next", m.next, "Ask for those after this one; empty: there are no more.");
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
  v.required("id", m.id, "By which it is named.");
  v.required("user", m.user, "Whose it is.");
  v.field("name", m.name, "What it is for.");
  v.field("created", m.created, "When it was made.");
  v.field("expires", m.expires, "From when on it is refused; left out: never.");
}

struct Tokens {
  static constexpr std::string_view type_name = "tokens";
  std::vector<TokenView> tokens;
};
template <class V>
void describe(V& v, Tokens& m) {
  v.required("tokens", m.tokens, "By user, then the oldest first.");
}

/// A token that was just made: the only time that its secret is told.
struct NewToken {
  static constexpr std::string_view type_name = "new_token";
  static constexpr std::string_view doc = "A token that was just made: the only time that its secret is told.";
  std::string token;  ///< put in by the shell that made it
  TokenView about;
};
template <class V>
void describe(V& v, NewToken& m) {
  v.required("token", m.token, "To be sent as `Authorization: Bearer TOKEN`. It is shown only once.");
  v.required("about", m.about, "What is kept of it.");
}

struct WorkspaceView {
  static constexpr std::string_view type_name = "workspace";
  static constexpr std::string_view doc = "Who may see and do what with the things in it.";
  std::string name;
  std::optional<std::int64_t> max_slots;
  std::map<std::string, Role> members;
  TimePoint created;
};
template <class V>
void describe(V& v, WorkspaceView& m) {
  v.required("name", m.name, "What it is called.");
  v.field("max_slots", m.max_slots, "Most slots that its jobs may hold together; left out: no limit.");
  v.field("members", m.members, "Users and their roles.");
  v.field("created", m.created, "Since when.");
}

struct Workspaces {
  static constexpr std::string_view type_name = "workspaces";
  std::vector<WorkspaceView> workspaces;
};
template <class V>
void describe(V& v, Workspaces& m) {
  v.required("workspaces", m.workspaces, "By their names.");
}

struct Me {
  static constexpr std::string_view type_name = "me";
  static constexpr std::string_view doc = "Who the token says one is.";
  UserView user;
  std::optional<TokenView> token;
  std::string task;
};
template <class V>
void describe(V& v, Me& m) {
  v.required("user", m.user, "The user, with what he may do by this token.");
  v.field("token", m.token, "The token, unless it is that of a task.");
  v.field("task", m.task, "If it is the token of a task, which one.");
}

struct AuditEntry {
  static constexpr std::string_view doc = "Somebody wanted to change something.";
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
  v.required("number", m.number, "Grows from entry to entry.");
  v.required("time", m.time, "When.");
  v.field("user", m.user, "Who; empty: nobody whose token was believed.");
  v.field("token", m.token, "By which token, or for which task.");
  v.field("address", m.address, "From where.");
  v.field("act", m.act, "What was asked.");
  v.field("object", m.object, "Of what.");
  v.field("done", m.is_done, "Whether it was done; else it was refused.");
  v.field("detail", m.detail, "Why it was refused.");
}

struct AuditPage {
  static constexpr std::string_view type_name = "audit_page";
  std::vector<AuditEntry> entries;
  std::uint64_t next = 0;
};
template <class V>
void describe(V& v, AuditPage& m) {
  v.required("entries", m.entries, "The newest first.");
  v.field("next", m.next, "Ask for those before this number; 0: there are no more.");
}

// What is asked.

/// What a shell has made for a new token; its secret stays with who made it.
struct Secret {
  std::string id;
  std::string hash;
};

struct Login {
  static constexpr std::string_view type_name = "login";
  static constexpr Route route{"POST", "/login", "A token for a user and his password.", Need::nothing};
  using Answer = NewToken;
  std::string user;
  std::string password;
  Duration valid = std::chrono::hours(24 * 30);
};
template <class V>
void describe(V& v, Login& m) {
  v.required("user", m.user, "Who.", length(1, name_most));
  v.required("password", m.password, "His password.", length(1, password_most));
  v.field("valid", m.valid, "For how long the token is good.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365)));
}

struct Logout {
  static constexpr std::string_view type_name = "logout";
  static constexpr Route route{"POST", "/logout", "Ends the token with which this is asked.", Need::token};
  using Answer = Done;
};
template <class V>
void describe(V&, Logout&) {}

struct GetMe {
  static constexpr std::string_view type_name = "get_me";
  static constexpr Route route{"GET", "/me", "Who the token says one is.", Need::token};
  using Answer = Me;
};
template <class V>
void describe(V&, GetMe&) {}

struct ListUsers {
  static constexpr std::string_view type_name = "list_users";
  static constexpr Route route{"GET", "/users", "Users, by their names.", Need::admin};
  using Answer = Users;
  std::string after;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, ListUsers& m) {
  v.field("after", m.after, "Begin behind this name.");
  v.field("most", m.most, "How many at most.", range(1, 1'000));
}

struct GetUser {
  static constexpr std::string_view type_name = "get_user";
  static constexpr Route route{"GET", "/users/{user}", "One user; others than oneself only as admin.", Need::token};
  using Answer = UserView;
  std::string user;
};
template <class V>
void describe(V& v, GetUser& m) {
  v.required("user", m.user, "Who.");
}

struct CreateUser {
  static constexpr std::string_view type_name = "create_user";
  static constexpr Route route{"POST", "/users", "A new user.", Need::admin};
  using Answer = UserView;
  std::string name;
  std::string password;  ///< hashed by the shell before the core sees it
  bool is_admin = false;
  std::int64_t max_slots = unlimited;
  std::string unix_user;
};
template <class V>
void describe(V& v, CreateUser& m) {
  v.required("name", m.name, "What he is to be called: letters, digits, - _ . @", length(1, name_most));
  v.field("password", m.password, "With which he logs in; left out: only by tokens made for him.",
          length(0, password_most));
  v.field("admin", m.is_admin, "Whether he is admin of the cluster.");
  v.field("max_slots", m.max_slots, "Most slots that his jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
  v.field("unix_user", m.unix_user, unix_user_doc, length(0, name_most));
  v.check(m.password.empty() || m.password.size() >= password_least, "password",
          "is too short; use at least 8 characters");
}

struct SetUser {
  static constexpr std::string_view type_name = "set_user";
  static constexpr Route route{"PATCH", "/users/{user}", "Changes a user; oneself only the password.", Need::token};
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
  v.required("user", m.user, "Who.");
  v.field("password", m.password, "A new password; empty: none from now on.", length(0, password_most));
  v.field("old_password", m.old_password, "The present one; needed to change one's own.", length(0, password_most));
  v.field("keep_tokens", m.keep_tokens, "Whether the tokens of the user stay valid when the password changes.");
  v.field("admin", m.is_admin, "Whether he is admin of the cluster.");
  v.field("active", m.is_active, "Whether he may use it; if not, his tokens are refused, his jobs go on.");
  v.field("max_slots", m.max_slots, "Most slots that his jobs may hold together; -1: no limit.",
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
  v.required("user", m.user, "Who.");
}

struct ListTokens {
  static constexpr std::string_view type_name = "list_tokens";
  static constexpr Route route{"GET", "/tokens", "One's own tokens; as admin, those of others, too.", Need::token};
  using Answer = Tokens;
  std::optional<std::string> user;
  bool all = false;
};
template <class V>
void describe(V& v, ListTokens& m) {
  v.field("user", m.user, "Of this user; only as admin.");
  v.field("all", m.all, "Of all users; only as admin.");
}

struct CreateToken {
  static constexpr std::string_view type_name = "create_token";
  static constexpr Route route{"POST", "/tokens", "A new token, for oneself or, as admin, for another.", Need::token};
  using Answer = NewToken;
  std::string name;
  std::optional<std::string> user;
  std::optional<Duration> valid;
  Secret secret;  ///< put in by the shell
};
template <class V>
void describe(V& v, CreateToken& m) {
  v.field("name", m.name, "What it is for.", length(0, 128));
  v.field("user", m.user, "For whom, if not for oneself.");
  v.field("valid", m.valid, "For how long it is good; left out: until it is revoked.",
          range(std::chrono::seconds(1), std::chrono::hours(24 * 365 * 10)));
}

struct RevokeToken {
  static constexpr std::string_view type_name = "revoke_token";
  static constexpr Route route{"DELETE", "/tokens/{token}", "Ends a token at once.", Need::token};
  using Answer = Done;
  std::string token;
};
template <class V>
void describe(V& v, RevokeToken& m) {
  v.required("token", m.token, "Its id.");
}

struct ListWorkspaces {
  static constexpr std::string_view type_name = "list_workspaces";
  static constexpr Route route{"GET", "/workspaces", "The workspaces that one may see.", Need::token};
  using Answer = Workspaces;
};
template <class V>
void describe(V&, ListWorkspaces&) {}

struct GetWorkspace {
  static constexpr std::string_view type_name = "get_workspace";
  static constexpr Route route{"GET", "/workspaces/{workspace}", "One workspace.", Need::viewer};
  using Answer = WorkspaceView;
  std::string workspace;
};
template <class V>
void describe(V& v, GetWorkspace& m) {
  v.required("workspace", m.workspace, "Which one.");
}

struct CreateWorkspace {
  static constexpr std::string_view type_name = "create_workspace";
  static constexpr Route route{"POST", "/workspaces", "A new workspace.", Need::admin};
  using Answer = WorkspaceView;
  std::string name;
  std::int64_t max_slots = unlimited;
};
template <class V>
void describe(V& v, CreateWorkspace& m) {
  v.required("name", m.name, "What it is to be called: letters, digits, - _ . @", length(1, name_most));
  v.field("max_slots", m.max_slots, "Most slots that its jobs may hold together; -1: no limit.",
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
  v.required("workspace", m.workspace, "Which one.");
  v.field("max_slots", m.max_slots, "Most slots that its jobs may hold together; -1: no limit.",
          range(unlimited, 1'000'000'000));
}

struct DeleteWorkspace {
  static constexpr std::string_view type_name = "delete_workspace";
  static constexpr Route route{"DELETE", "/workspaces/{workspace}", "Removes a workspace in which nothing runs.",
                               Need::admin};
  using Answer = Done;
  std::string workspace;
};
template <class V>
void describe(V& v, DeleteWorkspace& m) {
  v.required("workspace", m.workspace, "Which one.");
}

/// Asked by admins of the cluster, and by those of the workspace.
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
  v.required("workspace", m.workspace, "Which one.");
  v.required("user", m.user, "Who.");
  v.required("role", m.role, "viewer: reads; editor: creates, and changes what is his own; admin: does all.");
}

struct RemoveMember {
  static constexpr std::string_view type_name = "remove_member";
  static constexpr Route route{"DELETE", "/workspaces/{workspace}/members/{user}", "Takes a user out of a workspace.",
                               Need::token};
  using Answer = Done;
  std::string workspace;
  std::string user;
};
template <class V>
void describe(V& v, RemoveMember& m) {
  v.required("workspace", m.workspace, "Which one.");
  v.required("user", m.user, "Who.");
}

/// Answered by the shell, from the records.
struct ListAudit {
  static constexpr std::string_view type_name = "list_audit";
  static constexpr Route route{"GET", "/audit", "Who wanted to change what, the newest first.", Need::admin};
  using Answer = AuditPage;
  std::uint64_t before = 0;
  std::int32_t most = 100;
};
template <class V>
void describe(V& v, ListAudit& m) {
  v.field("before", m.before, "Only those before this number; 0: from the newest on.");
  v.field("most", m.most, "How many at most.", range(1, 1'000));
}

using Request = std::variant<Logout, GetMe, ListUsers, GetUser, CreateUser, SetUser, DeleteUser, ListTokens,
                             CreateToken, RevokeToken, ListWorkspaces, GetWorkspace, CreateWorkspace, SetWorkspace,
                             DeleteWorkspace, SetMember, RemoveMember>;
using Reply = std::variant<Done, UserView, Users, TokenView, Tokens, NewToken, WorkspaceView, Workspaces, Me>;

}  // namespace cadre::access
