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

/// So long a request waits for a store: small files are moved by then.
constexpr Duration store_wait_max = 200ms;

/// Files whose failures are remembered.
constexpr std::size_t failures_most = 1'000;

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
    : deps_(dependencies), stores_(std::move(stores)) {}

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
  const std::optional<Result<void>> stored = this->store(*store, request);
  // Its run may have ended since it was looked up: then its files were removed before this one came.
  TRY_ASSIGN(after, find(deps_.database, request.checkpoint));
  if (after.state != "active" && after.state != "completed") {
    TRY(stores_->remove(known.store, request.checkpoint));
    return fail(Errc::denied, "the run that has begun this checkpoint is over");
  }
  if (!stored) {
    const auto before = failures_.find(key);
    return fail(Errc::unavailable, before != failures_.end() ? before->second + " (it is tried again)"
                                                             : request.name + " is being moved to the store '" +
                                                                   known.store + "'; ask again");
  }
  failures_.erase(key);
  if (!*stored) {
    if (failures_.size() >= failures_most) failures_.clear();
    failures_[key] = stored->error().message;
    return Failure(stored->error());
  }
  return api::Reply(requests::FileState{request.size, true});
}

std::optional<Result<void>> CheckpointFiles::store(objects::Store& store, const requests::PutFile& request) {
  Result<std::string> path = uploads_->path(request.hash);
  if (!path) return Result<void>(Failure(path.error()));
  const std::string key = key_of(request.checkpoint, request.name);
  const std::string content = "\n" + request.hash;  // a key has no such letter
  SlowCalls<void>& puts = stores_->puts();
  const auto put = [&store, key, path = *path, digest = objects::Digest{request.size, request.hash}]() -> Result<void> {
    Result<objects::FileSource> source = objects::FileSource::open(path);
    if (!source) return fail(Errc::unavailable, "its upload made room for others; upload it again");
    return store.put(key, digest, *source);
  };
  std::optional<Result<void>> stored = puts.ask(key + content, put, store_wait_max);
  // Once it is in its store, it need not take the disk of the master as well, unless others upload the same.
  if (stored && *stored && !puts.has(content)) uploads_->remove(request.hash);
  return stored;
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
    const std::string key = key_of(request.checkpoint, request.name);
    const auto get = [store, key, offset = request.offset, most = request.most]() -> Result<Bytes> {
      Bytes bytes;
      TRY(store->get_range(key, offset, most, [&](BytesView some) -> Result<void> {
        bytes.insert(bytes.end(), some.begin(), some.end());
        return {};
      }));
      return bytes;
    };
    const std::string name = key + "\n" + std::to_string(request.offset) + "\n" + std::to_string(request.most) + "\n" +
                             call.who.user + "\n" + call.who.task;
    std::optional<Result<Bytes>> bytes = stores_->gets().ask(name, get, store_wait_max);
    if (!bytes) {
      return fail(Errc::unavailable, request.name + " is being read from the store '" + known.store + "'; ask again");
    }
    TRY(*bytes);
    part.bytes = **std::move(bytes);
  }
  return api::Reply(std::move(part));
}

}  // namespace cadre::master
