/// A named member of a group of processes that finds the others by their names and speaks with them. Components may be
/// used from any thread; handlers run one at a time, on the thread that called launch().
///
///   cadre::Component component({.group = "demo", .type = "worker", .peers = {{"learner", 1}}, .names =
///   "file:///tmp/demo"}); component.join().value(); component.request("learner-1", "ask", "how much?").value().text();
///
/// Messages between two components arrive in the order in which they were sent, each at most once. When a peer is lost,
/// on_peer_down tells the ids of those of which nobody knows whether they arrived; nothing is dropped in silence.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cadre/outcome.h"

namespace cadre {

class Message {
 public:
  enum class Kind : std::uint8_t {
    notification,  ///< wants no answer
    task,          ///< wants one: Component::reply
  };
  std::string tag;
  std::string source;
  std::string source_type;
  std::string destination;
  std::uint64_t session = 0;  ///< to which conversation it belongs, as its sender says
  std::uint64_t id = 0;       ///< as its sender numbers them
  Kind kind = Kind::notification;

  std::span<const std::byte> body() const { return body_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(body_.data()), body_.size()}; }

 private:
  friend class Component;
  std::span<const std::byte> body_;
  std::shared_ptr<void> held_;  // shared by all copies: the bytes, and whether it was answered
};

/// What one of many peers said, or why it said nothing.
struct Reply {
  std::string peer;
  Outcome<Message> outcome;
};

class Component {
 public:
  enum class Overflow : std::uint8_t {
    block,        ///< until there is room, or the time is over
    fail,         ///< at once
    drop_oldest,  ///< of those that were not sent; counted
  };
  struct Options {
    std::string group;
    std::string type;
    std::string name{};                          ///< empty: one is made up
    std::map<std::string, std::size_t> peers{};  ///< how many of each type join() waits for
    std::string names{};             ///< where the others are found, a URL (cadre/names.h); empty: by the master
    std::string host = "127.0.0.1";  ///< the address of this host at which others reach it
    bool rejoin = false;             ///< what is sent to a peer that is away is kept for the next of its name
    std::map<std::string, std::size_t> minimal_peers{};  ///< with fewer of a type the group cannot go on …
    Wait minimal_wait = std::chrono::seconds(30);        ///< … after so long
    Overflow overflow = Overflow::block;
    std::size_t queue_max = 10'000;              ///< messages that wait for one peer
    std::size_t queue_bytes_max = 64 << 20;      ///< the same in bytes; one that is larger goes alone
    Wait heartbeat = std::chrono::seconds(1);    ///< something is said at least so often
    Wait silence_max = std::chrono::seconds(3);  ///< a peer that says nothing for longer is lost
  };
  /// How one message is sent.
  struct Sending {
    std::uint64_t session = 0;
    bool reliable = false;  ///< sent again after a lost connection; arrives once all the same
    Wait wait = std::chrono::seconds(30);
  };
  struct Lost {
    std::string peer;
    std::string why;
    std::vector<std::uint64_t> ids;  ///< of messages of which nobody knows whether they arrived
  };
  struct Counters {
    std::uint64_t strangers = 0;  ///< frames of who did not show that he belongs to the group
    std::uint64_t malformed = 0;
    std::uint64_t dropped = 0;           ///< to make room
    std::uint64_t late = 0;              ///< answers that nobody waited for any more
    std::uint64_t handler_failures = 0;  ///< of notifications: for a task the asker is told
    std::uint64_t without_handler = 0;
  };

  explicit Component(Options options);
  Component(Component&&) noexcept;
  Component& operator=(Component&&) noexcept;
  /// As close() with nothing to wait for.
  ~Component();

  /// Returns when every expected peer can be reached; else `timed_out`, with those that cannot.
  Outcome<void> join(Wait wait = std::chrono::seconds(30));

  const std::string& name() const;
  /// Peers that can be reached now, of one type or of all.
  std::vector<std::string> peers(std::string_view type = "") const;

