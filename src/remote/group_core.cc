#include "remote/group_core.h"

#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/rounded.h"

namespace cadre::remote {
namespace {

/// Takes as long for every wrong ticket of that length.
bool are_equal(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

}  // namespace

GroupCore::GroupCore(Options options) : options_(std::move(options)) {}

GroupCore::Peer& GroupCore::peer_of(const Card& card, TimePoint now) {
  const auto [at, is_new] = peers_.try_emplace(card.name, options_.limits);
  Peer& peer = at->second;
  if (!is_new && card.epoch <= peer.card.epoch) return peer;
  if (!is_new) {
    leave(peer, "another process has its name now", now);
    counters_.late += std::erase_if(inbox_, [&](const Letter& letter) { return letter.peer == card.name; });
    stop_listening(peer);
    peer.from_line = 0;
    peer.has_been_up = false;
    peer.is_listed = true;
  }
  peer.card = card;
  peer.stage = Stage::unknown;
  peer.wait = options_.reopen_first;
  return peer;
}

void GroupCore::met(const Card& card, TimePoint now) {
  if (card.name == options_.self.name) return;
  Peer& peer = peer_of(card, now);
  if (card.epoch < peer.card.epoch) return;
  peer.card = card;
  peer.is_listed = true;
  if (peer.stage == Stage::unknown || peer.stage == Stage::gone) open(peer, now);
}

/// The names may have lost one that is well.
void GroupCore::parted(const std::string& name, std::uint64_t epoch, TimePoint now) {
  const auto at = peers_.find(name);
  if (at == peers_.end() || at->second.card.epoch != epoch) return;
  Peer& peer = at->second;
  peer.is_listed = false;
  if (peer.stage != Stage::up) leave(peer, "it has left", now);
}

void GroupCore::open(Peer& peer, TimePoint now) {
  ++peer.opened;
  peer.stage = Stage::opening;
  peer.opened_at = now;
  const Hello hello{options_.group, options_.self, options_.self.epoch, peer.card.epoch, peer.card.ticket, peer.opened};
  effects_.emplace_back(Open{peer.card.name, peer.opened, peer.card.key, peer.card.at, spell(hello)});
  wake_at(now + options_.silence_max);
}

void GroupCore::tell_lost(const Peer& peer, const std::string& why, const std::vector<Note>& lost) {
  PeerDown news{peer.card.name, peer.card.epoch, why, {}};
  for (const Note& note : lost) news.lost.push_back(note.id);
  news_.emplace_back(std::move(news));
}

/// But for those that may still be carried out.
void GroupCore::fail_requests(const Peer& peer, const std::string& why, Which which) {
  const std::set<std::uint64_t> queued = peer.line.queued_ids();
  std::vector<std::uint64_t> failed;
  for (const auto& [id, pending] : pending_) {
    const bool may_come = queued.contains(id) || (pending.is_reliable && which == Which::unreliable);
    if (pending.peer == peer.card.name && !may_come) failed.push_back(id);
  }
  std::sort(failed.begin(), failed.end());
  for (const std::uint64_t id : failed) {
    complete(peer.card.name, id, fail(Errc::unavailable, peer.card.name + " is lost: " + why));
  }
}

/// Whatever it was told and has not acknowledged is lost, and so are the answers that it owes.
void GroupCore::down(Peer& peer, const std::string& why, TimePoint now) {
  const bool was_up = peer.stage == Stage::up;
  const std::vector<Note> lost = peer.line.broke(options_.rejoin ? Line::Unsent::keep : Line::Unsent::give_up);
  if (was_up || !lost.empty()) tell_lost(peer, why, lost);
  fail_requests(peer, why, Which::unreliable);
  effects_.emplace_back(Close{peer.card.name});
  peer.stage = Stage::broken;
  peer.reopen = now + peer.wait;
  peer.tell_by = TimePoint::max();
  peer.wait = std::min(2 * peer.wait, options_.reopen_longest);
  wake_at(peer.reopen);
  if (!peer.is_listed) leave(peer, why, now);
}

/// This process of that name does not come back.
void GroupCore::leave(Peer& peer, const std::string& why, TimePoint now) {
  if (peer.stage == Stage::gone) return;
  peer.is_listed = true;
  if (peer.stage != Stage::broken) down(peer, why, now);
  peer.is_listed = false;
  peer.stage = Stage::gone;
  std::vector<Note> lost;
  if (!options_.rejoin) lost = peer.line.give_up();
  for (Note& answer : peer.line.begin_anew()) lost.push_back(std::move(answer));
  if (!lost.empty()) tell_lost(peer, why, lost);
  fail_requests(peer, why, Which::all);
}

/// This process stood still itself (it was stopped, or the host was suspended): that time does not count against the
/// peers, of whom much may have come that was not read yet.
void GroupCore::notice_absence(TimePoint now) {
  const TimePoint before = std::exchange(seen_, now);
  if (before == TimePoint::max() || now <= before) return;
  const Duration gap = now - before;
  if (gap <= options_.beat || gap < options_.silence_max / 2) return;  // it beats more often
  for (auto& [name, peer] : peers_) {
    for (TimePoint* const since : {&peer.heard, &peer.is_heard_at, &peer.opened_at})
      *since = std::min(*since + gap, now);
  }
}

void GroupCore::lost(const std::string& name, std::uint64_t line, TimePoint now) {
  notice_absence(now);
  const auto at = peers_.find(name);
  if (at == peers_.end() || at->second.opened != line) return;
  Peer& peer = at->second;
  peer.is_silent = false;
  if (peer.stage == Stage::up || peer.stage == Stage::opening) down(peer, "the connection to it is lost", now);
}

void GroupCore::answered(const std::string& name, std::uint64_t line, const Slice& frame, TimePoint now) {
  notice_absence(now);
  const auto at = peers_.find(name);
  if (at == peers_.end() || at->second.opened != line || at->second.stage != Stage::opening) return;
  Peer& peer = at->second;
  const Result<Frame> read = read_frame(frame);
  const auto* welcome = read ? std::get_if<Welcome>(&*read) : nullptr;
  if (welcome == nullptr || welcome->line != line) return void(++counters_.malformed);
  peer.stage = Stage::up;
  peer.has_been_up = true;
  peer.is_silent = false;
  peer.wait = options_.reopen_first;
  peer.heard = peer.spoke = peer.is_heard_at = now;
  peer.line.resumed(*welcome);
  news_.emplace_back(PeerUp{name, peer.card.epoch});
  mark(peer);
  wake_at(now + options_.beat);
}

void GroupCore::greet(Connection from, const Hello& hello, TimePoint now) {
  const bool is_known = hello.group == options_.group && hello.to == options_.self.epoch &&
                        are_equal(hello.ticket, options_.self.ticket) && hello.from.name != options_.self.name;
  if (!is_known) return void(++counters_.strangers);
  Card card = hello.from;
  card.epoch = hello.epoch;
  Peer& peer = peer_of(card, now);
  // A connection that was given up may be heard after the one that took its place.
  if (hello.epoch < peer.card.epoch || hello.line <= peer.from_line) return void(++counters_.late);
  if (peer.from) from_.erase(*peer.from);
  peer.from = from;
  peer.from_line = hello.line;
  from_[from] = card.name;
  peer.heard = now;
  effects_.emplace_back(Answer{from, spell(peer.line.welcome(hello.line))});
  if (peer.stage == Stage::unknown) open(peer, now);  // the names will say the same
  if (peer.stage == Stage::broken) {                  // it is there again
    peer.reopen = now;
    wake_at(now);
  }
}

/// It learns of that from what it is told next, and opens another connection.
void GroupCore::stop_listening(Peer& peer) {
  if (peer.from) from_.erase(*std::exchange(peer.from, std::nullopt));
}

void GroupCore::heard(Connection from, const Slice& frame, TimePoint now) {
  notice_absence(now);
  const auto known = from_.find(from);
  if (known == from_.end() && !is_greeting(frame)) return void(++counters_.strangers);
  Result<Frame> read = read_frame(frame);
  if (!read) return void(++(known == from_.end() ? counters_.strangers : counters_.malformed));
  if (const auto* hello = std::get_if<Hello>(&*read)) return greet(from, *hello, now);
  auto* notes = std::get_if<Notes>(&*read);
  if (known == from_.end() || notes == nullptr) return void(++counters_.strangers);
  Peer& peer = peers_.at(known->second);
  peer.heard = now;
  if (notes->hears == peer.opened && !notes->is_deaf) peer.is_heard_at = now;
  if (notes->hears == peer.opened && notes->is_deaf && peer.stage == Stage::up) {
    down(peer, "it does not receive messages over this connection", now);
  }
  Result<std::vector<Note>> fresh = peer.line.take(std::move(*notes));
  if (!fresh) {  // it is not listened to before it begins anew
    ++counters_.malformed;
    return stop_listening(peer);
  }
  for (Note& note : *fresh) {
    if (note.kind == Note::Kind::notice || note.kind == Note::Kind::request) {
      inbox_.push_back({peer.card.name, peer.card.type, peer.card.epoch, std::move(note)});
      continue;
    }
    peer.line.taken(note);
    const std::uint64_t request = note.answers;
    complete(peer.card.name, request, std::move(note));
  }
  if (peer.line.debt() == Line::Debt::none && !peer.line.has_notes()) return;
  mark(peer);
}

void GroupCore::complete(const std::string& peer, std::uint64_t request, Result<Note> outcome) {
  const auto pending = pending_.find(request);
  if (pending == pending_.end() || pending->second.peer != peer) return void(++counters_.late);
  deadlines_.erase({pending->second.deadline, request});
  pending_.erase(pending);
  news_.emplace_back(Completed{request, std::move(outcome)});
}

void GroupCore::forget(std::uint64_t request) {
  const auto pending = pending_.find(request);
  if (pending == pending_.end()) return;
  deadlines_.erase({pending->second.deadline, request});
  pending_.erase(pending);
}

Result<std::uint64_t> GroupCore::put(const std::string& name, Note note, TimePoint) {
  const auto at = peers_.find(name);
  if (at == peers_.end()) return fail(Errc::not_found, "there is no peer '" + name + "' in the group");
  Peer& peer = at->second;
  if (note.tag.size() > tag_bytes_max || note.body.size() > body_bytes_max) {
    return fail(Errc::invalid, "a tag has at most 1024 bytes and a body at most 1 GiB; send it in pieces");
  }
  const bool is_answer = note.kind == Note::Kind::reply || note.kind == Note::Kind::refusal;  // who asked was there
  // One that was silent may be back in a moment; what waits for it is given up with the next attempt to reach it.
  const bool may_wait =
      peer.stage != Stage::gone && (note.is_reliable || is_answer || !peer.has_been_up || peer.is_silent);
  if (peer.stage != Stage::up && !options_.rejoin && !may_wait) return fail(Errc::unavailable, name + " is lost");
  if (!peer.line.has_room(note.cost())) {
    return fail(Errc::unavailable, "too many messages wait for " + name + " already; send less, or wait");
  }
  note.id = ++last_id_;
  peer.line.put(std::move(note));
  mark(peer);
  return last_id_;
}

Result<std::uint64_t> GroupCore::send(const std::string& peer, Wish wish, TimePoint now) {
  return put(
      peer, {Note::Kind::notice, wish.is_reliable, 0, wish.session, 0, std::move(wish.tag), std::move(wish.body)}, now);
}

Result<std::uint64_t> GroupCore::request(const std::string& peer, Wish wish, TimePoint deadline, TimePoint now) {
  const bool is_reliable = wish.is_reliable;
  TRY_ASSIGN(
      id, put(peer, {Note::Kind::request, is_reliable, 0, wish.session, 0, std::move(wish.tag), std::move(wish.body)},
              now));
  pending_[id] = {peer, deadline, is_reliable};
  deadlines_.emplace(deadline, id);
  wake_at(deadline);
  return id;
}

Result<void> GroupCore::reply(const Letter& to, Response response, TimePoint now) {
  const Card* card = find(to.peer);
  if (card == nullptr || card->epoch != to.epoch) return fail(Errc::unavailable, to.peer + ", the caller, has ended");
  const Note& asked = to.note;
  std::string tag = response.tag.empty() ? asked.tag : std::move(response.tag);
  TRY(put(to.peer,
          {response.kind, asked.is_reliable, 0, asked.session, asked.id, std::move(tag), std::move(response.body)},
          now));
  return {};
}

bool GroupCore::has_room(const std::string& peer, std::size_t cost) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() || at->second.line.has_room(cost);
}

bool GroupCore::drop_oldest(const std::string& peer) {
  const auto at = peers_.find(peer);
  if (at == peers_.end()) return false;
  const std::optional<Note> dropped = at->second.line.drop_oldest();
  if (!dropped) return false;
  ++counters_.dropped;
  if (pending_.contains(dropped->id)) {
    complete(peer, dropped->id, fail(Errc::unavailable, "it was dropped to make room for a newer one"));
  }
  return true;
}

std::optional<Letter> GroupCore::take() {
  if (inbox_.empty()) return std::nullopt;
  Letter letter = std::move(inbox_.front());
  inbox_.pop_front();
  const auto at = peers_.find(letter.peer);
  if (at == peers_.end() || at->second.stage == Stage::gone) return letter;  // it has left since
  Peer& peer = at->second;
  peer.line.taken(letter.note);
  const Line::Debt debt = peer.line.debt();
  const bool is_new = debt == Line::Debt::some && peer.tell_by == TimePoint::max();
  if (debt == Line::Debt::urgent || is_new) mark(peer);
  return letter;
}

void GroupCore::mark(Peer& peer) {
  if (std::exchange(peer.is_dirty, true)) return;
  dirty_.push_back(&peer);
}

void GroupCore::transmit(Peer& peer, TimePoint now) {
  Bytes frame = peer.line.make_frame({peer.from_line, !peer.from});
  counters_.spelled_bytes += frame.size();
  effects_.emplace_back(Transmit{peer.card.name, peer.opened, std::move(frame)});
  peer.spoke = now;
  peer.tell_by = TimePoint::max();
}

void GroupCore::flush(TimePoint now) {
  for (Peer* peer : std::exchange(dirty_, {})) {
    peer->is_dirty = false;
    if (peer->stage != Stage::up) continue;
    while (peer->line.has_notes()) transmit(*peer, now);
    const Line::Debt debt = peer->line.debt();
    if (debt == Line::Debt::urgent) transmit(*peer, now);
    if (debt == Line::Debt::some && peer->tell_by == TimePoint::max()) {
      peer->tell_by = now + options_.tell_after;
      wake_at(peer->tell_by);
    }
  }
}

void GroupCore::look_after(Peer& peer, TimePoint now) {
  if (peer.stage == Stage::broken && now >= peer.reopen) open(peer, now);
  const Duration most = options_.silence_max;
  if (peer.stage == Stage::opening && now - peer.opened_at >= most) {
    peer.is_silent = true;
    down(peer, "it does not respond", now);
  }
  if (peer.stage == Stage::up && now - peer.heard >= most) {
    peer.is_silent = true;
    stop_listening(peer);
    down(peer, "no message from it for " + rounded(most), now);
  }
  if (peer.stage == Stage::up && now - peer.is_heard_at >= most) {
    peer.is_silent = true;
    down(peer, "it received nothing for " + rounded(most), now);
  }
  if (peer.stage == Stage::up && (now >= peer.tell_by || now - peer.spoke >= options_.beat)) transmit(peer, now);
  switch (peer.stage) {
    case Stage::up:
      wake_at(std::min({peer.tell_by, peer.spoke + options_.beat, peer.heard + most, peer.is_heard_at + most}));
      break;
    case Stage::opening: wake_at(peer.opened_at + most); break;
    case Stage::broken: wake_at(peer.reopen); break;
    case Stage::unknown:
    case Stage::gone: break;
  }
}

void GroupCore::tick(TimePoint now) {
  notice_absence(now);
  next_tick_ = TimePoint::max();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::uint64_t request = deadlines_.begin()->second;
    const std::string peer = pending_.at(request).peer;
    complete(peer, request, fail(Errc::timed_out, peer + " has not answered in time"));
  }
  if (!deadlines_.empty()) wake_at(deadlines_.begin()->first);
  for (auto& [name, peer] : peers_) look_after(peer, now);
  forget_the_gone();
}

