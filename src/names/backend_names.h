/// The session over any backend: keeps its entries alive, follows what it watches, and finds back after a loss. For the
/// loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "loop/pending.h"
#include "loop/tasks.h"
#include "names/backend.h"
#include "names/names.h"

namespace cadre::names {

class BackendNames final : public Names {
 public:
  BackendNames(loop::Loop& loop, std::shared_ptr<Backend> backend, const Options& options);
  BackendNames(const BackendNames&) = delete;
  BackendNames& operator=(const BackendNames&) = delete;
  ~BackendNames() override;

  loop::Task<Result<Epoch>> put(std::string key, std::string value, PutOptions options) override;
  loop::Task<Result<Entry>> get(std::string key) override;
  loop::Task<Result<Entry>> wait(std::string key, TimePoint deadline) override;
  loop::Task<Result<std::vector<Entry>>> list(std::string prefix) override;
  loop::Task<Result<void>> remove(std::string key) override;
  loop::Task<Result<std::size_t>> remove_subtree(std::string prefix) override;
  loop::Task<void> release_own() override;
  Result<Watch> watch(std::string prefix, Handler handler) override;
  void on_lost(std::function<void(const std::string& key)> handler) override { lost_ = std::move(handler); }

 private:
  struct Own {
    Claim claim;
    TimePoint due;  ///< when it is to be kept alive
  };

  struct Doubt;

  TimePoint op_deadline() const { return loop_.now() + options_.op_wait; }
  loop::Task<void> keep_alive();
  loop::Task<Result<void>> keep(std::vector<std::string> keys);
  loop::Task<Result<void>> restore(std::string key);
  loop::Task<void> follow(std::shared_ptr<Watch::State> state);
  std::vector<std::string> take_own_keys();
  std::vector<std::string> due_keys() const;
  TimePoint next_due() const;
  void lose(const std::string& key, Epoch epoch);
  void wake();

  loop::Loop& loop_;
  const Options options_;
  const std::shared_ptr<Backend> backend_;  // lives on while it removes what was ours
  std::map<std::string, Own> own_;
  std::function<void(const std::string& key)> lost_;
  std::vector<std::weak_ptr<Watch::State>> watches_;
  std::optional<loop::Pending<void>> sleeping_;  // who keeps alive, until the next is due
  loop::Tasks tasks_;
};

}  // namespace cadre::names
