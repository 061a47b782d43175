#include "client/gang/socket_gang.h"

#include <utility>

namespace cadre::client {

SocketGang::SocketGang(GangCard self) : self_(std::move(self)), place_(self_.where()) {}

Result<std::unique_ptr<SocketGang>> SocketGang::listen(GangCard self) {
  std::unique_ptr<SocketGang> gang(new SocketGang(std::move(self)));
  Result<void> listening;
  gang->engine_.perform([&] {
    gang->lines_ = std::make_unique<GangLines>(gang->engine_.loop(), gang->log_);
    listening = gang->lines_->listen(gang->self_);
  });
  TRY(listening);
  return gang;
}

SocketGang::~SocketGang() {
  engine_.perform([this] { lines_.reset(); });
}

void SocketGang::begin(std::vector<GangCard> roster) {
  std::vector<std::string> names;
  for (const GangCard& card : roster) names.push_back(card.name());
  GangLines::Handlers handlers;
  handlers.on_message = [this](std::uint32_t from, Slice message) {
    collective_->received(from, std::move(message));
    pump();
  };
  handlers.on_lost = [this](std::uint32_t rank, std::string_view why) {
    collective_->lost(rank, why);
    pump();
  };
  handlers.on_progress = [this] { pump(); };
  engine_.perform([&] {
    collective_ = std::make_unique<Collective>(self_.rank, std::move(names));
    lines_->open(std::move(roster), self_.rank, std::move(handlers));
  });
}

void SocketGang::pump() {
  if (std::exchange(is_pumping_, true)) return;
  for (;;) {
    const std::vector<Collective::Outgoing> outgoing = collective_->take_outgoing();
    const std::vector<Bytes> news = collective_->take_news();
    if (outgoing.empty() && news.empty()) break;
    for (const Collective::Outgoing& one : outgoing) lines_->send(one.to, one.head, one.body);
    for (const Bytes& one : news) lines_->tell_all(one);
  }
  const std::optional<Error>& failure = collective_->failure();
  if (failure) lines_->drop_waiting();
  is_pumping_ = false;
  if (is_done_ || (!failure && (!collective_->is_complete() || lines_->waiting() > 0))) return;
  if (failure) {
    outcome_ = Failure(*failure);
  } else {
    outcome_ = collective_->end();
  }
  is_done_ = true;
  engine_.changed();
}

Result<std::vector<Bytes>> SocketGang::run(const Collective::Call& call) {
  const std::lock_guard lock(calls_);
  const auto is_given_up = std::make_shared<bool>(false);  // the loop's; shared with a call that may come too late
  is_done_ = false;
  const auto begin = [this, &call, is_given_up] {
    if (*is_given_up) return;
    collective_->begin(call);
    pump();
  };
  if (!engine_.wait_or_interrupt(TimePoint::max(), begin, [this] { return is_done_.load(); })) {
    engine_.perform([&] {
      *is_given_up = true;
      collective_->abandon({Errc::conflict, "it was interrupted"});
      pump();
    });
  }
  return std::move(outcome_);
}

Result<std::vector<Bytes>> SocketGang::gather(BytesView bytes) { return run({Collective::Operation::gather, bytes}); }

Result<std::vector<Bytes>> SocketGang::allgather(BytesView bytes) {
  return run({Collective::Operation::allgather, bytes});
}

Result<Bytes> SocketGang::broadcast(BytesView bytes) {
  TRY_ASSIGN(all, run({Collective::Operation::broadcast, bytes}));
  return std::move(all.front());
}

Result<void> SocketGang::allreduce(std::span<std::byte> numbers, NumberKind kind, Reduction how) {
  TRY(run({Collective::Operation::allreduce, {}, numbers, kind, how}));
  return {};
}

void SocketGang::leave() {
  engine_.perform([this] {
    collective_->leave();
    pump();
  });
}

}  // namespace cadre::client
