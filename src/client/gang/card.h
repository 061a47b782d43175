/// How a process of a gang can be reached, as it tells the others. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/protocol.h"
#include "client/gang/gang.h"
#include "describe/describe.h"

namespace cadre::client {

/// Where this process runs, for messages: "agent b", or "host lab3" without a cluster.
[[nodiscard]] std::string place_of_process();

struct GangCard {
  static constexpr std::string_view doc = "How a process of a gang can be reached.";
  std::string gang;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 1;
  std::string place;
  std::string key;
  std::string word;
  std::string host;
  std::string network;
  std::string socket;
  std::vector<std::string> addresses;
  std::int32_t port = 0;
  std::int32_t torch_port = 0;
  std::uint32_t workers = 1;
  protocol::Range protocols;

  /// For messages: "rank 3 on agent b".
  std::string name() const { return "rank " + std::to_string(rank) + " on " + place; }
  GangPlace where() const { return {rank, size, local_rank, local_size, node_rank, nodes}; }
};
template <class V>
void describe(V& v, GangCard& c) {
  using describe::range;
  v.required("gang", c.gang, "Gang and kind of process; equal for all that belong together.");
  v.required("rank", c.rank, "Rank.");
  v.required("size", c.size, "Number of processes.");
  v.field("local_rank", c.local_rank, "Rank among the processes of the task.");
  v.field("local_size", c.local_size, "Number of processes of the task.");
  v.field("node_rank", c.node_rank, "Index of the task.");
  v.field("nodes", c.nodes, "Number of tasks.");
  v.field("place", c.place, "Agent or host, for messages.");
  v.required("key", c.key, "Public key.");
  v.required("word", c.word, "Word with which connections to the process begin.");
  v.field("host", c.host, "Identity of its host, for processes that share its files.");
  v.field("network", c.network, "Identity of its network, for processes that share its loopback address.");
  v.field("socket", c.socket, "Unix socket.");
  v.field("addresses", c.addresses, "Addresses of its host.");
  v.field("port", c.port, "TCP port.", range(0, 65'535));
  v.field("torch_port", c.torch_port, "TCP port for MASTER_PORT; 0: none.", range(0, 65'535));
  v.field("workers", c.workers, "Number of processes that it starts, if that is what it does.");
  describe(v, c.protocols);
}

}  // namespace cadre::client
