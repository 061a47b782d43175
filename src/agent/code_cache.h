/// The code of tasks, fetched by its hash and unpacked once, kept with what setup commands made of it, and copied for
/// each task. For the thread of its loop; what blocks runs on a pool.
///
/// Each task gets a copy of its own, so that tasks cannot disturb each other: a tree of many gigabytes costs that much
/// disk and time for each task. Data belongs into mounts, not into code.
///
/// In the folder: trees/KEY, a whole tree, where KEY is the hash, and a hash of its setup behind it; trees/KEY.size,
/// its size, whose time says when it was used; boot, the start of the host that all of it belongs to; making/, what is
/// not whole yet.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/blob_puller.h"
#include "agent/bulk_link.h"
#include "agent/gate.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/blocking_pool.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "loop/tasks.h"

namespace cadre::agent {

struct CodeCacheOptions {
  std::string folder;
  ByteSize bytes_max{std::int64_t{16} << 30};  ///< what was used longest ago goes first, but nothing that is in use
  ByteSize packed_bytes_max{std::int64_t{1} << 30};
  ByteSize unpacked_bytes_max{std::int64_t{8} << 30};
  ByteSize setup_length_max{std::int64_t{20} << 30};  ///< of all files that setup commands leave, with their holes
  std::int64_t setup_entries_max = 1'000'000;         ///< files and folders that they leave
  Duration answer_max = std::chrono::seconds(10);     ///< then the master is asked again
  Duration stall_max = std::chrono::minutes(10);      ///< without any part of the code
};

/// What a task needs before it can start.
struct CodeRequest {
  std::string hash;                              ///< of the packed code; empty: none
  std::vector<std::string> setup;                ///< shell commands that have run in the unpacked code
  std::map<std::string, std::string> variables;  ///< their environment
  std::string scope;                             ///< whose commands they are, and what else they could see
};

class CodeCache {
 public:
  /// Takes up what an earlier process has left whole, unless the host was started anew since: then nobody knows which
  /// files reached the disk. What it stands on must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<CodeCache>> open(CodeCacheOptions options, loop::Loop& loop,
                                                               loop::BlockingPool& pool, BulkLink& link, Log& log);
  CodeCache(const CodeCache&) = delete;
  CodeCache& operator=(const CodeCache&) = delete;
  /// Whoever awaits something from it, or holds a tree, must be gone.
  ~CodeCache();

  /// Unpacked code that stays where it is as long as this lives. Not to be written.
  class [[nodiscard]] Tree {
   public:
    Tree(Tree&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)), key_(std::move(other.key_)) {}
    Tree& operator=(Tree&& other) noexcept {
      std::swap(cache_, other.cache_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Tree() {
      if (cache_ != nullptr) cache_->release(key_);
    }
    std::string path() const { return cache_->path_of(key_); }

   private:
    friend class CodeCache;
    Tree(CodeCache& cache, std::string key) : cache_(&cache), key_(std::move(key)) {}
    CodeCache* cache_;
    std::string key_;
  };

  /// The unpacked code, after its setup. The same request made by several at once is served once. Not_found when the
  /// master has no such content, or its setup has not run here. Destroying the task takes the wish back, but not the
  /// work for others.
  [[nodiscard]] loop::Task<Result<Tree>> fetch(CodeRequest request);

  /// fetch(), and a copy of it in a folder, which must be empty or not there yet.
  [[nodiscard]] loop::Task<Result<void>> place(CodeRequest request, std::string folder);

  /// Whether it is here already.
  bool has(const CodeRequest& request) const { return trees_.contains(key_of(request)); }
  /// Keeps a copy of this folder as what the setup of the request makes. Nobody may write there meanwhile.
  [[nodiscard]] loop::Task<Result<void>> publish(CodeRequest request, std::string folder);
  /// Another one for each code, list of setup commands and scope.
  [[nodiscard]] static std::string key_of(const CodeRequest& request);

  /// Disk space that it takes.
  ByteSize size() const { return {bytes_}; }

 private:
  struct Entry {
    std::int64_t bytes = 0;
    int users = 0;
    std::list<std::string>::iterator used;
  };
  /// A tree that is being made, shared by who makes it and who waits for it, since any of them may end first.
  struct Making {
    explicit Making(loop::Loop& loop) : done(loop) {}
    Gate done;
    Result<void> result;
  };

  CodeCache(CodeCacheOptions options, loop::Loop& loop, loop::BlockingPool& pool, BulkLink& link, Log& log);
  Result<void> load();
  loop::Task<void> make(std::string key, CodeRequest request, std::shared_ptr<Making> making);
  loop::Task<Result<std::int64_t>> make_tree(std::string key, CodeRequest request);
  loop::Task<Result<void>> unpack_into(std::string folder, std::string hash);
  loop::Task<void> remove_later(std::string path);
  void put(const std::string& key, std::int64_t bytes);
  Tree lend(const std::string& key);
  void release(const std::string& key);
  void touch(const std::string& key);
  void make_room();
  std::string path_of(const std::string& key) const { return options_.folder + "/trees/" + key; }
  std::string size_path_of(const std::string& key) const { return path_of(key) + ".size"; }
  std::string new_path();

  loop::Loop& loop_;
  loop::BlockingPool& pool_;
  Log& log_;
  const CodeCacheOptions options_;
  std::map<std::string, Entry> trees_;
  std::list<std::string> used_;  ///< keys of trees, the one used last behind
  std::int64_t bytes_ = 0;
  std::uint64_t made_ = 0;
  bool ending_ = false;
  std::map<std::string, std::shared_ptr<Making>> making_;
  BlobPuller puller_;
  loop::Tasks tasks_;
};

}  // namespace cadre::agent
