#include "records/archive.h"

#include <algorithm>
#include <map>
#include <utility>

#include "records/table.h"

namespace cadre::records {
namespace {

namespace control = cluster::control;
using database::Transaction;
using database::Value;
using database::Values;

/// Raises the first number of the range, $1, so that the jobs in it take no more than so many bytes.
Result<void> cut(Transaction& transaction, const std::string& where, std::int64_t bytes_most, Values& params,
                 bool& is_cut) {
  TRY_ASSIGN(sizes, transaction.query("SELECT id, bytes FROM jobs " + where, params));
  std::int64_t bytes = 0;
  std::int64_t last = 0;
  std::size_t jobs = 0;
  for (const database::Row row : sizes) {
    TRY_ASSIGN(cells, (row.read<std::int64_t, std::int64_t>()));
    bytes += std::get<1>(cells);
    is_cut = ++jobs > 2 && bytes > bytes_most;
    if (is_cut) break;
    last = std::get<0>(cells);
  }
  if (is_cut) params.front() = last;
  return {};
}

Result<void> add_tasks(Transaction& transaction, std::vector<ArchivedJob>& jobs) {
  if (jobs.empty()) return {};
  std::map<cluster::JobId, ArchivedJob*> by_id;
  Values ids;
  std::string where = "WHERE job IN (";
  for (ArchivedJob& job : jobs) {
    by_id.emplace(job.row.id, &job);
    ids.push_back(static_cast<std::int64_t>(job.row.id.value));
    where += (ids.size() == 1 ? "$" : ", $") + std::to_string(ids.size());
  }
  std::vector<control::TaskRow> tasks;
  TRY(get(transaction, where + ") ORDER BY job, member", ids, tasks));
  for (control::TaskRow& task : tasks) by_id.at(task.id.job)->tasks.push_back(std::move(task));
  return {};
}

}  // namespace

Result<std::unique_ptr<Archive>> Archive::open(std::string_view url) {
  TRY_ASSIGN(database, database::open(url));
  return std::unique_ptr<Archive>(new Archive(std::move(database)));
}

Result<std::optional<ArchivedJob>> Archive::find(cluster::JobId id) {
  TRY_ASSIGN(page, list({id.value, id.value + 1, std::nullopt, std::nullopt, 1}));
  if (page.jobs.empty()) return std::optional<ArchivedJob>();
  return std::optional(std::move(page.jobs.front()));
}

Result<ArchivePage> Archive::list(const ArchiveQuery& query) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 62;
  std::string where = "WHERE stage = 'ended' AND id >= $1 AND id < $2";
  Values params{static_cast<std::int64_t>(std::min(query.from, largest)),
                static_cast<std::int64_t>(std::min(query.before, largest))};
  const auto add = [&](const char* column, const std::optional<std::string>& wanted) {
    if (!wanted) return;
    params.emplace_back(storable(*wanted));
    where += " AND " + std::string(column) + " = $" + std::to_string(params.size());
  };
  add("workspace", query.workspace);
  add("owner", query.owner);
  params.emplace_back(std::clamp<std::int64_t>(query.most, 0, 1'000));
  where += " ORDER BY id DESC LIMIT $" + std::to_string(params.size());
  return database_->transaction([&](Transaction& transaction) -> Result<ArchivePage> {
    ArchivePage page;
    TRY(cut(transaction, where, query.bytes_most, params, page.is_cut));
    std::vector<control::JobRow> rows;
    TRY(get(transaction, where, params, rows));
    std::vector<ArchivedJob>& jobs = page.jobs;
    for (control::JobRow& row : rows) jobs.push_back({std::move(row), {}});
    for (std::size_t from = 0; from < jobs.size(); from += 100) {
      std::vector<ArchivedJob> some;
      const std::size_t end = std::min(jobs.size(), from + 100);
      for (std::size_t i = from; i < end; ++i) some.push_back(std::move(jobs[i]));
      TRY(add_tasks(transaction, some));
      for (std::size_t i = from; i < end; ++i) jobs[i] = std::move(some[i - from]);
    }
    return page;
  });
}

}  // namespace cadre::records
