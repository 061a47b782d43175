#include "master/join_desk.h"

#include <utility>

#include "describe/describe.h"
#include "objects/hash.h"

namespace cadre::master {

using namespace cluster;

Result<std::unique_ptr<JoinDesk>> JoinDesk::open(const Ground& ground, JoinDeskOptions options) {
  net::HubOptions hub = options.hub;
  std::unique_ptr<JoinDesk> desk(new JoinDesk(ground, std::move(options)));
  if (hub.keys) desk->master_key_ = hub.keys->open.text();
  hub.limits.message_max = ByteSize{4096};
  TRY_ASSIGN(bound, ground.network.bind(std::move(hub), [desk = desk.get()](const net::Peer& peer, BytesView bytes) {
    desk->hear(peer, bytes);
  }));
  desk->hub_ = std::move(bound);
  return desk;
}

loop::Task<Result<std::string>> JoinDesk::make_token(requests::MakeJoinToken request) {
  const std::string secret = net::make_keys().secret.reveal();
  const records::JoinToken token{objects::sha256(as_bytes(secret)), ground_.calendar.now() + request.valid,
                                 request.pool};
  CO_TRY(co_await ground_.pool.run([&] { return ground_.records.add_join_token(token); }));
  const joining::Ticket ticket{options_.seen_from_outside(hub_->addresses().front()), master_key_, secret};
  co_return joining::to_token(ticket);
}

void JoinDesk::hear(const net::Peer& peer, BytesView bytes) {
  auto message = describe::read_msgpack<joining::Join>(bytes);
  if (message) return ground_.loop.spawn(join(peer, *std::move(message)));
  ++refused_;
  answer(peer, joining::Refused{"this is no request to join"});
}

loop::Task<void> JoinDesk::join(net::Peer peer, joining::Join join) {
  const records::Joining joining{objects::sha256(as_bytes(join.secret)), join.agent, peer.key.text(),
                                 ground_.calendar.now()};
  Result<std::string> pool = co_await ground_.pool.run([&] { return ground_.records.use_join_token(joining); });
  if (!pool) {
    ++refused_;
    ground_.log.warning("agent '" + join.agent.value + "' may not join: " + pool.error().message);
    answer(peer, joining::Refused{pool.error().message});
    co_return;
  }
  options_.admit(peer.key, join.agent);
  ground_.log.info("agent '" + join.agent.value + "' has joined pool '" + *pool + "'");
  answer(peer, joining::Joined{options_.control, options_.bulk, *pool});
}

void JoinDesk::answer(const net::Peer& peer, const joining::Answer& answer) {
  if (const auto sent = hub_->send(peer, describe::write_msgpack(answer)); !sent) {
    ground_.log.warning("an answer to who wants to join was lost: " + sent.error().message);
  }
}

}  // namespace cadre::master
