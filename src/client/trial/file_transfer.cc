#include "client/trial/file_transfer.h"

#include <fcntl.h>

#include <algorithm>
#include <span>
#include <utility>

#include "client/trial/master_calls.h"
#include "experiment/requests/objects.h"
#include "loop/tasks.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;

constexpr Duration part_wait = std::chrono::minutes(1);
constexpr int beginnings_max = 5;  ///< of one file: the master has lost what it had

struct Progress {
  std::size_t next = 0;
  Result<void> outcome;
};

loop::Task<void> transfer_some(const std::vector<CheckpointFile>& files, const TransferOne& one, Progress& progress) {
  while (progress.outcome && progress.next < files.size()) {
    const CheckpointFile& file = files[progress.next++];
    Result<void> done = co_await one(file);
    if (!done && progress.outcome) progress.outcome = std::move(done);
  }
}

Result<std::string> read_part(const loop::File& file, std::int64_t offset, std::int64_t size) {
  std::string part(static_cast<std::size_t>(std::min(requests::part_bytes_most, size - offset)), '\0');
  TRY_ASSIGN(count, file.read_at(offset, std::as_writable_bytes(std::span(part))));
  if (count == part.size()) return part;
  return fail(Errc::conflict, file.path() + " was changed while it was uploaded; write checkpoints into new files");
}

}  // namespace

loop::Task<Result<void>> transfer_all(rest::Client& client, const std::vector<CheckpointFile>& files,
                                      std::int32_t parallel, TransferOne one) {
  Progress progress;
  loop::Tasks workers(client.loop());
  for (std::int32_t i = 0; i < parallel; ++i) workers.spawn(transfer_some(files, one, progress));
  co_await workers.ended();
  co_return progress.outcome;
}

loop::Task<Result<void>> upload_file(rest::Client& client, const experiment::CheckpointId& checkpoint,
                                     const std::string& folder, const CheckpointFile& file) {
  CO_TRY_ASSIGN(content, loop::File::open(folder + "/" + file.name, O_RDONLY | O_CLOEXEC));
  Patience patience("the upload of " + file.name + " waits for the master");
  requests::PutFile put{checkpoint, file.name, file.size, 0, file.hash, {}};
  for (int beginnings = 1;;) {
    CO_TRY_ASSIGN(part, read_part(content, put.offset, file.size));
    Result<requests::FileState> state = co_await client.put(put, part, part_wait);
    const TimePoint now = client.loop().now();
    if (state && state->complete) {
      patience.succeeded(now);
      co_return Result<void>();
    }
    if (state && state->have > put.offset && state->have <= file.size) {
      patience.succeeded(now);
      put.offset = state->have;
      continue;
    }
    if (state || state.error().code == Errc::conflict) {  // a master that was restarted may have lost parts
      if (++beginnings > beginnings_max) {
        const std::string why = state ? "the master does not complete it" : state.error().message;
        co_return fail(Errc::conflict, file.name + " cannot be uploaded: " + why);
      }
      put.offset = state ? std::clamp<std::int64_t>(state->have, 0, file.size) : 0;
      continue;
    }
    const std::optional<Duration> pause = patience.after(state.error(), now);
    if (!pause) co_return fail(state.error().code, file.name + ": " + state.error().message);
    co_await loop::sleep(client.loop(), *pause);
  }
}

loop::Task<Result<void>> download_file(rest::Client& client, const experiment::CheckpointId& checkpoint,
                                       const std::string& folder, const CheckpointFile& file) {
  CO_TRY_ASSIGN(incoming, IncomingFile::open(folder, file));
  Patience patience("the download of " + file.name + " waits for the master");
  while (!incoming.is_whole()) {
    requests::ReadFile read{checkpoint, file.name, incoming.written()};
    Result<std::string> part = co_await client.fetch(read, part_wait);
    const TimePoint now = client.loop().now();
    if (part) {
      patience.succeeded(now);
      CO_TRY(incoming.append(as_bytes(*part)));
      continue;
    }
    const std::optional<Duration> pause = patience.after(part.error(), now);
    if (!pause) co_return fail(part.error().code, file.name + ": " + part.error().message);
    co_await loop::sleep(client.loop(), *pause);
  }
  co_return incoming.finish();
}

}  // namespace cadre::client
