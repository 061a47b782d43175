#include "client/member.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/overloaded.h"
#include "client/host_identity.h"
#include "loop/tasks.h"
#include "names/names.h"
#include "net/zmq_network.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Group;
using remote::Note;

constexpr ByteSize message_max{std::int64_t{1} << 30};
constexpr Duration goodbye_max = 1s;
constexpr Duration answer_grace = 50ms;  // the core says itself that the time is over

net::Limits line_limits() {
  net::Limits limits;
  limits.message_max = message_max;
  limits.queue_max = 100'000;  // what waits is bounded by the windows
  limits.linger = 0ms;
  return limits;
}

std::string key_of(const std::string& group, const std::string& name) { return "groups/" + group + "/" + name; }

}  // namespace

struct Member::Inside {
  explicit Inside(loop::RealLoop& l) : loop(l), tasks(l) {}

  loop::RealLoop& loop;
  std::unique_ptr<net::ZmqNetwork> network;
  net::Keys keys = net::make_keys();
  PrivateFolder folder;
  std::unique_ptr<net::Hub> hub;
  std::unique_ptr<names::Names> names;
  names::Watch watch;
  struct Line {
    std::uint64_t number = 0;
    std::unique_ptr<net::Link> link;
  };
  std::map<std::string, Line> lines;
  std::map<remote::Connection, net::Peer> callers;
  loop::Timer timer;
  TimePoint timer_at = TimePoint::max();
  loop::Tasks tasks;
};

Member::Member(Engine& engine, Log& log, Options options)
    : engine_(engine), log_(log), options_(std::move(options)), identity_(host_identity()) {
  if (options_.name.empty()) options_.name = options_.type + "-" + random_word(8);
}

Member::~Member() { static_cast<void>(close(0s)); }

/// On the loop. Whatever goes wrong is told by whoever waits.
loop::Task<void> Member::begin() {
  Inside& inside = *inside_;
  const auto fail_with = [this](Error error) {
    const std::lock_guard lock(mutex_);
    failed_ = std::move(error);
    engine_.changed();
  };
  auto network = net::ZmqNetwork::make(inside.loop, log_);
  if (!network) co_return fail_with(network.error());
  inside.network = *std::move(network);
  net::HubOptions at;
  at.addresses = {"ipc://" + inside.folder.path() + "/member", "tcp://" + options_.host + ":0"};
  at.keys = inside.keys;
  at.admission = net::Admission::anyone();  // who may speak shows it in his first word
  at.limits = line_limits();
  auto hub = inside.network->bind(std::move(at), [this](const net::Peer& peer, Bytes frame) {
    const remote::Connection from = peer.connection.value;
    inside_->callers[from] = peer;
    {
      const std::lock_guard lock(mutex_);
      if (!group_) return;
      group_->heard(from, std::move(frame), now());
    }
    settle();
  });
  if (!hub) co_return fail_with(hub.error());
  inside.hub = *std::move(hub);
  auto names = names::open(inside.loop, engine_.pool(), options_.names);
  if (!names) co_return fail_with(names.error());
  inside.names = *std::move(names);

  remote::Card card{options_.type, options_.name, 0, random_word(32), inside.keys.open.text(), {}};
  card.at = {identity_ + "|" + inside.hub->addresses().at(0), inside.hub->addresses().at(1)};
  std::string key = key_of(options_.group, options_.name);
  std::string value = describe::write_json(card);
  names::PutOptions how;
  Result<names::Epoch> epoch = co_await inside.names->put(std::move(key), std::move(value), how);
  if (!epoch) co_return fail_with(epoch.error());
  card.epoch = epoch->value;
  inside.names->on_lost([this](const std::string&) {
    const std::lock_guard lock(mutex_);
    failed_ = Error{Errc::conflict, "another process has the name " + options_.name + " in the group now"};
    engine_.changed();
  });
  {
    const std::lock_guard lock(mutex_);
    Group::Options rules = options_.rules;
    rules.group = options_.group;
    rules.self = card;
    group_.emplace(std::move(rules));
  }
  std::string prefix = "groups/" + options_.group;
  auto watch = inside.names->watch(std::move(prefix), [this](const names::Change& change) {
    auto met = describe::read_json<remote::Card>(change.entry.value);
    if (!met) return log_.warning("the names hold no member at " + change.entry.key);
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
  if (!watch) co_return fail_with(watch.error());
  inside.watch = *std::move(watch);
}

/// On the loop: does what the core wants done, and tells what it has to tell.
void Member::settle() {
  std::vector<remote::Effect> effects;
  std::vector<remote::News> news;
  TimePoint next = TimePoint::max();
  bool has_letters = false;
  {
    const std::lock_guard lock(mutex_);
    if (!group_ || is_ended_) return;
    const TimePoint present = now();
    if (group_->next_tick() <= present) group_->tick(present);
    group_->flush(present);
    effects = group_->effects();
    news = group_->news();
    next = group_->next_tick();
    has_letters = group_->has_letters();
  }
  for (remote::Effect& effect : effects) perform(effect);
  const bool has_news = !news.empty();
  if (has_news) tell(std::move(news));
  if (has_news || has_letters) engine_.changed();
  Inside& inside = *inside_;
  if (next >= inside.timer_at) return;
  inside.timer_at = next;
  inside.timer = inside.loop.at(next, [this] {
    inside_->timer_at = TimePoint::max();
    settle();
  });
}

void Member::perform(remote::Effect& effect) {
  Inside& inside = *inside_;
  std::visit(overloaded{
                 [&](const remote::Open& one) { open_line(one); },
                 [&](const remote::Close& one) { inside.lines.erase(one.peer); },
                 [&](remote::Transmit& one) {
                   const auto line = inside.lines.find(one.peer);
                   if (line == inside.lines.end()) return;
                   const Result<void> sent = line->second.link->send_whole(std::move(one.frame));
                   if (!sent) log_.warning("a frame to " + one.peer + " was not sent: " + sent.error().message);
                 },
                 [&](const remote::Answer& one) {
                   const auto caller = inside.callers.find(one.to);
                   if (caller != inside.callers.end()) static_cast<void>(inside.hub->send(caller->second, one.frame));
                 },
             },
             effect);
}

void Member::open_line(const remote::Open& one) {
  net::LinkOptions to;
  const std::string here = identity_ + "|";
  for (const std::string& at : one.at) {
    const bool is_near = at.starts_with(here);
    if (!is_near && at.find('|') != std::string::npos) continue;  // a socket of another host
    to.address = is_near ? at.substr(here.size()) : at;
    break;
  }
  const auto key = net::parse_public_key(one.key);
  if (key) to.hub_key = *key;
  to.keys = inside_->keys;
  to.limits = line_limits();
  to.on_lost = [this, peer = one.peer, number = one.line] {
    {
      const std::lock_guard lock(mutex_);
      group_->lost(peer, number, now());
    }
    settle();
  };
  auto link = inside_->network->connect(std::move(to), [this, peer = one.peer, number = one.line](Bytes frame) {
    {
      const std::lock_guard lock(mutex_);
      group_->answered(peer, number, std::move(frame), now());
    }
    settle();
  });
  if (!link) return log_.warning("no line to " + one.peer + ": " + link.error().message);
  static_cast<void>((*link)->send(one.hello));
  inside_->lines[one.peer] = {one.line, *std::move(link)};
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
                     answers_.insert_or_assign(done.request, std::move(done.outcome));
                   },
               },
               one);
  }
}

