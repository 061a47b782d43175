#include "client/actors/actor_host.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/cluster/data_folder.h"
#include "client/host_identity.h"
#include "describe/describe.h"
#include "loop/random_word.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Verb;

constexpr Duration beat_every = 500ms;
constexpr std::size_t waiting_calls_max = 100'000;    // calls
constexpr std::size_t unsent_answers_max = 64 << 20;  // of answers
/// Output is shown while no more than this is not sent: it must not delay answers.
constexpr std::size_t unshown_max = 1 << 20;
constexpr std::size_t shown_at_once_max = 64 << 10;
/// Of what is no answer to any call.
constexpr std::uint64_t no_call = ~std::uint64_t{0};
constexpr std::size_t strangers_max = 32;  // who have not said yet who they are
/// Answers to calls that take less may wait for each other while more calls are there.
constexpr Duration brief = 50us;
constexpr std::string_view loopback = "127.0.0.1";

}  // namespace

Result<ActorHost::Options> ActorHost::options_from_environment() {
  Options options;
  TRY_ASSIGN(owner, net::parse_public_key(variable("CADRE_ACTOR_CALLER")));
  options.owner = owner;
  const std::string lanes = variable("CADRE_ACTOR_LANES");
  if (!lanes.empty()) options.lanes = std::max<std::size_t>(1, std::strtoul(lanes.c_str(), nullptr, 10));
  options.shows_output = variable(output_variable) == "1";
  options.is_local = variable("CADRE_ACTOR_HOST") == network_identity();
  options.announces = variable(address_variable) == address_announced;
  return options;
}

ActorHost::ActorHost(const Options& options)
    : options_(options),
      called_(std::make_shared<net::Called>(
          net::Called{net::make_keys(), [owner = options.owner](const net::PublicKey& key) { return key == owner; }})),
      deps_{engine_.loop(), [this](loop::Call call) { engine_.post(std::move(call)); },
            [this](loop::Call call) { engine_.soon(std::move(call)); }},
      callee_(options.lanes) {}

Result<std::unique_ptr<ActorHost>> ActorHost::open(const Options& options) {
  std::unique_ptr<ActorHost> host(new ActorHost(options));
  Result<void> listening;
  host->engine_.perform([&] { listening = host->listen(); });
  TRY(listening);
  return host;
}

Result<void> ActorHost::listen() {
  const auto take_in = [this](loop::Descriptor socket, net::Cover cover) { come_in(std::move(socket), cover); };
  card_.protocols = protocol::own();
  card_.key = called_->keys.open.text();
  card_.host = network_identity();
  card_.name = "cadre-actor-" + loop::random_word(32);
  TRY_ASSIGN(by_name, net::PipeListener::open(engine_.loop(), {card_.name, "", 0}, take_in));
  const std::string host = options_.is_local ? std::string(loopback) : "0.0.0.0";
  TRY_ASSIGN(by_port, net::PipeListener::open(engine_.loop(), {"", host, 0}, take_in));
  card_.port = by_port->port();
  if (!options_.is_local) card_.addresses = addresses_of_host();
  card_.addresses.emplace_back(loopback);
  listeners_.push_back(std::move(by_name));
  listeners_.push_back(std::move(by_port));
  alone_since_ = engine_.loop().now();
  context_.promise_liveness();
  beat();
  return {};
}

ActorHost::~ActorHost() {
  engine_.perform([this] {
    beating_.cancel();
    listeners_.clear();
    for (auto& [number, connection] : connections_) connection->wire->close();
    connections_.clear();
  });
}

Result<void> ActorHost::announce() {
  const std::string card = describe::write_json(card_);
  const core::Reported told = options_.announces ? context_.announce(card) : context_.report(card);
  if (told) return {};
  return fail(Errc::unavailable, "the master did not accept the address of this actor: " + told.why);
}

void ActorHost::come_in(loop::Descriptor socket, net::Cover cover) {
  if (connections_.size() - open_connections_ >= strangers_max) {  // close the oldest unauthenticated connection
    const auto oldest =
        std::find_if(connections_.begin(), connections_.end(), [](const auto& one) { return !one.second->is_open; });
    oldest->second->wire->close();
    connections_.erase(oldest);
  }
  auto connection = std::make_unique<Connection>(*this, ++last_connection_);
  connection->wire = Wire::answer(deps_, called_, std::move(socket), cover, *connection);
  connections_.emplace(last_connection_, std::move(connection));
}

void ActorHost::Connection::opened() {
  is_open = true;
  host.was_called_ = true;
  ++host.open_connections_;
  const std::lock_guard lock(host.mutex_);
  host.readers_[number].wire = wire;
}

