#include "client/actors/actor.h"

#include <cstdio>
#include <utility>

#include "base/overloaded.h"
#include "base/rounded.h"
#include "client/host_identity.h"
#include "cluster/ending.h"
#include "describe/describe.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Caller;
using remote::Verb;

constexpr Duration reason_wait = 700ms;  ///< for the master to say why a process is gone
constexpr Duration connect_again_after = 100ms;
constexpr Duration reconnect_wait = 10s;
constexpr std::size_t unsent_calls_max = 256 << 20;
/// An actor that has so many calls to answer has something to do: the next may wait for more, and go with them.
constexpr std::size_t busy_from = 16;

Kept keep(const Actor::Saying& saying) {
  Kept kept{std::string(saying.name), {saying.body.begin(), saying.body.end()}, {}};
  for (const BytesView& part : saying.parts) kept.parts.emplace_back(part.begin(), part.end());
  return kept;
}

/// The address is in the last report where the process of the actor, or one between it and the master, is of a version
/// without announcements.
const std::string& address_of(const cluster::requests::TaskView& task) {
  return task.announcement.empty() ? task.last_report : task.announcement;
}

}  // namespace

void Answer::then(Callbacks::Call call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_there()) return thens_.push_back(std::move(call));
  }
  Callbacks::run_here(call);
}

std::vector<Callbacks::Call> Answer::settle(Result<Heard> heard) {
  const std::lock_guard lock(mutex_);
  if (is_there()) return {};
  heard_ = std::move(heard);
  is_there_.store(true, std::memory_order_release);
  return std::exchange(thens_, {});
}

Actor::Actor(Place& place, ActorOptions options)
    : place_(place), options_(std::move(options)), pid_(own_pid()), core_(options_.rules) {}

Actor::~Actor() = default;

// Any thread.

Result<void> Actor::check_process() const {
  if (own_pid() == pid_) return {};
  return fail(Errc::conflict, "the actor belongs to the parent process; create one in this process");
}

Result<std::shared_ptr<Answer>> Actor::call(const Saying& saying, TimePoint deadline) {
  TRY(check_process());
  if (auto obstacle = remote::obstacle_to(saying.name, saying.body, saying.parts)) {
    return fail(Errc::invalid, *std::move(obstacle));
  }
  const auto has_room = [this] {
    const Lock lock(mutex_);
    const bool is_full = calls_.size() >= options_.calls_max || kept_bytes_ >= unsent_calls_max;
    if (core_.stage() == Caller::Stage::over) return true;
    return !is_full && (!wire_ || wire_->unsent() < unsent_calls_max) && place_.callbacks().has_room();
  };
  if (!has_room()) {
    flush();
    const bool came = place_.engine().wait(
        deadline, [] {}, has_room);
    if (!came) return fail(Errc::unavailable, "too many calls to the actor have not ended; wait for some of them");
  }
  // What takes long is done while nobody else has to wait for it.
  const auto open_wire = [this]() -> std::shared_ptr<Wire> {
    const bool goes_at_once = core_.stage() == Caller::Stage::ready && options_.rules.retries_max == 0;
    return goes_at_once ? wire_ : nullptr;
  };
  Lock lock(mutex_);
  const std::shared_ptr<Wire> wire = open_wire();
  Wire::Shared shared;
  std::optional<Kept> kept;
  if (!wire || !saying.parts.empty()) {
    lock.unlock();
    if (wire) shared = wire->share(saying.parts);
    if (!wire) kept = keep(saying);
    lock.lock();
    if (wire && open_wire() != wire) kept = keep(saying);
  }
  auto answer = std::make_shared<Answer>();
  const std::uint64_t id = core_.call();
  Call& call = calls_.emplace_hint(calls_.end(), id, Call())->second;
  call.verb = saying.verb;
  call.answer = answer;
  call.kept = std::move(kept);
  if (call.kept) {
    call.kept_bytes = saying.body.size();
    for (const BytesView& part : saying.parts) call.kept_bytes += part.size();
    kept_bytes_ += call.kept_bytes;
  }
  const Fresh fresh{saying, shared};
  perform(&fresh);
  settle_all(lock);
  return answer;
}

