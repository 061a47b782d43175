#include "client/member.h"

#include <algorithm>

#include "base/overloaded.h"
#include "client/host_identity.h"
#include "client/names_place.h"
#include "loop/tasks.h"
#include "names/names.h"
#include "net/zmq_network.h"
#include "remote/event.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Group;
using remote::Note;

constexpr Duration goodbye_max = 1s;
constexpr Duration answer_grace = 50ms;   // the core says itself that the time is over
constexpr std::size_t early_max = 1'000;  // greetings that come before we know who we are
constexpr Duration longest = std::chrono::hours(24 * 365);

net::Limits line_limits() {
  net::Limits limits;
  limits.message_max = ByteSize{std::int64_t{remote::body_bytes_max}};
  limits.queue_max = 100'000;  // what waits is bounded by the windows
  limits.linger = 0ms;
  return limits;
}

/// As events can say it and one part of a key can be.
Result<void> check_word(const std::string& what, const std::string& word) {
  const bool is_part = word.find('/') == std::string::npos && word != "." && word != "..";
  if (is_part && remote::is_name(word)) return {};
  return fail(Errc::invalid, "the " + what + " '" + word + "' cannot be: it has 1 to 128 letters, digits and -_.@");
}

std::string folder_of(const std::string& group) { return "groups/" + group; }
std::string key_of(const std::string& group, const std::string& name) { return folder_of(group) + "/" + name; }

}  // namespace

struct Member::Inside {
  explicit Inside(loop::RealLoop& l) : loop(l), tasks(l) {}

  loop::RealLoop& loop;
  std::unique_ptr<PrivateFolder> folder;
  std::unique_ptr<net::ZmqNetwork> network;
  const net::Keys keys = net::make_keys();
  std::unique_ptr<net::Hub> hub;
  std::unique_ptr<names::Names> names;
  names::Watch watch;
  std::map<std::string, std::unique_ptr<net::Link>> lines;
  std::optional<net::Peer> caller;  // whose greeting is being answered
  std::vector<std::pair<net::Peer, Bytes>> early;
  loop::Timer timer;
  TimePoint timer_at = TimePoint::max();
  loop::Tasks tasks;
};

Member::Member(Engine& engine, Log& log, Options options)
    : engine_(engine), log_(log), options_(std::move(options)), identity_(host_identity()) {
  if (options_.name.empty()) options_.name = options_.type + "-" + random_word(8);
}

Member::~Member() { static_cast<void>(close(0s)); }

std::function<void()> Member::guarded(void (Member::*what)()) {
  return [this, what, is_alive = is_alive_] {
    if (*is_alive) (this->*what)();
  };
}

void Member::fail_with(Error error) {
  {
    const std::lock_guard lock(mutex_);
    failed_ = std::move(error);
  }
  engine_.changed();
}

/// The first time, or again after a failure.
void Member::start() {
  {
    const std::lock_guard lock(mutex_);
    if (group_ || (inside_ != nullptr && !failed_)) return;
    failed_.reset();
  }
  if (inside_ != nullptr) inside_->tasks.destroy_all();
  inside_ = std::make_unique<Inside>(engine_.loop());
  inside_->tasks.spawn(begin());
}

Result<void> Member::bind() {
  Inside& inside = *inside_;
  TRY(check_word("type", options_.type));
  TRY(check_word("name", options_.name));
  TRY_ASSIGN(folder, PrivateFolder::make());
  inside.folder = std::move(folder);
  TRY_ASSIGN(network, net::ZmqNetwork::make(inside.loop, log_));
  inside.network = std::move(network);
  net::HubOptions at;
  at.addresses = {"ipc://" + inside.folder->path() + "/member", "tcp://" + options_.host + ":0"};
  at.keys = inside.keys;
  at.admission = net::Admission::anyone();  // who may speak shows it in his first word
  at.limits = line_limits();
  TRY_ASSIGN(hub, inside.network->bind(std::move(at),
                                       [this](const net::Peer& peer, Bytes frame) { hear(peer, std::move(frame)); }));
  inside.hub = std::move(hub);
  TRY_ASSIGN(names, open_names(inside.loop, engine_.pool(), options_.names));
  inside.names = std::move(names);
  return {};
}

