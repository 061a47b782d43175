#include "master/checkpoints/file_moves.h"

#include <utility>

namespace cadre::master {
namespace {

/// Files that wait to be moved.
constexpr std::size_t waiting_max = 10'000;

}  // namespace

FileMoves::FileMoves(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stopped) { work(stopped); });
  }
}

FileMoves::~FileMoves() {
  for (std::jthread& thread : threads_) thread.request_stop();
  changed_.notify_all();
  threads_.clear();
}

std::optional<Result<void>> FileMoves::move(const FileMove& file, Duration wait_max) {
  std::unique_lock lock(mutex_);
  if (!moves_.contains(file.key)) {
    if (waiting_.size() >= waiting_max) {
      return Result<void>(fail(Errc::unavailable, "too many files are being moved to their stores; try again later"));
    }
    moves_.emplace(file.key, State{});
    waiting_.push_back(file);
    changed_.notify_all();
  }
  const auto is_done = [&] { return moves_.at(file.key).outcome.has_value(); };
  if (!changed_.wait_for(lock, wait_max, is_done)) return std::nullopt;
  Result<void> outcome = *std::move(moves_.at(file.key).outcome);
  moves_.erase(file.key);
  return outcome;
}

void FileMoves::work(const std::stop_token& stopped) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stopped, [this] { return !waiting_.empty(); })) {
    if (stopped.stop_requested()) return;
    const FileMove file = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Result<objects::FileSource> source = objects::FileSource::open(file.path);
    Result<void> outcome = source ? file.store->put(file.key, file.digest, *source) : Failure(source.error());
    lock.lock();
    moves_.at(file.key).outcome = std::move(outcome);
    changed_.notify_all();
  }
}

}  // namespace cadre::master
