#include "cli/output.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

/// Output that a task wrote before its end and that has not arrived by then is on an agent that is lost.
constexpr Duration ended_stall_max = 30s;
/// The same for a lease whose end of output is unknown.
constexpr Duration over_stall_max = 2s;
/// For output that was written but has not arrived, when a command does not follow it.
constexpr Duration late_max = 3s;
/// Before the next request to a master that is busy or has too many waiting requests.
constexpr Duration gone_pause = 1s;
/// Leases of one task that ended between two looks at it.
constexpr std::uint64_t leases_most = 10;

std::string dropped_words(std::int64_t bytes) { return "(" + std::to_string(bytes) + " bytes of output are lost)"; }

logs::Line line_of(const requests::LogLine& line) {
  const std::string_view text = line.text ? std::string_view(*line.text) : as_text(*line.bytes);
  return {static_cast<logs::Stream>(line.stream), line.continues, line.time, text};
}

/// Hands on the lines of a page; whether there was anything new.
bool take(CommandContext& session, Reading& reading, const requests::LogPage& page, const OnLine& on_line) {
  const bool begins_later = reading.last_lines > 0;
  if (!begins_later && page.offset > reading.offset) {
    const std::string lost = dropped_words(page.offset - reading.offset);
    on_line(reading.lease.task, {logs::Stream::note, false, session.calendar.now(), lost});
  }
  for (const requests::LogLine& line : page.lines) {
    if (line.text || line.bytes) on_line(reading.lease.task, line_of(line));
  }
  flush_output();
  const bool went_on = page.next > reading.offset || !page.lines.empty();
  reading.offset = std::max(reading.offset, page.next);
  if (went_on) reading.last_lines = 0;
  return went_on;
}

requests::ReadLogs question_of(const Reading& reading, bool wait) {
  return {reading.lease.task,   reading.lease.epoch.value, reading.offset,      reading.last_lines,
          reading.filter.since, reading.filter.level,      reading.filter.grep, wait};
}

/// Waits for output that is known to come: the news of an end may overtake it.
loop::Task<bool> more_comes(CommandContext& session, const Reading& reading) {
  requests::ReadLogs question = question_of(reading, true);
  Inquiry<Result<requests::LogPage>> asked(session.loop, ask(session, std::move(question), question_max));
  const std::optional<Result<requests::LogPage>> page = co_await asked.answer(late_max);
  co_return page&&* page && (*page)->next > reading.offset;
}

}  // namespace

loop::Task<Result<void>> read_all(CommandContext& session, const Reading& from, const OnLine& on_line) {
  Reading reading = from;
  for (bool goes_on = true; goes_on;) {
    requests::ReadLogs question = question_of(reading, false);
    const Result<requests::LogPage> page = co_await ask(session, std::move(question));
    if (!page) co_return Failure(page.error());
    goes_on = take(session, reading, *page, on_line);
    if (!goes_on && reading.offset < reading.end) goes_on = co_await more_comes(session, reading);
  }
  if (const std::int64_t missing = reading.end - reading.offset; missing > 0) {
    const std::string words = "(" + std::to_string(missing) + " bytes of output have not arrived)";
    on_line(reading.lease.task, {logs::Stream::note, false, session.calendar.now(), words});
  }
  co_return Result<void>();
}

/// This one, and those that came and went before anybody told of them.
void TaskOutput::add_leases(std::uint64_t epoch) {
  if (!leases_.empty()) leases_.back().is_over = true;
  const bool is_first = last_epoch_ == 0;
  std::uint64_t from = is_first && !options_.all_leases ? epoch : last_epoch_ + 1;
  if (epoch - from >= leases_most) from = epoch - leases_most + 1;
  for (std::uint64_t each = from; each <= epoch; ++each) {
    const std::int64_t last_lines = is_first && each == from ? options_.last_lines : 0;
    leases_.push_back({{{options_.task, {each}}, 0, last_lines, 0, options_.filter}, std::nullopt, each != epoch});
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
  if (write_error() != 0) return true;  // nobody reads it
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
  if (!lease.end && !lease.is_over) return options_.idle_max;  // however long it has been silent
  const Duration most = lease.end ? ended_stall_max : over_stall_max;
  return std::clamp<Duration>(last_progress + most - session_.loop.now(), 1ms, options_.idle_max);
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
    requests::ReadLogs question = question_of(lease.reading, true);
    question_ = std::make_unique<Inquiry<Result<requests::LogPage>>>(
        session_.loop, ask(session_, std::move(question), rest::absence_max));
    const std::optional<Result<requests::LogPage>> page = co_await question_->answer(wait_for(lease, last_progress));
    question_.reset();
    if (!page) continue;
    if (!*page && exit_code_of(page->error()) == unreachable) {
      co_await loop::sleep(session_.loop, gone_pause);
      continue;
    }
    if (!*page) {
      session_.complain(page->error());
      break;
    }
    if (take(session_, lease.reading, **page, options_.on_line)) last_progress = session_.loop.now();
  }
  leases_.clear();
  follows_ = false;
}

}  // namespace cadre::cli
