#include <algorithm>
#include <limits>
#include <utility>

#include "records/records.h"

namespace cadre::records {
namespace {

using database::Transaction;

/// But those that are written anew: what belongs to them may be there already, when this is repeated.
template <class Row>
Result<void> remove(Transaction& transaction, const std::string& sql, const std::vector<std::string>& keys,
                    const std::vector<Row>& written) {
  for (const std::string& key : keys) {
    const auto is_it = [&](const Row& row) { return key_of(row) == key; };
    if (std::any_of(written.begin(), written.end(), is_it)) continue;
    TRY(transaction.exec(sql, {storable(key)}));
  }
  return {};
}

/// What belongs to another goes before it.
Result<void> remove_gone(Transaction& transaction, const access::Writes& writes) {
  for (const auto& [workspace, user] : writes.members_gone) {
    TRY(transaction.exec("DELETE FROM members WHERE workspace = $1 AND user_name = $2",
                         {storable(workspace), storable(user)}));
  }
  for (const auto& [user, key] : writes.keys_gone) {
    TRY(transaction.exec("DELETE FROM idempotency_keys WHERE user_name = $1 AND request_key = $2",
                         {storable(user), storable(key)}));
  }
  for (const std::string& id : writes.tokens_gone) {
    TRY(transaction.exec("DELETE FROM tokens WHERE id = $1", {storable(id)}));
  }
  TRY(remove(transaction, "DELETE FROM workspaces WHERE name = $1", writes.workspaces_gone, writes.workspaces));
  return remove(transaction, "DELETE FROM users WHERE name = $1", writes.users_gone, writes.users);
}

}  // namespace

Result<access::Rows> Records::load_access() {
  return transact({}, [&](Transaction& transaction) -> Result<access::Rows> {
    access::Rows rows;
    TRY(get(transaction, "", {}, rows.users));
    TRY(get(transaction, "", {}, rows.tokens));
    TRY(get(transaction, "", {}, rows.workspaces));
    TRY(get(transaction, "", {}, rows.members));
    TRY(get(transaction, "", {}, rows.keys));
    sort_by_key(rows.users);
    sort_by_key(rows.tokens);
    sort_by_key(rows.workspaces);
    sort_by_key(rows.members);
    sort_by_key(rows.keys);
    TRY_ASSIGN(found, transaction.query("SELECT last_audit FROM master"));
    TRY_ASSIGN(row, found.one());
    TRY_ASSIGN(last, row.get<std::int64_t>(0));
    rows.last_audit = static_cast<std::uint64_t>(last);
    return rows;
  });
}

Result<void> Records::put_access(Transaction& transaction, const access::Writes& writes) const {
  TRY(remove_gone(transaction, writes));
  TRY(put(transaction, writes.users, pieces()));
  TRY(put(transaction, writes.workspaces, pieces()));
  TRY(put(transaction, writes.tokens, pieces()));
  TRY(put(transaction, writes.members, pieces()));
  TRY(put(transaction, writes.keys, pieces()));
  return put(transaction, writes.audit, pieces());
}

Result<std::vector<access::AuditRow>> Records::audit_before(std::uint64_t number, std::int64_t limit) {
  return database_->transaction([&](Transaction& transaction) -> Result<std::vector<access::AuditRow>> {
    constexpr auto newest = std::numeric_limits<std::int64_t>::max();
    const std::int64_t before =
        number == 0 || !std::in_range<std::int64_t>(number) ? newest : static_cast<std::int64_t>(number);
    std::vector<access::AuditRow> rows;
    TRY(get(transaction, "WHERE number < $1 ORDER BY number DESC LIMIT $2", {before, std::max<std::int64_t>(limit, 0)},
            rows));
    return rows;
  });
}

Result<std::int64_t> Records::prune_audit(std::int64_t keep, std::int64_t most) { return prune("audit", keep, most); }

}  // namespace cadre::records