void Member::settle_soon() {
  if (settle_posted_.exchange(true)) return;
  engine_.post([this] {
    settle_posted_ = false;
    settle();
  });
}

std::optional<Error> Member::obstacle() {
  const std::lock_guard lock(mutex_);
  if (failed_) return failed_;
  if (!group_) return Error{Errc::conflict, "join the group first"};
  return std::nullopt;
}

std::vector<std::string> Member::missing() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const auto& [type, count] : options_.peers) {
    const std::size_t there = group_ ? group_->live(type).size() : 0;
    if (there < count) all.push_back(std::to_string(count - there) + " of " + std::to_string(count) + " " + type);
  }
  return all;
}

Result<void> Member::join(TimePoint deadline) {
  bool is_through = false;
  const auto start = [this, &is_through] {
    if (inside_ == nullptr) {
      inside_ = std::make_unique<Inside>(engine_.loop());
      inside_->tasks.spawn(begin());
    }
    is_through = true;
  };
  const auto is_joined = [&] {
    if (!is_through) return false;
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return true;
      if (!group_) return false;
    }
    return missing().empty();
  };
  const bool holds = engine_.wait(deadline, start, is_joined);
  if (!holds) {
    std::string text;
    for (const std::string& one : missing()) text += (text.empty() ? "" : ", ") + one;
    if (text.empty()) text = "the names at " + options_.names;
    return fail(Errc::timed_out,
                "could not be reached in time: " + text + "; are they started, with the same names URL?");
  }
  const std::lock_guard lock(mutex_);
  if (failed_) return Failure(*failed_);
  return {};
}

Result<std::uint64_t> Member::put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                                  TimePoint deadline) {
  const std::size_t cost = Note::overhead + wish.tag.size() + wish.body.size();
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return Failure(*failed_);
      if (!group_) return fail(Errc::conflict, "join the group first");
      bool has_room = group_->has_room(peer, cost);
      while (!has_room && options_.overflow == Overflow::drop_oldest && group_->drop_oldest(peer)) {
        has_room = group_->has_room(peer, cost);
      }
      if (has_room || options_.overflow != Overflow::block) {
        return answer_by ? group_->request(peer, wish, *answer_by, now()) : group_->send(peer, wish, now());
      }
    }
    const bool has_room = engine_.wait(
        deadline, [this] { settle(); },
        [&] {
          const std::lock_guard lock(mutex_);
          return failed_ || group_->has_room(peer, cost);
        });
    if (!has_room) return fail(Errc::timed_out, "there was no room for a message to " + peer + " in time");
  }
}