/// Whatever goes wrong is told by whoever waits.
loop::Task<void> Member::begin() {
  const Result<void> bound = bind();
  if (!bound) co_return fail_with(bound.error());
  Inside& inside = *inside_;
  remote::Card card{options_.type, options_.name, 0, random_word(32), inside.keys.open.text(), {}};
  card.at = {identity_ + "|" + inside.hub->addresses().at(0), inside.hub->addresses().at(1)};
  std::string key = key_of(options_.group, options_.name);
  std::string value = describe::write_json(card);
  names::PutOptions how;
  Result<names::Epoch> epoch = co_await inside.names->put(std::move(key), std::move(value), how);
  if (!epoch) co_return fail_with(epoch.error());
  card.epoch = epoch->value;
  inside.names->on_lost([this](const std::string&) {
    fail_with({Errc::conflict, "another process has the name " + options_.name + " in the group now, or removed it"});
  });
  {
    const std::lock_guard lock(mutex_);
    Group::Options rules = options_.rules;
    rules.group = options_.group;
    rules.self = card;
    group_.emplace(std::move(rules));
  }
  for (auto& [peer, frame] : std::exchange(inside.early, {})) hear(peer, std::move(frame));
  watch();
  engine_.changed();
}

void Member::watch() {
  auto watch = inside_->names->watch(folder_of(options_.group), [this](const names::Change& change) {
    auto met = describe::read_json<remote::Card>(change.entry.value);
    if (!met || change.entry.key != key_of(options_.group, met->name)) return;  // somebody else's
    met->epoch = change.entry.epoch.value;
    {
      const std::lock_guard lock(mutex_);
      if (change.kind == names::Change::Kind::put) {
        group_->met(*met, now());
      } else {
        group_->parted(met->name, met->epoch, now());
      }
    }
    settle();
  });
  if (!watch) return fail_with(watch.error());
  inside_->watch = *std::move(watch);
}

void Member::hear(const net::Peer& peer, Bytes frame) {
  const bool is_greeting = remote::is_greeting(frame);
  {
    const std::lock_guard lock(mutex_);
    if (!group_) {
      if (is_greeting && inside_->early.size() < early_max) inside_->early.emplace_back(peer, std::move(frame));
      return;
    }
    if (is_greeting) inside_->caller = peer;
    group_->heard(peer.connection.value, std::move(frame), now());
  }
  settle();
}

/// Does what the core wants done, and tells what it has to tell.
void Member::settle() {
  if (inside_ == nullptr) return;
  while (!perform_all()) continue;
  inside_->caller.reset();
  std::vector<remote::News> news;
  TimePoint next = TimePoint::max();
  {
    const std::lock_guard lock(mutex_);
    if (!group_) return;
    news = group_->news();
    next = group_->next_tick();
  }
  tell(std::move(news));
  engine_.changed();
  if (next >= inside_->timer_at) return;
  inside_->timer_at = next;
  inside_->timer = inside_->loop.at(next, [this] {
    inside_->timer_at = TimePoint::max();
    settle();
  });
}

/// False: something could not be done, and the core has more to say.
bool Member::perform_all() {
  std::vector<remote::Effect> effects;
  {
    const std::lock_guard lock(mutex_);
    if (!group_) return true;
    const TimePoint present = now();
    if (group_->next_tick() <= present) group_->tick(present);
    group_->flush(present);
    effects = group_->effects();
  }
  bool is_all_done = true;
  for (remote::Effect& effect : effects) {
    const Result<void> done = perform(effect);
    if (done) continue;
    is_all_done = false;
    log_.warning(done.error().message);
    const std::lock_guard lock(mutex_);
    if (const auto* open = std::get_if<remote::Open>(&effect)) group_->lost(open->peer, open->line, now());
    if (const auto* frame = std::get_if<remote::Transmit>(&effect)) group_->lost(frame->peer, frame->line, now());
  }
  return is_all_done;
}

