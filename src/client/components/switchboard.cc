#include "client/components/switchboard.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "client/host_identity.h"
#include "client/names_place.h"
#include "loop/random_word.h"
#include "loop/tasks.h"
#include "names/names.h"
#include "net/zmq_network.h"
#include "remote/event.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::GroupCore;

constexpr Duration look_within = 20ms;    // nothing comes back over a line once it is open
constexpr Duration sweep_after = 1s;      // a process whose connections are closed has not quite ended
constexpr std::size_t early_max = 1'000;  // greetings that come before we know who we are

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
  return fail(Errc::invalid, "the " + what + " '" + word + "' is invalid: use 1 to 128 letters, digits and -_.@");
}

std::string folder_of(const std::string& group) { return std::string(names::groups_folder) + group; }
std::string key_of(const std::string& group, const std::string& name) { return folder_of(group) + "/" + name; }

}  // namespace

struct Switchboard::Inside {
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
  std::vector<std::pair<net::Peer, Slice>> early;
  loop::Timer timer;
  TimePoint timer_at = TimePoint::max();
  loop::Timer sweep_timer;  // of what lost peers may have left on this host
  loop::Tasks tasks;
};

Switchboard::Switchboard(Engine& engine, Log& log, Membership& shared)
    : engine_(engine), log_(log), shared_(shared), identity_(host_identity()) {}

Switchboard::~Switchboard() = default;

std::function<void()> Switchboard::guarded(void (Switchboard::*what)()) {
  return [this, what, is_alive = is_alive_] {
    if (*is_alive) (this->*what)();
  };
}

void Switchboard::fail_with(Error error) {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.break_promises(error);
    shared_.failed = std::move(error);
  }
  shared_.tell_kept();
  engine_.changed();
}

void Switchboard::start() {
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.group || (inside_ != nullptr && !shared_.failed)) return;
    shared_.failed.reset();
  }
  if (inside_ != nullptr) inside_->tasks.destroy_all();
  inside_ = std::make_unique<Inside>(engine_.loop());
  inside_->tasks.spawn(begin());
}

Result<void> Switchboard::bind() {
  Inside& inside = *inside_;
  TRY(check_word("type", shared_.options.type));
  TRY(check_word("name", shared_.options.name));
  TRY_ASSIGN(folder, PrivateFolder::make());
  inside.folder = std::move(folder);
  TRY_ASSIGN(network, net::ZmqNetwork::make(inside.loop, log_));
  inside.network = std::move(network);
  net::HubOptions at;
  at.addresses = {"ipc://" + inside.folder->path() + "/member", "tcp://" + shared_.options.host + ":0"};
  at.keys = inside.keys;
  at.admission = net::Admission::anyone();  // peers authenticate with their first message
  at.limits = line_limits();
  TRY_ASSIGN(hub, inside.network->bind(std::move(at),
                                       [this](const net::Peer& peer, Slice frame) { hear(peer, std::move(frame)); }));
  inside.hub = std::move(hub);
  TRY_ASSIGN(names, open_names(inside.loop, engine_.pool(), shared_.options.names));
  inside.names = std::move(names);
  return {};
}

/// Whatever goes wrong is told by whoever waits.
loop::Task<void> Switchboard::begin() {
  const Result<void> bound = bind();
  if (!bound) co_return fail_with(bound.error());
  Inside& inside = *inside_;
  remote::Card card{shared_.options.type, shared_.options.name, 0, loop::random_word(32), inside.keys.open.text(), {},
                    protocol::own()};
  card.at = {identity_ + "|" + inside.hub->addresses().at(0), inside.hub->addresses().at(1)};
  std::string key = key_of(shared_.options.group, shared_.options.name);
  std::string value = describe::write_json(card);
  names::PutOptions how;
  Result<names::Epoch> epoch = co_await inside.names->put(std::move(key), std::move(value), how);
  if (!epoch) co_return fail_with(epoch.error());
  card.epoch = epoch->value;
  inside.names->on_lost([this](const std::string&) {
    fail_with(
        {Errc::conflict, "another process has the name " + shared_.options.name + " in the group now, or removed it"});
  });
  {
    const std::lock_guard lock(shared_.mutex);
    GroupCore::Options rules = shared_.options.rules;
    rules.group = shared_.options.group;
    rules.self = card;
    shared_.group.emplace(std::move(rules));
  }
  for (auto& [peer, frame] : std::exchange(inside.early, {})) hear(peer, std::move(frame));
  watch();
  engine_.changed();
}

void Switchboard::watch() {
  auto watch = inside_->names->watch(folder_of(shared_.options.group), [this](const names::Change& change) {
    auto met = describe::read_json_of_peer<remote::Card>(change.entry.value);
    if (!met || change.entry.key != key_of(shared_.options.group, met->name)) return;  // somebody else's
    met->epoch = change.entry.epoch.value;
    if (auto why = protocol::mismatch("component " + met->name, met->protocols, "this one")) {
      return fail_with({Errc::conflict, *std::move(why)});
    }
    {
      const std::lock_guard lock(shared_.mutex);
      if (change.kind == names::Change::Kind::put) {
        shared_.group->met(*met, now());
      } else {
        shared_.group->parted(met->name, met->epoch, now());
        sweep_soon();
      }
    }
    settle();
  });
  if (!watch) return fail_with(watch.error());
  inside_->watch = *std::move(watch);
}

void Switchboard::hear(const net::Peer& peer, Slice frame) {
  const bool is_greeting = remote::is_greeting(frame);
  {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.group) {
      if (is_greeting && inside_->early.size() < early_max) inside_->early.emplace_back(peer, std::move(frame));
      return;
    }
    if (is_greeting) inside_->caller = peer;
    shared_.group->heard(peer.connection.value, frame, now());
  }
  settle();
}

