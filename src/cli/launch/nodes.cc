#include "cli/launch/nodes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "client/gang/announced.h"
#include "loop/descriptor.h"

namespace cadre::cli {
namespace {

/// A TCP port that nobody uses now.
std::int32_t free_port() {
  const loop::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  const bool is_bound = ::bind(socket.get(), address, size) == 0 && ::getsockname(socket.get(), address, &size) == 0;
  return is_bound ? ntohs(at.sin_port) : 0;
}

}  // namespace

Result<std::unique_ptr<Nodes>> Nodes::join(loop::RealLoop& loop, std::uint32_t workers, Duration wait,
                                           Handlers handlers) {
  std::unique_ptr<Nodes> nodes(new Nodes(loop, std::move(handlers)));
  client::GangCard card = client::card_of_task("launch");
  card.workers = workers;
  card.torch_port = free_port();
  nodes->self_ = card.rank;
  if (card.size == 1) {
    nodes->roster_ = {std::move(card)};
    return nodes;
  }
  TRY(nodes->lines_.listen(card));
  TRY_ASSIGN(roster, client::meet_at_master(std::move(card), wait));
  nodes->roster_ = roster;
  client::GangLines::Handlers heard;
  heard.on_message = [self = nodes.get()](std::uint32_t from, const Slice& message) { self->heard(from, message); };
  heard.on_lost = [self = nodes.get()](std::uint32_t node, std::string_view why) { self->lost(node, why); };
  heard.on_progress = [] {};
  nodes->lines_.open(std::move(roster), nodes->self_, std::move(heard));
  const auto is_connected = [self = nodes.get()] { return self->is_chief() || self->lines_.is_open(0); };
  if (!loop.run_until(loop.now() + wait, [&] { return is_connected() || nodes->trouble_; })) {
    return fail(Errc::timed_out, nodes->roster_.front().place + " could not be reached in time");
  }
  if (nodes->trouble_) return Failure(*nodes->trouble_);
  nodes->has_joined_ = true;
  return nodes;
}

std::string Nodes::chief_address() const {
  if (roster_.size() == 1) return "127.0.0.1";
  if (!is_chief()) return lines_.reached_at(0);
  return self().addresses.empty() ? "127.0.0.1" : self().addresses.front();
}

void Nodes::tell(const LaunchNote& note) {
  if (roster_.size() > 1) lines_.tell_all(describe::write_msgpack(note));
}

void Nodes::tell_cards(const std::vector<client::GangCard>& cards) {
  LaunchNote note;
  note.cards = cards;
  const Bytes message = describe::write_msgpack(note);
  for (std::uint32_t node = 0; node < roster_.size(); ++node) {
    if (node != self_) lines_.send(node, message, {});
  }
}

void Nodes::heard(std::uint32_t from, BytesView message) {
  const auto note = describe::read_msgpack<LaunchNote>(message);
  if (!note) return lost(from, "it sent a malformed message");
  if (note->ended) ended_.insert(from);
  // The others are connected to the first one, and perhaps not to each other.
  if (is_chief() && !note->failure.empty()) tell(*note);
  handlers_.on_note(from, *note);
}

void Nodes::lost(std::uint32_t node, std::string_view why) {
  if (ended_.contains(node)) return;
  if (has_joined_) return handlers_.on_lost(node, why);
  trouble_ = Error{Errc::unavailable, roster_[node].place + " was lost: " + std::string(why)};
}

}  // namespace cadre::cli
