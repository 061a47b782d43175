/// The master's side of task output, as far as agents can tell: stores what continues what is there and acknowledges
/// it. Stands for the real one, which has its own simulation (tests/bulk). For the thread of the simulation.
#pragma once

#include <map>
#include <memory>

#include "cluster/bulk.h"
#include "describe/describe.h"
#include "net/network.h"

namespace cadre::sim {

/// How much is stored of each lease; outlives the master.
using StoredOutput = std::map<cluster::LeaseId, std::int64_t>;

class OutputStore {
 public:
  [[nodiscard]] static Result<std::unique_ptr<OutputStore>> open(net::Network& network, net::HubOptions options,
                                                                 StoredOutput& stored) {
    std::unique_ptr<OutputStore> store(new OutputStore(stored));
    TRY_ASSIGN(hub, network.bind(std::move(options), [to = store.get()](const net::Peer& peer, BytesView bytes) {
      to->take(peer, bytes);
    }));
    store->hub_ = std::move(hub);
    return store;
  }

  void allow(const net::PublicKey& key) { hub_->allow(key); }
  void revoke(const net::PublicKey& key) { hub_->revoke(key); }

 private:
  explicit OutputStore(StoredOutput& stored) : stored_(stored) {}

  void take(const net::Peer& peer, BytesView bytes) {
    const auto message = describe::read_msgpack<cluster::bulk::ToMaster>(bytes);
    const auto* put = message ? std::get_if<cluster::bulk::PutOutput>(&*message) : nullptr;
    if (put == nullptr) return;
    std::int64_t& end = stored_[put->lease];
    const bool gap = put->offset > end && !put->after_gap;
    if (!gap) end = std::max(end, put->offset + static_cast<std::int64_t>(put->records.size()));
    const cluster::bulk::FromMaster answer = cluster::bulk::OutputStored{put->number, put->lease, end, gap};
    static_cast<void>(hub_->send(peer, describe::write_msgpack(answer)));  // who is gone asks again
  }

  StoredOutput& stored_;
  std::unique_ptr<net::Hub> hub_;
};

}  // namespace cadre::sim