Result<void> Member::perform(remote::Effect& effect) {
  Inside& inside = *inside_;
  return std::visit(
      overloaded{
          [&](const remote::Open& one) { return open_line(one); },
          [&](const remote::Close& one) -> Result<void> {
            inside.lines.erase(one.peer);
            return {};
          },
          [&](remote::Transmit& one) -> Result<void> {
            const auto line = inside.lines.find(one.peer);
            if (line == inside.lines.end()) return {};
            return line->second->send_whole(std::move(one.frame));
          },
          [&](const remote::Answer& one) -> Result<void> {
            if (inside.caller && inside.caller->connection.value == one.to) {
              static_cast<void>(inside.hub->send(*inside.caller, one.frame));  // who does not hear it asks again
            }
            return {};
          },
      },
      effect);
}

/// At each attempt the next of the addresses that may do.
Result<void> Member::open_line(const remote::Open& one) {
  const std::string here = identity_ + "|";
  std::vector<std::string> candidates;
  for (const std::string& at : one.at) {
    const bool is_socket = at.find('|') != std::string::npos;
    if (is_socket && at.starts_with(here) && options_.uses_sockets_of_host)
      candidates.push_back(at.substr(here.size()));
    if (!is_socket) candidates.push_back(at);
  }
  if (candidates.empty()) return fail(Errc::unavailable, one.peer + " has no address that can be reached from here");
  net::LinkOptions to;
  to.address = candidates[(one.line - 1) % candidates.size()];
  TRY_ASSIGN(key, net::parse_public_key(one.key));
  to.hub_key = key;
  to.keys = inside_->keys;
  to.limits = line_limits();
  to.on_lost = [this, peer = one.peer, number = one.line] {
    {
      const std::lock_guard lock(mutex_);
      group_->lost(peer, number, now());
    }
    settle();
  };
  TRY_ASSIGN(link, inside_->network->connect(std::move(to), [this, peer = one.peer, number = one.line](Bytes frame) {
    {
      const std::lock_guard lock(mutex_);
      group_->answered(peer, number, std::move(frame), now());
    }
    settle();
  }));
  TRY(link->send(one.hello));
  inside_->lines[one.peer] = std::move(link);
  return {};
}

void Member::tell(std::vector<remote::News> news) {
  for (remote::News& one : news) {
    std::visit(overloaded{
                   [&](const remote::PeerUp& up) {
                     ++peers_version_;
                     if (on_peer_up) on_peer_up(up);
                   },
                   [&](const remote::PeerDown& down) {
                     ++peers_version_;
                     if (on_peer_down) on_peer_down(down);
                   },
                   [&](remote::Completed& done) {
                     const std::lock_guard lock(mutex_);
                     const auto awaited = answers_.find(done.request);
                     if (awaited != answers_.end()) awaited->second = std::move(done.outcome);
                   },
               },
               one);
  }
}

void Member::settle_soon() {
  if (settle_posted_.exchange(true)) return;
  engine_.post([this, is_alive = is_alive_] {
    if (!*is_alive) return;
    settle_posted_ = false;
    settle();
  });
}

bool Member::wait(TimePoint end, const std::function<bool()>& done) {
  return engine_.wait(end, guarded(&Member::settle), [&] {
    const std::lock_guard lock(mutex_);
    return done();
  });
}

std::optional<Error> Member::obstacle() const {
  if (failed_) return failed_;
  if (!group_) return Error{Errc::conflict, "join the group first"};
  return std::nullopt;
}

std::vector<std::string> Member::missing() const {
  std::vector<std::string> all;
  for (const auto& [type, count] : options_.peers) {
    const std::size_t there = group_ ? group_->count_live(type) : 0;
    if (there < count) all.push_back(std::to_string(count - there) + " of " + std::to_string(count) + " " + type);
  }
  return all;
}

