/// A named member of a group of processes that finds the others by their names and speaks with them. Components may be
/// used from any thread; handlers run one at a time, on the thread that called launch(), but for those that are
/// `concurrent`.
///
///   cadre::Component component({.group = "demo", .type = "worker", .peers = {{"learner", 1}}, .names =
///   "file:///tmp/demo"}); component.join().value(); component.request("learner-1", "ask", "how much?").value().text();
///
/// Messages between two components arrive in the order in which they were sent, each at most once. When a peer is lost,
/// on_peer_down tells the ids of those of which nobody knows whether they arrived; nothing is dropped in silence.
///
/// Bodies are bytes, or values (cadre/value.h) that Python reads, too: request<Model>("learner-1", "train", batch).
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
#include <type_traits>
#include <utility>
#include <vector>

#include "cadre/detail/signature.h"
#include "cadre/outcome.h"
#include "cadre/value.h"

namespace cadre {

class Component;
namespace detail {
class PendingHandle;
}

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
  /// The body as a value. Throws ValueError, which names the place, when it is none of that type.
  template <class T>
  T value() const {
    const ValueReader reader(body_, held_);
    return read_value<T>(reader.root());
  }
  /// Keeps the bytes of body() alive.
  std::shared_ptr<const void> owner() const { return held_; }

 private:
  friend class Component;
  friend class detail::PendingHandle;
  std::span<const std::byte> body_;
  std::shared_ptr<void> held_;  // shared by all copies: the bytes, and whether it was answered
};

/// What one of many peers said, or why it said nothing.
struct Reply {
  std::string peer;
  Outcome<Message> outcome;
};

/// A value as the body of a message; nullptr stands for none. The numbers of large arrays are aligned where they arrive
/// if `lead` is Component::lead_of() the message's tag.
template <class T>
ValueWriter packed(const T& value, std::size_t lead = 0) {
  ValueWriter writer(ValueWriter::Rows::inside, lead);
  if constexpr (std::is_null_pointer_v<T>) {
    writer.null();
  } else {
    write_value(writer, value);
  }
  return writer;
}

/// Whether a handler waits for others.
enum class Turn : std::uint8_t {
  alone,       ///< runs when no other does, but for the concurrent ones
  concurrent,  ///< runs on a thread of its own
};
inline constexpr Turn concurrent = Turn::concurrent;

namespace detail {
/// Calls a function of values with that of the message, and replies with its result.
template <class Signature, class Call>
void answer(Component& component, const Message& message, const Call& call);

/// What stands behind a Pending. Copies are of the same.
class PendingHandle {
 public:
  bool wait(Wait wait) const;
  bool is_there() const;
  void then(std::function<void()> call) const;
  void cancel() const;
  // Once it is there.
  void take(Outcome<Message>& to) const;
  void take(Outcome<std::uint64_t>& to) const;

 private:
  friend class cadre::Component;
  struct Inside;
  std::shared_ptr<Inside> inside_;
};
}  // namespace detail

/// What becomes of a message that was sent without waiting. Copies are of the same message. One that is ready may be
/// used after the component has ended; closing a component makes all of them ready.
template <class T>
class Pending {
 public:
  explicit Pending(detail::PendingHandle handle) : handle_(std::move(handle)) {}

  /// What the call that waits would have given; `timed_out` when it is not there in time.
  Outcome<T> get(Wait wait = std::chrono::hours(24 * 366)) const {
    Outcome<T> outcome = Reason{Reason::Code::timed_out, "it is not there in time"};
    if (handle_.wait(wait)) handle_.take(outcome);
    return outcome;
  }
  /// Whether get() would not wait.
  bool ready() const { return handle_.is_there(); }
  /// Calls it once this is ready: at once, or on a thread of the library that runs such calls one after another.
  void then(std::function<void(const Pending&)> call) const {
    handle_.then([self = *this, call = std::move(call)] { call(self); });
  }
  /// The answer is not wanted any more; the message is not sent if it still waits for room. get() gives `conflict`.
  void cancel() const { handle_.cancel(); }