Result<std::uint64_t> Member::send(const std::string& peer, Wish wish, TimePoint deadline) {
  Result<std::uint64_t> id = put(peer, wish, std::nullopt, deadline);
  if (id) settle_soon();
  return id;
}

Member::Outcome Member::await_answer(std::uint64_t request, TimePoint deadline) {
  const auto is_answered = [&] {
    const std::lock_guard lock(mutex_);
    return answers_.contains(request);
  };
  const TimePoint latest = deadline > TimePoint::max() - answer_grace ? deadline : deadline + answer_grace;
  const bool holds = engine_.wait(
      latest, [this] { settle(); }, is_answered);
  const std::lock_guard lock(mutex_);
  if (!holds) {
    group_->forget(request);
    return fail(Errc::timed_out, "there was no answer in time");
  }
  auto found = answers_.extract(request);
  return std::move(found.mapped());
}

Member::Outcome Member::request(const std::string& peer, Wish wish, TimePoint deadline) {
  TRY_ASSIGN(id, put(peer, wish, deadline, deadline));
  return await_answer(id, deadline);
}

std::vector<Member::Outcome> Member::scatter(std::vector<std::pair<std::string, Wish>> wishes, TimePoint deadline) {
  std::vector<Result<std::uint64_t>> ids;
  for (auto& [peer, wish] : wishes) ids.push_back(put(peer, wish, deadline, deadline));
  std::vector<Outcome> outcomes;
  for (Result<std::uint64_t>& id : ids) {
    id ? outcomes.push_back(await_answer(*id, deadline)) : outcomes.push_back(Failure(id.error()));
  }
  return outcomes;
}

Result<remote::Letter> Member::receive(TimePoint deadline) {
  return receive(deadline, [] { return false; });
}

Result<remote::Letter> Member::receive(TimePoint deadline, const std::function<bool()>& unless) {
  const auto take = [this]() -> std::optional<remote::Letter> {
    const std::lock_guard lock(mutex_);
    return group_ ? group_->take() : std::nullopt;
  };
  std::optional<remote::Letter> letter = take();
  while (!letter) {
    const bool holds = engine_.wait(
        deadline, [this] { settle(); },
        [&] {
          if (unless()) return true;
          const std::lock_guard lock(mutex_);
          return failed_ || !group_ || group_->has_letters();
        });
    if (const std::optional<Error> error = obstacle()) return Failure(*error);
    letter = take();
    if (!letter && (!holds || unless())) return fail(Errc::timed_out, "nothing came in time");
  }
  bool wants_flush = false;
  {
    const std::lock_guard lock(mutex_);
    wants_flush = group_->wants_flush();
  }
  if (wants_flush) settle_soon();
  return *std::move(letter);
}

Result<void> Member::reply(const remote::Letter& to, Note::Kind kind, remote::Slice body, TimePoint deadline) {
  const std::size_t cost = Note::overhead + to.note.tag.size() + body.size();
  const auto has_room = [&] {
    const std::lock_guard lock(mutex_);
    return failed_ || !group_ || group_->has_room(to.peer, cost);
  };
  if (!has_room() && !engine_.wait(
                         deadline, [this] { settle(); }, has_room)) {
    return fail(Errc::timed_out, "there was no room for the answer to " + to.peer + " in time");
  }
  {
    const std::lock_guard lock(mutex_);
    if (!group_) return fail(Errc::conflict, "join the group first");
    TRY(group_->reply(to, kind, std::move(body), now()));
  }
  settle_soon();
  return {};
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

Member::Closed Member::close(Duration linger) {
  const auto undelivered = [this] {
    const std::lock_guard lock(mutex_);
    return group_ && !failed_ ? group_->undelivered() : 0;
  };
  if (inside_ == nullptr || is_ended_) return {};
  if (linger > 0s) {
    static_cast<void>(engine_.wait(
        now() + linger, [this] { settle(); }, [&] { return undelivered() == 0; }));
  }
  const Closed closed{undelivered()};
  bool has_left = false;
  static_cast<void>(engine_.wait(
      now() + std::max<Duration>(linger, goodbye_max), [&] { inside_->tasks.spawn(leave(has_left)); },
      [&] { return has_left; }));
  engine_.wait(
      TimePoint::max(), [this] { end(); },
      [this] {
        const std::lock_guard lock(mutex_);
        return is_ended_;
      });
  return closed;
}

/// On the loop: others need not wait until its entry runs out.
loop::Task<void> Member::leave(bool& has_left) {
  if (inside_->names != nullptr) {
    std::string key = key_of(options_.group, options_.name);
    static_cast<void>(co_await inside_->names->remove(std::move(key)));
  }
  has_left = true;
  engine_.changed();
}

/// On the loop.
void Member::end() {
  inside_->tasks.destroy_all();
  inside_->watch = {};
  inside_->timer.cancel();
  inside_->lines.clear();
  inside_->hub.reset();
  inside_->names.reset();
  inside_->network.reset();
  inside_.reset();
  const std::lock_guard lock(mutex_);
  is_ended_ = true;
  failed_ = Error{Errc::conflict, "it was closed"};
  engine_.changed();
}

}  // namespace cadre::client
