#include "master/checkpoints/checkpoint_part.h"

#include <filesystem>
#include <utility>

#include "cluster/ids.h"
#include "experiment/requests/objects.h"
#include "experiment/rows.h"
#include "objects/key.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;

constexpr std::size_t move_threads = 4;
/// So long a request waits for the move of a file: small ones are done by then.
constexpr Duration move_wait_max = 200ms;

/// What the database knows of a checkpoint.
struct Known {
  std::string state;
  std::string store;
  std::string files;
  std::string workspace;
  std::string jobs;
  bool has_job = false;
};

Result<Known> find(BulkDatabase& database, const experiment::CheckpointId& id) {
  TRY_ASSIGN(rows, database.query("SELECT c.state, c.store, c.files, e.workspace, t.jobs, t.has_job FROM checkpoints c "
                                  "JOIN experiments e ON e.id = c.experiment "
                                  "JOIN trials t ON t.experiment = c.experiment AND t.number = c.trial WHERE c.id = $1",
                                  {id.value}));
  if (rows.size() == 0) return fail(Errc::not_found, "there is no such checkpoint");
  TRY_ASSIGN(cells, (rows[0].read<std::string, std::string, std::string, std::string, std::string, std::int64_t>()));
  auto& [state, store, files, workspace, jobs, has_job] = cells;
  return Known{state, store, files, workspace, jobs, has_job != 0};
}

/// Whether the caller is a task of the job in which the trial runs.
bool runs_trial(const api::Principal& who, const Known& known) {
  const Result<cluster::TaskId> task = cluster::parse_task_id(who.task);
  if (who.task.empty() || !task || !known.has_job) return false;
  const auto jobs = describe::read_json_of_peer<std::vector<cluster::JobId>>(known.jobs);
  return jobs && !jobs->empty() && jobs->back() == task->job;
}

}  // namespace

api::PartType CheckpointPart::type() {
  api::PartType type;
  type.name = name;
  type.bulk_operations = api::operations_of(std::type_identity<requests::ObjectRequest>{});
  type.make = [](const std::any&, std::span<const std::unique_ptr<Part>>, const api::Now&) {
    return std::make_unique<CheckpointPart>();
  };
  return type;
}

CheckpointFiles::CheckpointFiles(const Dependencies& dependencies, std::shared_ptr<CheckpointStores> stores)
    : deps_(dependencies), stores_(std::move(stores)), moves_(move_threads) {}

Result<objects::FileStore*> CheckpointFiles::uploads() {
  if (!uploads_) {
    const std::string folder = stores_->uploads_folder();
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail(Errc::unavailable, "cannot create " + folder + ": " + error.message());
    const CheckpointSettings& settings = stores_->settings();
    TRY_ASSIGN(opened, objects::FileStore::open({folder, settings.uploads_max, settings.file_max, 256}));
    uploads_ = std::move(opened);
  }
  return uploads_.get();
}

std::vector<api::Reply> CheckpointFiles::serve(std::span<const BulkCall> calls) {
  std::vector<api::Reply> replies;
  for (const BulkCall& call : calls) {
    const bool puts = call.request.as<requests::PutFile>() != nullptr;
    Result<api::Reply> reply = puts ? put(call) : read(call);
    replies.push_back(reply ? *std::move(reply) : api::Reply(reply.error()));
  }
  return replies;
}

Result<api::Reply> CheckpointFiles::put(const BulkCall& call) {
  const auto& request = *call.request.as<requests::PutFile>();
  const std::string key = key_of(request.checkpoint, request.name);
  if (!objects::is_hash(request.hash)) return fail(Errc::invalid, "hash: must be a SHA-256 in 64 hexadecimal digits");
  TRY(objects::check_key(key));
  TRY_ASSIGN(known, find(deps_.database, request.checkpoint));
  if (known.state != "active" || !runs_trial(call.who, known)) {
    return fail(Errc::denied, "files can only be added to a checkpoint that the current run of its trial has begun");
  }
  if (request.size > stores_->settings().file_max.value) {
    return fail(Errc::invalid, request.name + " has " + to_string(ByteSize{request.size}) + "; the limit is " +
                                   to_string(stores_->settings().file_max) + " (checkpoints.file_max)");
  }
  TRY_ASSIGN(store, stores_->find(known.store));
  TRY_ASSIGN(uploads, uploads());
  const std::string user = call.who.user;
  TRY_ASSIGN(state, uploads->append(request.hash, {request.size, request.offset, request.bytes, user}));
  if (!state.complete) return api::Reply(requests::FileState{state.have, false});
  TRY_ASSIGN(path, uploads->path(request.hash));
  const auto moved = moves_.move({store, key, {request.size, request.hash}, path}, move_wait_max);
  if (!moved) {
    return fail(Errc::unavailable, request.name + " is being moved to the store '" + known.store + "'; ask again");
  }
  TRY(*moved);
  return api::Reply(requests::FileState{request.size, true});
}

Result<api::Reply> CheckpointFiles::read(const BulkCall& call) {
  const auto& request = *call.request.as<requests::ReadFile>();
  TRY_ASSIGN(known, find(deps_.database, request.checkpoint));
  if (!api::may_read(call.who, known.workspace) || known.state != "completed") {
    return fail(Errc::not_found, "there is no such checkpoint");
  }
  const auto files = describe::read_json_of_peer<std::vector<experiment::CheckpointFile>>(known.files);
  const auto is_it = [&](const experiment::CheckpointFile& file) { return file.name == request.name; };
  if (!files || std::none_of(files->begin(), files->end(), is_it)) {
    return fail(Errc::not_found, "the checkpoint has no file '" + request.name + "'");
  }
  const experiment::CheckpointFile& file = *std::find_if(files->begin(), files->end(), is_it);
  requests::FileBytes part;
  if (request.offset < file.size) {
    TRY_ASSIGN(store, stores_->find(known.store));
    const objects::ByteSink sink = [&](BytesView bytes) -> Result<void> {
      part.bytes.insert(part.bytes.end(), bytes.begin(), bytes.end());
      return {};
    };
    TRY_ASSIGN(digest, store->get_range(key_of(request.checkpoint, request.name), request.offset, request.most, sink));
    static_cast<void>(digest);
  }
  return api::Reply(std::move(part));
}

}  // namespace cadre::master
