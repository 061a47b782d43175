#include "master/bulk_output.h"

#include <algorithm>
#include <utility>

#include "logs/record.h"

namespace cadre::master {

namespace bulk = cluster::bulk;

namespace {

constexpr Duration prune_every = std::chrono::minutes(1);
/// Many may wait for the same output; each of them gets no more than this at once.
constexpr std::size_t waited_bytes_max = std::size_t{16} << 10;
constexpr std::size_t tail_bytes_max = std::size_t{16} << 20;

/// As much of it as fits into one message.
void shorten(logs::Chunk& chunk) {
  if (chunk.bytes.size() <= bulk::part_bytes_max) return;
  chunk.bytes.resize(logs::whole_records(BytesView(chunk.bytes).first(bulk::part_bytes_max)));
}

/// Lines that end there. The bytes are whole records.
std::uint64_t lines_in(BytesView records) {
  std::uint64_t lines = 0;
  logs::Decoder decoder(records);
  while (const auto line = decoder.next()) lines += line->continues ? 0 : 1;
  return lines;
}

}  // namespace

BulkOutput::BulkOutput(Dependencies deps, const BulkLimits& limits) : deps_(std::move(deps)), limits_(limits) {
  prune();
}

BulkOutput::~BulkOutput() { *gone_ = true; }

void BulkOutput::put(const net::Peer& peer, bulk::PutOutput part) {
  ++deps_.metrics.puts;
  deps_.metrics.put_bytes += part.records.size();
  Put put{peer, part.number, part.lease, false};
  const std::string name = to_string(part.lease);
  const bool is_full = deps_.logs.end(name) >= limits_.log_bytes_max.value;
  const Result<std::int64_t> end = is_full ? drop(name, part) : append(name, std::move(part));
  if (!end && end.error().code == Errc::conflict) {
    ++deps_.metrics.gaps;
    put.gap = true;
  } else if (!end && end.error().code != Errc::invalid && end.error().code != Errc::corrupt) {
    return note_failure(end.error());  // of the disk, not of this part: not acknowledged, it comes again
  } else if (!end) {
    ++deps_.metrics.refused_malformed;
    flush();  // so that the agent knows first what is stored before it
    return deps_.reply(peer, bulk::Refused{put.number, end.error().code, end.error().message, put.lease});
  }
  puts_.push_back(put);
  flush_later();
}

Result<std::int64_t> BulkOutput::append(const std::string& name, bulk::PutOutput part) {
  const std::int64_t known = deps_.logs.end(name);
  const std::int64_t lost = part.after_gap ? part.offset - known : 0;
  const logs::Chunk chunk{part.offset, std::max<std::int64_t>(lost, 0), std::move(part.records)};
  TRY_ASSIGN(end, deps_.logs.append(name, chunk));
  const auto fresh = std::min(chunk.bytes.size(), static_cast<std::size_t>(std::max<std::int64_t>(end - known, 0)));
  deps_.metrics.stored_bytes += fresh;
  deps_.metrics.stored_lines += lines_in(BytesView(chunk.bytes).last(fresh));
  return end;
}

/// The log goes on without the bytes, so that it ends where the task's output does, and nobody waits for more.
Result<std::int64_t> BulkOutput::drop(const std::string& name, const bulk::PutOutput& part) {
  const std::int64_t known = deps_.logs.end(name);
  logs::Chunk nothing{part.offset + static_cast<std::int64_t>(part.records.size()), 0, {}};
  if (nothing.offset <= known) return known;
  deps_.metrics.dropped_bytes += static_cast<std::uint64_t>(nothing.offset - known);
  const std::string text = "output beyond " + to_string(limits_.log_bytes_max) + " is not kept";
  const logs::Line mark{logs::Stream::note, false, deps_.calendar.now(), text};
  const auto mark_bytes = static_cast<std::int64_t>(logs::record_bytes(mark));
  if (!overflown_.contains(part.lease) && nothing.offset - known >= mark_bytes) {
    encode(mark, nothing.bytes);
    nothing.offset -= mark_bytes;
    overflown_.insert(part.lease);
  }
  nothing.dropped = nothing.offset - known;
  return deps_.logs.append(name, nothing);
}

/// A posted call runs after the messages that are handled in this turn.
void BulkOutput::flush_later() {
  if (std::exchange(flush_posted_, true)) return;
  deps_.loop.post([this, gone = gone_] {
    if (!*gone) flush();
  });
}

void BulkOutput::flush() {
  flush_posted_ = false;
  const std::vector<Put> puts = std::exchange(puts_, {});
  if (puts.empty()) return;
  ++deps_.metrics.syncs;
  if (const Result<void> synced = deps_.logs.sync(); !synced) return note_failure(synced.error());
  note_success();
  for (const Put& put : puts) {
    const std::int64_t end = deps_.logs.end(to_string(put.lease));
    deps_.reply(put.peer, bulk::OutputStored{put.number, put.lease, end, put.gap});
  }
  for (const Put& put : puts) wake(put.lease);
  deps_.metrics.logs_bytes.set(deps_.logs.size().value);
}

Result<logs::Chunk> BulkOutput::find(const bulk::ReadOutput& question) {
  const std::string name = to_string(question.lease);
  const std::size_t most = question.wait ? waited_bytes_max : bulk::part_bytes_max;
  if (question.last_lines == 0) return deps_.logs.read(name, question.offset, most);
  return deps_.logs.tail(name, static_cast<std::size_t>(question.last_lines), tail_bytes_max);
}

void BulkOutput::read(const net::Peer& peer, const bulk::ReadOutput& question) {
  ++deps_.metrics.reads;
  Result<logs::Chunk> chunk = find(question);
  if (!chunk) {
    ++deps_.metrics.failures;
    return deps_.reply(peer, bulk::Refused{question.number, chunk.error().code, chunk.error().message});
  }
  const bool is_news = !chunk->bytes.empty() || (question.last_lines == 0 && chunk->next() > question.offset);
  if (question.wait && !is_news) return wait(peer, question, chunk->next());
  answer(peer, question.number, *std::move(chunk));
}

void BulkOutput::answer(const net::Peer& peer, std::uint64_t number, logs::Chunk chunk) {
  shorten(chunk);
  const std::int64_t next = chunk.next();
  deps_.reply(peer, bulk::Output{number, chunk.offset, next, std::move(chunk.bytes)});
}

void BulkOutput::wait(const net::Peer& peer, const bulk::ReadOutput& question, std::int64_t offset) {
  std::int32_t& of_peer = waiting_[peer.connection];
  if (of_peer >= limits_.waiting_max_each || waiters_.size() >= static_cast<std::size_t>(limits_.waiting_max)) {
    if (of_peer == 0) waiting_.erase(peer.connection);
    ++deps_.metrics.refused_full;
    const std::string why = "too many readers already wait for output; try again later, or without waiting";
    return deps_.reply(peer, bulk::Refused{question.number, Errc::unavailable, why});
  }
  ++of_peer;
  const TimePoint until = deps_.loop.now() + limits_.wait_max;
  waiters_.push_back({peer, question.number, question.lease, offset, until});
  waiters_of_[question.lease].push_back(std::prev(waiters_.end()));
  deps_.metrics.waiting.set(static_cast<std::int64_t>(waiters_.size()));
  if (waiters_.size() == 1) expire_later();
}

void BulkOutput::wake(cluster::LeaseId lease) {
  const auto found = waiters_of_.find(lease);
  if (found == waiters_of_.end()) return;
  for (const Waiters::iterator waiter : std::vector(found->second)) {
    Result<logs::Chunk> chunk = deps_.logs.read(to_string(lease), waiter->offset, waited_bytes_max);
    if (!chunk || chunk->next() <= waiter->offset) continue;
    answer(waiter->peer, waiter->number, *std::move(chunk));
    forget(waiter);
  }
}

void BulkOutput::forget(Waiters::iterator waiter) {
  const auto of_lease = waiters_of_.find(waiter->lease);
  std::erase(of_lease->second, waiter);
  if (of_lease->second.empty()) waiters_of_.erase(of_lease);
  const auto of_peer = waiting_.find(waiter->peer.connection);
  if (--of_peer->second == 0) waiting_.erase(of_peer);
  waiters_.erase(waiter);
  deps_.metrics.waiting.set(static_cast<std::int64_t>(waiters_.size()));
}

void BulkOutput::forget(const net::Peer& peer) {
  if (!waiting_.contains(peer.connection)) return;
  for (auto at = waiters_.begin(); at != waiters_.end();) {
    const auto one = at++;
    if (one->peer.connection == peer.connection) forget(one);
  }
}

/// Whoever is gone without a word is found out this way, too.
void BulkOutput::expire() {
  while (!waiters_.empty() && waiters_.front().until <= deps_.loop.now()) {
    const Waiter& waiter = waiters_.front();
    answer(waiter.peer, waiter.number, {waiter.offset, 0, {}});
    forget(waiters_.begin());
  }
  expire_later();
}

void BulkOutput::expire_later() {
  if (!waiters_.empty()) expiry_ = deps_.loop.at(waiters_.front().until, [this] { expire(); });
}

void BulkOutput::remove(cluster::LeaseId lease) {
  overflown_.erase(lease);
  if (const Result<void> removed = deps_.logs.remove(to_string(lease)); !removed) note_failure(removed.error());
}

void BulkOutput::prune() {
  const logs::Retention retention{limits_.log_age_max, limits_.logs_bytes_max};
  if (const Result<void> done = deps_.logs.prune(deps_.calendar.now(), retention); !done) note_failure(done.error());
  deps_.metrics.logs_bytes.set(deps_.logs.size().value);
  pruning_ = deps_.loop.after(prune_every, [this] { prune(); });
}

void BulkOutput::note_failure(const Error& error) {
  ++deps_.metrics.failures;
  if (std::exchange(failing_, true)) return;
  deps_.log.error("output cannot be stored and stays on the agents: " + error.message);
}

void BulkOutput::note_success() {
  if (std::exchange(failing_, false)) deps_.log.info("output is stored again");
}

}  // namespace cadre::master
