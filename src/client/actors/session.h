/// A program's session with a cluster: as long as it lives and beats, so do its actors. Safe on any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "client/actors/actor.h"
#include "client/cluster/packed_code.h"
#include "client/engine.h"
#include "cluster/data_folder.h"
#include "cluster/requests.h"
#include "rest/client.h"

namespace cadre::client {

class Session final : private Actor::Place {
 public:
  struct Options {
    Duration wait = std::chrono::seconds(10);  ///< for the master to answer
    /// Whether what actors write is shown here, too; left out: unless CADRE_ACTOR_OUTPUT is 0.
    std::optional<bool> shows_output;
    std::string naming = "cadre::connect(\"host:port\") or CADRE_MASTER";  ///< as client/which_master.h says
    Printer::Sink sink;  ///< for that, and for what the session has to say; none: standard output and error
  };
  /// Finds the master (client/which_master.h) and opens a session there.
  /// A child process may inherit it, and cannot use it: there it is never ended.
  [[nodiscard]] static Result<std::shared_ptr<Session>> open(const std::string& url, Options options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() override;
  /// Ends the session, and with it all its actors, and waits a while for callbacks. Once, and while nobody else uses
  /// it.
  void close();

  /// Which master: where it was found.
  const std::string& master() const { return master_; }
  /// Whether it is the master of this address.
  bool is_at(const std::string& address) const;
  const std::string& id() const { return id_.value; }

  /// Begins to make one.
  [[nodiscard]] std::shared_ptr<Actor> create(ActorOptions options);
  /// Brings a folder to the cluster, once for each content; its hash.
  [[nodiscard]] Result<std::string> upload(const std::string& folder, TimePoint deadline);
  Engine& engine() override { return engine_; }

 private:
  Session(const cluster::KnownMaster& master, Options options);
  const net::Keys& keys() override { return keys_; }
  Callbacks& callbacks() override { return callbacks_; }
  void submit(const std::shared_ptr<Actor>& actor, const cluster::JobSpec& job, Duration wait) override;
  void kill(cluster::JobId job) override;
  void forget(cluster::JobId job) override;
  void show(const Actor& actor, Printer::Stream stream, std::string_view lines) override;
  loop::Task<void> keep_alive();
  loop::Task<void> submit_job(std::shared_ptr<Actor> actor, cluster::requests::Submit request, Duration wait);
  loop::Task<void> kill_job(cluster::JobId job);
  /// Tells the user why actors wait, while some do.
  loop::Task<void> explain_waiting();
  loop::Task<void> leave(std::atomic<bool>& is_done);
  struct Brought {
    void settle(Result<std::string> outcome) {
      hash = std::move(outcome);
      is_done.store(true, std::memory_order_release);
    }
    std::unique_ptr<const PackedCode> code;
    std::atomic<bool> is_done = false;
    Result<std::string> hash;
  };
  loop::Task<void> bring(std::shared_ptr<Brought> brought);
  void take(const cluster::requests::JobView& view);

  const std::string master_;
  const cluster::SessionId id_;
  const net::Keys keys_ = net::make_keys();
  Engine engine_;
  Callbacks callbacks_{[this] { engine_.changed(); }};
  const bool shows_output_;
  Printer printer_;

  bool is_closed_ = false;
  // For the loop.
  std::optional<rest::Client> connection_;  ///< none once it is closed
  std::map<cluster::JobId, std::shared_ptr<Actor>> actors_;
  std::map<cluster::JobId, cluster::requests::JobView> unclaimed_;  ///< heard of before their submission was answered
  std::set<std::shared_ptr<Actor>> submitting_;                     ///< whose submission is not answered
  std::set<cluster::JobId> forgotten_;                              ///< that were this session's; the newest
  bool has_unknown_jobs_ = false;  ///< the master may have taken one, and its answer was lost
  std::set<std::shared_ptr<Brought>> bringing_;
  bool explains_waiting_ = false;
  TimePoint explain_not_before_{};
  std::uint64_t seen_ = 0;
  bool is_ending_ = false;  ///< nothing new is begun

  std::mutex mutex_;
  std::optional<Result<void>> opened_;  ///< what the master said at first
};

}  // namespace cadre::client
