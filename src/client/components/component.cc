#include <cadre/component.h>

#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/log.h"
#include "client/components/group_member.h"
#include "client/components/handler_pool.h"
#include "client/interrupt.h"
#include "client/outcomes.h"
#include "remote/event_table.h"

namespace cadre {
namespace {

using namespace std::chrono_literals;
using client::reason_of;
using remote::Note;

constexpr Duration group_look_every = 1s;  // whether the group can go on, while nothing comes
constexpr std::size_t waiting_messages_max = 100'000;

Slice slice_of(std::span<const std::byte> body) { return Slice(Bytes(body.begin(), body.end())); }

client::GroupMember::Wish wish_of(std::string_view tag, const Component::Sending& how, Slice body) {
  return {std::string(tag), how.session, how.reliable, std::move(body)};
}

/// What stands behind the copies of a message.
struct Held {
  remote::Letter letter;
  std::atomic<bool> is_answered = false;
};

client::GroupMember::Options options_of(const Component::Options& from) {
  client::GroupMember::Options to;
  to.group = from.group;
  to.type = from.type;
  to.name = from.name;
  to.names = from.names;
  to.host = from.host;
  to.peers = from.peers;
  to.overflow = static_cast<client::Overflow>(static_cast<std::uint8_t>(from.overflow));
  to.rules.rejoin = from.rejoin;
  to.rules.beat = from.heartbeat;
  to.rules.silence_max = from.silence_max;
  to.rules.limits.queue = from.queue_max;
  to.rules.limits.queue_bytes = ByteSize{static_cast<std::int64_t>(from.queue_bytes_max)};
  return to;
}

}  // namespace

struct Component::Inside {
  explicit Inside(Options o)
      : options(std::move(o)), member(engine, log, options_of(options)), events(waiting_messages_max) {}

  TimePoint until(Wait wait) { return wait > Wait(24h * 365) ? TimePoint::max() : member.now() + wait; }
  /// What was heard by a member of that name.
  static Message message_of(remote::Letter letter, const std::string& destination);
  static Outcome<Message> answer_of(client::GroupMember::Outcome outcome, const std::string& peer,
                                    const std::string& destination);
  Outcome<std::uint64_t> send(const std::string& peer, const client::GroupMember::Wish& wish, Wait wait);
  Outcome<Message> request(const std::string& peer, const client::GroupMember::Wish& wish, Wait wait);
  std::vector<Reply> scatter(const std::vector<std::pair<std::string, client::GroupMember::Wish>>& wishes, Wait wait);
  detail::PendingHandle promise(const std::string& peer, const client::GroupMember::Wish& wish, Wait wait,
                                bool is_request);
  Outcome<void> answer(const Message& task, remote::GroupCore::Response response);
  void see_peers(Component& self);
  /// Why the group cannot go on; nothing: it can.
  std::optional<Reason> shortage();
  void dispatch(Component& self, const Message& message, client::HandlerPool& pool);
  void run(Component& self, const std::vector<remote::Firing>& firings);
  template <class Call>
  void guard(const std::vector<Message>& messages, Component& self, const Call& call);

  const Options options;
  StderrLog log{Level::warning};
  client::Engine engine;
  client::GroupMember member;

