#include "agent/shipper.h"

#include <algorithm>
#include <utility>

namespace cadre::agent {

namespace bulk = cluster::bulk;
using cluster::LeaseId;

namespace {

constexpr std::size_t mark_room = 256;  // a spool may put a mark before what it gives
constexpr std::size_t part_bytes = bulk::part_bytes_max - mark_room;
constexpr std::size_t first_part_bytes = 65'536;  // after a restart the master may have it all
constexpr Duration pause_first = std::chrono::milliseconds(10);
constexpr Duration pause_longest = std::chrono::seconds(1);

}  // namespace

Shipper::Lease::Lease(std::unique_ptr<OutputSource> output, Duration first_wait)
    : source(std::move(output)), stored(source->begin().value_or(0)), sent(stored), wait(first_wait) {}

Shipper::Shipper(loop::Loop& loop, BulkLink& link, Log& log, Listener listener, const ShipperOptions& options)
    : loop_(loop), link_(link), log_(log), listener_(std::move(listener)), options_(options), pause_for_(pause_first) {
  link_.on_stored([this](const bulk::OutputStored& answer) { hear(answer); });
  link_.on_output_refused([this](const bulk::Refused& answer) { refused(answer); });
}

Shipper::~Shipper() {
  *gone_ = true;
  link_.on_stored(nullptr);
  link_.on_output_refused(nullptr);
}

void Shipper::add(LeaseId lease, std::unique_ptr<OutputSource> source) {
  const auto [added, is_new] = leases_.try_emplace(lease, std::move(source), options_.resend_first);
  if (!is_new) return;
  want(added);
  pump();
}

void Shipper::grown(LeaseId lease, std::int64_t end) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  found->second.written = std::max(found->second.written, end);
  if (found->second.is_refused) return free_later(lease);
  if (end <= found->second.sent) return;
  want(found);
  pump();
}

void Shipper::ended(LeaseId lease, std::int64_t output_end, std::int64_t lost) {
  const auto found = leases_.find(lease);
  if (found == leases_.end() || found->second.mark) return;
  found->second.last_end = output_end;
  found->second.lost = std::max<std::int64_t>(lost, 0);
  want(found);
  pump();
  settle_later(lease);
}

void Shipper::remove(LeaseId lease) {
  const auto found = leases_.find(lease);
  if (found == leases_.end()) return;
  take_out(found->second, INT64_MAX);
  leases_.erase(found);
  pump();
}

void Shipper::want(Leases::iterator lease) {
  if (!std::exchange(lease->second.has_turn, true)) turns_.push_back(lease->first);
}

bool Shipper::has_room(const Lease& lease) const {
  return lease.under_way.size() < (lease.answered ? options_.parts_max_each : 1);
}

/// One part for each lease in turn, so that one that writes much does not hold back the others.
void Shipper::pump() {
  while (!paused_ && !turns_.empty() && parts_ < options_.parts_max && bytes_ < options_.bytes_max.value) {
    const auto lease = leases_.find(turns_.front());
    turns_.pop_front();
    if (lease == leases_.end()) continue;
    lease->second.has_turn = false;
    if (!has_room(lease->second)) continue;  // an answer gives it its next turn
    send_part(lease);
  }
}

void Shipper::send_part(Leases::iterator lease) {
  auto& [id, state] = *lease;
  Result<logs::Chunk> chunk = state.is_refused
                                  ? logs::Chunk{state.sent, 0, {}}
                                  : state.source->read(state.sent, state.answered ? part_bytes : first_part_bytes);
  if (!chunk) {
    log_.warning("output of " + to_string(id) + " cannot be read: " + chunk.error().message);
    return resend_later(lease);
  }
  if (chunk->bytes.empty() && state.mark && state.sent == state.mark->offset) *chunk = *state.mark;
  if (chunk->bytes.empty()) return rest_is_missing(lease);
  const Part part{link_.next_number(), chunk->next(), static_cast<std::int64_t>(chunk->bytes.size())};
  const bool after_gap = chunk->dropped > 0;
  const Result<void> sent =
      link_.send(bulk::PutOutput{part.number, id, chunk->offset, after_gap, std::move(chunk->bytes)});
  want(lease);
  if (!sent) return pause();
  state.under_way.push_back(part);
  state.sent = part.end;
  ++parts_;
  bytes_ += part.size;
  if (state.under_way.size() == 1) resend_later(lease);
}

