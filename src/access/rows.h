/// Rows that the master stores for users, tokens, workspaces and the audit log. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/principal.h"
#include "base/time.h"

namespace cadre::access {

// The vocabulary of callers and their rights, which every part of a master uses.
using api::default_workspace;
using api::may_change;
using api::may_create;
using api::may_read;
using api::Principal;
using api::Role;

struct UserRow {
  std::string name;
  std::string password;  ///< as the shell hashed it; empty: none, the user cannot log in
  bool is_admin = false;
  bool is_active = true;
  std::optional<std::int64_t> max_slots;
  TimePoint created;
  std::string unix_user;  ///< account as which this user's tasks run on agents that run as root; empty: none
  bool operator==(const UserRow&) const = default;
};

struct TokenRow {
  std::string id;    ///< by which it is named; no secret
  std::string hash;  ///< SHA-256 of the secret, in hexadecimal digits
  std::string user;
  std::string name;  ///< what it is for
  TimePoint created;
  TimePoint expires;  ///< TimePoint{}: never
  bool operator==(const TokenRow&) const = default;

  bool has_expired(TimePoint now) const { return expires != TimePoint() && expires <= now; }
};

struct WorkspaceRow {
  std::string name;
  std::optional<std::int64_t> max_slots;
  TimePoint created;
  bool operator==(const WorkspaceRow&) const = default;
};

struct MemberRow {
  std::string workspace;
  std::string user;
  Role role = Role::viewer;
  bool operator==(const MemberRow&) const = default;
};

/// Bytes of an object or of an error in the audit log: both may repeat what a client has sent.
constexpr std::size_t audit_text_most = 512;

/// An entry of the audit log: an attempt to change something.
struct AuditRow {
  std::uint64_t number = 0;
  TimePoint time;
  std::string user;
  std::string token;    ///< its id
  std::string address;  ///< from where
  std::string act;      ///< the request's type_name
  std::string object;   ///< to what: `job 17`, `user ann`
  bool is_done = true;  ///< else it was refused
  std::string detail;   ///< why it was refused
  bool operator==(const AuditRow&) const = default;
};

/// A request that has created something, with its idempotency key.
struct IdempotencyRow {
  std::string user;
  std::string key;
  std::string fingerprint;  ///< of the whole request
  std::string noun;         ///< of what was created: job, user, token, workspace
  std::string object;       ///< its id or name
  TimePoint created;
  bool operator==(const IdempotencyRow&) const = default;
};

/// Everything that is loaded at a start.
struct Rows {
  std::vector<UserRow> users;
  std::vector<TokenRow> tokens;
  std::vector<WorkspaceRow> workspaces;
  std::vector<MemberRow> members;
  std::vector<IdempotencyRow> keys;
  std::uint64_t last_audit = 0;
};

/// What has changed: whole rows, to be written in one transaction. Writing it twice does no harm. What is gone is
/// removed before anything is written.
struct Writes {
  std::vector<std::string> users_gone;
  std::vector<std::string> tokens_gone;
  std::vector<std::string> workspaces_gone;
  std::vector<std::pair<std::string, std::string>> members_gone;  ///< workspace, user
  std::vector<UserRow> users;
  std::vector<TokenRow> tokens;
  std::vector<WorkspaceRow> workspaces;
  std::vector<MemberRow> members;
  std::vector<AuditRow> audit;
  std::vector<IdempotencyRow> keys;
  std::vector<std::pair<std::string, std::string>> keys_gone;  ///< user, key
  bool empty() const {
    return keys.empty() && keys_gone.empty() && users_gone.empty() && tokens_gone.empty() && workspaces_gone.empty() &&
           members_gone.empty() && users.empty() && tokens.empty() && workspaces.empty() && members.empty() &&
           audit.empty();
  }
};

}  // namespace cadre::access
