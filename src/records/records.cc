#include "records/records.h"

#include <algorithm>
#include <limits>
#include <span>
#include <tuple>

#include "access/tables.h"
#include "cluster/control/tables.h"
#include "database/migrate.h"
#include "records/schema.h"

namespace cadre::records {
namespace {

namespace control = cluster::control;
using database::Transaction;
using database::Values;

/// So many jobs are read by one query, or so few that their specifications do not take more than this.
constexpr std::size_t jobs_at_once = 100;
constexpr std::int64_t bytes_at_once = std::int64_t{16} << 20;

/// `id IN ($1, …)`
std::string among(std::string_view column) {
  std::string text = std::string(column) + " IN (";
  for (std::size_t at = 1; at <= jobs_at_once; ++at) text += (at == 1 ? "$" : ", $") + std::to_string(at);
  return text + ")";
}

/// A job, and what its specification takes.
struct Sized {
  std::int64_t id = 0;
  std::int64_t bytes = 0;
  auto operator<=>(const Sized&) const = default;
};

/// Those that `sql` gives, in its order, as long as they take no more than `bytes_most`.
Result<std::vector<Sized>> get_sized(Transaction& transaction, std::string_view sql, const Values& params,
                                     std::int64_t bytes_most = std::numeric_limits<std::int64_t>::max()) {
  std::vector<Sized> jobs;
  TRY_ASSIGN(rows, transaction.query(sql, params));
  for (const database::Row row : rows) {
    TRY_ASSIGN(cells, (row.read<std::int64_t, std::int64_t>()));
    bytes_most -= std::get<1>(cells);
    if (bytes_most < 0) break;
    jobs.push_back({std::get<0>(cells), std::get<1>(cells)});
  }
  return jobs;
}

/// The jobs to load, in the order of their numbers.
Result<std::vector<Sized>> find_jobs(Transaction& transaction, const EndedMost& most) {
  TRY_ASSIGN(jobs, get_sized(transaction, "SELECT id, bytes FROM jobs WHERE stage <> 'ended'", {}));
  TRY_ASSIGN(ended, get_sized(transaction,
                              "SELECT id, bytes FROM jobs WHERE stage = 'ended' ORDER BY ended DESC, id DESC LIMIT $1",
                              {std::max<std::int64_t>(most.jobs, 0)}, most.bytes));
  jobs.insert(jobs.end(), ended.begin(), ended.end());
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

Result<void> get_jobs(Transaction& transaction, std::span<const Sized> jobs, control::Rows& rows) {
  static const std::string where_jobs = "WHERE " + among("id") + " ORDER BY id";
  static const std::string where_tasks = "WHERE " + among("job") + " ORDER BY job, member";
  while (!jobs.empty()) {
    Values params;
    for (std::int64_t bytes = 0; params.size() < std::min(jobs.size(), jobs_at_once) && bytes < bytes_at_once;) {
      const Sized& job = jobs[params.size()];
      params.emplace_back(job.id);
      bytes += job.bytes;
    }
    jobs = jobs.subspan(params.size());
    params.resize(jobs_at_once, params.back());  // as many each time: one statement to prepare
    TRY(get(transaction, where_jobs, params, rows.jobs));
    TRY(get(transaction, where_tasks, params, rows.tasks));
  }
  return {};
}

/// Removes these jobs with their tasks.
Result<std::vector<PrunedJob>> remove_jobs(Transaction& transaction, const std::vector<Sized>& jobs) {
  std::vector<PrunedJob> pruned;
  for (const Sized& job : jobs) {
    TRY_ASSIGN(tasks, transaction.query("SELECT job, member, epoch FROM tasks WHERE job = $1", {job.id}));
    PrunedJob& gone = pruned.emplace_back(PrunedJob{{static_cast<std::uint64_t>(job.id)}, job.bytes, {}});
    for (const Values& cells : tasks.cells()) {
      const auto number = [&](std::size_t at) { return static_cast<std::uint64_t>(std::get<std::int64_t>(cells[at])); };
      gone.leases.push_back({{{number(0)}, static_cast<std::uint32_t>(number(1))}, {number(2)}});
    }
    TRY(transaction.exec("DELETE FROM tasks WHERE job = $1", {job.id}));
    TRY(transaction.exec("DELETE FROM jobs WHERE id = $1", {job.id}));
  }
  return pruned;
}

Result<void> get_last(Transaction& transaction, control::Rows& rows) {
  TRY_ASSIGN(found, transaction.query("SELECT last_job FROM master"));
  TRY_ASSIGN(row, found.one());
  TRY_ASSIGN(last, row.get<std::int64_t>(0));
  rows.last_job.value = static_cast<std::uint64_t>(last);
  TRY_ASSIGN(ended, transaction.query("SELECT count(*), CAST(coalesce(sum(bytes), 0) AS BIGINT) FROM jobs"
                                      " WHERE stage = 'ended'"));
  TRY_ASSIGN(count, ended.one());
  TRY_ASSIGN(total, (count.read<std::int64_t, std::int64_t>()));
  std::tie(rows.ended_jobs, rows.ended_bytes) = total;
  return {};
}

}  // namespace

Records::Records(Claim claim, std::unique_ptr<database::Database> database, RowTypes types)
    : claim_(std::move(claim)),
      database_(std::move(database)),
      types_(std::move(types)),
      guard_sql_(
          "UPDATE master SET last_job = CASE WHEN last_job < $1 THEN $1 ELSE last_job END,"
          " last_change = CASE WHEN last_change < $2 THEN $2 ELSE last_change END,"
          " last_audit = CASE WHEN last_audit < $3 THEN $3 ELSE last_audit END WHERE boot = $4 RETURNING " +
          std::string(claim_.held_sql())) {}

Result<std::unique_ptr<Records>> Records::open(std::string_view url, Log& log, Declared declared) {
  TRY_ASSIGN(database, database::open(url));
  TRY_ASSIGN(claim, Claim::take(url, *database));  // first: a living master's tables are not to be changed
  TRY(database::migrate(*database, "", migrations(), log));
  for (const Declared::Schema& schema : declared.schemas) {
    std::vector<database::Migration> steps;
    for (const api::Migration& step : schema.migrations) steps.push_back({step.version, step.name, step.sql});
    TRY(database::migrate(*database, schema.part, steps, log));
  }
  TRY_ASSIGN(rows, database->query("SELECT boot, cluster FROM master"));
  TRY_ASSIGN(row, rows.one());
  TRY_ASSIGN(boot, row.get<std::int64_t>(0));
  TRY_ASSIGN(cluster, row.get<std::string>(1));
  std::unique_ptr<Records> records(new Records(std::move(claim), std::move(database), std::move(declared.rows)));
  records->boot_ = static_cast<std::uint64_t>(boot);
  records->cluster_ = std::move(cluster);
  return records;
}

Result<void> Records::name_cluster(const std::string& id) {
  TRY(transact({}, [&](Transaction& transaction) {
    return transaction.exec("UPDATE master SET cluster = $1", {storable(id)});
  }));
  cluster_ = id;
  return {};
}

Result<void> Records::confirm() {
  if (!claim_.on_server()) return {};  // the kernel keeps the lock as long as this process is there
  return database_->transaction([&](Transaction& transaction) -> Result<void> {
    const auto ask = [&]() -> Result<bool> {
      TRY_ASSIGN(rows, transaction.query("SELECT boot, " + std::string(claim_.held_sql()) + " FROM master"));
      TRY_ASSIGN(row, rows.one());
      TRY_ASSIGN(boot, row.get<std::int64_t>(0));
      if (static_cast<std::uint64_t>(boot) != boot_) return another_has_begun();
      return row.get<bool>(1);
    };
    TRY_ASSIGN(held, ask());
    if (held) return {};
    TRY(claim_.renew(transaction));
    TRY_ASSIGN(renewed, ask());
    if (renewed) return {};
    return fail(Errc::unavailable, "the lock of the database " + std::string(database_->place()) +
                                       " is lost, and another connection holds it");
  });
}

Failure Records::another_has_begun() const {
  return fail(Errc::denied,
              "another master has begun with the database " + std::string(database_->place()) + "; this master ends");
}

Result<void> Records::guard(Transaction& transaction, const Last& last) {
  TRY_ASSIGN(rows,
             transaction.query(guard_sql_, {static_cast<std::int64_t>(last.job), static_cast<std::int64_t>(last.change),
                                            static_cast<std::int64_t>(last.audit), static_cast<std::int64_t>(boot())}));
  if (rows.empty()) return another_has_begun();
  TRY_ASSIGN(held, rows[0].get<bool>(0));
  if (!held) TRY(claim_.renew(transaction));
  return {};
}

Result<std::uint64_t> Records::begin_boot(std::uint64_t above) {
  TRY_ASSIGN(boot, database::repeat_on_conflict(
                       *database_, attempts_max, [&](Transaction& transaction) -> Result<std::int64_t> {
                         TRY_ASSIGN(rows, transaction.query("UPDATE master SET boot = CASE WHEN boot < $1 THEN $1"
                                                            " ELSE boot END + 1 RETURNING boot",
                                                            {static_cast<std::int64_t>(above)}));
                         TRY_ASSIGN(row, rows.one());
                         return row.get<std::int64_t>(0);
                       }));
  boot_ = static_cast<std::uint64_t>(boot);
  return boot_;
}

Result<std::uint64_t> Records::begin_names(TimePoint wall) {
  const std::int64_t micros = std::chrono::floor<std::chrono::microseconds>(wall.time_since_epoch()).count();
  TRY_ASSIGN(begin, transact({}, [&](Transaction& transaction) -> Result<std::int64_t> {
               TRY_ASSIGN(rows,
                          transaction.query("UPDATE master SET names_begin = CASE WHEN names_begin + $1 > $2 THEN "
                                            "names_begin + $1 ELSE $2 END RETURNING names_begin",
                                            {names_of_one_life, std::max<std::int64_t>(micros, 1)}));
               TRY_ASSIGN(row, rows.one());
               return row.get<std::int64_t>(0);
             }));
  return static_cast<std::uint64_t>(begin);
}

Result<control::Rows> Records::load(const EndedMost& ended) {
  return transact({}, [&](Transaction& transaction) -> Result<control::Rows> {
    control::Rows rows;
    TRY(get_last(transaction, rows));
    TRY(get(transaction, "", {}, rows.agents));
    TRY(get(transaction, "", {}, rows.groups));
    sort_by_key(rows.agents);
    sort_by_key(rows.groups);
    TRY_ASSIGN(jobs, find_jobs(transaction, ended));
    TRY(get_jobs(transaction, jobs, rows));
    return rows;
  });
}

namespace {

/// Reads rows of parts within one transaction.
class TransactionReader final : public api::RowReader {
 public:
  TransactionReader(Transaction& transaction, const RowTypes& types) : transaction_(transaction), types_(types) {}