void Actor::forget_call(std::map<std::uint64_t, Call>::iterator call) {
  kept_bytes_ -= call->second.kept_bytes;
  calls_.erase(call);
}

void Actor::cancel(const Answer& answer) {
  if (!check_process()) return;
  Lock lock(mutex_);
  for (const auto& [id, call] : calls_) {
    if (call.answer.get() != &answer) continue;
    core_.cancel(id);
    perform(nullptr);
    break;
  }
  settle_all(lock);
}

bool Actor::wait(const Answer& answer, TimePoint deadline) {
  if (answer.is_there()) return true;
  if (!check_process()) return false;
  flush();
  return place_.engine().wait(
      deadline, [] {}, [&] { return answer.is_there(); }, &answer);
}

void Actor::flush() {
  Lock lock(mutex_);
  const std::shared_ptr<Wire> wire = wire_;
  lock.unlock();
  if (wire) wire->flush();
}

Wire::Urgency Actor::urgency() const { return core_.sent() > busy_from ? Wire::Urgency::soon : Wire::Urgency::now; }

Result<std::shared_ptr<Answer>> Actor::created(TimePoint deadline) {
  TRY(check_process());
  std::shared_ptr<Answer> answer;
  {
    const Lock lock(mutex_);
    answer = created_;
  }
  if (!wait(*answer, deadline)) return fail(Errc::timed_out, "the actor was not created in time");
  return answer;
}

void Actor::end() {
  if (!check_process()) return;
  Lock lock(mutex_);
  const Caller::Stage stage = core_.stage();
  if (stage == Caller::Stage::over) return;
  const std::shared_ptr<Wire> wire = wire_;
  // A process that hears it ends by itself; another one is killed.
  if (wire) wire->flush();
  const bool is_told =
      wire && (stage == Caller::Stage::ready || stage == Caller::Stage::creating) && wire->unsent() == 0;
  core_.end({Errc::unavailable, "the actor was ended"});
  perform(nullptr);
  if (is_told) wire->send(Verb::end, 0, "", {}, std::span<const BytesView>());
  settle_all(lock);
  place_.engine().run([self = shared_from_this(), is_told] {
    Lock held(self->mutex_);
    const cluster::JobId job = self->job_;
    const std::shared_ptr<Wire> open = std::exchange(self->wire_, nullptr);
    held.unlock();
    if (open) open->close();
    self->patience_.cancel();
    self->again_.cancel();
    if (!is_told && job.value != 0) self->place_.kill(job);
    if (job.value != 0) self->place_.forget(job);
  });
}

cluster::JobId Actor::job() const {
  const Lock lock(mutex_);
  return job_;
}

std::uint32_t Actor::restarts() const {
  const Lock lock(mutex_);
  return core_.restarts();
}

bool Actor::is_over() const {
  const Lock lock(mutex_);
  return core_.stage() == Caller::Stage::over;
}

void Actor::perform(const Fresh* fresh) {
  for (const Caller::Effect& effect : core_.take()) {
    std::visit(overloaded{
                   [&](const Caller::SendCreate&) {
                     std::vector<BytesView> parts(options_.create.parts.begin(), options_.create.parts.end());
                     wire_->send(Verb::create, 0, options_.create.name, options_.create.body, parts);
                   },
                   [&](const Caller::SendCall& one) {
                     Call& call = calls_.at(one.id);
                     if (!call.kept) {
                       const Saying& saying = fresh->saying;
                       return wire_->send(saying.verb, one.id, saying.name, saying.body, fresh->shared, urgency());
                     }
                     send_kept(one.id, call);
                     if (options_.rules.retries_max > 0) return;
                     call.kept.reset();
                     kept_bytes_ -= std::exchange(call.kept_bytes, 0);
                   },
                   [&](const Caller::SendCancel& one) { wire_->send(Verb::cancel, one.id, "", {}, Wire::Shared()); },
                   [&](const Caller::Fail& one) {
                     const auto call = calls_.find(one.id);
                     settled_.emplace_back(call->second.answer, Failure(one.error));
                     forget_call(call);
                   },
                   [&](const Caller::Cancelled& one) {
                     const auto call = calls_.find(one.id);
                     Heard heard;
                     heard.verb = Verb::cancelled;
                     settled_.emplace_back(call->second.answer, std::move(heard));
                     forget_call(call);
                   },
                   [&](const Caller::Restart&) { wants_restart_ = true; },
               },
               effect);
  }
}