  // Of launch(), on its thread.
  struct Entry {
    Handler act;
    Turn turn = Turn::alone;
  };
  std::unordered_map<std::string, Entry> handlers;
  remote::EventTable events;
  std::vector<EventHandler> event_handlers;
  std::unordered_map<remote::MessageHandle, std::pair<Message, std::size_t>> waiting;  // for how many events
  std::uint64_t last_handle = 0;
  std::uint64_t peers_seen = 0;
  TimePoint enough_at = TimePoint::max();  // when there were enough peers last
  std::atomic<bool> is_stopping = false;
  std::atomic<std::uint64_t> handler_failures = 0;
  std::atomic<std::uint64_t> without_handler = 0;
};

struct detail::PendingHandle::Inside {
  client::GroupMember& member;  // only until it is kept: that it is when the member ends
  std::shared_ptr<client::Promise> promise;
  std::string peer;
  std::string destination;
};

Message Component::Inside::message_of(remote::Letter letter, const std::string& destination) {
  Message message;
  auto held = std::make_shared<Held>();
  held->letter = std::move(letter);
  const Note& note = held->letter.note;
  message.tag = note.tag;
  message.source = held->letter.peer;
  message.source_type = held->letter.type;
  message.destination = destination;
  message.session = note.session;
  message.id = note.id;
  message.kind = note.kind == Note::Kind::request ? Message::Kind::task : Message::Kind::notification;
  message.body_ = note.body.view;
  message.held_ = std::move(held);
  return message;
}

Outcome<Message> Component::Inside::answer_of(client::GroupMember::Outcome outcome, const std::string& peer,
                                              const std::string& destination) {
  if (!outcome) return reason_of(outcome.error());
  if (outcome->kind == Note::Kind::refusal) {
    return Reason{Reason::Code::refused, std::string(as_text(outcome->body.view))};
  }
  return message_of({peer, "", 0, *std::move(outcome)}, destination);
}

Component::Component(Options options) : inside_(std::make_unique<Inside>(std::move(options))) {}
Component::Component(Component&&) noexcept = default;
Component& Component::operator=(Component&&) noexcept = default;
Component::~Component() = default;

Outcome<void> Component::join(Wait wait) {
  const Result<void> joined = inside_->member.join(inside_->until(wait));
  if (!joined) return reason_of(joined.error());
  return {};
}

const std::string& Component::name() const { return inside_->member.name(); }

std::vector<std::string> Component::peers(std::string_view type) const {
  return inside_->member.live(std::string(type));
}

std::size_t Component::lead_of(std::string_view tag) { return remote::body_offset(tag.size()); }

Outcome<std::uint64_t> Component::Inside::send(const std::string& peer, const client::GroupMember::Wish& wish,
                                               Wait wait) {
  const Result<std::uint64_t> id = member.send(peer, wish, until(wait));
  if (!id) return reason_of(id.error());
  return *id;
}

Outcome<std::uint64_t> Component::send(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                                       const Sending& how) {
  return inside_->send(std::string(peer), wish_of(tag, how, slice_of(body)), how.wait);
}

Outcome<std::uint64_t> Component::send(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                       const Sending& how) {
  return inside_->send(std::string(peer), wish_of(tag, how, Slice(std::move(body))), how.wait);
}

Outcome<Message> Component::Inside::request(const std::string& peer, const client::GroupMember::Wish& wish, Wait wait) {
  return answer_of(member.request(peer, wish, until(wait)), peer, member.name());
}

Outcome<Message> Component::request(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                                    const Sending& how) {
  return inside_->request(std::string(peer), wish_of(tag, how, slice_of(body)), how.wait);
}

Outcome<Message> Component::request(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                    const Sending& how) {
  return inside_->request(std::string(peer), wish_of(tag, how, Slice(std::move(body))), how.wait);
}

std::vector<Reply> Component::Inside::scatter(
    const std::vector<std::pair<std::string, client::GroupMember::Wish>>& wishes, Wait wait) {
  std::vector<client::GroupMember::Outcome> outcomes = member.scatter(wishes, until(wait));
  std::vector<Reply> replies;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    replies.push_back({wishes[i].first, answer_of(std::move(outcomes[i]), wishes[i].first, member.name())});
  }
  return replies;
}

std::vector<Reply> Component::broadcast(std::string_view type, std::string_view tag, std::span<const std::byte> body,
                                        const Sending& how) {
  const Slice shared = slice_of(body);
  std::vector<std::pair<std::string, client::GroupMember::Wish>> wishes;
  for (const std::string& peer : peers(type)) wishes.emplace_back(peer, wish_of(tag, how, shared));
  return inside_->scatter(wishes, how.wait);
}

