/// Questions over one link, each known by its number until nobody waits for more answers to it. For the thread of its
/// loop.
///
/// A link does not say that a connection was lost with an answer on it; its counters do, and they are looked at while
/// somebody waits.
#pragma once

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "describe/describe.h"
#include "loop/loop.h"
#include "net/network.h"

namespace cadre::cli {

/// What becomes of a question when the connection is lost before it is answered.
enum class Repeat : std::uint8_t { never, when_lost };

/// How long to wait until it is clear that nobody is there.
constexpr Duration connect_max = std::chrono::seconds(1);

template <class Answer>
class Questions {
 public:
  /// Finds the number in an answer; 0 is for all questions.
  using NumberOf = std::uint64_t (*)(const Answer&);

  Questions(loop::Loop& loop, NumberOf number_of) : loop_(loop), number_of_(number_of) {}

  [[nodiscard]] Result<void> connect(net::Network& network, const std::string& address) {
    net::LinkOptions options{.address = address};
    options.limits.linger = Duration(0);  // what is not answered is not to be done behind the user's back
    TRY_ASSIGN(link, network.connect(std::move(options), [this](const Bytes& bytes) { hear(bytes); }));
    link_ = std::move(link);
    return {};
  }

  std::uint64_t next_number() { return ++last_number_; }
  bool is_connected() const {
    const net::Counters counters = link_->counters();
    return counters.connections > counters.disconnected;
  }

  class Conversation;

 private:
  static constexpr Duration look_every = std::chrono::milliseconds(20);

  void hear(const Bytes& bytes);
  void look_later() {
    look_ = loop_.after(look_every, [this] { look(); });
  }
  void look();

  loop::Loop& loop_;
  NumberOf number_of_;
  std::unique_ptr<net::Link> link_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Conversation*> open_;
  loop::Timer look_;
};

/// One question and its answers. Ending it means that nobody waits for more.
template <class Answer>
class Questions<Answer>::Conversation {
 public:
  Conversation(Questions& questions, std::uint64_t number, Bytes message, Repeat repeat)
      : questions_(questions),
        number_(number),
        message_(std::move(message)),
        repeat_(repeat),
        asked_(questions.loop_.now()) {
    if (questions_.open_.empty()) questions_.look_later();
    questions_.open_.emplace(number_, this);
    send();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  ~Conversation() {
    questions_.open_.erase(number_);
    if (questions_.open_.empty()) questions_.look_.cancel();
  }

  class Next;
  /// co_await next(wait): the next answer, or nothing when there was none for so long or interrupt() came. Unavailable
  /// when nobody was ever there, timed_out when the connection was lost, corrupt when an answer is not understood.
  Next next(Duration wait) { return Next(*this, wait); }

  std::uint64_t number() const { return number_; }

  /// Who waits goes on, with nothing.
  void interrupt() {
    if (waiting_) wake();
  }

 private:
  friend class Questions;

  void send() {
    const net::Counters counters = questions_.link_->counters();
    connections_ = counters.connections;
    losses_ = counters.disconnected;
    Result<void> sent = questions_.link_->send(message_);
    is_unsent_ = !sent && sent.error().code == Errc::unavailable;  // between two connections there may be no room
    if (!sent && !is_unsent_) deliver(Failure(std::move(sent).error()));
  }
  void deliver(Result<Answer> answer) {
    answers_.push_back(std::move(answer));
    if (waiting_) wake();
  }
  void wake() {
    due_ = questions_.loop_.after(Duration(0), [this] { go_on(); });
  }
  void go_on() { std::exchange(waiting_, nullptr).resume(); }

  Questions& questions_;
  const std::uint64_t number_;
  const Bytes message_;
  const Repeat repeat_;
  const TimePoint asked_;
  bool is_unsent_ = false;
  std::uint64_t connections_ = 0;  ///< that there had been when it was last sent
  std::uint64_t losses_ = 0;       ///< the same, of those that were lost
  std::deque<Result<Answer>> answers_;
  std::coroutine_handle<> waiting_;
  loop::Timer due_;
};

template <class Answer>
class [[nodiscard]] Questions<Answer>::Conversation::Next {
 public:
  Next(Conversation& owner, Duration wait) : owner_(owner), wait_(wait) {}
  Next(const Next&) = delete;
  Next& operator=(const Next&) = delete;
  ~Next() {
    owner_.waiting_ = nullptr;
    owner_.due_.cancel();
  }

  bool await_ready() const { return !owner_.answers_.empty(); }
  void await_suspend(std::coroutine_handle<> waiting) {
    owner_.waiting_ = waiting;
    owner_.due_ = owner_.questions_.loop_.after(wait_, [conversation = &owner_] { conversation->go_on(); });
  }
  Result<std::optional<Answer>> await_resume() {
    if (owner_.answers_.empty()) return std::optional<Answer>();
    Result<Answer> answer = std::move(owner_.answers_.front());
    owner_.answers_.pop_front();
    return std::move(answer).map([](Answer one) { return std::optional<Answer>(std::move(one)); });
  }

 private:
  Conversation& owner_;
  Duration wait_;
};

template <class Answer>
void Questions<Answer>::hear(const Bytes& bytes) {
  describe::Bounds bounds;
  bounds.nodes = 20'000'000;  // a list of all jobs is long, and who sends it is our own master
  auto answer = describe::read_msgpack<Answer>(bytes, bounds);
  if (!answer) {
    const Error error = describe::to_error(answer.error(), "the master's answer");
    for (const auto& [number, one] : open_) one->deliver(fail(Errc::corrupt, error.message));
    return;
  }
  const std::uint64_t number = number_of_(*answer);
  if (number == 0) {
    for (const auto& [each, one] : open_) one->deliver(*answer);
  } else if (const auto found = open_.find(number); found != open_.end()) {
    found->second->deliver(*std::move(answer));
  }
}

template <class Answer>
void Questions<Answer>::look() {
  look_later();
  const net::Counters counters = link_->counters();
  for (const auto& [number, one] : open_) {
    const bool is_new = counters.connections > std::max<std::uint64_t>(one->connections_, 1);
    if (counters.connections == 0 && loop_.now() - one->asked_ > connect_max) {
      one->deliver(fail(Errc::unavailable, "nobody listens there"));
    } else if (one->is_unsent_ || (is_new && one->repeat_ == Repeat::when_lost)) {
      one->send();
    } else if (counters.disconnected > one->losses_ && one->repeat_ == Repeat::never) {
      one->losses_ = counters.disconnected;
      one->deliver(fail(Errc::timed_out, "the connection was lost"));
    }
  }
}

}  // namespace cadre::cli