Result<void> Member::join(TimePoint deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return fail(Errc::conflict, "it was closed");
  }
  bool has_begun = false;  // the loop's: before that, a failure is that of another attempt
  const auto begun = std::make_shared<std::atomic<bool>>(false);
  const bool holds = engine_.wait(
      deadline,
      [this, is_alive = is_alive_, begun] {
        if (*is_alive) start();
        *begun = true;
      },
      [&] {
        has_begun = *begun;
        const std::lock_guard lock(mutex_);
        return has_begun && (failed_ || (group_ && missing().empty()));
      });
  const std::lock_guard lock(mutex_);
  if (failed_ && has_begun) return Failure(*failed_);
  if (holds) return {};
  std::string text;
  for (const std::string& one : missing()) text += (text.empty() ? "" : ", ") + one;
  if (text.empty()) text = options_.names.empty() ? "the names of the master" : "the names at " + options_.names;
  return fail(Errc::timed_out,
              "could not be reached in time: " + text + "; are they started, with the same names URL?");
}

std::optional<Result<std::uint64_t>> Member::try_put(const std::string& peer, const Wish& wish,
                                                     std::optional<TimePoint> answer_by) {
  if (const std::optional<Error> error = obstacle()) return Failure(*error);
  const std::size_t cost = Note::overhead + wish.tag.size() + wish.body.size();
  bool has_room = group_->has_room(peer, cost);
  while (!has_room && options_.overflow == Overflow::drop_oldest && group_->drop_oldest(peer)) {
    has_room = group_->has_room(peer, cost);
  }
  if (!has_room && options_.overflow == Overflow::block) return std::nullopt;
  if (!answer_by) return group_->send(peer, wish, now());
  Result<std::uint64_t> id = group_->request(peer, wish, *answer_by, now());
  if (id) answers_[*id];
  return id;
}

Result<std::uint64_t> Member::put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                                  TimePoint deadline) {
  std::optional<Result<std::uint64_t>> id;
  const auto try_it = [&] { return (id = try_put(peer, wish, answer_by)).has_value(); };
  {
    const std::lock_guard lock(mutex_);
    if (try_it()) return *std::move(id);
  }
  if (wait(deadline, try_it)) return *std::move(id);
  return fail(Errc::timed_out, "there was no room for a message to " + peer + " in time");
}

Result<std::uint64_t> Member::send(const std::string& peer, const Wish& wish, TimePoint deadline) {
  Result<std::uint64_t> id = put(peer, wish, std::nullopt, deadline);
  if (id) settle_soon();
  return id;
}

Member::Outcome Member::await_answer(std::uint64_t request, TimePoint deadline) {
  const TimePoint latest = deadline > TimePoint::max() - answer_grace ? deadline : deadline + answer_grace;
  static_cast<void>(wait(latest, [&] { return failed_ || answers_.at(request); }));
  const std::lock_guard lock(mutex_);
  auto found = answers_.extract(request);
  if (found.mapped()) return *std::move(found.mapped());
  if (group_) group_->forget(request);
  if (failed_) return Failure(*failed_);
  return fail(Errc::timed_out, "there was no answer in time");
}

Member::Outcome Member::request(const std::string& peer, const Wish& wish, TimePoint deadline) {
  TRY_ASSIGN(id, put(peer, wish, deadline, deadline));
  return await_answer(id, deadline);
}

/// Who has no room keeps nobody else waiting.
std::vector<Member::Outcome> Member::scatter(const std::vector<std::pair<std::string, Wish>>& wishes,
                                             TimePoint deadline) {
  std::vector<std::optional<Result<std::uint64_t>>> ids;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, wish] : wishes) ids.push_back(try_put(peer, wish, deadline));
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!ids[i]) ids[i] = put(wishes[i].first, wishes[i].second, deadline, deadline);
  }
  std::vector<Outcome> outcomes;
  for (const std::optional<Result<std::uint64_t>>& id : ids) {
    *id ? outcomes.push_back(await_answer(**id, deadline)) : outcomes.push_back(Failure(id->error()));
  }
  return outcomes;
}

Result<remote::Letter> Member::receive(TimePoint deadline) {
  return receive(deadline, [] { return false; });
}