std::vector<Reply> Component::scatter(const std::vector<Parcel>& parcels, const Sending& how) {
  std::vector<std::pair<std::string, client::GroupMember::Wish>> wishes;
  for (const Parcel& one : parcels) {
    wishes.emplace_back(one.peer, wish_of(one.tag, how, slice_of(std::as_bytes(std::span(one.body)))));
  }
  return inside_->scatter(wishes, how.wait);
}

detail::PendingHandle Component::Inside::promise(const std::string& peer, const client::GroupMember::Wish& wish,
                                                 Wait wait, bool is_request) {
  const TimePoint deadline = until(wait);
  detail::PendingHandle handle;
  handle.inside_ = std::make_shared<detail::PendingHandle::Inside>(detail::PendingHandle::Inside{
      member, member.promise(peer, wish, is_request ? std::optional(deadline) : std::nullopt, deadline), peer,
      member.name()});
  return handle;
}

Pending<std::uint64_t> Component::send_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                             const Sending& how) {
  const client::GroupMember::Wish wish = wish_of(tag, how, Slice(std::move(body)));
  return Pending<std::uint64_t>(inside_->promise(std::string(peer), wish, how.wait, false));
}

Pending<Message> Component::request_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                          const Sending& how) {
  const client::GroupMember::Wish wish = wish_of(tag, how, Slice(std::move(body)));
  return Pending<Message>(inside_->promise(std::string(peer), wish, how.wait, true));
}

std::vector<PendingReply> Component::broadcast_async(std::string_view type, std::string_view tag,
                                                     std::span<const std::byte> body, const Sending& how) {
  const client::GroupMember::Wish wish = wish_of(tag, how, slice_of(body));
  std::vector<PendingReply> all;
  for (const std::string& peer : peers(type)) {
    all.push_back({peer, Pending<Message>(inside_->promise(peer, wish, how.wait, true))});
  }
  return all;
}

std::vector<PendingReply> Component::scatter_async(const std::vector<Parcel>& parcels, const Sending& how) {
  std::vector<PendingReply> all;
  for (const Parcel& one : parcels) {
    const client::GroupMember::Wish wish = wish_of(one.tag, how, slice_of(std::as_bytes(std::span(one.body))));
    all.push_back({one.peer, Pending<Message>(inside_->promise(one.peer, wish, how.wait, true))});
  }
  return all;
}

bool detail::PendingHandle::is_there() const { return inside_->promise->is_there(); }

bool detail::PendingHandle::wait(Wait wait) const {
  if (is_there()) return true;
  client::GroupMember& member = inside_->member;
  return member.await(inside_->promise, wait > Wait(24h * 365) ? TimePoint::max() : member.now() + wait);
}

void detail::PendingHandle::then(std::function<void()> call) const {
  if (is_there()) return call();
  inside_->member.then(inside_->promise, std::move(call));
}

void detail::PendingHandle::cancel() const {
  if (!is_there()) inside_->member.cancel(inside_->promise);
}

void detail::PendingHandle::take(Outcome<Message>& to) const {
  to = Component::Inside::answer_of(inside_->promise->outcome(), inside_->peer, inside_->destination);
}

void detail::PendingHandle::take(Outcome<std::uint64_t>& to) const {
  Result<Note> outcome = inside_->promise->outcome();
  if (!outcome) {
    to = reason_of(outcome.error());
  } else {
    to = outcome->id;
  }
}

std::optional<Reason> Component::Inside::shortage() {
  if (options.minimal_peers.empty()) return std::nullopt;
  std::string missing;
  for (const auto& [type, least] : options.minimal_peers) {
    const std::size_t there = member.live(type).size();
    if (there < least) {
      missing += (missing.empty() ? "" : ", ") + std::to_string(there) + " of " + std::to_string(least) + " " + type;
    }
  }
  const TimePoint now = member.now();
  if (missing.empty() || enough_at == TimePoint::max()) enough_at = now;
  if (missing.empty() || now - enough_at < options.minimal_wait) return std::nullopt;
  return Reason{Reason::Code::unavailable, "the group has too few peers: " + missing};
}

