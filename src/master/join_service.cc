#include "master/join_service.h"

#include <utility>

#include "base/rounded.h"
#include "describe/describe.h"
#include "objects/hash.h"

namespace cadre::master {

using namespace cluster;

namespace {

constexpr std::size_t tokens_max = 100'000;
constexpr std::int32_t pending_max = 256;
constexpr ByteSize join_message_max{4096};

}  // namespace

JoinService::JoinService(const Dependencies& deps, JoinOptions options)
    : deps_(deps), options_(std::move(options)), limit_(options_.limit), refusals_(deps.loop, deps.log, "joining") {
  for (records::JoinToken& token : options_.tokens) add(std::move(token));
}

JoinService::~JoinService() { *gone_ = true; }

Result<std::unique_ptr<JoinService>> JoinService::open(const Dependencies& deps, JoinOptions options) {
  net::HubOptions hub = options.hub;
  std::unique_ptr<JoinService> service(new JoinService(deps, std::move(options)));
  hub.limits.message_max = join_message_max;
  hub.note_addresses = true;
  TRY_ASSIGN(bound, deps.network.bind(std::move(hub), [self = service.get()](const net::Peer& peer, BytesView bytes) {
    self->hear(peer, bytes);
  }));
  service->hub_ = std::move(bound);
  return service;
}

void JoinService::add(records::JoinToken token) {
  if (tokens_.size() >= tokens_max) forget_old_tokens();
  if (tokens_.size() >= tokens_max) tokens_.erase(tokens_.begin());
  std::string hash = token.hash;
  tokens_.insert_or_assign(std::move(hash), std::move(token));
}

void JoinService::forget_old_tokens() {
  const TimePoint now = deps_.calendar.wall();
  std::erase_if(tokens_,
                [&](const auto& one) { return one.second.expires != TimePoint() && one.second.expires <= now; });
}

void JoinService::hear(const net::Peer& peer, BytesView bytes) {
  const bool is_outside = !peer.address.empty();
  if (const auto wait = is_outside ? limit_.wait_of(peer.address, deps_.loop.now()) : std::nullopt) {
    return refuse(peer, "too many attempts from this address have failed; try again in " +
                            rounded(std::chrono::ceil<std::chrono::seconds>(*wait)));
  }
  const auto message = describe::read_msgpack<joining::Join>(bytes);
  if (!message) return refuse(peer, "this is not a request to join");
  join(peer, *message);
}

void JoinService::join(const net::Peer& peer, const joining::Join& join) {
  const std::string hash = objects::sha256(as_bytes(join.secret));
  const bool is_inside = peer.address.empty() && hash == options_.local_secret_hash;
  if (!is_inside && !tokens_.contains(hash)) {
    return refuse(peer, "this join token is not known; create one with cadre agent token and pass it unchanged");
  }
  if (pending_ >= pending_max) return refuse(peer, "too many agents join at the same time; try again");
  ++pending_;
  options_.admit({is_inside ? "" : hash, join.agent, peer.key},
                 [this, gone = gone_, peer, is_inside, agent = join.agent](const Result<std::string>& pool) {
                   if (*gone) return;
                   --pending_;
                   if (!pool) return refuse(peer, "agent '" + agent.value + "': " + pool.error().message);
                   deps_.log.info("agent '" + agent.value + "' has joined" +
                                  (pool->empty() ? " from this host" : " pool '" + *pool + "'"));
                   joining::Joined joined = is_inside ? options_.inside : options_.outside;
                   joined.pool = *pool;
                   answer(peer, joined);
                 });
}

void JoinService::refuse(const net::Peer& peer, const std::string& why) {
  ++deps_.refused;
  const TimePoint now = deps_.loop.now();
  const bool is_flooded = limit_.is_flooded(now);
  if (!peer.address.empty()) limit_.note_failure(peer.address, now);
  if (is_flooded) return;
  refusals_.note((peer.address.empty() ? "this host" : peer.address) + ": " + why);
  answer(peer, joining::Refused{why});
}

void JoinService::answer(const net::Peer& peer, const joining::Answer& answer) {
  static_cast<void>(hub_->send(peer, describe::write_msgpack(answer)));  // an agent that misses it asks again
}

}  // namespace cadre::master