 private:
  detail::PendingHandle handle_;
};

/// The same of one among many peers.
struct PendingReply {
  std::string peer;
  Pending<Message> reply;
};

class Component {
 public:
  enum class Overflow : std::uint8_t {
    block,        ///< until there is room, or the time is over
    fail,         ///< at once
    drop_oldest,  ///< of those that were not sent; counted. Waits while all of them are under way
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
    std::size_t concurrent_max = 4;                      ///< of concurrent handlers run at a time; as many may wait
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
  /// The same of a value.
  template <class T>
  Outcome<std::uint64_t> send_value(std::string_view peer, std::string_view tag, const T& value) {
    return send(peer, tag, packed(value, lead_of(tag)).take(), Sending{});
  }
  /// The same without a copy.
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                              const Sending& how);
  /// Waits for the answer; `refused` when the other side could not give one.
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                           const Sending& how);
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                           const Sending& how);
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::string_view body = {},
                           Wait wait = std::chrono::seconds(30)) {
    return request(peer, tag, std::as_bytes(std::span(body)), Sending{0, false, wait});
  }
  /// Asks with a value, and reads the answer as one: request<Model>("learner-1", "train", batch). `corrupt` names the
  /// place at which the answer is another. For an answer without a value it is request<void>(…).
  template <class T, class Given>
  Outcome<T> request(std::string_view peer, std::string_view tag, const Given& value, const Sending& how) {
    const Outcome<Message> answer = request(peer, tag, packed(value, lead_of(tag)).take(), how);
    if (!answer) return answer.reason();
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      try {
        return answer->template value<T>();
      } catch (const ValueError& error) {
        return Reason{Reason::Code::corrupt,
                      "the answer of " + std::string(peer) + " to '" + std::string(tag) + "': " + error.what()};
      }
    }
  }
  template <class T, class Given = std::nullptr_t>
  Outcome<T> request(std::string_view peer, std::string_view tag, const Given& value = {},
                     Wait wait = std::chrono::seconds(30)) {
    return request<T>(peer, tag, value, Sending{0, false, wait});
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

  // The same without waiting. Messages to one peer are sent in the order of all these calls, those that wait among
  // them; with Overflow::block a message for which there is no room is sent later, and at most queue_max of them wait
  // for it.
  /// Ready when the message has a place among those that are sent, with its id.
  Pending<std::uint64_t> send_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                    const Sending& how);
  /// Ready when the answer is there, or there will be none.
  Pending<Message> request_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                 const Sending& how);
  /// The same of values: request_async("learner-1", "train", batch).get()->value<Model>().
  template <class T>
  Pending<std::uint64_t> send_async(std::string_view peer, std::string_view tag, const T& value,
                                    const Sending& how = {}) {
    return send_async(peer, tag, packed(value, lead_of(tag)).take(), how);
  }
  template <class T>
  Pending<Message> request_async(std::string_view peer, std::string_view tag, const T& value, const Sending& how = {}) {
    return request_async(peer, tag, packed(value, lead_of(tag)).take(), how);
  }
  std::vector<PendingReply> broadcast_async(std::string_view type, std::string_view tag,
                                            std::span<const std::byte> body, const Sending& how);
  std::vector<PendingReply> scatter_async(const std::vector<Parcel>& parcels, const Sending& how);

  /// What stands before the body of a message of this tag, for packed().
  static std::size_t lead_of(std::string_view tag);

  /// The next message; `timed_out` when none comes in time.
  Outcome<Message> receive(Wait wait = std::chrono::seconds(30));
  /// Answers a task, once. The answer has the tag of the task unless another is given.
  Outcome<void> reply(const Message& task, std::span<const std::byte> body, std::string_view tag = {});
  Outcome<void> reply(const Message& task, std::vector<std::byte>&& body, std::string_view tag = {});
  Outcome<void> reply(const Message& task, std::string_view body = {}, std::string_view tag = {}) {
    return reply(task, std::as_bytes(std::span(body)), tag);
  }
  template <class T>
  Outcome<void> reply_value(const Message& task, const T& value, std::string_view tag = {}) {
    return reply(task, packed(value, lead_of(tag.empty() ? std::string_view(task.tag) : tag)).take(), tag);
  }
  /// Whether a task was answered.
  static bool is_answered(const Message& task);
  /// Answers a task with why it cannot be done, once.
  Outcome<void> refuse(const Message& task, std::string_view why);
  /// Sends a notification on to another peer, as one of one's own.
  Outcome<std::uint64_t> forward(const Message& message, std::string_view peer);

  using Handler = std::function<void(Component&, const Message&)>;
  using EventHandler = std::function<void(Component&, const std::vector<Message>&)>;
  /// For launch(): messages of this tag. `conflict` when the tag has one.
  Outcome<void> on(std::string tag, Handler handler, Turn turn = Turn::alone);
  /// The same of a function of values: it gets that of the message, and its result is the reply. Who sends another
  /// value is refused with its place. Several arguments come as a list; without any there is no value.
  template <class Call>
  requires(!std::is_convertible_v<Call, Handler>) Outcome<void> on(std::string tag, Call call,
                                                                   Turn turn = Turn::alone) {
    return on(std::move(tag), Handler([call = std::move(call)](Component& c, const Message& m) {
                detail::answer<detail::Signature<Call>>(c, m, call);
              }),
              turn);
  }
  /// For launch(): as soon as so many have come, `worker:update:60% AND learner:ready:1`. `invalid` names the column at
  /// which the event cannot be understood.
  Outcome<void> when(std::string_view event, EventHandler handler);
  /// Hands messages to their handlers until stop(). Who asks something that has no handler, or whose handler throws, is
  /// refused; the loop goes on. Ends when the last concurrent handler has, with a reason when the group cannot go on.
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
  friend class detail::PendingHandle;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