Outcome<Message> Component::receive(Wait wait) {
  const TimePoint end = inside_->until(wait);
  for (;;) {
    const bool is_watched = !inside_->options.minimal_peers.empty();
    const TimePoint next = is_watched ? std::min(end, inside_->member.now() + group_look_every) : end;
    Result<remote::Letter> letter = inside_->member.receive(next);
    if (letter) return Inside::message_of(*std::move(letter), name());
    if (letter.error().code != Errc::timed_out) return reason_of(letter.error());
    if (std::optional<Reason> why = inside_->shortage()) return *std::move(why);
    if (inside_->member.now() >= end || client::was_interrupted()) return reason_of(letter.error());
  }
}

Outcome<void> Component::Inside::answer(const Message& task, remote::GroupCore::Response response) {
  const auto held = std::static_pointer_cast<Held>(task.held_);
  if (held == nullptr || task.kind != Message::Kind::task) {
    return Reason{Reason::Code::invalid, "'" + task.tag + "' expects no reply; send a message instead"};
  }
  if (held->is_answered.exchange(true))
    return Reason{Reason::Code::conflict, "'" + task.tag + "' was already answered"};
  const Result<void> replied = member.reply(held->letter, std::move(response), until(30s));
  if (replied) return {};
  held->is_answered = false;  // who asked can still be told why
  return reason_of(replied.error());
}

Outcome<void> Component::reply(const Message& task, std::span<const std::byte> body, std::string_view tag) {
  return inside_->answer(task, {Note::Kind::reply, slice_of(body), std::string(tag)});
}

Outcome<void> Component::reply(const Message& task, std::vector<std::byte>&& body, std::string_view tag) {
  return inside_->answer(task, {Note::Kind::reply, Slice(std::move(body)), std::string(tag)});
}

bool Component::is_answered(const Message& task) {
  const auto held = std::static_pointer_cast<Held>(task.held_);
  return held != nullptr && held->is_answered;
}

Outcome<void> Component::refuse(const Message& task, std::string_view why) {
  return inside_->answer(task, {Note::Kind::refusal, slice_of(std::as_bytes(std::span(why)))});
}

Outcome<std::uint64_t> Component::forward(const Message& message, std::string_view peer) {
  return send(peer, message.tag, message.body(), {message.session, false, 30s});
}

Outcome<void> Component::on(std::string tag, Handler handler, Turn turn) {
  const auto [at, is_new] = inside_->handlers.try_emplace(std::move(tag), Inside::Entry{std::move(handler), turn});
  if (!is_new) return Reason{Reason::Code::conflict, "the tag '" + at->first + "' already has a handler"};
  return {};
}

Outcome<void> Component::when(std::string_view event, EventHandler handler) {
  const Result<std::size_t> added = inside_->events.add(event);
  if (!added) return reason_of(added.error());
  inside_->event_handlers.push_back(std::move(handler));
  return {};
}

/// Whoever asked is told what went wrong; for the others it is counted.
template <class Call>
void Component::Inside::guard(const std::vector<Message>& messages, Component& self, const Call& call) {
  std::string why;
  try {
    return call();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
    why = "an exception that is not a std::exception was thrown";
  }
  for (const Message& message : messages) {
    log.warning("the handler of '" + message.tag + "' failed: " + why);
    if (message.kind == Message::Kind::task) {
      static_cast<void>(self.refuse(message, "the handler of '" + message.tag + "' failed: " + why));
    } else {
      ++handler_failures;
    }
  }
}