/// Names are made up anew again and again; those for whom nothing waits need not be remembered.
void GroupCore::forget_the_gone() {
  for (auto at = peers_.begin(); at != peers_.end();) {
    const Peer& peer = at->second;
    const bool is_over = !options_.rejoin && peer.stage == Stage::gone && peer.line.waiting() == 0 && !peer.is_dirty;
    if (is_over && peer.from) from_.erase(*peer.from);
    at = is_over ? peers_.erase(at) : std::next(at);
  }
}

bool GroupCore::is_up(const std::string& peer) const {
  const auto at = peers_.find(peer);
  return at != peers_.end() && at->second.stage == Stage::up;
}

std::vector<std::string> GroupCore::live(const std::string& type) const {
  std::vector<std::string> names;
  for (const auto& [name, peer] : peers_) {
    if (peer.stage == Stage::up && (type.empty() || peer.card.type == type)) names.push_back(name);
  }
  return names;
}

std::size_t GroupCore::count_live(const std::string& type) const {
  return static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), [&](const auto& one) {
    return one.second.stage == Stage::up && one.second.card.type == type;
  }));
}

const Card* GroupCore::find(const std::string& peer) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : &at->second.card;
}

std::vector<std::uint64_t> GroupCore::undelivered_ids() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [name, peer] : peers_) {
    for (const std::uint64_t id : peer.line.waiting_ids()) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::size_t GroupCore::undelivered() const {
  std::size_t sum = 0;
  for (const auto& [name, peer] : peers_) sum += peer.line.waiting();
  return sum;
}

}  // namespace cadre::remote
