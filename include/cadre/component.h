/// A component is a named member of a group of processes. It discovers the other members by name and exchanges messages
/// with them. All functions are thread-safe. Handlers run one at a time, on the thread that called launch(), except
/// `concurrent` handlers.
///
///   cadre::Component component({.group = "demo", .type = "worker", .peers = {{"learner", 1}}});
///   component.join().value();
///   component.request("learner-1", "ask", "how much?").value().text();
///
/// Messages between two components arrive in the order in which they were sent, each at most once. When a peer is lost,
/// on_peer_down reports the ids of messages whose delivery is unknown; no message is lost silently.
///
/// Bodies are bytes, or values (cadre/value.h) that Python can read too: request<Model>("learner-1", "train", batch).
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
    notification,  ///< a one-way message
    task,          ///< expects a reply: Component::reply
  };
  std::string tag;
  std::string source;
  std::string source_type;
  std::string destination;
  std::uint64_t session = 0;  ///< number of the conversation, set by the sender
  std::uint64_t id = 0;       ///< number of the message, set by the sender
  Kind kind = Kind::notification;

  std::span<const std::byte> body() const { return body_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(body_.data()), body_.size()}; }
  /// The body as a value. Throws ValueError, with the position, if the body is not a value of this type.
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
  std::shared_ptr<void> held_;  // shared by all copies: the bytes, and whether a reply was sent
};

/// The reply of one peer to a broadcast or scatter, or its error.
struct Reply {
  std::string peer;
  Outcome<Message> outcome;
};

/// Encodes a value as the body of a message; nullptr is encoded as null. With `lead` set to Component::lead_of(tag),
/// the numbers of large arrays are aligned in the memory of the receiver.
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

/// Whether a handler may run at the same time as other handlers.
enum class Turn : std::uint8_t {
  alone,       ///< does not run at the same time as another handler of this kind
  concurrent,  ///< runs on its own thread, at the same time as other handlers
};
inline constexpr Turn concurrent = Turn::concurrent;

namespace detail {
/// Decodes the message, calls the function with the values, and replies with its result.
template <class Signature, class Call>
void answer(Component& component, const Message& message, const Call& call);

/// The shared state of a Pending. Copies share it.
class PendingHandle {
 public:
  bool wait(Wait wait) const;
  bool is_there() const;
  void then(std::function<void()> call) const;
  void cancel() const;
  // Only when is_there() is true.
  void take(Outcome<Message>& to) const;
  void take(Outcome<std::uint64_t>& to) const;

 private:
  friend class cadre::Component;
  struct Inside;
  std::shared_ptr<Inside> inside_;
};
}  // namespace detail

/// The future of a message that was sent without waiting. Copies refer to the same message. A ready future may be used
/// after its component has been destroyed. Closing a component makes all its futures ready.
template <class T>
class Pending {
 public:
  explicit Pending(detail::PendingHandle handle) : handle_(std::move(handle)) {}

  /// Returns what the blocking call would; `timed_out` if the future is not ready in time.
  Outcome<T> get(Wait wait = std::chrono::hours(24 * 366)) const {
    Outcome<T> outcome = Reason{Reason::Code::timed_out, "it did not arrive in time"};
    if (handle_.wait(wait)) handle_.take(outcome);
    return outcome;
  }
  /// Whether get() would not wait.
  bool ready() const { return handle_.is_there(); }
  /// Calls `call` when this future is ready: at once, or later on the callback thread, which runs one call at a time.
  void then(std::function<void(const Pending&)> call) const {
    handle_.then([self = *this, call = std::move(call)] { call(self); });
  }
  /// Discards the reply. A message that still waits for queue space is not sent. get() returns `conflict`.
  void cancel() const { handle_.cancel(); }

 private:
  detail::PendingHandle handle_;
};

/// The future reply of one peer to a broadcast or scatter.
struct PendingReply {
  std::string peer;
  Pending<Message> reply;
};