void Component::Inside::run(Component& self, const std::vector<remote::Firing>& firings) {
  for (const remote::Firing& firing : firings) {
    std::vector<Message> messages;
    for (const remote::MessageHandle handle : firing.messages) {
      const auto at = waiting.find(handle);
      messages.push_back(at->second.first);
      if (--at->second.second == 0) waiting.erase(at);
    }
    guard(messages, self, [&] { event_handlers[firing.handler](self, messages); });
  }
}

void Component::Inside::dispatch(Component& self, const Message& message, client::HandlerPool& pool) {
  const auto handler = handlers.find(message.tag);
  if (handler != handlers.end()) {
    const auto call = [this, &self, &act = handler->second.act](const Message& one) {
      guard({one}, self, [&] { act(self, one); });
    };
    handler->second.turn == Turn::concurrent ? pool.run([call, message] { call(message); }) : call(message);
  }
  std::size_t took = 0;
  if (!event_handlers.empty()) {
    const remote::MessageHandle handle{++last_handle};
    Result<remote::Pushed> pushed = events.push({handle, message.source, message.source_type, message.tag});
    if (!pushed)
      log.warning("'" + message.tag + "' of " + message.source + " was not counted: " + pushed.error().message);
    if (pushed) {
      took = pushed->events;
      if (took > 0) waiting.emplace(handle, std::pair(message, took));
      run(self, pushed->firings);
    }
  }
  if (handler != handlers.end() || took > 0) return;
  ++without_handler;
  const std::string why = "there is no handler for '" + message.tag + "'";
  log.warning(why + ", which " + message.source + " sent");
  if (message.kind == Message::Kind::task) static_cast<void>(self.refuse(message, why));
}

/// Amounts of events refer to the peers that are there.
void Component::Inside::see_peers(Component& self) {
  const std::uint64_t present = member.peers_version();
  if (event_handlers.empty() || present == peers_seen) return;
  peers_seen = present;
  std::vector<remote::Peer> members;
  for (const remote::Card& card : member.live_cards()) members.push_back({card.name, card.type});
  run(self, events.set_peers(members));
}

Outcome<void> Component::launch() {
  Inside& inside = *inside_;
  inside.is_stopping = false;
  client::HandlerPool pool(inside.options.concurrent_max);  // ends last: its handlers use what stands here
  while (!inside.is_stopping) {
    inside.see_peers(*this);
    const std::uint64_t present = inside.peers_seen;
    Result<remote::Letter> letter = inside.member.receive(inside.member.now() + group_look_every, [&inside, present] {
      return inside.is_stopping || (!inside.event_handlers.empty() && inside.member.peers_version() != present);
    });
    if (letter) {
      inside.see_peers(*this);  // one that has just come may have sent it
      inside.dispatch(*this, Inside::message_of(*std::move(letter), name()), pool);
    } else if (letter.error().code != Errc::timed_out) {
      return reason_of(letter.error());
    }
    if (client::was_interrupted()) return Reason{Reason::Code::conflict, "it was interrupted"};
    if (std::optional<Reason> why = inside.shortage()) return *std::move(why);
  }
  return {};
}

void Component::stop() {
  inside_->is_stopping = true;
  inside_->engine.changed();
  inside_->engine.post([] {});
}

void Component::on_peer_up(std::function<void(const std::string&)> call) {
  inside_->member.on_peer_up([call = std::move(call)](const remote::PeerUp& up) { call(up.peer); });
}

void Component::on_peer_down(std::function<void(const Lost&)> call) {
  inside_->member.on_peer_down([call = std::move(call)](const remote::PeerDown& down) {
    call({down.peer, down.why, down.lost});
  });
}

std::vector<std::uint64_t> Component::close(Wait linger) { return inside_->member.close(linger); }

Component::Counters Component::counters() const {
  const remote::GroupCore::Counters from = inside_->member.counters();
  return {from.strangers, from.malformed, from.dropped, from.late, inside_->handler_failures, inside_->without_handler};
}

}  // namespace cadre