template <class Signature, class Call>
void detail::answer(Component& component, const Message& message, const Call& call) {
  const auto arguments = [&message] {
    try {
      return Signature::read(message.body(), message.owner());
    } catch (const ValueError& error) {
      throw ValueError(std::string("it takes another value: ") + error.what());
    }
  };
  ValueWriter result = Signature::call(call, arguments(), Component::lead_of(message.tag));
  if (message.kind == Message::Kind::task) component.reply(message, result.take()).value();
}

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
  /// So many messages, at most one for each peer that is there.
  EventTerm& count(std::uint32_t messages) { return amount_ = std::to_string(messages), *this; }
  EventTerm& percent(std::uint32_t of_peers) { return amount_ = std::to_string(of_peers) + "%", *this; }
  /// So many messages, even if that is more than there are peers.
  EventTerm& total(std::uint32_t messages) { return amount_ = std::to_string(messages) + ":total", *this; }
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
  Handlers& on(std::string tag, On handler, Turn turn = Turn::alone) {
    return ons_.push_back({std::move(tag), std::move(handler), turn}), *this;
  }
  /// A method of values, as a function of them for Component::on: on("train", &Learner::train).
  template <class Method>
  requires(std::is_member_function_pointer_v<Method> &&
           !std::is_convertible_v<Method, On>) Handlers& on(std::string tag, Method method, Turn turn = Turn::alone) {
    const auto call = [method](Local& local, Component& c, const Message& m) {
      detail::answer<detail::Signature<Method>>(c, m,
                                                [&local, method]<class... Given>(Given&&... given) -> decltype(auto) {
                                                  return (local.*method)(std::forward<Given>(given)...);
                                                });
    };
    return on(std::move(tag), On(call), turn);
  }
  Handlers& when(const Event& event, When handler) {
    return whens_.emplace_back(event.text(), std::move(handler)), *this;
  }

  Outcome<void> bind(Local& local, Component& component) const {
    for (const Entry& entry : ons_) {
      const auto call = [&local, handler = entry.handler](Component& c, const Message& m) { handler(local, c, m); };
      if (Outcome<void> bound = component.on(entry.tag, call, entry.turn); !bound) return bound;
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
  struct Entry {
    std::string tag;
    On handler;
    Turn turn;
  };
  std::vector<Entry> ons_;
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