Result<remote::Letter> Member::receive(TimePoint deadline, const std::function<bool()>& unless) {
  std::optional<remote::Letter> letter;
  const auto take = [&] { return group_ && (letter = group_->take()); };
  bool has_some = false;
  {
    const std::lock_guard lock(mutex_);
    has_some = take();
  }
  if (!has_some) static_cast<void>(wait(deadline, [&] { return take() || obstacle() || unless(); }));
  bool wants_flush = false;
  {
    const std::lock_guard lock(mutex_);
    if (!letter && obstacle()) return Failure(*obstacle());
    wants_flush = group_ && group_->wants_flush();
  }
  if (!letter) return fail(Errc::timed_out, "nothing came in time");
  if (wants_flush) settle_soon();
  return *std::move(letter);
}

Result<void> Member::reply(const remote::Letter& to, Note::Kind kind, const remote::Slice& body, TimePoint deadline) {
  const std::size_t cost = Note::overhead + to.note.tag.size() + body.size();
  std::optional<Result<void>> replied;
  const auto try_it = [&] {
    if (const std::optional<Error> error = obstacle()) {
      replied = Failure(*error);
    } else if (group_->has_room(to.peer, cost)) {
      replied = group_->reply(to, kind, body, now());
    }
    return replied.has_value();
  };
  bool is_through = false;
  {
    const std::lock_guard lock(mutex_);
    is_through = try_it();
  }
  if (!is_through && !wait(deadline, try_it)) {
    return fail(Errc::timed_out, "there was no room for the answer to " + to.peer + " in time");
  }
  engine_.run(guarded(&Member::settle));  // somebody waits for it
  return *std::move(replied);
}

std::vector<std::string> Member::live(const std::string& type) {
  const std::lock_guard lock(mutex_);
  return group_ ? group_->live(type) : std::vector<std::string>();
}

std::vector<remote::Card> Member::live_cards() {
  const std::lock_guard lock(mutex_);
  std::vector<remote::Card> cards;
  if (!group_) return cards;
  for (const std::string& name : group_->live()) cards.push_back(*group_->find(name));
  return cards;
}

Group::Counters Member::counters() {
  const std::lock_guard lock(mutex_);
  return group_ ? group_->counters() : Group::Counters();
}

std::vector<std::uint64_t> Member::close(Duration linger) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !std::exchange(is_closing_, true);
  }
  if (is_first) {
    const TimePoint end_of_linger = now() + std::clamp<Duration>(linger, 0s, longest);
    if (linger > 0s) {
      static_cast<void>(wait(end_of_linger, [&] { return !group_ || failed_ || group_->undelivered() == 0; }));
    }
    engine_.post([this, is_alive = is_alive_] {
      if (*is_alive && inside_ != nullptr) inside_->tasks.spawn(leave());
    });
    static_cast<void>(wait(std::max(end_of_linger, now() + goodbye_max), [&] { return !group_ || has_left_; }));
    static_cast<void>(engine_.wait(TimePoint::max(), guarded(&Member::end), [this] {
      const std::lock_guard lock(mutex_);
      return is_ended_;
    }));
  } else {
    static_cast<void>(wait(TimePoint::max(), [&] { return is_ended_; }));
  }
  const std::lock_guard lock(mutex_);
  return undelivered_;
}

/// Others need not wait until its entry runs out.
loop::Task<void> Member::leave() {
  if (inside_->names != nullptr) {
    inside_->names->on_lost(nullptr);
    std::string key = key_of(options_.group, options_.name);
    static_cast<void>(co_await inside_->names->remove(std::move(key)));
  }
  {
    const std::lock_guard lock(mutex_);
    has_left_ = true;
  }
  engine_.changed();
}

void Member::end() {
  *is_alive_ = false;
  if (inside_ != nullptr) {
    inside_->tasks.destroy_all();
    inside_->watch = {};
    inside_->timer.cancel();
    inside_->lines.clear();
    inside_->hub.reset();
    inside_->names.reset();
    inside_->network.reset();
    inside_.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    if (group_) undelivered_ = group_->undelivered_ids();
    failed_ = Error{Errc::conflict, "it was closed"};
  }
  engine_.changed();
}

}  // namespace cadre::client
