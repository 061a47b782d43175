// Checkpoints of a trial: those of one rank, and those to which all ranks contribute.
#include <cadre/trial.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "client/trial/plain_data.h"
#include "client/trial/trial_inside.h"
#include "loop/file.h"
#include "loop/random_word.h"

namespace cadre::core::detail {
namespace {

namespace requests = experiment::requests;
using client::CheckpointFile;
using client::Share;
using experiment::CheckpointId;
using experiment::CheckpointView;

/// What a rank has done, for the others.
struct Done {
  bool is_good = true;
  std::uint8_t code = 0;
  std::string why;
  std::vector<CheckpointFile> files;
  std::uint32_t node = 0;
  std::string folder;
};
template <class V>
void describe(V& v, Done& d) {
  v.field("is_good", d.is_good, "Whether it succeeded.");
  v.field("code", d.code, "Code of the error.");
  v.field("why", d.why, "The error.");
  v.field("files", d.files, "Files that the rank saves.");
  v.field("node", d.node, "Node of the rank.");
  v.field("folder", d.folder, "Folder that the ranks of the node can use.");
}

template <class T>
Done done_of(const Result<T>& result) {
  Done done;
  if (result) return done;
  done.is_good = false;
  done.code = static_cast<std::uint8_t>(result.error().code);
  done.why = result.error().message;
  return done;
}

/// What all ranks have done, or the error of the first that has one.
Result<std::vector<Done>> exchange(client::Gang& gang, const Done& own) {
  const Bytes bytes = describe::write_msgpack(own);
  TRY_ASSIGN(all, gang.allgather(bytes));
  std::vector<Done> dones;
  for (const Bytes& one : all) {
    auto done = describe::read_msgpack<Done>(one);
    if (!done) return Failure(describe::to_error(done.error(), "what rank " + std::to_string(dones.size()) + " sent"));
    if (!done->is_good) {
      return fail(static_cast<Errc>(done->code), "rank " + std::to_string(dones.size()) + ": " + done->why);
    }
    dones.push_back(*std::move(done));
  }
  return dones;
}

}  // namespace

Result<void> TrialInside::agree(Result<void> own, Shard shard) {
  if (!is_shared(shard)) return own;
  TRY(exchange(*gang_, done_of(own)));
  return {};
}

Result<std::string> TrialInside::new_checkpoint(Shard shard) {
  TRY(check_use());
  if (shard == Shard::no && !is_chief()) {
    return fail(Errc::invalid, "only rank 0 saves a checkpoint alone, this is rank " + std::to_string(place_.rank) +
                                   "; save it on rank 0, or with shard on all ranks");
  }
  std::string uuid = loop::random_uuid();
  if (!is_shared(shard)) return uuid;
  TRY_ASSIGN(told, gang_->broadcast(as_bytes(uuid)));
  return std::string(as_text(told));
}

Result<std::vector<Share>> TrialInside::all_shares(const std::string& folder, Shard shard) {
  Result<std::vector<CheckpointFile>> files = client::list_files(folder);
  if (!is_shared(shard)) {
    if (!files) return Failure(files.error());
    return std::vector<Share>{{place_.rank, *std::move(files)}};
  }
  Done own = done_of(files);
  if (files) own.files = *std::move(files);
  TRY_ASSIGN(dones, exchange(*gang_, own));
  std::vector<Share> shares;
  for (Done& done : dones) shares.push_back({static_cast<std::uint32_t>(shares.size()), std::move(done.files)});
  return shares;
}

Result<void> TrialInside::upload(const Checkpoints::Store& store, std::int64_t steps, const Data& metadata,
                                 Shard shard) {
  TRY(check_use());
  if (steps < 0) return fail(Errc::invalid, "the steps of a checkpoint must be at least 0");
  requests::CompleteCheckpoint whole;
  TRY_ASSIGN(map, client::read_map(metadata.bytes(), "the metadata"));
  TRY_ASSIGN(shares, all_shares(store.folder, shard));
  TRY_ASSIGN(files, client::merge_shares(shares));
  whole.trial = trial_;
  whole.checkpoint = CheckpointId(store.uuid);
  whole.steps = steps;
  whole.files = std::move(files);
  whole.metadata = std::move(map);
  TRY(agree(is_chief() ? backend_->begin_checkpoint(whole.checkpoint) : Result<void>(), shard));
  const std::vector<CheckpointFile> own = client::own_files(shares, place_.rank);
  TRY(agree(backend_->store_files(whole.checkpoint, store.folder, own), shard));
  const auto complete = [&]() -> Result<void> {
    TRY(flush());  // a checkpoint is never ahead of the metrics
    return is_chief() ? backend_->complete_checkpoint(whole) : Result<void>();
  };
  return agree(complete(), shard);
}

Result<CheckpointView> TrialInside::find_view(std::string_view uuid) {
  TRY(check_use());
  const CheckpointId checkpoint{std::string(uuid)};
  if (!experiment::is_uuid(checkpoint)) {
    return fail(Errc::invalid, "'" + checkpoint.value + "' is not the UUID of a checkpoint");
  }
  return backend_->find_checkpoint(checkpoint);
}

Result<CheckpointInfo> TrialInside::find(std::string_view uuid) {
  TRY_ASSIGN(view, find_view(uuid));
  return info_of(view);
}

Result<void> TrialInside::download(std::string_view uuid, const std::string& folder) {
  TRY_ASSIGN(view, find_view(uuid));
  TRY(loop::make_folder(folder));
  return backend_->fetch_files(view, folder);
}

Result<std::string> TrialInside::make_scratch() {
  std::string base = backend_->scratch();
  std::error_code ignored;
  if (base.empty()) base = std::filesystem::temp_directory_path(ignored).string();
  std::string folder = base + "/.checkpoint-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return loop::system_failure(folder);
  const std::lock_guard lock(mutex_);
  scratches_[folder] = {};
  return folder;
}

Result<Checkpoints::Store> TrialInside::open_store(Shard shard) {
  TRY_ASSIGN(uuid, new_checkpoint(shard));
  TRY_ASSIGN(folder, make_scratch());
  return Checkpoints::Store{std::move(folder), std::move(uuid)};
}

/// On this rank alone.
Result<std::string> TrialInside::restore(const CheckpointView& view) {
  TRY_ASSIGN(folder, make_scratch());
  Result<void> fetched = backend_->fetch_files(view, folder);
  if (fetched) return folder;
  release(folder);
  return Failure(fetched.error());
}

Result<std::string> TrialInside::open_restore(std::string_view uuid) {
  TRY_ASSIGN(view, find_view(uuid));
  if (std::string there = backend_->folder_of(view.id); !there.empty()) return there;
  if (gang_ == nullptr) return restore(view);
  Done own;
  if (place_.local_rank == 0) {
    Result<std::string> folder = restore(view);
    own = done_of(folder);
    if (folder) own.folder = *std::move(folder);
  }
  own.node = place_.node_rank;
  TRY_ASSIGN(dones, exchange(*gang_, own));
  for (const Done& done : dones) {
    if (done.node != place_.node_rank || done.folder.empty()) continue;
    const std::lock_guard lock(mutex_);
    scratches_[done.folder] = {place_.local_rank == 0, true};
    return done.folder;
  }
  return fail(Errc::corrupt, "no rank of this node has brought the checkpoint");
}

void TrialInside::release(const std::string& folder) {
  Scratch scratch;
  {
    const std::lock_guard lock(mutex_);
    const auto found = scratches_.find(folder);
    if (found == scratches_.end()) return;
    scratch = found->second;
    scratches_.erase(found);
  }
  if (!is_own()) return;
  if (scratch.is_shared) static_cast<void>(gang_->allgather({}));  // a lost rank does not use it any more
  if (scratch.is_own) static_cast<void>(loop::remove_all(folder));
}

}  // namespace cadre::core::detail
