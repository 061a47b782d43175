/// The master's durable state in a database: what was committed is there after every crash, whole or not at all. One
/// thread at a time; one living master for each database.
///
/// Errors are those of database/database.h. After `timed_out` repeat the same call: no call does harm when it was done
/// already. `denied` from a write says that another master has begun since: this one must end.
#pragma once

#include <any>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/rows.h"
#include "api/part.h"
#include "base/log.h"
#include "cluster/control/rows.h"
#include "database/database.h"
#include "records/claim.h"
#include "records/row_types.h"
#include "records/table.h"

namespace cadre::records {

/// What lets one agent join. Only the hash of a token is kept.
struct JoinToken {
  std::string hash;
  TimePoint expires;  ///< 0: never
  std::string pool;
};

/// An agent shows a token and the key that it will be known by.
struct Joining {
  std::string token_hash;
  cluster::AgentId agent;
  std::string public_key;
  TimePoint now;
};

using cluster::control::AgentKey;

/// Of ended jobs: how many, and what their specifications may take.
struct EndedMost {
  std::int64_t jobs = 0;
  std::int64_t bytes = 0;
};

/// An ended job that was removed, what its specification took, and the last lease of each of its tasks.
struct PrunedJob {
  cluster::JobId id;
  std::int64_t bytes = 0;
  std::vector<cluster::LeaseId> leases;
};

/// What parts of a master keep in the database.
struct Declared {
  struct Schema {
    std::string part;
    std::vector<api::Migration> migrations;
  };
  RowTypes rows;
  std::vector<Schema> schemas;  ///< beside that of the master itself

  /// The migrations of a part, if it has any.
  void add_schema(const api::PartType& part) {
    if (!part.migrations.empty()) schemas.push_back({std::string(part.name), part.migrations});
  }
};

class Records {
 public:
  /// Opens the database and brings it to today's schema. One that is newer is refused with Errc::invalid; one that
  /// belongs to a living master with Errc::conflict, after two seconds. A master that was killed is not waited for.
  [[nodiscard]] static Result<std::unique_ptr<Records>> open(std::string_view url, Log& log, Declared declared);

  /// The number of the last start of a master, 0 when there was none; and the cluster's id, empty when it has none yet.
  /// Safe on any thread.
  std::uint64_t boot() const { return boot_; }
  const std::string& cluster() const { return cluster_; }
  [[nodiscard]] Result<void> name_cluster(const std::string& id);

  /// The number of this start of the master, greater than all before, and than `above`. Call it before load: from here
  /// on no earlier master can write.
  [[nodiscard]] Result<std::uint64_t> begin_boot(std::uint64_t above = 0);

  /// Asks the server whether this is still the only master, without writing anything. `denied` when another has begun,
  /// `unavailable` when nobody can say, or another connection has the lock.
  [[nodiscard]] Result<void> confirm();
  /// Whether confirm() can say anything but yes.
  bool must_confirm() const { return claim_.on_server(); }

  /// From where the epochs of names count on in this life of the master: more than in any before, by as many as one
  /// life can use, whatever the clock says; else the microseconds of `wall`.
  [[nodiscard]] Result<std::uint64_t> begin_names(TimePoint wall);
  static constexpr std::int64_t names_of_one_life = std::int64_t{1} << 36;

  /// All agents and groups; all jobs that have not ended, and those that ended last, as far as `ended` allows; their
  /// tasks. In the order of their keys. A row that cannot be read is Errc::corrupt, with its table, key and column.
  [[nodiscard]] Result<cluster::control::Rows> load(const EndedMost& ended);

  /// What a part is made from, read in one transaction.
  [[nodiscard]] Result<std::any> load_part(const std::function<Result<std::any>(api::RowReader&)>& load);
  /// The largest number of this kind (job, change, audit) that was ever given out.
  [[nodiscard]] Result<std::uint64_t> last(const std::string& kind);

