/// Serves requests by the bulk side of a part, with cached rights of the callers. run() is for the thread of its loop;
/// all else is safe on any thread.
///
/// A token of a task is valid for one lease, so rights are cached by lease and epoch. The master calls fence() before
/// it sends the Start of a newer epoch, and sends it when that is acknowledged: nothing that an older run asks for is
/// served after a newer one has begun. Requests are served by one thread, so what was accepted before the
/// acknowledgement is written before it.
#pragma once

#include <any>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "api/service.h"
#include "base/bytes.h"
#include "base/log.h"
#include "cluster/ids.h"
#include "loop/inbox.h"
#include "loop/loop.h"
#include "loop/task.h"
#include "master/bulk/bulk_part.h"
#include "master/bulk/ingest_metrics.h"

namespace cadre::master {

struct IngestLimits {
  std::size_t calls_max = 10'000;                 ///< that have no reply yet
  ByteSize bytes_max{64 << 20};                   ///< of their bodies
  std::size_t told_max = 1'000'000;               ///< what the master has said and was not taken yet
  std::size_t rights_max = 50'000;                ///< that are cached
  Duration rights_for = std::chrono::seconds(5);  ///< how long they are cached: what is revoked is valid for that long
};

class Ingest final : public api::Service {
 public:
  /// All of it must outlive the ingest.
  struct Dependencies {
    loop::Loop& loop;
    BulkPart& part;
    api::Identifier& identifier;
    std::function<void(api::CallId, api::Reply)> reply;
    Log& log;
    IngestCounters counters;
  };
  explicit Ingest(const Dependencies& dependencies, const IngestLimits& limits = {});

  void ask(api::CallId call, api::Credential credential, api::Request request) override;
  /// What was asked is done all the same.
  void forget(api::CallId) override {}
  /// Facts for the part.
  void learn(std::vector<std::any> facts);
  /// These leases are over: their tokens are not valid any more.
  void end(std::vector<cluster::LeaseId> leases);
  /// Removes the rights of all older leases of these tasks, then calls `done`, on the ingest's thread; if it has
  /// stopped and serves nobody, at once.
  void fence(std::vector<cluster::LeaseId> newest, std::function<void()> done);

  /// Serves until stop().
  [[nodiscard]] loop::Task<void> run();
  void stop() {
    stopped_ = true;
    inbox_.close();
  }

 private:
  struct Asked {
    api::CallId call = 0;
    api::Credential credential;
    api::Request request;
  };
  struct Identified {
    api::Credential credential;
    Result<api::Principal> who;
  };
  struct Facts {
    std::vector<std::any> facts;
  };
  struct Ended {
    std::vector<cluster::LeaseId> leases;
  };
  struct Fence {
    std::vector<cluster::LeaseId> newest;
    std::function<void()> done;
  };
  using News = std::variant<Asked, Identified, Facts, Ended, Fence>;
  /// A request without a reply, and the size of its body.
  struct Open {
    api::CallId call = 0;
    std::int64_t bytes = 0;
  };

  /// Requests that wait to be served together.
  struct Batch {
    std::vector<Open> calls;
    std::vector<BulkCall> requests;
  };

  static std::string key_of(const api::Credential& credential);
  static Open open_of(const Asked& asked);
  /// What must not be lost. False: it has stopped, or does not keep up.
  bool tell(News news);
  /// Null: the master must be asked.
  const api::Principal* rights_of(const api::Credential& credential);
  void take(Asked asked, Batch& batch);
  void take(Identified identified, Batch& batch);
  void forget_older(const std::vector<cluster::LeaseId>& newest);
  void serve(Batch& batch);
  void work();
  void refuse_overloaded(const Open& call);
  void reply(const Open& call, api::Reply reply);

  Dependencies deps_;
  const IngestLimits limits_;
  loop::Inbox<News> inbox_;
  struct Known {
    api::Principal who;
    TimePoint until;
  };
  std::map<std::string, Known> tokens_;                     ///< by their hashes
  std::map<cluster::LeaseId, Known> leases_;                ///< in the order of task and epoch
  std::map<std::string, std::vector<Asked>> unidentified_;  ///< requests whose callers the master is asked about
  std::atomic<std::size_t> waiting_ = 0;                    ///< requests that have no reply yet
  std::atomic<std::int64_t> waiting_bytes_ = 0;             ///< of their bodies
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> lags_ = false;  ///< what the master said could not be taken: nothing is served any more
  loop::Timer next_work_;
  std::mutex counting_;  ///< for what is counted by the thread of the ingest and by those that ask
};

}  // namespace cadre::master
