#include "client/gang/lines.h"

#include <algorithm>
#include <cstring>

#include "loop/random_word.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

/// The first byte of each frame.
enum class Frame : std::uint8_t { greeting = 1, welcome, message, acknowledgement };

constexpr std::size_t word_bytes = 32;
/// Messages under way to one process.
constexpr std::uint64_t window_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t acknowledge_every = window_bytes / 4;
constexpr std::size_t early_max = 4'096;
constexpr Duration attempt_wait = 2s;  ///< at one address, before the next is tried
constexpr Duration connect_max = 60s;
/// What the other side has said before its end is still read.
constexpr Duration last_words = 200ms;

net::Limits gang_limits() {
  net::Limits limits;
  limits.message_max = ByteSize{static_cast<std::int64_t>(GangLines::message_bytes_max)};
  limits.queue_max = 100'000;  // what waits is bounded by the windows
  limits.heartbeat = 1s;
  limits.silence_max = 8s;
  limits.reconnect_longest = 500ms;
  return limits;
}

Bytes frame_of(Frame kind, BytesView head, BytesView body = {}) {
  Bytes frame;
  frame.reserve(1 + head.size() + body.size());
  frame.push_back(static_cast<std::byte>(kind));
  frame.insert(frame.end(), head.begin(), head.end());
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

template <class Number>
BytesView bytes_of_number(const Number& number) {
  return std::as_bytes(std::span(&number, 1));
}

/// Nothing: there are not that many bytes.
template <class Number>
std::optional<Number> read_number(BytesView bytes) {
  Number number{};
  if (bytes.size() < sizeof number) return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

Slice rest_of(Slice frame) {
  const BytesView rest = frame.view.subspan(1);
  return {std::move(frame.owner), rest};
}

}  // namespace

GangLines::~GangLines() {
  handlers_ = {};
  lines_.clear();
  hub_.reset();
  network_.reset();
}

Result<void> GangLines::listen(GangCard& self) {
  TRY_ASSIGN(folder, PrivateFolder::make());
  folder_ = std::move(folder);
  TRY_ASSIGN(network, net::ZmqNetwork::make(loop_, log_));
  network_ = std::move(network);
  const std::string socket = folder_->path() + "/gang";
  net::HubOptions at;
  at.addresses = {"ipc://" + socket, "tcp://*:0"};
  at.keys = keys_;
  at.admission = net::Admission::only({});  // until the roster is known
  at.limits = gang_limits();
  TRY_ASSIGN(hub, network_->bind(std::move(at),
                                 [this](const net::Peer& peer, Slice frame) { heard(peer, std::move(frame)); }));
  hub_ = std::move(hub);
  word_ = loop::random_word(word_bytes);
  self.key = keys_.open.text();
  self.word = word_;
  self.host = host_identity();
  self.network = network_identity();
  self.socket = socket;
  self.addresses = addresses_of_host();
  const std::string& bound = hub_->addresses().at(1);
  self.port = std::stoi(bound.substr(bound.rfind(':') + 1));
  self.protocols = protocol::own();
  return {};
}

void GangLines::open(std::vector<GangCard> roster, std::uint32_t self, Handlers handlers) {
  roster_ = std::move(roster);
  self_ = self;
  handlers_ = std::move(handlers);
  is_lost_.assign(roster_.size(), false);
  for (const GangCard& card : roster_) {
    if (const auto key = net::parse_public_key(card.key)) hub_->allow(*key);
  }
  for (auto& [peer, frame] : std::exchange(early_, {})) heard(peer, std::move(frame));
  for (std::uint32_t rank = 0; rank < roster_.size(); ++rank) {
    if (rank != self_ && (self_ == 0 || rank == 0)) line_to(rank);
  }
}

/// Where a process may be, best first.
std::vector<std::string> GangLines::candidates(std::uint32_t rank) const {
  const GangCard& card = roster_[rank];
  if (card.host == roster_[self_].host) return {"ipc://" + card.socket};
  const std::string port = ":" + std::to_string(card.port);
  if (card.network == roster_[self_].network) return {"tcp://127.0.0.1" + port};
  std::vector<std::string> all;
  for (const std::string& address : card.addresses) all.push_back("tcp://" + address + port);
  return all;
}

GangLines::Line& GangLines::line_to(std::uint32_t rank) {
  const auto [found, is_new] = lines_.try_emplace(rank);
  if (is_new) {
    found->second.since = loop_.now();
    connect(rank);
  }
  return found->second;
}

void GangLines::connect(std::uint32_t rank) {
  Line& line = lines_.at(rank);
  const std::vector<std::string> all = candidates(rank);
  line.retry = loop_.after(attempt_wait, [this, rank] { try_next(rank); });
  const auto key = net::parse_public_key(roster_[rank].key);
  if (all.empty() || !key) return;
  net::LinkOptions to;
  to.address = all[line.attempt % all.size()];
  to.keys = keys_;
  to.hub_key = *key;
  to.limits = gang_limits();
  to.on_lost = [this, rank] {
    Line& ended = lines_.at(rank);
    if (!ended.is_open) return;  // it is tried again
    ended.loss = loop_.after(last_words, [this, rank] { lost(rank, "the connection to it was closed"); });
  };
  auto link = network_->connect(std::move(to), [this, rank](Slice frame) { heard_back(rank, std::move(frame)); });
  if (!link) return log_.warning("cannot connect to " + roster_[rank].name() + ": " + link.error().message);
  line.link = *std::move(link);
  const std::string& word = roster_[rank].word;
  static_cast<void>(line.link->send(frame_of(Frame::greeting, as_bytes(word), bytes_of_number(self_))));
}

void GangLines::try_next(std::uint32_t rank) {
  Line& line = lines_.at(rank);
  if (line.is_open) return;
  if (loop_.now() - line.since >= connect_max) {
    std::string tried;
    for (const std::string& one : candidates(rank)) tried += (tried.empty() ? "" : ", ") + one;
    return lost(rank, "it could not be reached at " + (tried.empty() ? "any address" : tried) +
                          "; check that the hosts of the gang can connect to each other");
  }
  ++line.attempt;
  connect(rank);
}

void GangLines::heard(const net::Peer& peer, Slice frame) {
  if (frame.size() == 0) return;
  const auto kind = static_cast<Frame>(frame.view.front());
  if (kind == Frame::greeting) {
    if (!roster_.empty()) return greeted(peer, frame.view.subspan(1));
    if (early_.size() < early_max) early_.emplace_back(peer, std::move(frame));
    return;
  }
  const auto caller = callers_.find(peer.connection);
  if (caller == callers_.end() || kind != Frame::message) return;  // somebody's who does not belong to us
  caller->second.received += frame.size();
  acknowledge(caller->second);
  const std::uint32_t rank = caller->second.rank;
  if (!is_lost_[rank]) handlers_.on_message(rank, rest_of(std::move(frame)));
}

void GangLines::greeted(const net::Peer& peer, BytesView greeting) {
  if (greeting.size() != word_bytes + sizeof(std::uint32_t)) return;
  const std::uint32_t rank = read_number<std::uint32_t>(greeting.subspan(word_bytes)).value();
  const bool is_member = as_text(greeting.first(word_bytes)) == word_ && rank < roster_.size() && rank != self_;
  const bool has_key = is_member && (peer.key.empty() || peer.key.text() == roster_[rank].key);
  if (!has_key) {
    log_.warning("refused a connection of a process that does not belong to the gang");
    return;
  }
  callers_[peer.connection] = Caller{rank, peer};
  static_cast<void>(hub_->send(peer, frame_of(Frame::welcome, {})));
  for (const Bytes& frame : told_) static_cast<void>(hub_->send(peer, frame));
}

void GangLines::acknowledge(Caller& caller) {
  if (caller.received - caller.acknowledged < acknowledge_every) return;
  caller.acknowledged = caller.received;
  static_cast<void>(hub_->send(caller.peer, frame_of(Frame::acknowledgement, bytes_of_number(caller.received))));
}

void GangLines::heard_back(std::uint32_t rank, Slice frame) {
  if (frame.size() == 0 || is_lost_[rank]) return;
  Line& line = lines_.at(rank);
  switch (static_cast<Frame>(frame.view.front())) {
    case Frame::welcome: {
      line.is_open = true;
      line.retry.cancel();
      for (const Bytes& told : told_) static_cast<void>(line.link->send(told));
      flush(rank);
      return handlers_.on_progress();
    }
    case Frame::acknowledgement: {
      const auto received = read_number<std::uint64_t>(frame.view.subspan(1));
      if (received) line.acknowledged = std::min(std::max(line.acknowledged, *received), line.sent);
      flush(rank);
      return handlers_.on_progress();
    }
    case Frame::message: return handlers_.on_message(rank, rest_of(std::move(frame)));
    case Frame::greeting: return;
  }
}

void GangLines::send(std::uint32_t to, Bytes head, BytesView body) {
  if (is_lost_[to]) return;
  Line& line = line_to(to);
  line.queue.emplace_back(std::move(head), body);
  ++waiting_;
  flush(to);
}

void GangLines::flush(std::uint32_t rank) {
  Line& line = lines_.at(rank);
  if (!line.is_open) return;
  while (!line.queue.empty() && line.sent - line.acknowledged < window_bytes) {
    const auto& [head, body] = line.queue.front();
    Bytes frame = frame_of(Frame::message, head, body);
    const std::size_t size = frame.size();
    if (!line.link->send_whole(std::move(frame))) return lost(rank, "it does not take messages");
    line.sent += size;
    line.queue.pop_front();
    --waiting_;
  }
}

void GangLines::drop_waiting() {
  for (auto& [rank, line] : lines_) line.queue.clear();
  waiting_ = 0;
}

void GangLines::tell_all(BytesView message) {
  const Bytes& frame = told_.emplace_back(frame_of(Frame::message, message));
  for (auto& [rank, line] : lines_) {
    if (line.is_open) static_cast<void>(line.link->send(frame));
  }
  for (const auto& [connection, caller] : callers_) static_cast<void>(hub_->send(caller.peer, frame));
}

bool GangLines::is_open(std::uint32_t rank) const {
  const auto line = lines_.find(rank);
  return line != lines_.end() && line->second.is_open;
}

std::string GangLines::reached_at(std::uint32_t rank) const {
  const auto line = lines_.find(rank);
  const std::vector<std::string> all = line == lines_.end() ? std::vector<std::string>() : candidates(rank);
  if (all.empty()) return "127.0.0.1";
  const std::string& address = all[line->second.attempt % all.size()];
  constexpr std::string_view scheme = "tcp://";
  if (!address.starts_with(scheme)) return "127.0.0.1";
  return address.substr(scheme.size(), address.rfind(':') - scheme.size());
}

void GangLines::lost(std::uint32_t rank, std::string_view why) {
  if (is_lost_[rank]) return;
  is_lost_[rank] = true;
  Line& line = lines_.at(rank);
  waiting_ -= line.queue.size();
  line.queue.clear();
  handlers_.on_lost(rank, why);
}

}  // namespace cadre::client