  Result<std::uint64_t> last(const std::string& kind) override {
    if (kind != "job" && kind != "change" && kind != "audit") return fail(Errc::invalid, "no numbers of kind " + kind);
    TRY_ASSIGN(found, transaction_.query("SELECT last_" + kind + " FROM master"));
    TRY_ASSIGN(row, found.one());
    TRY_ASSIGN(number, row.get<std::int64_t>(0));
    return static_cast<std::uint64_t>(number);
  }

 private:
  Result<std::shared_ptr<void>> read(std::type_index type, std::string_view where) override {
    return types_.read(transaction_, type, where);
  }

  Transaction& transaction_;
  const RowTypes& types_;
};

}  // namespace

Result<std::any> Records::load_part(const std::function<Result<std::any>(api::RowReader&)>& load) {
  return transact({}, [&](Transaction& transaction) -> Result<std::any> {
    TransactionReader reader(transaction, types_);
    return load(reader);
  });
}

Result<std::uint64_t> Records::last(const std::string& kind) {
  return transact({}, [&](Transaction& transaction) { return TransactionReader(transaction, types_).last(kind); });
}

Result<void> Records::commit(const api::Writes& writes) {
  if (writes.empty()) return {};
  const Last last{writes.last("job"), writes.last("change"), writes.last("audit")};
  return transact(last, [&](Transaction& transaction) -> Result<void> {
    for (const api::RowBatch& batch : writes.batches()) TRY(types_.write(transaction, batch, pieces()));
    return {};
  });
}

Result<std::vector<api::ChangeRow>> Records::changes_since(std::uint64_t number, std::int64_t limit) {
  return database_->transaction([&](Transaction& transaction) -> Result<std::vector<api::ChangeRow>> {
    std::vector<api::ChangeRow> changes;
    TRY(get(transaction, "WHERE number > $1 ORDER BY number LIMIT $2",
            {static_cast<std::int64_t>(number), std::max<std::int64_t>(limit, 0)}, changes));
    return changes;
  });
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

Result<std::int64_t> Records::prune_changes(std::int64_t keep, std::int64_t most) {
  return prune("changes", keep, most);
}

Result<std::vector<PrunedJob>> Records::prune_jobs(std::int64_t most) {
  return transact({}, [&](Transaction& transaction) -> Result<std::vector<PrunedJob>> {
    TRY_ASSIGN(jobs,
               get_sized(transaction, "SELECT id, bytes FROM jobs WHERE stage = 'ended' ORDER BY ended, id LIMIT $1",
                         {std::max<std::int64_t>(most, 0)}));
    return remove_jobs(transaction, jobs);
  });
}

Result<std::vector<PrunedJob>> Records::prune_largest_owner(const EndedMost& most) {
  return transact({}, [&](Transaction& transaction) -> Result<std::vector<PrunedJob>> {
    TRY_ASSIGN(owners, transaction.query("SELECT owner FROM jobs WHERE stage = 'ended' GROUP BY owner"
                                         " ORDER BY sum(bytes) DESC, owner LIMIT 1"));
    if (owners.empty()) return std::vector<PrunedJob>();
    TRY_ASSIGN(jobs, get_sized(transaction,
                               "SELECT id, bytes FROM jobs WHERE stage = 'ended' AND owner = $1"
                               " ORDER BY ended, id LIMIT $2",
                               {owners.cells().front().front(), std::max<std::int64_t>(most.jobs, 0)}));
    std::int64_t freed = 0;
    const auto end =
        std::find_if(jobs.begin(), jobs.end(), [&](const Sized& job) { return (freed += job.bytes) >= most.bytes; });
    if (end != jobs.end()) jobs.erase(std::next(end), jobs.end());
    return remove_jobs(transaction, jobs);
  });
}

Result<std::int64_t> Records::prune(const std::string& table, std::int64_t keep, std::int64_t most) {
  return transact({}, [&](Transaction& transaction) {
    // Numbers have no gaps: the n-th newest and the n-th oldest are found without counting.
    return transaction.exec("DELETE FROM " + table + " WHERE number <= (SELECT max(number) FROM " + table +
                                ") - $1 AND number < (SELECT min(number) FROM " + table + ") + $2",
                            {std::max<std::int64_t>(keep, 0), std::max<std::int64_t>(most, 0)});
  });
}

}  // namespace cadre::records
