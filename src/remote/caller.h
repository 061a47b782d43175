/// The calls that one client has made to one actor, from the moment they are asked for to their end: what is sent when,
/// what becomes of calls whose process dies, when the actor is made anew. Pure: no clock, no I/O; the same news gives
/// the same effects. One thread at a time.
///
/// Calls are sent in the order in which they were made, each to one process at most once. A call of which nobody knows
/// whether it ran fails, unless it may be repeated; one that was not sent waits for the next process, if there is one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cadre::remote {

class Caller {
 public:
  struct Rules {
    std::uint32_t restarts_max = 0;  ///< how often the actor is made anew
    std::uint32_t retries_max = 0;   ///< how often a call is repeated that may have run
  };
  enum class Stage : std::uint8_t {
    placing,   ///< there is no process yet
    creating,  ///< it was told what to be
    ready,
    away,  ///< the connection is lost; the process may live
    over,
  };
  using CallId = std::uint64_t;

  // What is to be done.
  struct SendCreate {};
  struct SendCall {
    CallId id;
  };
  struct SendCancel {
    CallId id;
  };
  /// It ends without an answer.
  struct Fail {
    CallId id;
    Error error;
  };
  struct Cancelled {
    CallId id;
  };
  /// Another process is to be started.
  struct Restart {};
  using Effect = std::variant<SendCreate, SendCall, SendCancel, Fail, Cancelled, Restart>;

  explicit Caller(Rules rules) : rules_(rules) {}

  /// A new call. One to an actor that is over fails.
  CallId call();
  /// The call is not wanted any more: one that was not sent is cancelled, another one if it has not begun to run.
  void cancel(CallId id);

  enum class Process : bool { known, fresh };
  void connected(Process process);
  /// The object was made.
  void created();
  /// An answer came, whatever it says. False: nobody waits for it.
  bool answered(CallId id);
  /// The connection is lost.
  void cut();
  /// The process is gone, or never came to be. What ended by its own fault at birth is not made anew.
  enum class Fault : bool { its_own, other };
  void died(const Error& why, Fault fault = Fault::other);
  /// Nobody needs it any more.
  void end(const Error& why);

  [[nodiscard]] std::vector<Effect> take() { return std::exchange(effects_, {}); }

  Stage stage() const { return stage_; }
  /// Whether the present process has said that the object is there.
  bool is_made() const { return is_made_; }
  std::uint32_t restarts() const { return restarts_; }
  /// That were sent, and not answered yet.
  std::size_t sent() const { return sent_.size(); }
  std::size_t open_calls() const { return waiting_.size() + sent_.size(); }
  /// Why it is over.
  const Error& why() const { return why_; }

 private:
  void send_waiting();
  /// Of all that were sent to a process that will not answer.
  void give_up_sent(const Error& error);
  void finish(const Error& why);

  const Rules rules_;
  Stage stage_ = Stage::placing;
  CallId last_ = 0;
  std::map<CallId, std::uint32_t> waiting_;  ///< with how often each was sent before
  std::map<CallId, std::uint32_t> sent_;
  std::uint32_t restarts_ = 0;
  bool is_made_ = false;
  Error why_;
  std::vector<Effect> effects_;
};

}  // namespace cadre::remote