  /// One way; gives its id.
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                              const Sending& how);
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::string_view body = {}) {
    return send(peer, tag, std::as_bytes(std::span(body)), Sending{});
  }
  /// Waits for the answer; `refused` when the other side could not give one.
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                           const Sending& how);
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::string_view body = {},
                           Wait wait = std::chrono::seconds(30)) {
    return request(peer, tag, std::as_bytes(std::span(body)), Sending{0, false, wait});
  }
  /// Asks all peers of a type at once.
  std::vector<Reply> broadcast(std::string_view type, std::string_view tag, std::span<const std::byte> body,
                               const Sending& how);
  std::vector<Reply> broadcast(std::string_view type, std::string_view tag, std::string_view body = {},
                               Wait wait = std::chrono::seconds(30)) {
    return broadcast(type, tag, std::as_bytes(std::span(body)), Sending{0, false, wait});
  }
  struct Parcel {
    std::string peer;
    std::string tag;
    std::string body;
  };
  /// Asks each for something of its own; one answer each, in their order.
  std::vector<Reply> scatter(const std::vector<Parcel>& parcels, const Sending& how);

  /// The next message; `timed_out` when none comes in time.
  Outcome<Message> receive(Wait wait = std::chrono::seconds(30));
  /// Answers a task, once.
  Outcome<void> reply(const Message& task, std::span<const std::byte> body);
  Outcome<void> reply(const Message& task, std::string_view body = {}) {
    return reply(task, std::as_bytes(std::span(body)));
  }
  /// Answers a task with why it cannot be done, once.
  Outcome<void> refuse(const Message& task, std::string_view why);
  /// Sends a notification on to another peer, as one of one's own.
  Outcome<std::uint64_t> forward(const Message& message, std::string_view peer);

  using Handler = std::function<void(Component&, const Message&)>;
  using EventHandler = std::function<void(Component&, const std::vector<Message>&)>;
  /// For launch(): messages of this tag. `conflict` when the tag has one.
  Outcome<void> on(std::string tag, Handler handler);
  /// For launch(): as soon as so many have come, `worker:update:60% AND learner:ready:1`. `invalid` names the column at
  /// which the event cannot be understood.
  Outcome<void> when(std::string_view event, EventHandler handler);
  /// Hands messages to their handlers until stop(). Who asks something that has no handler, or whose handler throws, is
  /// refused; the loop goes on. Ends with a reason when the group cannot go on.
  Outcome<void> launch();
  void stop();

  /// Are called on some thread of the library; they may send, and must not wait. Set them before join().
  void on_peer_up(std::function<void(const std::string& peer)> call);
  void on_peer_down(std::function<void(const Lost&)> call);

  /// Waits for at most so long until everything has arrived, and leaves the group. Gives the ids of messages of which
  /// nobody has said that they arrived.
  std::vector<std::uint64_t> close(Wait linger = std::chrono::seconds(1));

  Counters counters() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

/// The events of when(), built in C++: from("worker").tag("update").percent(60) && from("learner").tag("ready").
class Event {
 public:
  explicit Event(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  friend Event operator&&(const Event& a, const Event& b) { return Event("(" + a.text_ + " AND " + b.text_ + ")"); }
  friend Event operator||(const Event& a, const Event& b) { return Event("(" + a.text_ + " OR " + b.text_ + ")"); }

 private:
  std::string text_;
};

class EventTerm {
 public:
  explicit EventTerm(std::string source) : source_(std::move(source)) {}
  EventTerm& tag(std::string name) { return tag_ = std::move(name), *this; }
  EventTerm& count(std::uint32_t messages) { return amount_ = std::to_string(messages), *this; }
  EventTerm& percent(std::uint32_t of_peers) { return amount_ = std::to_string(of_peers) + "%", *this; }
  EventTerm& distinct_sources() { return distinct_ = ":distinct", *this; }
  operator Event() const { return Event(source_ + ":" + tag_ + ":" + amount_ + distinct_); }

 private:
  std::string source_;
  std::string tag_ = "*";
  std::string amount_ = "1";
  std::string distinct_;
};

/// Messages from a type, from one peer, or from anybody ("*").
inline EventTerm from(std::string source) { return EventTerm(std::move(source)); }
inline Event operator&&(const EventTerm& a, const EventTerm& b) { return Event(a) && Event(b); }
inline Event operator||(const EventTerm& a, const EventTerm& b) { return Event(a) || Event(b); }

/// What a plain class does when messages come: handlers<Learner>().on("train", …).when(from("worker")…, …).
template <class Local>
class Handlers {
 public:
  using On = std::function<void(Local&, Component&, const Message&)>;
  using When = std::function<void(Local&, Component&, const std::vector<Message>&)>;
  Handlers& on(std::string tag, On handler) { return ons_.emplace_back(std::move(tag), std::move(handler)), *this; }
  Handlers& when(const Event& event, When handler) {
    return whens_.emplace_back(event.text(), std::move(handler)), *this;
  }

  Outcome<void> bind(Local& local, Component& component) const {
    for (const auto& [tag, handler] : ons_) {
      const auto call = [&local, handler = handler](Component& c, const Message& m) { handler(local, c, m); };
      if (Outcome<void> bound = component.on(tag, call); !bound) return bound;
    }
    for (const auto& [event, handler] : whens_) {
      const auto call = [&local, handler = handler](Component& c, const std::vector<Message>& m) {
        handler(local, c, m);
      };
      if (Outcome<void> bound = component.when(event, call); !bound) return bound;
    }
    return {};
  }

 private:
  std::vector<std::pair<std::string, On>> ons_;
  std::vector<std::pair<std::string, When>> whens_;
};

template <class Local>
Handlers<Local> handlers() {
  return {};
}

/// A plain class that messages reach, and that can still be used as it is: node->train(batch).
template <class Local>
class Node {
 public:
  Node(std::unique_ptr<Local> local, Component& component) : local_(std::move(local)), component_(component) {}
  Local* operator->() { return local_.get(); }
  Local& operator*() { return *local_; }
  Outcome<void> launch() { return component_.launch(); }

 private:
  std::unique_ptr<Local> local_;  // its handlers hold on to where it is
  Component& component_;
};

/// Throws OutcomeError when an event cannot be understood or a tag has two handlers. The component must outlive it.
template <class Local>
Node<Local> dist(Local local, Component& component, const Handlers<Local>& table) {
  auto owned = std::make_unique<Local>(std::move(local));
  table.bind(*owned, component).value();
  return Node<Local>(std::move(owned), component);
}

}  // namespace cadre
