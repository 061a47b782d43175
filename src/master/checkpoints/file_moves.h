/// Moves uploaded files into their stores, on threads of its own: a store may be slow. Safe on any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "objects/store.h"

namespace cadre::master {

/// A file that is whole, and where it belongs.
struct FileMove {
  objects::Store* store = nullptr;  ///< outlives it
  std::string key;
  objects::Digest digest;
  std::string path;
};

class FileMoves {
 public:
  explicit FileMoves(std::size_t threads);
  FileMoves(const FileMoves&) = delete;
  FileMoves& operator=(const FileMoves&) = delete;
  ~FileMoves();

  /// Begins the move unless it has begun, and waits for its end for a short time. Nothing: it is under way. Its outcome
  /// is told once; then the next call begins it again.
  [[nodiscard]] std::optional<Result<void>> move(const FileMove& file, Duration wait_max);

 private:
  void work(const std::stop_token& stopped);

  struct State {
    std::optional<Result<void>> outcome;
  };
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<FileMove> waiting_;
  std::map<std::string, State> moves_;  ///< by key
  std::vector<std::jthread> threads_;
};

}  // namespace cadre::master