class Component {
 public:
  enum class Overflow : std::uint8_t {
    block,        ///< wait until there is room, or until the timeout
    fail,         ///< fail at once
    drop_oldest,  ///< drop and count the oldest unsent message; wait if all messages are being sent
  };
  struct Options {
    std::string group;
    std::string type;
    std::string name{};                          ///< empty: a generated name
    std::map<std::string, std::size_t> peers{};  ///< number of peers of each type that join() waits for
    std::string names{};                         ///< URL of the names backend (cadre/names.h); empty: the master
    std::string host = "127.0.0.1";              ///< address at which peers reach this component
    bool rejoin = false;                         ///< messages to a lost peer wait for the next component of that name
    std::map<std::string, std::size_t> minimal_peers{};  ///< the group ends if it has fewer peers of a type …
    Wait minimal_wait = std::chrono::seconds(30);        ///< … for longer than this
    std::size_t concurrent_max = 4;                      ///< concurrent handlers that run at a time; as many may wait
    Overflow overflow = Overflow::block;
    std::size_t queue_max = 10'000;              ///< maximum number of messages queued for one peer
    std::size_t queue_bytes_max = 64 << 20;      ///< maximum size of that queue; a larger message is queued alone
    Wait heartbeat = std::chrono::seconds(1);    ///< interval between heartbeats
    Wait silence_max = std::chrono::seconds(3);  ///< a peer without a heartbeat for longer is lost
  };
  /// Options for sending one message.
  struct Sending {
    std::uint64_t session = 0;
    bool reliable = false;  ///< resent after a lost connection; delivered only once
    Wait wait = std::chrono::seconds(30);
  };
  struct Lost {
    std::string peer;
    std::string why;
    std::vector<std::uint64_t> ids;  ///< messages whose delivery is unknown
  };
  struct Counters {
    std::uint64_t strangers = 0;  ///< frames from unauthenticated peers
    std::uint64_t malformed = 0;
    std::uint64_t dropped = 0;           ///< messages dropped because a queue was full
    std::uint64_t late = 0;              ///< replies that arrived after their request had failed
    std::uint64_t handler_failures = 0;  ///< failed handlers of one-way messages; for a task, the sender gets an error
    std::uint64_t without_handler = 0;
  };

  explicit Component(Options options);
  Component(Component&&) noexcept;
  Component& operator=(Component&&) noexcept;
  /// Like close() without waiting.
  ~Component();

  /// Returns when every expected peer is reachable; otherwise `timed_out`, with the names of those that are not.
  Outcome<void> join(Wait wait = std::chrono::seconds(30));

  const std::string& name() const;
  /// Peers that are reachable now, of one type or of all types.
  std::vector<std::string> peers(std::string_view type = "") const;

  /// Sends a one-way message and returns its id.
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                              const Sending& how);
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::string_view body = {}) {
    return send(peer, tag, std::as_bytes(std::span(body)), Sending{});
  }
  /// Like send(), with a value as the body.
  template <class T>
  Outcome<std::uint64_t> send_value(std::string_view peer, std::string_view tag, const T& value) {
    return send(peer, tag, packed(value, lead_of(tag)).take(), Sending{});
  }
  /// Like send(), without a copy of the body.
  Outcome<std::uint64_t> send(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                              const Sending& how);
  /// Sends a request and waits for the reply; `refused` if the peer refused the request.
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::span<const std::byte> body,
                           const Sending& how);
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                           const Sending& how);
  Outcome<Message> request(std::string_view peer, std::string_view tag, std::string_view body = {},
                           Wait wait = std::chrono::seconds(30)) {
    return request(peer, tag, std::as_bytes(std::span(body)), Sending{0, false, wait});
  }
  /// Sends a value as a request and decodes the reply: request<Model>("learner-1", "train", batch). If the reply has
  /// another type, the error is `corrupt` and names the position. Use request<void>(…) for a reply without a value.
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
  /// Sends a request to all peers of a type at once; returns one reply or error for each.
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
  /// Sends each parcel as a request; returns one reply or error for each, in the same order.
  std::vector<Reply> scatter(const std::vector<Parcel>& parcels, const Sending& how);

  // The same calls without waiting. Messages to one peer keep the order of the calls, blocking or not. With
  // Overflow::block, a message that finds the queue full waits in the background; at most queue_max messages wait.
  /// Returns a future of the id, which is ready when the message is in the queue for its peer.
  Pending<std::uint64_t> send_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                    const Sending& how);
  /// Returns a future of the reply.
  Pending<Message> request_async(std::string_view peer, std::string_view tag, std::vector<std::byte>&& body,
                                 const Sending& how);
  /// The same with values: request_async("learner-1", "train", batch).get()->value<Model>().
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

  /// Number of bytes before the body in a message with this tag, for packed().
  static std::size_t lead_of(std::string_view tag);

  /// Returns the next message; `timed_out` if none arrives in time.
  Outcome<Message> receive(Wait wait = std::chrono::seconds(30));
  /// Replies to a task, once. The reply has the tag of the task unless another one is given.
  Outcome<void> reply(const Message& task, std::span<const std::byte> body, std::string_view tag = {});
  Outcome<void> reply(const Message& task, std::vector<std::byte>&& body, std::string_view tag = {});
  Outcome<void> reply(const Message& task, std::string_view body = {}, std::string_view tag = {}) {
    return reply(task, std::as_bytes(std::span(body)), tag);
  }
  template <class T>
  Outcome<void> reply_value(const Message& task, const T& value, std::string_view tag = {}) {
    return reply(task, packed(value, lead_of(tag.empty() ? std::string_view(task.tag) : tag)).take(), tag);
  }
  /// Whether a reply to this task was sent.
  static bool is_answered(const Message& task);
  /// Replies to a task with an error, once.
  Outcome<void> refuse(const Message& task, std::string_view why);
  /// Forwards a message to another peer, as a one-way message from this component.
  Outcome<std::uint64_t> forward(const Message& message, std::string_view peer);

  using Handler = std::function<void(Component&, const Message&)>;
  using EventHandler = std::function<void(Component&, const std::vector<Message>&)>;
  /// Sets the handler for messages with this tag, which launch() calls; `conflict` if the tag already has a handler.
  Outcome<void> on(std::string tag, Handler handler, Turn turn = Turn::alone);
  /// The same with a function of values: it gets the value of the message, and its result is the reply. Several
  /// parameters expect a list; a function without parameters expects no value. A message with a value of another type
  /// is refused with the position of the error.
  template <class Call>
  requires(!std::is_convertible_v<Call, Handler>) Outcome<void> on(std::string tag, Call call,
                                                                   Turn turn = Turn::alone) {
    return on(std::move(tag), Handler([call = std::move(call)](Component& c, const Message& m) {
                detail::answer<detail::Signature<Call>>(c, m, call);
              }),
              turn);
  }
  /// Sets the handler for an event, for example `worker:update:60% AND learner:ready:1`, which launch() calls with the
  /// messages; `invalid`, with the column, if the event is malformed.
  Outcome<void> when(std::string_view event, EventHandler handler);
  /// Passes messages to their handlers until stop(). A request without a handler, or whose handler throws, is refused;
  /// the loop continues. Returns when the last concurrent handler has finished, with a reason if the group ended
  /// because of `minimal_peers`.
  Outcome<void> launch();
  void stop();

  /// Callbacks, called on a thread of the library. They may send messages but must not block. Set them before join().
  void on_peer_up(std::function<void(const std::string& peer)> call);
  void on_peer_down(std::function<void(const Lost&)> call);

  /// Waits up to `linger` until all messages are acknowledged, and leaves the group. Returns the ids of messages that
  /// were not acknowledged.
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