/// Of a task that has ended, what is not in the spool by now never will be: the disk was full, or the host lost power.
void Shipper::rest_is_missing(Leases::iterator lease) {
  auto& [id, state] = *lease;
  const bool is_missing = state.last_end && (*state.last_end > state.sent || state.lost > 0);
  if (!is_missing || !state.under_way.empty()) return;
  const bool knows_end = *state.last_end != INT64_MAX;
  const std::int64_t missing = state.lost + (knows_end ? std::max<std::int64_t>(*state.last_end - state.sent, 0) : 0);
  state.lost = 0;
  state.last_end = state.sent;
  if (missing == 0) {
    log_.warning("output of " + to_string(id) + " from " + std::to_string(state.sent) + " on is lost");
    return settle_later(id);
  }
  const std::string text = std::to_string(missing) + " bytes of output are lost here: " +
                           (state.is_refused ? "the master refused them" : "they could not be written");
  log_.warning("output of " + to_string(id) + ": " + text);
  logs::Chunk mark{state.sent, 0, {}};
  logs::encode({logs::Stream::note, false, {}, text}, mark.bytes);
  state.last_end = mark.next();
  state.mark = std::move(mark);
  want(lease);
}

void Shipper::hear(const bulk::OutputStored& answer) {
  const auto lease = leases_.find(answer.lease);
  if (lease == leases_.end()) return;
  paused_ = false;
  pause_for_ = pause_first;
  lease->second.answered = true;
  if (!answer.gap) {
    progress(lease, answer.end);
  } else if (answer.number >= lease->second.first_number) {
    go_back(lease, answer.end);
  }
  want(lease);
  pump();
  if (listener_.stored && !answer.gap) listener_.stored(answer.lease, answer.end);
  settle(answer.lease);
}

void Shipper::refused(const bulk::Refused& answer) {
  const auto lease = leases_.find(answer.lease);
  if (lease == leases_.end()) return;
  if (answer.code == Errc::unavailable || answer.code == Errc::timed_out) return;  // it is sent again
  // A denied lease is that of another agent, or of another life of the cluster: not even a mark would be taken.
  if (answer.code != Errc::denied) return part_refused(lease, answer);
  log_.warning("the master refuses output of lease " + to_string(answer.lease) +
               " from this agent; the output is dropped");
  drop(answer.lease);
}

/// The master would refuse it again. Its log ends with a mark; what the task still writes is freed unread.
void Shipper::part_refused(Leases::iterator lease, const bulk::Refused& answer) {
  auto& [id, state] = *lease;
  if (answer.number < state.first_number) return;  // it was sent before the last refusal
  log_.warning("the master refuses output of lease " + to_string(id) + " from " + std::to_string(state.stored) +
               " on: " + answer.why + "; the rest is dropped");
  if (std::exchange(state.is_refused, true)) return drop(id);  // the mark itself
  go_back(lease, state.stored);
  want(lease);
  pump();
  free_later(id);
  settle_later(id);
}

void Shipper::free_later(LeaseId id) {
  loop_.post([this, gone = gone_, id] {
    if (*gone) return;
    const auto lease = leases_.find(id);
    if (lease != leases_.end() && listener_.stored) listener_.stored(id, lease->second.written);
  });
}

void Shipper::drop(LeaseId id) {
  remove(id);
  if (listener_.finished) listener_.finished(id);
}

void Shipper::progress(Leases::iterator lease, std::int64_t end) {
  Lease& state = lease->second;
  if (end <= state.stored) return;
  state.stored = end;
  state.sent = std::max(state.sent, end);
  state.wait = options_.resend_first;
  take_out(state, end);
  state.resend.cancel();
  if (!state.under_way.empty()) resend_later(lease);
}

void Shipper::go_back(Leases::iterator lease, std::int64_t to) {
  Lease& state = lease->second;
  take_out(state, INT64_MAX);
  state.resend.cancel();
  state.stored = state.sent = to;
  state.first_number = link_.next_number();
}

void Shipper::take_out(Lease& lease, std::int64_t up_to) {
  while (!lease.under_way.empty() && lease.under_way.front().end <= up_to) {
    --parts_;
    bytes_ -= lease.under_way.front().size;
    lease.under_way.pop_front();
  }
}

void Shipper::resend_later(Leases::iterator lease) {
  lease->second.resend = loop_.after(lease->second.wait, [this, id = lease->first] { resend(id); });
}

void Shipper::resend(LeaseId id) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end()) return;
  lease->second.wait = std::min(2 * lease->second.wait, options_.resend_longest);
  go_back(lease, lease->second.stored);
  want(lease);
  pump();
}

void Shipper::pause() {
  paused_ = true;
  pause_ = loop_.after(pause_for_, [this] {
    paused_ = false;
    pump();
  });
  pause_for_ = std::min(2 * pause_for_, pause_longest);
}

void Shipper::settle(LeaseId id) {
  const auto lease = leases_.find(id);
  if (lease == leases_.end() || !lease->second.last_end || lease->second.stored < *lease->second.last_end) return;
  if (lease->second.lost > 0) return;  // the mark is still to be made
  drop(id);
}

void Shipper::settle_later(LeaseId id) {
  loop_.post([this, gone = gone_, id] {
    if (!*gone) settle(id);
  });
}

}  // namespace cadre::agent
