#include "remote/line.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace cadre::remote {
namespace {

std::size_t bytes(ByteSize size) { return static_cast<std::size_t>(size.value); }

}  // namespace

bool Line::has_room(std::size_t cost) const {
  if (waiting() == 0) return true;
  return waiting() < limits_.queue && queue_cost_ + sent_cost_ + cost <= bytes(limits_.queue_bytes);
}

void Line::put(Note note) {
  CHECK(has_room(note.cost()));
  queue_cost_ += note.cost();
  queue_.push_back({std::move(note), 0});
}

std::optional<Note> Line::drop_oldest() {
  const auto oldest = std::find_if(queue_.begin(), queue_.end(), [](const Out& out) { return out.number == 0; });
  if (oldest == queue_.end()) return std::nullopt;
  Note note = std::move(oldest->note);
  queue_.erase(oldest);
  queue_cost_ -= note.cost();
  return note;
}

bool Line::has_window(std::size_t cost) const {
  const std::size_t under_way = sent_.size() + peer_held_;
  if (under_way == 0) return true;
  return under_way < peer_window_ && sent_cost_ + peer_held_cost_ + cost <= bytes(peer_window_bytes_);
}

std::set<std::uint64_t> Line::queued_ids() const {
  std::set<std::uint64_t> ids;
  for (const Out& out : queue_) ids.insert(out.note.id);
  return ids;
}

std::set<std::uint64_t> Line::waiting_ids() const {
  std::set<std::uint64_t> ids = queued_ids();
  for (const Out& out : sent_) ids.insert(out.note.id);
  return ids;
}

Welcome Line::welcome(std::uint64_t line) const {
  return {line,
          arrived_,
          static_cast<std::uint32_t>(held_),
          held_cost_,
          static_cast<std::uint32_t>(limits_.window),
          static_cast<std::uint64_t>(limits_.window_bytes.value)};
}

bool Line::has_notes() const { return !queue_.empty() && has_window(queue_.front().note.cost()); }

Bytes Line::make_frame(Hearing hearing) {
  Bytes frame = spell(
      Notes{hearing.line, hearing.is_deaf, arrived_, static_cast<std::uint32_t>(held_), held_cost_, last_ + 1, {}});
  told_arrived_ = arrived_;
  told_held_ = held_;
  told_held_cost_ = held_cost_;
  fresh_cost_ = 0;
  if (has_notes()) {  // room for all that fits, so that nothing is moved
    const std::size_t most = std::max(bytes(limits_.frame_bytes), queue_.front().note.cost());
    frame.reserve(frame.size() + std::min(queue_cost_, most));
  }
  for (bool is_first = true; has_notes(); is_first = false) {
    Out& out = queue_.front();
    const std::size_t cost = out.note.cost();
    if (!is_first && frame.size() + cost > bytes(limits_.frame_bytes)) break;
    append(frame, out.note);
    out.number = ++last_;
    queue_cost_ -= cost;
    sent_cost_ += cost;
    sent_.push_back(std::move(out));
    queue_.pop_front();
  }
  return frame;
}

void Line::acknowledge(std::uint64_t number) {
  while (!sent_.empty() && sent_.front().number <= number) {
    sent_cost_ -= sent_.front().note.cost();
    sent_.pop_front();
  }
}

Result<std::vector<Note>> Line::take(Notes frame) {
  if (frame.acknowledged > last_) return fail(Errc::corrupt, "a message was acknowledged that was never sent");
  acknowledge(frame.acknowledged);
  peer_held_ = frame.held;
  peer_held_cost_ = static_cast<std::size_t>(frame.held_bytes);
  std::vector<Note> fresh = std::move(frame.notes);
  if (fresh.empty()) return fresh;
  if (frame.first != arrived_ + 1) return fail(Errc::corrupt, "notes are missing or repeated");
  std::size_t cost = 0;
  for (const Note& note : fresh) cost += note.cost();
  const bool fits = held_ + fresh.size() <= limits_.window && held_cost_ + cost <= bytes(limits_.window_bytes);
  if (!fits && held_ + fresh.size() > 1) return fail(Errc::corrupt, "more notes arrived than were allowed");
  arrived_ += fresh.size();
  held_ += fresh.size();
  held_cost_ += cost;
  fresh_cost_ += cost;
  return fresh;
}

void Line::taken(const Note& note) {
  --held_;
  held_cost_ -= note.cost();
}

/// It is urgent before the other side has to wait for it.
Line::Debt Line::debt() const {
  if (arrived_ == told_arrived_ && held_ == told_held_) return Debt::none;
  const std::uint64_t fresh = arrived_ - told_arrived_;
  const std::size_t freed = told_held_ > held_ ? told_held_ - held_ : 0;
  const std::size_t freed_cost = told_held_cost_ > held_cost_ ? told_held_cost_ - held_cost_ : 0;
  const bool is_urgent = fresh > limits_.window / 4 || freed > limits_.window / 4 ||
                         std::max(freed_cost, fresh_cost_) > bytes(limits_.window_bytes) / 4;
  return is_urgent ? Debt::urgent : Debt::some;
}

std::vector<Note> Line::broke(Unsent unsent) {
  std::vector<Note> lost;
  std::deque<Out> kept;
  const auto sort_out = [&](std::deque<Out>& outs, bool gives_up) {
    for (Out& out : outs) {
      if (gives_up && !out.note.is_reliable) {
        lost.push_back(std::move(out.note));
      } else {
        kept.push_back(std::move(out));
      }
    }
  };
  sort_out(sent_, true);
  sort_out(queue_, unsent == Unsent::give_up);
  sent_.clear();
  queue_ = std::move(kept);
  sent_cost_ = 0;
  queue_cost_ = std::accumulate(queue_.begin(), queue_.end(), std::size_t{0},
                                [](std::size_t sum, const Out& out) { return sum + out.note.cost(); });
  return lost;
}

void Line::resumed(const Welcome& welcome) {
  while (!queue_.empty() && queue_.front().number != 0 && queue_.front().number <= welcome.arrived) {
    queue_cost_ -= queue_.front().note.cost();
    queue_.pop_front();
  }
  for (Out& out : queue_) out.number = 0;  // they get new ones, that follow what has arrived
  last_ = welcome.arrived;
  peer_held_ = welcome.held;
  peer_held_cost_ = static_cast<std::size_t>(welcome.held_bytes);
  peer_window_ = std::max<std::size_t>(1, welcome.window);
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  peer_window_bytes_ = ByteSize{static_cast<std::int64_t>(std::min(welcome.window_bytes, most))};
}

std::vector<Note> Line::begin_anew() {
  resumed({});  // until it says something else
  std::vector<Note> answers;
  std::deque<Out> kept;
  for (Out& out : queue_) {
    const bool is_answer = out.note.kind == Note::Kind::reply || out.note.kind == Note::Kind::refusal;
    if (is_answer) queue_cost_ -= out.note.cost();
    is_answer ? answers.push_back(std::move(out.note)) : kept.push_back(std::move(out));
  }
  queue_ = std::move(kept);
  arrived_ = told_arrived_ = 0;
  held_ = held_cost_ = told_held_ = told_held_cost_ = fresh_cost_ = 0;
  return answers;
}

std::vector<Note> Line::give_up() {
  std::vector<Note> all;
  for (std::deque<Out>* outs : {&sent_, &queue_}) {
    for (Out& out : *outs) all.push_back(std::move(out.note));
    outs->clear();
  }
  queue_cost_ = sent_cost_ = 0;
  return all;
}

}  // namespace cadre::remote