void Switchboard::settle() {
  if (inside_ == nullptr) return;
  while (!perform_all()) continue;
  inside_->caller.reset();
  std::vector<remote::News> news;
  TimePoint next = TimePoint::max();
  {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.group) return;
    news = shared_.group->news();
    next = std::min(shared_.group->next_tick(), shared_.next_deferred());
  }
  tell(std::move(news));
  shared_.tell_kept();
  engine_.changed();
  if (next >= inside_->timer_at) return;
  inside_->timer_at = next;
  inside_->timer = inside_->loop.at(next, [this] {
    inside_->timer_at = TimePoint::max();
    settle();
  });
}

/// False: something could not be done, and the core has more to say.
bool Switchboard::perform_all() {
  std::vector<remote::Effect> effects;
  {
    const std::lock_guard lock(shared_.mutex);
    if (!shared_.group) return true;
    const TimePoint present = now();
    if (shared_.group->next_tick() <= present) shared_.group->tick(present);
    shared_.put_deferred(present);
    shared_.group->flush(present);
    effects = shared_.group->effects();
  }
  bool is_all_done = true;
  for (remote::Effect& effect : effects) {
    const Result<void> done = perform(effect);
    if (done) continue;
    is_all_done = false;
    log_.warning(done.error().message);
    const std::lock_guard lock(shared_.mutex);
    if (const auto* open = std::get_if<remote::Open>(&effect)) shared_.group->lost(open->peer, open->line, now());
    if (const auto* frame = std::get_if<remote::Transmit>(&effect))
      shared_.group->lost(frame->peer, frame->line, now());
  }
  return is_all_done;
}

Result<void> Switchboard::perform(remote::Effect& effect) {
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
Result<void> Switchboard::open_line(const remote::Open& one) {
  const std::string here = identity_ + "|";
  std::vector<std::string> candidates;
  for (const std::string& at : one.at) {
    const bool is_socket = at.find('|') != std::string::npos;
    if (is_socket && at.starts_with(here) && shared_.options.uses_sockets_of_host)
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
  to.look_within = look_within;
  to.on_lost = [this, peer = one.peer, number = one.line] {
    {
      const std::lock_guard lock(shared_.mutex);
      shared_.group->lost(peer, number, now());
    }
    settle();
  };
  TRY_ASSIGN(link,
             inside_->network->connect(std::move(to), [this, peer = one.peer, number = one.line](const Slice& frame) {
               {
                 const std::lock_guard lock(shared_.mutex);
                 shared_.group->answered(peer, number, frame, now());
               }
               settle();
             }));
  TRY(link->send(one.hello));
  inside_->lines[one.peer] = std::move(link);
  return {};
}

void Switchboard::tell(std::vector<remote::News> news) {
  for (remote::News& one : news) {
    std::visit(overloaded{
                   [&](const remote::PeerUp& up) {
                     ++shared_.peers_version;
                     if (on_peer_up) on_peer_up(up);
                   },
                   [&](const remote::PeerDown& down) {
                     ++shared_.peers_version;
                     sweep_soon();
                     if (on_peer_down) on_peer_down(down);
                   },
                   [&](remote::Completed& done) {
                     const std::lock_guard lock(shared_.mutex);
                     const auto awaited = shared_.answers.find(done.request);
                     if (awaited == shared_.answers.end()) return;
                     if (awaited->second.promise == nullptr) {
                       awaited->second.outcome = std::move(done.outcome);
                     } else {
                       shared_.kept.emplace_back(std::move(awaited->second.promise), std::move(done.outcome));
                       shared_.answers.erase(awaited);
                     }
                   },
               },
               one);
  }
}

/// A peer that is gone may have been killed, and have left something on this host.
void Switchboard::sweep_soon() {
  inside_->sweep_timer = inside_->loop.at(now() + sweep_after, [folder = inside_->folder.get()] { folder->sweep(); });
}

void Switchboard::settle_soon() {
  if (settle_posted_.exchange(true)) return;
  engine_.post([this, is_alive = is_alive_] {
    if (!*is_alive) return;
    settle_posted_ = false;
    settle();
  });
}

void Switchboard::leave() {
  if (inside_ != nullptr) inside_->tasks.spawn(remove_name());
}

loop::Task<void> Switchboard::remove_name() {
  if (inside_->names != nullptr) {
    inside_->names->on_lost(nullptr);
    std::string key = key_of(shared_.options.group, shared_.options.name);
    static_cast<void>(co_await inside_->names->remove(std::move(key)));
  }
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.has_left = true;
  }
  engine_.changed();
}

void Switchboard::count_copies() {
  std::uint64_t sum = 0;
  if (inside_ != nullptr && inside_->hub != nullptr) sum += inside_->hub->counters().copied_bytes;
  if (inside_ != nullptr) {
    for (const auto& [peer, line] : inside_->lines) sum += line->counters().copied_bytes;
  }
  const std::lock_guard lock(shared_.mutex);
  if (shared_.group) sum += shared_.group->counters().spelled_bytes;
  shared_.copied_bytes = sum;
}

void Switchboard::end() {
  *is_alive_ = false;
  if (inside_ != nullptr) {
    inside_->tasks.destroy_all();
    inside_->watch = {};
    inside_->timer.cancel();
    inside_->sweep_timer.cancel();
    inside_->lines.clear();
    inside_->hub.reset();
    inside_->names.reset();
    inside_->network.reset();
    inside_.reset();
  }
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.is_ended = true;
    if (shared_.group) shared_.undelivered = shared_.group->undelivered_ids();
    shared_.failed = Error{Errc::conflict, "it was closed"};
    shared_.break_promises(*shared_.failed);
  }
  shared_.tell_kept();
  engine_.changed();
}

}  // namespace cadre::client
