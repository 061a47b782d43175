#include <algorithm>

#include "records/records.h"

namespace cadre::records {
namespace {

using cluster::AgentId;
using database::Transaction;

std::int64_t nanoseconds(TimePoint time) { return time.time_since_epoch().count(); }

/// The row of a token; columns in the order of find_token.
struct Token {
  TimePoint expires;
  std::string pool;
  TimePoint used;  ///< 0: not yet
  AgentId used_by;
};

template <class V>
void columns(V& v, Token& row) {
  v.column("expires", row.expires);
  v.column("pool", row.pool);
  v.column("used", row.used);
  v.column("used_by", row.used_by);
}

template <class Row>
Result<Row> read(const database::Row& cells, std::string_view table) {
  Row row;
  CellReader reader(cells);
  columns(reader, row);
  TRY(reader.finish(table));
  return row;
}

Result<Token> find_token(Transaction& transaction, const std::string& hash) {
  TRY_ASSIGN(rows, transaction.query("SELECT expires, pool, used, used_by FROM join_tokens WHERE hash = $1",
                                     {storable(hash)}));
  if (rows.empty()) {
    return fail(Errc::denied, "this join token is not known; create one with cadre agent token and pass it unchanged");
  }
  return read<Token>(rows[0], "join_tokens");
}

Result<std::string> find_key(Transaction& transaction, const AgentId& agent) {
  TRY_ASSIGN(rows, transaction.query("SELECT agent, public_key, pool, joined FROM agent_keys WHERE agent = $1",
                                     {storable(agent.value)}));
  if (rows.empty()) return "";
  TRY_ASSIGN(key, read<AgentKey>(rows[0], "agent_keys"));
  return std::move(key.public_key);
}

Result<void> check(const Token& token, const std::string& known_key, const Joining& joining) {
  if (token.used != TimePoint()) {
    return fail(Errc::denied, "this join token was used by agent " + token.used_by.value +
                                  "; a token can be used once: create another with cadre agent token");
  }
  if (token.expires != TimePoint() && joining.now >= token.expires) {
    return fail(Errc::denied, "this join token has expired; create another with cadre agent token");
  }
  if (!known_key.empty() && known_key != joining.public_key) {
    return fail(Errc::denied, "agent " + joining.agent.value +
                                  " has another key; remove it first (cadre agent remove " + joining.agent.value +
                                  "), or join with another --id");
  }
  return {};
}

}  // namespace

Result<void> Records::add_join_token(const JoinToken& token) {
  return transact({}, [&](Transaction& transaction) -> Result<void> {
    TRY(
        transaction.exec("INSERT INTO join_tokens (hash, expires, pool, used, used_by) VALUES ($1, $2, $3, 0, '')"
                         " ON CONFLICT (hash) DO NOTHING",
                         {storable(token.hash), nanoseconds(token.expires), storable(token.pool)}));
    return {};
  });
}

Result<std::string> Records::use_join_token(const Joining& joining) {
  if (joining.agent.value.empty() || joining.public_key.empty() || joining.now == TimePoint()) {
    return fail(Errc::invalid, "an agent joins with a name and a key, at a time");
  }
  return transact({}, [&](Transaction& transaction) -> Result<std::string> {
    TRY_ASSIGN(token, find_token(transaction, joining.token_hash));
    TRY_ASSIGN(known_key, find_key(transaction, joining.agent));
    const bool done_already = token.used_by == joining.agent && known_key == joining.public_key;
    if (done_already) return std::move(token.pool);
    TRY(check(token, known_key, joining));
    TRY(transaction.exec("UPDATE join_tokens SET used = $1, used_by = $2 WHERE hash = $3",
                         {nanoseconds(joining.now), storable(joining.agent.value), storable(joining.token_hash)}));
    TRY(transaction.exec(
        "INSERT INTO agent_keys (agent, public_key, pool, joined) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (agent) DO UPDATE SET pool = excluded.pool, joined = excluded.joined",
        {storable(joining.agent.value), storable(joining.public_key), storable(token.pool), nanoseconds(joining.now)}));
    return std::move(token.pool);
  });
}

Result<std::vector<JoinToken>> Records::join_tokens(TimePoint now, std::int64_t most) {
  TRY_ASSIGN(rows, database_->query("SELECT hash, expires, pool FROM join_tokens"
                                    " WHERE used <> 0 OR expires = 0 OR expires > $1 ORDER BY used = 0 DESC, used DESC"
                                    " LIMIT $2",
                                    {nanoseconds(now), most}));
  std::vector<JoinToken> tokens;
  for (const database::Row cells : rows) {
    TRY_ASSIGN(hash, cells.get<std::string>(0));
    TRY_ASSIGN(expires, cells.get<std::int64_t>(1));
    TRY_ASSIGN(pool, cells.get<std::string>(2));
    tokens.push_back({std::move(hash), TimePoint(Duration(expires)), std::move(pool)});
  }
  return tokens;
}

Result<void> Records::put_agent_key(const AgentKey& key) {
  return transact({}, [&](Transaction& transaction) -> Result<void> {
    TRY(transaction.exec(
        "INSERT INTO agent_keys (agent, public_key, pool, joined) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (agent) DO UPDATE SET public_key = excluded.public_key, pool = excluded.pool,"
        " joined = excluded.joined",
        {storable(key.agent.value), storable(key.public_key), storable(key.pool), nanoseconds(key.joined)}));
    return {};
  });
}

Result<std::int64_t> Records::prune_join_tokens(TimePoint now) {
  return transact({}, [&](Transaction& transaction) {
    return transaction.exec("DELETE FROM join_tokens WHERE used = 0 AND expires <> 0 AND expires <= $1",
                            {nanoseconds(now)});
  });
}

Result<std::vector<AgentKey>> Records::agent_keys() {
  TRY_ASSIGN(rows, database_->query("SELECT agent, public_key, pool, joined FROM agent_keys"));
  std::vector<AgentKey> keys;
  for (const database::Row cells : rows) {
    TRY_ASSIGN(key, read<AgentKey>(cells, "agent_keys"));
    keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end(), [](const AgentKey& a, const AgentKey& b) { return a.agent < b.agent; });
  return keys;
}

Result<void> Records::remove_agent_key(const AgentId& agent) {
  TRY_ASSIGN(removed, transact({}, [&](Transaction& transaction) {
               return transaction.exec("DELETE FROM agent_keys WHERE agent = $1", {storable(agent.value)});
             }));
  if (removed == 0) return fail(Errc::not_found, "no key is known for agent " + agent.value);
  return {};
}

}  // namespace cadre::records