/// An event for when(), built in C++: from("worker").tag("update").percent(60) && from("learner").tag("ready").
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
  /// This many messages, capped at the number of reachable peers.
  EventTerm& count(std::uint32_t messages) { return amount_ = std::to_string(messages), *this; }
  EventTerm& percent(std::uint32_t of_peers) { return amount_ = std::to_string(of_peers) + "%", *this; }
  /// This many messages, without the cap.
  EventTerm& total(std::uint32_t messages) { return amount_ = std::to_string(messages) + ":total", *this; }
  EventTerm& distinct_sources() { return distinct_ = ":distinct", *this; }
  operator Event() const { return Event(source_ + ":" + tag_ + ":" + amount_ + distinct_); }

 private:
  std::string source_;
  std::string tag_ = "*";
  std::string amount_ = "1";
  std::string distinct_;
};

/// Messages from a type, from one peer, or from any sender ("*").
inline EventTerm from(std::string source) { return EventTerm(std::move(source)); }
inline Event operator&&(const EventTerm& a, const EventTerm& b) { return Event(a) && Event(b); }
inline Event operator||(const EventTerm& a, const EventTerm& b) { return Event(a) || Event(b); }

/// The handlers of a plain class: handlers<Learner>().on("train", …).when(from("worker")…, …).
template <class Local>
class Handlers {
 public:
  using On = std::function<void(Local&, Component&, const Message&)>;
  using When = std::function<void(Local&, Component&, const std::vector<Message>&)>;
  Handlers& on(std::string tag, On handler, Turn turn = Turn::alone) {
    return ons_.push_back({std::move(tag), std::move(handler), turn}), *this;
  }
  /// A method of values, as in Component::on: on("train", &Learner::train).
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

/// An object of a plain class that receives messages. It can still be used directly: node->train(batch).
template <class Local>
class Node {
 public:
  Node(std::unique_ptr<Local> local, Component& component) : local_(std::move(local)), component_(component) {}
  Local* operator->() { return local_.get(); }
  Local& operator*() { return *local_; }
  Outcome<void> launch() { return component_.launch(); }

 private:
  std::unique_ptr<Local> local_;  // on the heap, because its handlers refer to it
  Component& component_;
};

/// Makes an object reachable by messages. Throws OutcomeError if an event is malformed or a tag has two handlers. The
/// component must outlive the node.
template <class Local>
Node<Local> dist(Local local, Component& component, const Handlers<Local>& table) {
  auto owned = std::make_unique<Local>(std::move(local));
  table.bind(*owned, component).value();
  return Node<Local>(std::move(owned), component);
}

}  // namespace cadre