void Actor::send_kept(std::uint64_t id, const Call& call) {
  std::vector<BytesView> parts(call.kept->parts.begin(), call.kept->parts.end());
  wire_->send(call.verb, id, call.kept->name, call.kept->body, parts, urgency());
}

void Actor::settle_all(Lock& lock) {
  auto settled = std::exchange(settled_, {});
  lock.unlock();
  for (auto& [answer, outcome] : settled) {
    settle(*answer, std::move(outcome));
    place_.engine().changed(answer.get());
  }
}

void Actor::settle(Answer& answer, Result<Heard> heard) { place_.callbacks().run(answer.settle(std::move(heard))); }

// The loop.

void Actor::begin() {
  cluster::JobSpec job = options_.job;
  patience_ = place_.engine().loop().after(options_.place_wait, [self = weak_from_this()] {
    const std::shared_ptr<Actor> there = self.lock();
    if (!there) return;
    there->died(there->too_late(), Caller::Fault::its_own);
  });
  await(Await::master);
  place_.submit(shared_from_this(), job, options_.place_wait);
}

void Actor::await(Await what) {
  if (awaits_ != what || what == Await::master) awaits_since_ = place_.engine().loop().now();
  awaits_ = what;
}

/// Why it cannot be called when its time is over.
Error Actor::too_late() const {
  const std::string within = " within " + rounded(options_.place_wait);
  const std::string number = std::to_string(job().value);
  if (awaits_ == Await::master) return {Errc::timed_out, "the master did not answer" + within + "; raise timeout"};
  if (awaits_ == Await::place) {
    return {Errc::timed_out, "the cluster had no free resources for the actor" + within + "; `cadre why " + number +
                                 "` explains why, `cadre status` shows the resources of the cluster"};
  }
  return {Errc::timed_out, "the actor has a place on agent " + agent_ + ", but its process was not ready" + within +
                               "; raise timeout, or see `cadre actor logs " + number + "`"};
}

void Actor::begun(cluster::JobId job) {
  bool is_wanted = false;
  {
    const Lock lock(mutex_);
    job_ = job;
    is_wanted = core_.stage() != Caller::Stage::over;
  }
  if (is_wanted) return await(Await::place);
  place_.kill(job);
  place_.forget(job);
}

void Actor::failed(const Error& error) { died(error, Caller::Fault::its_own); }

/// It is not to be hoped for any more.
void Actor::come_to_nothing(const Error& error) { died(error, Caller::Fault::its_own); }

