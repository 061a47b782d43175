/// An actor as its client has it: from the wish for one to its process, its object, its calls and its end. The loop's
/// side is told what happens by its session; all else may be called on any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/actors/actor_card.h"
#include "client/actors/callbacks.h"
#include "client/actors/printer.h"
#include "client/actors/wire.h"
#include "client/engine.h"
#include "cluster/job.h"
#include "cluster/views/jobs.h"
#include "remote/caller.h"

namespace cadre::client {

/// What becomes of a call. Safe on any thread.
class Answer {
 public:
  /// Whether it is known.
  bool is_there() const { return is_there_.load(std::memory_order_acquire); }
  /// Once it is there: what the actor said (a value, an error of its own), or why it said nothing.
  const Result<Heard>& get() const { return heard_; }
  Result<Heard>& get() { return heard_; }
  /// Is called once it is there: at once, or on the thread of the session's callbacks.
  void then(Callbacks::Call call);

 private:
  friend class Actor;
  /// What is to be called now.
  [[nodiscard]] std::vector<Callbacks::Call> settle(Result<Heard> heard);

  std::mutex mutex_;
  std::vector<Callbacks::Call> thens_;
  Result<Heard> heard_;
  std::atomic<bool> is_there_ = false;
};

/// Bytes that are kept: what is sent again when an actor is made anew, or a call repeated.
struct Kept {
  std::string name;
  Bytes body;
  std::vector<Bytes> parts;
};

struct ActorOptions {
  cluster::JobSpec job;  ///< with one member
  Kept create;           ///< the class by name, and what its object is made of
  remote::Caller::Rules rules;
  std::size_t calls_max = 10'000;                 ///< that have not ended
  Duration place_wait = std::chrono::minutes(5);  ///< for a place on the cluster, and its process
};

class Actor final : public std::enable_shared_from_this<Actor>, private Wire::User {
 public:
  /// What an actor needs of its session; all on the loop.
  class Place {
   public:
    virtual ~Place() = default;
    virtual Engine& engine() = 0;
    virtual Callbacks& callbacks() = 0;
    virtual const net::Keys& keys() = 0;
    /// A job is wanted; begun() or failed() follows, also for an actor that is over by then. So long it may take the
    /// master to be there.
    virtual void submit(const std::shared_ptr<Actor>& actor, const cluster::JobSpec& job, Duration wait) = 0;
    /// Nobody needs that job any more.
    virtual void kill(cluster::JobId job) = 0;
    /// This actor is over.
    virtual void forget(cluster::JobId job) = 0;
    /// The actor has written these lines.
    virtual void show(const Actor& actor, Printer::Stream stream, std::string_view lines) = 0;
  };
  /// What has to happen before it can be called.
  enum class Await : std::uint8_t { master, place, process, nothing };

  Actor(Place& place, ActorOptions options);
  ~Actor() override;

  // For any thread.

  /// What it sends is looked at before this returns, unless it waits for its turn or may be repeated: then it is
  /// copied.
  struct Saying {
    remote::Verb verb = remote::Verb::call;
    std::string_view name;
    BytesView body;
    std::span<const BytesView> parts;
  };
  /// `unavailable` when too many calls have not ended for so long, or too much is not sent.
  [[nodiscard]] Result<std::shared_ptr<Answer>> call(const Saying& saying, TimePoint deadline);
  void cancel(const Answer& answer);
  /// Waits for the object to be made; what its constructor said if that failed.
  [[nodiscard]] Result<std::shared_ptr<Answer>> created(TimePoint deadline);
  /// Says whether it came in time. Not in a child process.
  bool wait(const Answer& answer, TimePoint deadline);
  /// Calls that wait for others, to go with them, go now.
  void flush();
  /// `conflict` in a child process of who made it.
  [[nodiscard]] Result<void> check_process() const;
  /// Ends it; calls that have not ended fail.
  void end();
  cluster::JobId job() const;
  std::uint32_t restarts() const;
  bool is_over() const;

  // For the loop.

  void begin();
  void begun(cluster::JobId job);
  void failed(const Error& error);
  void news(const cluster::requests::JobView& job);
  const std::string& class_name() const { return options_.job.actor; }
  Await awaits() const { return awaits_; }
  TimePoint awaits_since() const { return awaits_since_; }
  /// The session ends: so does this, at once.
  void drop(const Error& why);

 private:
  struct Call {
    remote::Verb verb = remote::Verb::call;
    std::shared_ptr<Answer> answer;
    std::optional<Kept> kept;  ///< while it may have to be sent (again)
    std::size_t kept_bytes = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void opened() override;
  void heard(Heard heard) override;
  void drained() override { place_.engine().changed(); }
  void lost(Error error) override;

  void await(Await what);
  Error too_late() const;
  void connect();
  void connect_to(std::size_t address);
  void come_to_nothing(const Error& error);
  void died(Error why, remote::Caller::Fault fault);
  void forget_call(std::map<std::uint64_t, Call>::iterator call);
  /// With the lock held: performs what the core wants; what is settled is settled by `settle_all`, without it.
  struct Fresh {
    const Saying& saying;
    const Wire::Shared& shared;
  };
  void perform(const Fresh* fresh);
  void settle_all(Lock& lock);
  void settle(Answer& answer, Result<Heard> heard);
  void send_kept(std::uint64_t id, const Call& call);
  Wire::Urgency urgency() const;

  Place& place_;
  const ActorOptions options_;
  const pid_t pid_;  ///< a child process inherits it, and must not use it

  mutable std::mutex mutex_;
  remote::Caller core_;
  std::map<std::uint64_t, Call> calls_;
  std::size_t kept_bytes_ = 0;
  std::vector<std::pair<std::shared_ptr<Answer>, Result<Heard>>> settled_;
  std::shared_ptr<Wire> wire_;
  std::shared_ptr<Answer> created_ = std::make_shared<Answer>();
  cluster::JobId job_;
  bool wants_restart_ = false;

  // For the loop.
  std::optional<ActorCard> card_;
  std::string known_card_;
  std::vector<net::PipeAddress> addresses_;
  Await awaits_ = Await::master;
  TimePoint awaits_since_;
  std::string agent_;  ///< where it has its place
  std::size_t address_ = 0;
  bool was_connected_ = false;  ///< to the process of this card
  Error last_error_;            ///< why an address did not do
  std::optional<std::pair<Error, remote::Caller::Fault>> end_of_job_;
  loop::Timer patience_;  ///< until it is given up
  loop::Timer again_;
};

}  // namespace cadre::client
