#include "cli/output.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace bulk = cluster::bulk;

/// Output that was written before a task ended but has not come by then is on an agent that is gone.
constexpr Duration ended_stall_max = 30s;
/// The same for a lease of which nobody knows where its output ends.
constexpr Duration over_stall_max = 2s;
constexpr Duration idle_max = 60s;
/// For what was written and has not come when somebody only looks.
constexpr Duration late_max = 3s;
/// Of one task that were given up while nobody looked.
constexpr std::uint64_t leases_most = 10;

std::string dropped_words(std::int64_t bytes) { return "(" + std::to_string(bytes) + " bytes of output are lost)"; }

/// Hands on the lines of an answer; whether there were any.
Got<bool> take(Session& session, Reading& reading, const bulk::FromMaster& answer, const OnLine& on_line) {
  if (const auto* no = std::get_if<bulk::Refused>(&answer)) {
    return NotGot(Refusal{failed, "the output of task " + to_string(reading.lease.task) + ": " + no->why});
  }
  const auto* output = std::get_if<bulk::Output>(&answer);
  if (output == nullptr) return NotGot(Refusal{failed, "the master gave an answer of another kind"});
  const auto note = [&](const std::string& text) {
    on_line(reading.lease.task, {logs::Stream::note, false, session.calendar.now(), text});
  };
  const bool begins_later = reading.last_lines > 0;
  if (!begins_later && output->offset > reading.offset) note(dropped_words(output->offset - reading.offset));
  logs::Decoder decoder(output->records);
  while (const std::optional<logs::Line> line = decoder.next()) on_line(reading.lease.task, *line);
  if (decoder.state() != logs::Decoder::State::whole) note("(some output is spoiled)");
  flush_output();
  const bool went_on = output->next > reading.offset || !output->records.empty();
  reading.offset = std::max(reading.offset, output->next);
  if (went_on) reading.last_lines = 0;
  return went_on;
}

bulk::ReadOutput question_of(const Reading& reading, bool wait) {
  return {0, reading.lease, reading.offset, reading.last_lines, wait};
}

/// Waits for output that is known to come: the news of an end may overtake it.
loop::Task<bool> more_comes(Session& session, const Reading& reading) {
  const auto answer = co_await session.connection.ask_bulk(question_of(reading, true), late_max);
  const auto* output = answer ? std::get_if<bulk::Output>(&*answer) : nullptr;
  co_return output != nullptr && !output->records.empty();
}

}  // namespace

loop::Task<Got<void>> read_all(Session& session, Reading reading, const OnLine& on_line) {
  for (bool goes_on = true; goes_on;) {
    Result<bulk::FromMaster> answer = co_await session.connection.ask_bulk(question_of(reading, false));
    if (!answer) co_return NotGot(refusal_of(answer.error()));
    const Got<bool> took = take(session, reading, *answer, on_line);
    if (!took) co_return NotGot(took.error());
    goes_on = *took && !std::get<bulk::Output>(*answer).records.empty();
    if (!goes_on && reading.offset < reading.end) goes_on = co_await more_comes(session, reading);
  }
  if (const std::int64_t missing = reading.end - reading.offset; missing > 0) {
    const std::string words = "(" + std::to_string(missing) + " bytes of output have not come)";
    on_line(reading.lease.task, {logs::Stream::note, false, session.calendar.now(), words});
  }
  co_return Got<void>();
}

/// This one, and those that came and went before anybody told of them.
void TaskOutput::add_leases(std::uint64_t epoch) {
  if (!leases_.empty()) leases_.back().is_over = true;
  const bool is_first = last_epoch_ == 0;
  std::uint64_t from = is_first && !options_.all_leases ? epoch : last_epoch_ + 1;
  if (epoch - from >= leases_most) from = epoch - leases_most + 1;
  for (std::uint64_t each = from; each <= epoch; ++each) {
    const std::int64_t last_lines = is_first && each == from ? options_.last_lines : 0;
    leases_.push_back({{{options_.task, {each}}, 0, last_lines, 0}, std::nullopt, each != epoch});
  }
  last_epoch_ = epoch;
}

void TaskOutput::tell(const cluster::requests::TaskView& view) {
  if (view.epoch == 0) return;
  if (view.epoch > last_epoch_) add_leases(view.epoch);
  if (view.epoch == last_epoch_ && view.ending && !leases_.empty()) {
    Lease& lease = leases_.back();
    lease.is_over = view.ending->reason == cluster::lease::Reason::agent_lost;
    if (!lease.is_over) lease.end = view.ending->output_end;
  }
  if (!leases_.empty() && !std::exchange(follows_, true)) tasks_.spawn(follow());
  wake();
}

void TaskOutput::tell_over() {
  for (Lease& lease : leases_) lease.is_over = lease.is_over || !lease.end;
  wake();
}

bool TaskOutput::is_done(const Lease& lease, TimePoint last_progress) {
  if (lease.end && lease.reading.offset >= *lease.end) return true;
  const Duration quiet = session_.loop.now() - last_progress;
  if (lease.end && quiet >= ended_stall_max) {
    const std::int64_t missing = *lease.end - lease.reading.offset;
    options_.on_line(options_.task, {logs::Stream::note, false, session_.calendar.now(), dropped_words(missing)});
    return true;
  }
  return lease.is_over && quiet >= over_stall_max;
}

Duration TaskOutput::wait_for(const Lease& lease, TimePoint last_progress) const {
  const Duration most = lease.end ? ended_stall_max : lease.is_over ? over_stall_max : idle_max;
  return std::clamp<Duration>(last_progress + most - session_.loop.now(), 1ms, idle_max);
}

loop::Task<void> TaskOutput::follow() {
  TimePoint last_progress = session_.loop.now();
  bool was_ending = false;
  while (!leases_.empty()) {
    Lease& lease = leases_.front();
    // The stall is counted from when its end became known.
    if (const bool is_ending = lease.end || lease.is_over; is_ending != std::exchange(was_ending, is_ending)) {
      last_progress = session_.loop.now();
    }
    if (is_done(lease, last_progress)) {
      leases_.pop_front();
      was_ending = false;
      continue;
    }
    auto asked = session_.connection.begin_bulk(question_of(lease.reading, true));
    if (!asked) {
      session_.complain(refusal_of(asked.error()));
      break;
    }
    talk_ = *std::move(asked);
    auto answer = co_await talk_->next(wait_for(lease, last_progress));
    talk_.reset();
    if (!answer) {
      if (answer.error().code == Errc::corrupt) {
        session_.complain(refusal_of(session_.connection.explain(answer.error())));
        break;
      }
      co_await loop::sleep(session_.loop, 100ms);  // nobody listens there yet
      continue;
    }
    if (!*answer) continue;
    const Got<bool> took = take(session_, lease.reading, **answer, options_.on_line);
    if (!took) {
      session_.complain(took.error());
      break;
    }
    if (*took) last_progress = session_.loop.now();
  }
  leases_.clear();
  follows_ = false;
}

}  // namespace cadre::cli