void Actor::news(const cluster::requests::JobView& view) {
  if (is_over() || view.id != job()) return;
  if (view.stage == cluster::JobStage::ended) {
    std::string words = "the actor " + cluster::ending_words(view.reason.value_or(cluster::lease::Reason::exited),
                                                             view.code.value_or(0), view.detail);
    if (view.reason == cluster::lease::Reason::exited) {
      words += "; `cadre actor logs " + std::to_string(view.id.value) + "` shows its output";
    }
    const Error why{Errc::unavailable, words};
    const bool has_begun = view.reason != cluster::lease::Reason::failed_to_start;
    // Nor is what somebody has killed made anew.
    const bool is_final = !has_begun || view.reason == cluster::lease::Reason::killed_by_user;
    end_of_job_ = {why, is_final ? Caller::Fault::its_own : Caller::Fault::other};
    // What it has said may still be on its way, and the end of the connection after it; one to a host that is gone
    // never ends.
    const Lock lock(mutex_);
    const bool is_connected = wire_ != nullptr && core_.stage() != Caller::Stage::away;
    patience_ =
        place_.engine().loop().after(is_connected && has_begun ? reason_wait : Duration::zero(),
                                     [self = weak_from_this(), why, is_final, id = view.id] {
                                       const std::shared_ptr<Actor> there = self.lock();
                                       if (!there || there->job() != id) return;
                                       there->died(why, is_final ? Caller::Fault::its_own : Caller::Fault::other);
                                     });
    return;
  }
  std::string address = view.tasks.empty() ? "" : address_of(view.tasks.front());
  auto card = describe::read_json_of_peer<ActorCard>(address);
  if (!address.empty() && (!card || !net::parse_public_key(card->key))) address = known_card_;  // the user's own report
  if (awaits_ != Await::nothing) {
    const bool has_place = !cluster::waits(view.stage) && !view.tasks.empty();
    if (has_place) agent_ = view.tasks.front().agent.value;
    await(has_place ? Await::process : Await::place);
  }
  const bool is_queued_again = !known_card_.empty() && cluster::waits(view.stage);
  if (is_queued_again || (!known_card_.empty() && address != known_card_)) {
    return died({Errc::unavailable, "the actor was preempted, or its agent was lost"}, Caller::Fault::other);
  }
  if (address.empty() || address == known_card_) return;
  known_card_ = address;
  if (auto why = protocol::mismatch("the process of the actor", card->protocols, "this program")) {
    return died({Errc::conflict, *std::move(why)}, Caller::Fault::its_own);
  }
  card_ = *std::move(card);
  was_connected_ = false;
  connect();
}

void Actor::connect() {
  addresses_.clear();
  address_ = 0;
  const bool is_here = card_->host == network_identity();
  if (is_here && !card_->name.empty()) addresses_.push_back({card_->name, "", 0});
  for (const std::string& address : card_->addresses) {
    if (!is_here && address.starts_with("127.")) continue;  // that would be ourselves
    addresses_.push_back({"", address, static_cast<std::uint16_t>(card_->port)});
  }
  connect_to(0);
}

void Actor::connect_to(std::size_t address) {
  if (is_over()) return;
  if (address >= addresses_.size()) {
    std::string tried;
    for (const net::PipeAddress& one : addresses_) tried += (tried.empty() ? "" : ", ") + one.host + one.name;
    return come_to_nothing({Errc::unavailable, "the actor cannot be reached from here; tried " +
                                                   (tried.empty() ? "no address: it is on another host" : tried) +
                                                   (last_error_.message.empty() ? "" : ": " + last_error_.message)});
  }
  address_ = address;
  Engine& engine = place_.engine();
  net::PipeDependencies deps{engine.loop(), [&engine](loop::Call call) { engine.post(std::move(call)); },
                             [&engine](loop::Call call) { engine.soon(std::move(call)); }};
  net::Caller caller{place_.keys(), *net::parse_public_key(card_->key)};
  const std::shared_ptr<Wire> wire = Wire::call(std::move(deps), std::move(caller), addresses_[address], *this);
  const Lock lock(mutex_);
  wire_ = wire;
}

void Actor::opened() {
  patience_.cancel();
  await(Await::nothing);
  Lock lock(mutex_);
  const bool is_known = std::exchange(was_connected_, true);
  if (is_known && !core_.is_made()) {  // nobody knows what became of its constructor
    lock.unlock();
    place_.engine().loop().post([self = shared_from_this()] {
      self->died({Errc::unavailable, "the connection to the actor was lost before its constructor ended"},
                 Caller::Fault::other);
    });
    return;
  }
  core_.connected(is_known ? Caller::Process::known : Caller::Process::fresh);
  perform(nullptr);
  settle_all(lock);
}

