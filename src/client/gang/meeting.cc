#include "client/gang/meeting.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>

#include "base/rounded.h"
#include "client/interrupt.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_notice_after = 10s;
constexpr Duration next_notice_after = 60s;
constexpr Duration notice_every = 1s;  // how often it is looked whether one is due

net::Limits meeting_limits() {
  net::Limits limits;
  limits.reconnect_longest = 200ms;  // until rank 0 has come
  return limits;
}

std::string rank_list(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

Result<std::unique_ptr<Meeting>> Meeting::open(net::Network& network, const std::string& socket, std::uint32_t first,
                                               std::uint32_t count, Complete on_complete) {
  std::unique_ptr<Meeting> meeting(new Meeting(first, count, std::move(on_complete)));
  net::HubOptions at;
  at.addresses = {"ipc://" + socket};
  at.limits = meeting_limits();
  const auto heard = [self = meeting.get()](const net::Peer& peer, const Slice& frame) { self->heard(peer, frame); };
  TRY_ASSIGN(hub, network.bind(std::move(at), heard));
  meeting->hub_ = std::move(hub);
  return meeting;
}

std::optional<std::string> Meeting::fault_of(const GangCard& card) const {
  if (card.rank < first_ || card.rank - first_ >= count_)
    return "no process with rank " + std::to_string(card.rank) + " is expected";
  if (auto why = protocol::mismatch(card.name(), card.protocols, "the gang")) return why;
  const auto come = come_.find(card.rank);
  if (come != come_.end() && come->second.card.word != card.word) {
    return "another process has joined as rank " + std::to_string(card.rank) +
           "; only one process of each rank may call init()";
  }
  if (come_.empty()) return std::nullopt;
  const GangCard& other = come_.begin()->second.card;
  if (card.gang == other.gang && card.size == other.size) return std::nullopt;
  return "it belongs to another gang (" + card.gang + ", " + std::to_string(card.size) + " processes) than " +
         other.name() + " (" + other.gang + ", " + std::to_string(other.size) + " processes)";
}

void Meeting::heard(const net::Peer& peer, BytesView frame) {
  const auto card = describe::read_msgpack<GangCard>(frame);
  if (!card) return;
  if (auto fault = fault_of(*card)) return tell(peer, {{}, "", *std::move(fault)});
  come_[card->rank] = {*card, peer};
  tell_all();
  if (come_.size() < count_ || !roster_.empty()) return;
  std::vector<GangCard> cards;
  for (const auto& [rank, come] : come_) cards.push_back(come.card);
  on_complete_(cards);
}

void Meeting::answer(std::vector<GangCard> roster) {
  roster_ = std::move(roster);
  tell_all();
}

void Meeting::wait_for(std::string others) {
  others_ = std::move(others);
  tell_all();
}

MeetingNews Meeting::news() const {
  MeetingNews news;
  news.roster = roster_;
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = first_; rank < first_ + count_; ++rank) {
    if (!come_.contains(rank)) missing.push_back(rank);
  }
  if (!missing.empty() && !come_.empty()) news.missing = rank_list(missing) + " on " + come_.begin()->second.card.place;
  if (!others_.empty()) news.missing += (news.missing.empty() ? "" : ", ") + others_;
  return news;
}

void Meeting::tell(const net::Peer& peer, const MeetingNews& news) {
  static_cast<void>(hub_->send(peer, describe::write_msgpack(news)));
}

void Meeting::tell_all() {
  const MeetingNews all = news();
  for (const auto& [rank, come] : come_) tell(come.peer, all);
}

Result<std::vector<GangCard>> meet(SocketGang& gang, const std::string& socket, Duration wait) {
  struct {
    std::mutex mutex;
    MeetingNews news;
    bool has_news = false;
  } heard;
  std::unique_ptr<net::Link> link;
  Result<void> begun;
  Engine& engine = gang.engine();
  engine.perform([&] {
    net::LinkOptions to;
    to.address = "ipc://" + socket;
    to.limits = meeting_limits();
    auto made = gang.lines().network().connect(std::move(to), [&](const Slice& frame) {
      auto news = describe::read_msgpack<MeetingNews>(frame);
      if (!news) return;
      const std::lock_guard lock(heard.mutex);
      heard.news = *std::move(news);
      heard.has_news = true;
    });
    if (!made) return void(begun = Failure(made.error()));
    link = *std::move(made);
    begun = link->send(describe::write_msgpack(gang.card()));
  });
  if (!begun) {
    engine.perform([&] { link.reset(); });
    return Failure(begun.error());
  }
  const auto is_settled = [&] {
    const std::lock_guard lock(heard.mutex);
    return !heard.news.roster.empty() || !heard.news.refused.empty();
  };
  const TimePoint begin = engine.loop().now();
  const TimePoint end = wait > TimePoint::max() - begin ? TimePoint::max() : begin + wait;
  WaitingNotice notice(begin);
  const auto missing = [&]() -> std::string {
    const std::lock_guard lock(heard.mutex);
    return heard.has_news ? heard.news.missing : "rank 0, at whose socket the others meet: " + socket;
  };
  bool settled = false;
  while (!settled && engine.loop().now() < end && !was_interrupted()) {
    settled = engine.wait_or_interrupt(
        std::min(end, engine.loop().now() + notice_every), [] {}, is_settled);
    if (!settled) notice.waits_for(missing(), engine.loop().now());
  }
  engine.perform([&] { link.reset(); });
  if (!settled && was_interrupted()) return fail(Errc::conflict, "it was interrupted");
  if (!settled) return not_come(missing(), wait);
  if (!heard.news.refused.empty()) return fail(Errc::conflict, heard.news.refused);
  return std::move(heard.news.roster);
}

WaitingNotice::WaitingNotice(TimePoint now) : since_(now), next_(now + first_notice_after) {}

void WaitingNotice::waits_for(const std::string& missing, TimePoint now) {
  if (now < next_) return;
  next_ = now + next_notice_after;
  std::fprintf(stderr, "cadre: has waited %s for %s\n", rounded(now - since_).c_str(), missing.c_str());
}

Failure not_come(const std::string& missing, Duration wait) {
  return fail(Errc::timed_out, "the gang is not complete after " + rounded(wait) + ": " + missing +
                                   " did not join; look at the output of these processes, or allow more time "
                                   "(join_timeout)");
}

}  // namespace cadre::client
