/// The master's bulk side on a thread of its own: stores output before it acknowledges it, lets it be read and
/// followed, and keeps packed code by its hash (cluster/bulk.h). Safe on any thread, but for its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cluster/bulk_endpoint.h"
#include "cluster/ids.h"
#include "master/bulk_limits.h"
#include "master/bulk_metrics.h"
#include "master/lease_holders.h"
#include "net/hub.h"
#include "net/keys.h"

namespace cadre::master {

struct BulkOptions {
  net::HubOptions hub;                                ///< where it listens; its message_max is that of cluster/bulk.h
  std::map<net::PublicKey, cluster::AgentId> agents;  ///< whom it lets in
  std::vector<LeaseFact> leases;                      ///< what is known already of who writes what
  std::string output_folder;
  std::string code_folder;
  BulkLimits limits;
  /// Is shown the names of all logs that are there already, before anything is served. May be left out.
  std::function<Result<void>(const std::vector<std::string>&)> check_logs;
  /// Takes the answers to what was asked in this process, on the server's thread.
  std::function<void(api::CallId, cluster::bulk::FromMaster)> tell;
};

class BulkServer : public cluster::BulkEndpoint {
 public:
  /// Takes up what its folders hold, and listens. `conflict` when another process serves these folders.
  [[nodiscard]] static Result<std::unique_ptr<BulkServer>> start(BulkOptions options, Log& log);
  BulkServer(const BulkServer&) = delete;
  BulkServer& operator=(const BulkServer&) = delete;
  ~BulkServer() override;

  void ask(api::CallId asker, cluster::bulk::ToMaster message) override;
  void forget(api::CallId asker) override;

  /// Where it listens, in the order of its options; the ports are those that were found.
  const std::vector<std::string>& addresses() const;

  /// From soon on this key is let in as that of an agent, or is not.
  void allow(const net::PublicKey& key, const cluster::AgentId& agent);
  void revoke(const net::PublicKey& key);
  /// Who may write which output. To be called before the agents can know.
  void learn(const std::vector<LeaseFact>& facts);

  /// Forgets the output of a lease.
  void remove(cluster::LeaseId lease);

  /// Packed code that is kept however much there is, until it is released as often.
  void keep(const std::string& hash);
  void release(const std::string& hash);

  /// May be read on any thread.
  [[nodiscard]] const BulkMetrics& metrics() const;

  /// Acknowledges what is stored already, serves no more, and joins its thread. Idempotent.
  void stop();

 private:
  struct Inside;  // the loop, the network and the stores, which are for their thread only
  explicit BulkServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::master
