/// An agent that sends messages with extreme values. For the thread of the loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "agent/joining.h"
#include "cluster/bulk.h"
#include "cluster/joining.h"
#include "cluster/messages.h"
#include "net/network.h"
#include "tests/fuzz_live/extremes.h"
#include "tests/fuzz_live/hostile_client.h"

namespace cadre::fuzz_live {

/// An agent that has joined and then says anything: on its control link and on its bulk link.
class HostileAgent {
 public:
  HostileAgent(Cluster& cluster, HostileClient& api, loop::RealLoop& loop, net::Network& network) : loop_(loop) {
    const net::http::Response token = api.ask(net::http::Method::post, "/join-tokens", R"({"pool": "evil"})");
    const auto text = describe::read_json<cluster::requests::Text>(token.body);
    if (!text) give_up("no join token: " + token.body);
    cluster.start_agent("evil", {"--join", text->text, "--artificial-slots", "2", "--pool", "evil"});
    for (int i = 0; !is_up(api); ++i) {
      if (i > 600) give_up("the second agent does not join");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    servers::kill_tree(cluster.agents.at("evil"));
    cluster.agents.erase("evil");
    const std::string data = cluster.folder.path() + "/evil";
    Result<agent::Way> way = agent::way_by_key({loop, network, data, cluster::AgentId("evil"), "", ""});
    if (!way) give_up("no way for the second agent: " + way.error().message);
    std::getline(std::ifstream(data + "/identity"), identity_);
    const cluster::joining::Ticket ticket = cluster::joining::parse_token(text->text).value();
    join_ = network
                .connect({ticket.address, net::make_keys(), net::parse_public_key(ticket.master_key).value(), {}},
                         [this](const Slice&) { ++refusals_; })
                .value();
    control_ = network.connect(way->control, [this](const Slice& message) { hear(message.view); }).value();
    bulk_ = network.connect(way->bulk, [this](const Slice&) { ++answers_; }).value();
  }

  void burst(Dice& dice) {
    say_hello(dice);
    run_for(loop_, std::chrono::milliseconds(100));
    for (int i = 0; i < 120; ++i) {
      describe::Value message = hostile<cluster::messages::FromAgent>(dice);
      if (message.as<describe::Value::Map>() != nullptr && dice.percent(90))
        message.set("session", describe::Value(session_.value_or(0)));
      if (describe::Value* body = find(message, "body"); body != nullptr && !leases_.empty() && dice.percent(70)) {
        if (body->find("lease") != nullptr) body->set("lease", describe::Value(some_lease(dice)));
      }
      const bool has_bulk = dice.percent(60);  // one that is full or refused loses it
      if (control_->send(packed(message, dice))) ++sent_control_;
      if (has_bulk && bulk_->send(packed(bulk_message(dice), dice))) ++sent_bulk_;
    }
    if (!leases_.empty()) end_one(dice);
    static_cast<void>(join_->send(packed(hostile<cluster::joining::Join>(dice), dice)));
    static_cast<void>(
        join_->send(describe::write_msgpack(cluster::joining::Join{cluster::AgentId("x"), std::string(40, 'x')})));
    run_for(loop_, std::chrono::milliseconds(100));
  }
  /// Every link was used, and served.
  void check_was_served() const {
    if (sent_control_ == 0 || welcomes_ == 0 || starts_ == 0) give_up("the link of the second agent was never served");
    if (sent_bulk_ == 0 || answers_ == 0) give_up("the bulk link of the second agent was never served");
    if (refusals_ == 0) give_up("nobody was refused at the join port");
  }
  std::string summary() const {
    return std::to_string(sent_control_) + " messages and " + std::to_string(sent_bulk_) +
           " bulk messages of an agent, " + std::to_string(starts_) + " starts, " + std::to_string(answers_) +
           " bulk responses";
  }

 private:
  static describe::Value* find(describe::Value& map, std::string_view key) {
    return const_cast<describe::Value*>(map.find(key));
  }
  static bool is_up(HostileClient& api) {
    return api.ask(net::http::Method::get, "/agents").body.find("\"evil\"") != std::string::npos;
  }
  std::string some_lease(Dice& dice) const {
    return *std::next(leases_.begin(), static_cast<std::ptrdiff_t>(dice.below(leases_.size())));
  }
  describe::Value bulk_message(Dice& dice) {
    describe::Value message = hostile<cluster::bulk::ToMaster>(dice);
    if (!leases_.empty() && message.find("lease") != nullptr && dice.percent(60)) {
      message.set("lease", describe::Value(some_lease(dice)));
    }
    return message;
  }
  void say_hello(Dice& dice) {
    cluster::messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = cluster::AgentId("evil");
    hello.agent.slots = 2;
    hello.pool = "evil";
    hello.identity = identity_;
    hello.slots.resize(2);
    hello.number = ++hellos_;
    describe::Value tree = describe::write(cluster::messages::FromAgent{0, hello});
    if (dice.percent(50)) spoil(tree, dice);
    static_cast<void>(control_->send(describe::to_msgpack(tree)));
    if (!session_.has_value() || dice.percent(50)) {
      static_cast<void>(control_->send(describe::write_msgpack(cluster::messages::FromAgent{0, hello})));
    }
  }
  /// A real end of a real lease, with figures that no database holds.
  void end_one(Dice& dice) {
    const std::string lease = some_lease(dice);
    cluster::messages::Exited exited;
    describe::Value tree = describe::write(cluster::messages::FromAgent{session_.value_or(0), exited});
    describe::Value* body = find(tree, "body");
    body->set("lease", describe::Value(lease));
    describe::Value& ending = *find(*body, "ending");
    if (dice.percent(50)) spoil(ending, dice);
    static_cast<void>(control_->send(describe::to_msgpack(tree)));
    leases_.erase(lease);
  }
  void hear(BytesView bytes) {
    const auto message = describe::read_msgpack<cluster::messages::FromMaster>(bytes);
    if (!message) give_up("cannot read a message of the master");
    if (std::holds_alternative<cluster::messages::Welcome>(message->body)) {
      session_ = message->session;
      ++welcomes_;
    }
    if (const auto* start = std::get_if<cluster::messages::Start>(&message->body)) {
      leases_.insert(to_string(start->lease));
      ++starts_;
    }
    if (const auto* end = std::get_if<cluster::messages::EndStored>(&message->body))
      leases_.erase(to_string(end->lease));
  }

  loop::RealLoop& loop_;
  std::string identity_;
  std::unique_ptr<net::Link> control_;
  std::unique_ptr<net::Link> bulk_;
  std::unique_ptr<net::Link> join_;
  std::optional<std::uint64_t> session_;
  std::set<std::string> leases_;
  std::uint64_t hellos_ = 1'000;
  std::uint64_t sent_control_ = 0;
  std::uint64_t sent_bulk_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t welcomes_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t refusals_ = 0;  ///< of a wish to join
};

}  // namespace cadre::fuzz_live