  /// All of it in one transaction. Of a row that is in a batch twice the last counts. A row that belongs to one that is
  /// not there is Errc::conflict; a change of a row that is not there is Errc::not_found.
  [[nodiscard]] Result<void> commit(const api::Writes& writes);

  /// The `limit` changes after `number`, in their order. When the first is not the next, those between were pruned.
  [[nodiscard]] Result<std::vector<api::ChangeRow>> changes_since(std::uint64_t number, std::int64_t limit);
  /// Removes all but the newest `keep`, the oldest first, at most so many; gives how many.
  [[nodiscard]] Result<std::int64_t> prune_changes(std::int64_t keep, std::int64_t most);

  /// Removes so many of the jobs that have ended, with their tasks: those that ended first.
  [[nodiscard]] Result<std::vector<PrunedJob>> prune_jobs(std::int64_t most);
  /// The same for the user whose ended jobs take most, until so many bytes are freed: a user with large jobs does not
  /// push out those of others.
  [[nodiscard]] Result<std::vector<PrunedJob>> prune_largest_owner(const EndedMost& most);

  /// The `limit` lines of the audit log before `number`, the newest first; 0: from the newest on.
  [[nodiscard]] Result<std::vector<access::AuditRow>> audit_before(std::uint64_t number, std::int64_t limit);
  /// Removes all but the newest `keep`, the oldest first, at most so many; gives how many.
  [[nodiscard]] Result<std::int64_t> prune_audit(std::int64_t keep, std::int64_t most);

  /// A hash that is there already keeps what it had.
  [[nodiscard]] Result<void> add_join_token(const JoinToken& token);
  /// Uses up the token, remembers the agent's key, and gives the pool it joins. Errc::denied when the token is unknown,
  /// used or expired, or the agent is known by another key. The same once more is the same again, as long as the key
  /// is not removed.
  [[nodiscard]] Result<std::string> use_join_token(const Joining& joining);
  /// Removes tokens that have expired unused; gives how many. Who has used one may show it again.
  [[nodiscard]] Result<std::int64_t> prune_join_tokens(TimePoint now);
  /// Those that may be shown: unused ones that have not expired by then, and used ones, whose agents may repeat
  /// themselves. The newest first, so many at most.
  [[nodiscard]] Result<std::vector<JoinToken>> join_tokens(TimePoint now, std::int64_t most);
  /// From now on the agent is known by this key only.
  [[nodiscard]] Result<void> put_agent_key(const AgentKey& key);
  /// By the agents' names.
  [[nodiscard]] Result<std::vector<AgentKey>> agent_keys();
  /// Errc::not_found when there is none.
  [[nodiscard]] Result<void> remove_agent_key(const cluster::AgentId& agent);

 private:
  /// The largest numbers given out, as far as a transaction knows.
  struct Last {
    std::uint64_t job = 0;
    std::uint64_t change = 0;
    std::uint64_t audit = 0;
  };

  Records(Claim claim, std::unique_ptr<database::Database> database, RowTypes types);
  Failure another_has_begun() const;
  /// Fails when another master has begun, and raises the numbers.
  Result<void> guard(database::Transaction& transaction, const Last& last);
  /// A transaction that begins with guard().
  template <class Fn>
  auto transact(const Last& last, Fn fn) -> std::invoke_result_t<Fn&, database::Transaction&> {
    return database::repeat_on_conflict(
        *database_, attempts_max,
        [&](database::Transaction& transaction) -> std::invoke_result_t<Fn&, database::Transaction&> {
          TRY(guard(transaction, last));
          return fn(transaction);
        });
  }
  Result<std::int64_t> prune(const std::string& table, std::int64_t keep, std::int64_t most);
  Pieces pieces() const { return claim_.on_server() ? Pieces::large : Pieces::single; }

  static constexpr int attempts_max = 5;

  Claim claim_;  // let go after the connection
  std::unique_ptr<database::Database> database_;
  RowTypes types_;
  std::string guard_sql_;
  std::atomic<std::uint64_t> boot_ = 0;  ///< changed on the thread that writes, read on any
  std::string cluster_;
};

}  // namespace cadre::records
