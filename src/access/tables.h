/// Which columns the rows of the access core have. "user" means something else to PostgreSQL: it is user_name here.
/// Safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "access/rows.h"

namespace cadre::access {

template <class V>
void columns(V& v, UserRow& row) {
  v.key("name", row.name);
  v.column("password", row.password);
  v.column("is_admin", row.is_admin);
  v.column("is_active", row.is_active);
  v.column("max_slots", row.max_slots);
  v.column("created", row.created);
  v.column("unix_user", row.unix_user);
}

template <class V>
void columns(V& v, TokenRow& row) {
  v.key("id", row.id);
  v.column("hash", row.hash);
  v.column("user_name", row.user);
  v.column("name", row.name);
  v.column("created", row.created);
  v.column("expires", row.expires);
}

template <class V>
void columns(V& v, WorkspaceRow& row) {
  v.key("name", row.name);
  v.column("max_slots", row.max_slots);
  v.column("created", row.created);
}

template <class V>
void columns(V& v, MemberRow& row) {
  v.key("workspace", row.workspace);
  v.key("user_name", row.user);
  v.column("role", row.role);
}

template <class V>
void columns(V& v, AuditRow& row) {
  v.key("number", row.number);
  v.column("time", row.time);
  v.column("user_name", row.user);
  v.column("token", row.token);
  v.column("address", row.address);
  v.column("act", row.act);
  v.column("object", row.object);
  v.column("is_done", row.is_done);
  v.column("detail", row.detail);
}

template <class V>
void columns(V& v, IdempotencyRow& row) {
  v.key("user_name", row.user);
  v.key("request_key", row.key);
  v.column("fingerprint", row.fingerprint);
  v.column("noun", row.noun);
  v.column("object", row.object);
  v.column("created", row.created);
}

inline std::string_view table_of(const IdempotencyRow&) { return "idempotency_keys"; }
inline auto key_of(const IdempotencyRow& row) { return std::tie(row.user, row.key); }
inline std::string_view table_of(const UserRow&) { return "users"; }
inline std::string_view table_of(const TokenRow&) { return "tokens"; }
inline std::string_view table_of(const WorkspaceRow&) { return "workspaces"; }
inline std::string_view table_of(const MemberRow&) { return "members"; }
inline std::string_view table_of(const AuditRow&) { return "audit"; }

inline const std::string& key_of(const UserRow& row) { return row.name; }
inline const std::string& key_of(const TokenRow& row) { return row.id; }
inline const std::string& key_of(const WorkspaceRow& row) { return row.name; }
inline auto key_of(const MemberRow& row) { return std::tie(row.workspace, row.user); }
inline std::uint64_t key_of(const AuditRow& row) { return row.number; }

}  // namespace cadre::access