void Actor::heard(Heard heard) {
  if (heard.verb == Verb::output) {
    const auto stream = heard.name == "stderr" ? Printer::Stream::err : Printer::Stream::out;
    return place_.show(*this, stream, as_text(heard.body.view()));
  }
  if (heard.id == 0) {
    const bool is_made = heard.verb == Verb::value;
    std::shared_ptr<Answer> created;
    {
      Lock lock(mutex_);
      created = created_;
      if (is_made) core_.created();
      perform(nullptr);
      settle_all(lock);
    }
    const std::string why = heard.name;
    settle(*created, std::move(heard));
    place_.engine().changed();
    if (!is_made) {
      died({Errc::invalid, "the actor could not be created: its constructor failed with " + why},
           Caller::Fault::its_own);
    }
    return;
  }
  Lock lock(mutex_);
  const auto call = calls_.find(heard.id);
  if (!core_.answered(heard.id) || call == calls_.end()) return;
  settled_.emplace_back(std::move(call->second.answer), std::move(heard));
  forget_call(call);
  if (wire_ && urgency() == Wire::Urgency::now) wire_->flush();  // it has little to do
  settle_all(lock);
}

void Actor::lost(Error error) {
  bool was_open = false;
  last_error_ = error;
  {
    const Lock lock(mutex_);
    wire_.reset();
    was_open = core_.stage() == Caller::Stage::ready || core_.stage() == Caller::Stage::creating;
    core_.cut();
  }
  place_.engine().changed();  // nothing is unsent any more
  loop::RealLoop& loop = place_.engine().loop();
  if (end_of_job_) return died(end_of_job_->first, end_of_job_->second);
  const auto later = [self = weak_from_this()](auto what) {
    return [self, what] {
      if (const std::shared_ptr<Actor> there = self.lock()) what(*there);
    };
  };
  if (was_open) {
    patience_ = loop.after(reconnect_wait, later([error](Actor& actor) {
                             actor.died({Errc::unavailable, "the connection to the actor is lost: " + error.message},
                                        Caller::Fault::other);
                           }));
    again_ = loop.after(Duration::zero(), later([](Actor& actor) { actor.connect_to(actor.address_); }));
    return;
  }
  if (error.code == Errc::not_found && was_connected_) {  // nobody listens there any more: the process is gone
    patience_ =
        loop.after(reason_wait, later([](Actor& actor) {
                     actor.died({Errc::unavailable, "the process of the actor has ended"}, Caller::Fault::other);
                   }));
    return;
  }
  if (!was_connected_) {
    again_ = loop.after(Duration::zero(), later([](Actor& actor) { actor.connect_to(actor.address_ + 1); }));
    return;
  }
  again_ = loop.after(connect_again_after, later([](Actor& actor) { actor.connect_to(actor.address_); }));
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): what is given may be a timer's, which goes
void Actor::died(Error why, Caller::Fault fault) {
  patience_.cancel();
  again_.cancel();
  Lock lock(mutex_);
  if (core_.stage() == Caller::Stage::over) return;
  const std::shared_ptr<Wire> wire = std::exchange(wire_, nullptr);
  const cluster::JobId old = std::exchange(job_, cluster::JobId());
  core_.died(why, fault);
  perform(nullptr);
  const bool is_over = core_.stage() == Caller::Stage::over;
  const bool restarts = std::exchange(wants_restart_, false);
  const std::shared_ptr<Answer> created = created_;
  if (restarts && created_->is_there()) created_ = std::make_shared<Answer>();
  settle_all(lock);
  if (wire) wire->close();
  const bool has_ended = end_of_job_.has_value();
  end_of_job_.reset();
  card_.reset();
  known_card_.clear();
  if (old.value != 0) {
    if (!has_ended) place_.kill(old);
    place_.forget(old);
  }
  if (is_over) {
    settle(*created, Failure(why));
    place_.engine().changed();
  }
  if (restarts) begin();
}

void Actor::drop(const Error& why) {
  patience_.cancel();
  again_.cancel();
  Lock lock(mutex_);
  core_.end(why);
  perform(nullptr);
  const std::shared_ptr<Wire> wire = std::exchange(wire_, nullptr);
  const std::shared_ptr<Answer> created = created_;
  settle_all(lock);
  settle(*created, Failure(why));
  place_.engine().changed();
  if (wire) wire->close();
}

}  // namespace cadre::client
