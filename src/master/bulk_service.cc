#include "master/bulk_service.h"

#include <utility>
#include <variant>

#include "describe/describe.h"

namespace cadre::master {

namespace bulk = cluster::bulk;

namespace {

constexpr describe::Bounds message_bounds{.size_bytes = bulk::message_bytes_max, .depth = 4, .nodes = 64, .copies = 0};

std::uint64_t number_of(const bulk::ToMaster& message) {
  return std::visit([](const auto& one) { return one.number; }, message);
}

/// A caller in this process has no connection; its number stands in its place, beyond those of connections.
constexpr std::uint64_t at_desk = std::uint64_t{1} << 63;
net::Peer peer_of(api::CallId asker) { return {{asker | at_desk}, {}}; }
bool is_at_desk(const net::Peer& peer) { return (peer.connection.value & at_desk) != 0; }

/// Agents only bring output and fetch code.
bool is_for_agents(const bulk::ToMaster& message) {
  return !std::holds_alternative<bulk::ReadOutput>(message) && !std::holds_alternative<bulk::PutBlob>(message);
}

}  // namespace

Result<std::unique_ptr<BulkService>> BulkService::make(const Dependencies& deps, net::HubOptions options,
                                                       const BulkLimits& limits, Tell tell) {
  std::unique_ptr<BulkService> service(new BulkService(deps, limits, std::move(tell)));
  options.limits.message_max = ByteSize{bulk::message_bytes_max};
  TRY_ASSIGN(hub, deps.network.bind(std::move(options), [self = service.get()](const net::Peer& peer, BytesView bytes) {
    self->take(peer, bytes);
  }));
  service->hub_ = std::move(hub);
  return service;
}

BulkService::BulkService(const Dependencies& deps, const BulkLimits& limits, Tell tell)
    : deps_(deps),
      tell_(std::move(tell)),
      refusals_(deps.loop, deps.log, "output and code"),
      output_({deps.loop, deps.logs, deps.calendar, deps.log, deps.metrics,
               [this](const net::Peer& peer, const bulk::FromMaster& message) { reply(peer, message); }},
              limits) {}

BulkService::~BulkService() { output_.flush(); }

void BulkService::take(const net::Peer& peer, BytesView bytes) {
  auto message = describe::read_msgpack<bulk::ToMaster>(bytes, message_bounds);
  if (!message) {
    ++deps_.metrics.refused_malformed;
    const std::string why = "a message that cannot be read: " + message.error().begin()->message;
    refusals_.note(why);
    return reply(peer, bulk::Refused{0, Errc::invalid, why});
  }
  if (!is_for_agents(*message)) {
    ++deps_.metrics.refused_denied;
    refusals_.note("an agent tried to read output or store code");
    return reply(peer, bulk::Refused{number_of(*message), Errc::denied, "only the gateway of the master may do this"});
  }
  const auto* output = std::get_if<bulk::PutOutput>(&*message);
  if (output != nullptr && !deps_.holders.may_write(peer.key, output->lease)) {
    ++deps_.metrics.refused_denied;
    const std::string why = "output of lease " + to_string(output->lease) + ", which this agent does not hold";
    refusals_.note(why);
    return reply(peer, bulk::Refused{output->number, Errc::denied, why, output->lease});
  }
  std::visit([&](auto& one) { serve(peer, one); }, *message);
}

void BulkService::allow(const net::PublicKey& key, const cluster::AgentId& agent) {
  deps_.holders.set_key(key, agent);
  hub_->allow(key);
}

void BulkService::revoke(const net::PublicKey& key) {
  deps_.holders.remove_key(key);
  hub_->revoke(key);
}

void BulkService::ask(api::CallId asker, bulk::ToMaster message) {
  std::visit([&](auto& one) { serve(peer_of(asker), one); }, message);
}

void BulkService::forget(api::CallId asker) { output_.forget(peer_of(asker)); }

void BulkService::reply(const net::Peer& peer, const bulk::FromMaster& message) {
  if (is_at_desk(peer)) return tell_(peer.connection.value & ~at_desk, message);
  static_cast<void>(hub_->send(peer, describe::write_msgpack(message)));  // who misses an answer asks again
}

void BulkService::refuse(const net::Peer& peer, std::uint64_t number, const Error& error) {
  if (error.code == Errc::unavailable) ++deps_.metrics.failures;
  reply(peer, bulk::Refused{number, error.code, error.message});
}

void BulkService::serve(const net::Peer& peer, const bulk::AskBlob& message) {
  const objects::FileStore::State state = deps_.blobs.have(message.hash);
  reply(peer, bulk::BlobState{message.number, state.have, state.complete});
}

void BulkService::serve(const net::Peer& peer, const bulk::PutBlob& message) {
  ++deps_.metrics.blob_parts;
  const auto state = deps_.blobs.append(message.hash, {message.size, message.offset, message.bytes, message.user});
  deps_.metrics.blobs_bytes.set(deps_.blobs.size().value);
  if (!state && state.error().code != Errc::conflict) return refuse(peer, message.number, state.error());
  const objects::FileStore::State now = deps_.blobs.have(message.hash);
  reply(peer, bulk::BlobState{message.number, now.have, now.complete});
}

void BulkService::serve(const net::Peer& peer, const bulk::GetBlob& message) {
  ++deps_.metrics.blob_parts;
  Result<Bytes> bytes = deps_.blobs.read(message.hash, message.offset, bulk::part_bytes_max);
  if (!bytes) return refuse(peer, message.number, bytes.error());
  const std::int64_t size = deps_.blobs.have(message.hash).have;
  reply(peer, bulk::BlobPart{message.number, size, message.offset, *std::move(bytes)});
}

}  // namespace cadre::master