void ActorHost::take(Connection& from, Heard heard) {
  if (heard.verb == Verb::end) return end();
  const Calls::Key key{from.number, heard.id};
  if (heard.verb == Verb::cancel) return cancel(from, key);
  if (heard.verb > Verb::set) return;  // not for an actor
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    is_full = callee_.waiting() >= waiting_calls_max;
    if (!is_full) static_cast<void>(callee_.came(key, {std::move(heard), from.wire}));
  }
  const auto full = as_bytes("too many calls wait at the actor");
  if (is_full) from.wire->send(Verb::error, key.id, "Full", full, Wire::Shared());
  engine_.changed();
}

void ActorHost::cancel(const Connection& from, Calls::Key key) {
  {
    const std::lock_guard lock(mutex_);
    if (!callee_.cancel(key)) return;  // it has begun, or was answered
  }
  from.wire->send(Verb::cancelled, key.id, "", {}, Wire::Shared());
}

void ActorHost::leave(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (found->second->is_open && --open_connections_ == 0) alone_since_ = engine_.loop().now();
  {
    const std::lock_guard lock(mutex_);
    callee_.gone(number);
    readers_.erase(number);
  }
  engine_.loop().post([connection = std::shared_ptr<Connection>(std::move(found->second))] {});  // never while it calls
  connections_.erase(found);
  engine_.changed();  // whoever waits to be rid of an answer
}

/// From time to time: says that it lives, and looks whether it should.
void ActorHost::beat() {
  beating_ = engine_.loop().after(beat_every, [this] { beat(); });
  context_.tally(calls_, errors_);
  const Duration patience = was_called_ ? options_.linger : options_.caller_wait;
  const bool is_abandoned = open_connections_ == 0 && engine_.loop().now() - alone_since_ > patience;
  if (is_abandoned || context_.should_stop()) end();
}

void ActorHost::end() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, connection] : connections_) connection->wire->flush();
  context_.tally(calls_, errors_);
  // Whatever runs now, nobody will hear what comes of it.
  if (callee_.running() > 0) ::_exit(0);
  is_over_ = true;
  engine_.changed();
}

std::optional<ActorHost::Wanted> ActorHost::next() {
  std::optional<Calls::Call> found;
  bool is_over = false;
  const auto look = [&] {
    const std::lock_guard lock(mutex_);
    is_over = is_over_;
    if (!is_over && !found) found = callee_.next();
    return is_over || found.has_value();
  };
  if (!look())
    engine_.wait(
        TimePoint::max(), [] {}, look);
  if (!found) return std::nullopt;
  return Wanted{found->key, std::move(found->what.heard), std::move(found->what.wire), engine_.loop().now()};
}

void ActorHost::show(Printer::Stream stream, std::string_view lines) {
  if (!options_.shows_output) return;
  const std::lock_guard lock(mutex_);
  const std::string_view name = stream == Printer::Stream::out ? "stdout" : "stderr";
  for (auto& [number, reader] : readers_) {
    if (lines.size() > shown_at_once_max || reader.wire->unsent() > unshown_max) {
      reader.skipped += static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
      continue;
    }
    std::string text(lines);
    if (const std::size_t skipped = std::exchange(reader.skipped, 0)) {
      text = "... " + std::to_string(skipped) + " lines are not shown here; see `cadre actor logs`\n" + text;
    }
    reader.wire->send(Verb::output, no_call, name, as_bytes(text), Wire::Shared(), Wire::Urgency::soon);
  }
}

void ActorHost::answer(const Wanted& wanted, Verb verb, std::string_view name, BytesView body,
                       std::span<const BytesView> parts) {
  const std::optional<std::string> obstacle = remote::obstacle_to(name, body, parts);
  ++calls_;
  if (verb == Verb::error || obstacle) ++errors_;
  bool is_followed_by_its_like = false;
  {
    const std::lock_guard lock(mutex_);
    callee_.finished(wanted.key);
    const Wish* const next = is_over_ ? nullptr : callee_.first();
    is_followed_by_its_like =
        next != nullptr && next->heard.verb == wanted.heard.verb && next->heard.name == wanted.heard.name;
  }
  // What follows is as brief, so far as one can know, and does not end the process before this is sent.
  const bool may_wait = is_followed_by_its_like && engine_.loop().now() - wanted.begun < brief;
  const Wire::Urgency urgency = may_wait ? Wire::Urgency::soon : Wire::Urgency::now;
  if (obstacle) {
    wanted.wire->send(Verb::error, wanted.key.id, "TooLarge", as_bytes(*obstacle), Wire::Shared(), urgency);
  } else {
    wanted.wire->send(verb, wanted.key.id, name, body, parts, urgency);
  }
  if (options_.lanes > 1) engine_.changed();
  const auto may_go_on = [&] {
    const std::lock_guard lock(mutex_);
    return is_over_ || wanted.wire->unsent() <= unsent_answers_max;
  };
  if (wanted.wire->unsent() > unsent_answers_max) {
    engine_.wait(
        TimePoint::max(), [] {}, may_go_on);
  }
}

}  // namespace cadre::client
