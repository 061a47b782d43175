#include "supervisor/task_side.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"
#include "supervisor/messages.h"

namespace cadre::supervisor {

using namespace cluster::supervision;

Result<void> TaskSide::open() {
  TRY_ASSIGN(listener, listen_here("task.sock"));
  listener_ = std::move(listener);
  return {};
}

void TaskSide::watch(Watch& watch, const Calls& calls) {
  watch.add(listener_.get(), POLLIN, [this] { accept_all(); });
  for (const auto& [id, connection] : connections_) {
    watch.add(connection.socket.get(), POLLIN, [this, id = id, &calls] { receive(id, calls); });
  }
}

void TaskSide::accept_all() {
  while (Descriptor next = accept_one(listener_.get())) {
    if (connections_.size() == connections_max) {
      ++refused_;
      continue;
    }
    connections_[++last_connection_].socket = std::move(next);
  }
}

void TaskSide::receive(std::uint64_t id, const Calls& calls) {
  for (int packets = 0; packets < packets_at_once; ++packets) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    const Received received = receive_packet(found->second.socket.get(), packet_buffer());
    if (received.kind == Received::Kind::nothing) return;
    if (received.kind == Received::Kind::closed) {
      connections_.erase(found);
      return;
    }
    const auto message = received.kind == Received::Kind::packet
                             ? describe::read_msgpack<FromTask>(received.bytes, packet_bounds)
                             : tl::unexpected(describe::Faults{});
    if (message) {
      take(id, *message, calls);
    } else {
      ++refused_;
    }
  }
}

void TaskSide::take(std::uint64_t id, const FromTask& message, const Calls& calls) {
  if (const std::string& why = connections_.at(id).refused_why; !why.empty()) {
    ++refused_;
    if (const auto* report = std::get_if<Report>(&message)) tell(id, ReportAnswer{report->number, false, why});
    return;
  }
  calls.heard();
  std::visit(overloaded{
                 [&](const Attach& attach) {
                   constexpr std::string_view library = "the client library of this process";
                   if (const auto why = protocol::mismatch(library, attach.protocols, "the agent")) {
                     ++refused_;
                     connections_.at(id).refused_why = *why;
                     return void(tell(id, AttachRefused{*why}));
                   }
                   ever_attached_ = connections_.at(id).attached = true;
                   if (const auto notice = calls.attached()) tell(id, *notice);
                 },
                 [&](const Beat& beat) {
                   tally_ = {std::max(tally_.calls, beat.calls), std::max(tally_.errors, beat.errors)};
                   calls.promised();
                 },
                 [&](const Report& report) { take_report(id, report); },
                 [&](const Ready&) {
                   if (const auto begin = calls.ready()) {
                     tell(id, *begin);
                   } else {
                     connections_.at(id).ready = true;
                   }
                 },
             },
             message);
}

void TaskSide::take_report(std::uint64_t id, const Report& report) {
  if (reports_.size() == reports_max || report_bytes_ + report.body.size() > report_bytes_max) {
    ++refused_;
    tell(id, ReportAnswer{report.number, false, "too many reports wait for an acknowledgement; wait for earlier ones"});
    return;
  }
  report_bytes_ += report.body.size();
  reports_[++last_report_] = {id, report};
}

std::optional<Report> TaskSide::next_report() {
  const auto next = reports_.upper_bound(sent_up_to_);
  if (next == reports_.end()) return std::nullopt;
  sent_up_to_ = next->first;
  Report report = next->second.report;
  report.number = next->first;
  return report;
}

void TaskSide::answer(const ReportAnswer& answer) {
  const auto found = reports_.find(answer.number);
  if (found == reports_.end()) return;
  const Waiting waiting = std::move(found->second);
  reports_.erase(found);
  report_bytes_ -= waiting.report.body.size();
  tell(waiting.connection, ReportAnswer{waiting.report.number, answer.accepted, answer.why});
}

std::size_t TaskSide::notify(const StopNotice& notice) {
  std::size_t told = 0;
  for (auto next = connections_.begin(); next != connections_.end();) {
    const auto& [id, connection] = *next++;
    if (connection.attached && tell(id, notice)) ++told;
  }
  return told;
}

bool TaskSide::has_ready() const {
  return std::any_of(connections_.begin(), connections_.end(), [](const auto& one) { return one.second.ready; });
}

std::size_t TaskSide::begin(const Begin& begin) {
  std::size_t told = 0;
  for (auto next = connections_.begin(); next != connections_.end();) {
    auto& [id, connection] = *next++;
    if (std::exchange(connection.ready, false) && tell(id, begin)) ++told;
  }
  return told;
}

bool TaskSide::tell(std::uint64_t id, const ToTask& message) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return false;
  if (send_packet(found->second.socket.get(), describe::write_msgpack(message)) == Sent::yes) return true;
  ++refused_;
  connections_.erase(found);
  return false;
}

}  // namespace cadre::supervisor
