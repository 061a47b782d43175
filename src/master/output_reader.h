/// Reads the stored output of tasks from threads that may wait for it. Safe on any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "api/service.h"
#include "base/result.h"
#include "cluster/bulk.h"

namespace cadre::master {

class OutputReader {
 public:
  using Ask = std::function<void(api::CallId, cluster::bulk::ToMaster)>;

  /// From now on questions can be asked; before they are `unavailable`.
  void open(Ask ask);
  /// Callers that wait get `conflict`, and so do later ones.
  void close();

  /// Waits for the answer, no longer than `wait_max`.
  [[nodiscard]] Result<cluster::bulk::Output> read(const cluster::bulk::ReadOutput& question, Duration wait_max);
  /// False: this is not an answer to a question of this reader.
  [[nodiscard]] bool take(api::CallId call, cluster::bulk::FromMaster& message);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Ask ask_;
  bool is_closed_ = false;
  std::uint64_t last_ = 0;
  std::map<api::CallId, std::optional<cluster::bulk::FromMaster>> answers_;  ///< of those who wait
};

}  // namespace cadre::master
