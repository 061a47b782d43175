#include "master/cluster_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "describe/describe.h"
#include "loop/descriptor.h"
#include "loop/file.h"
#include "net/keys.h"
#include "objects/hash.h"

namespace cadre::master {
namespace {

namespace fs = std::filesystem;
using cluster::DataFolder;
using cluster::Epoch;
using cluster::JobId;
using cluster::LeaseId;
using cluster::TaskId;

/// What a folder says about itself.
struct Mark {
  std::string cluster;
  std::uint64_t boot = 0;  ///< the last start of the master that used it
};
template <class V>
void describe(V& v, Mark& m) {
  v.required("cluster", m.cluster, "Id of the cluster that the files belong to.");
  v.field("boot", m.boot, "Last start of the master that used them.");
}

std::string mark_path(const std::string& folder) { return folder + "/cluster.json"; }

std::array<std::string, 3> folders_of(const DataFolder& data) {
  return {data.path, data.output_folder(), data.code_folder()};
}

Result<std::optional<Mark>> read_mark(const std::string& folder) {
  const std::string path = mark_path(folder);
  const Result<std::string> text = loop::read_file(path);
  if (!text && text.error().code == Errc::not_found) return std::optional<Mark>();
  if (!text) return Failure(text.error());
  auto mark = describe::read_json_of_peer<Mark>(*text);
  if (!mark) return Failure(describe::to_error(mark.error(), path));
  return std::optional<Mark>(*std::move(mark));
}

/// Files of a time before there were marks.
bool holds_something(const std::string& folder) {
  std::error_code unknown;
  const fs::directory_iterator at(folder, unknown);
  return !unknown && std::any_of(begin(at), end(at), [](const fs::directory_entry& entry) {
    std::error_code none;
    return entry.path().extension() == ".segment" && entry.file_size(none) > 0;
  });
}

struct Mismatch {
  std::string what;  ///< for people
  Mark mark;
};

std::optional<Mismatch> compare(const std::string& folder, const std::optional<Mark>& mark,
                                const records::Records& records) {
  if (!mark) {
    // An older version has marked neither; a database that no master ever used has no output.
    const bool is_upgrade = records.cluster().empty() && records.boot() > 0;
    if (is_upgrade || !holds_something(folder)) return std::nullopt;
    return Mismatch{folder + " holds output, and the database has never been used with it", {"unknown", 0}};
  }
  if (mark->cluster != records.cluster()) {
    const std::string of = records.cluster().empty() ? "a new cluster" : "cluster " + records.cluster();
    return Mismatch{folder + " belongs to cluster " + mark->cluster + ", and the database to " + of, *mark};
  }
  if (mark->boot <= records.boot()) return std::nullopt;
  return Mismatch{folder + " was used by start " + std::to_string(mark->boot) +
                      " of the master, and the database knows only " + std::to_string(records.boot()) +
                      ": it was restored from a backup",
                  *mark};
}

std::string remedy(const DataFolder& data) {
  return "; give the --data folder and the --database that belong together, or start once with --adopt: then the "
         "output and code in " +
         data.path + " are set aside, and the master continues with the content of the database";
}

/// A number of 128 bits, in hexadecimal digits.
std::string make_id() { return objects::sha256(as_bytes(net::make_keys().open.text())).substr(0, 32); }

}  // namespace

Result<std::uint64_t> claim_files(const DataFolder& data, records::Records& records, Adopt adopt, Log& log) {
  std::optional<Mismatch> mismatch;
  std::uint64_t above = 0;
  for (const std::string& folder : folders_of(data)) {
    TRY_ASSIGN(mark, read_mark(folder));
    if (!mismatch) mismatch = compare(folder, mark, records);
    if (mark && mark->cluster == records.cluster()) above = std::max(above, mark->boot);
  }
  if (mismatch && adopt == Adopt::no) return fail(Errc::conflict, mismatch->what + remedy(data));
  if (mismatch) {
    log.warning(mismatch->what);
    TRY(set_aside(data, mismatch->mark.cluster, mismatch->mark.boot, log));
  }
  const bool is_named = !records.cluster().empty();
  TRY_ASSIGN(boot, records.begin_boot(above));
  if (!is_named) TRY(records.name_cluster(make_id()));
  TRY(mark_files(data, records));
  return boot;
}

Result<void> mark_files(const DataFolder& data, const records::Records& records) {
  const std::string mark = describe::write_json(Mark{records.cluster(), records.boot()}) + "\n";
  for (const std::string& folder : folders_of(data)) {
    TRY(loop::make_folder(folder));
    TRY(loop::write_whole(mark_path(folder), as_bytes(mark)));
  }
  return {};
}

Result<void> check_logs(const DataFolder& data, const std::vector<std::string>& logs,
                        const cluster::control::Rows& rows) {
  std::set<JobId> jobs;
  for (const cluster::control::JobRow& job : rows.jobs) jobs.insert(job.id);
  std::map<TaskId, Epoch> tasks;
  for (const cluster::control::TaskRow& task : rows.tasks) tasks[task.id] = task.lease.epoch;
  for (const std::string& log : logs) {
    const Result<LeaseId> lease = cluster::parse_lease_id(log);
    if (!lease) continue;
    const auto task = tasks.find(lease->task);
    const bool is_known = task != tasks.end() ? lease->epoch <= task->second
                                              : lease->task.job <= rows.last_job && !jobs.contains(lease->task.job);
    if (is_known) continue;
    return fail(Errc::corrupt, data.output_folder() + " holds output of lease " + log +
                                   ", which the database has never given: it was restored from a backup" +
                                   remedy(data));
  }
  return {};
}

Result<void> set_aside(const DataFolder& data, const std::string& cluster, std::uint64_t boot, Log& log) {
  for (const std::string& folder : {data.output_folder(), data.code_folder()}) {
    std::string to = folder + "." + cluster + "-" + std::to_string(boot);
    for (int i = 2; fs::exists(to); ++i)
      to = folder + "." + cluster + "-" + std::to_string(boot) + "." + std::to_string(i);
    if (std::rename(folder.c_str(), to.c_str()) == 0) {
      log.warning("the content of " + folder + " was moved to " + to + "; remove it when it is no longer needed");
    } else if (errno != ENOENT) {
      return loop::system_failure("cannot rename " + folder + " to " + to);
    }
  }
  return {};
}

}  // namespace cadre::master
