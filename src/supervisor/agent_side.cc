#include "supervisor/agent_side.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "describe/describe.h"
#include "supervisor/messages.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {

using cluster::supervision::FromAgent;
using cluster::supervision::FromSupervisor;

namespace {

constexpr int last_packets_most = 4096;  // of an agent that is gone: more than a socket holds

}  // namespace

Result<void> AgentSide::open() {
  if (listener_) return {};
  TRY_ASSIGN(listener, listen_here("agent.sock"));
  listener_ = std::move(listener);
  return {};
}

void AgentSide::watch(Watch& watch, const Calls& calls) {
  if (agent_) {
    watch.add(agent_.get(), outbox_.empty() ? POLLIN : POLLOUT, [this, &calls] {
      flush();
      receive(calls);
    });
  }
  // After the connection: the last words of an agent come before the next one takes its place.
  if (listener_) watch.add(listener_.get(), POLLIN, [this, &calls] { accept_all(calls); });
}

void AgentSide::accept_all(const Calls& calls) {
  while (Descriptor next = accept_one(listener_.get())) {
    const pid_t peer = peer_of(next.get());
    const bool is_there = peer > 0 && (::kill(peer, 0) == 0 || errno != ESRCH);
    // Neither a process of another user nor a task must pose as its agent, not even by a process that died.
    if (!is_there || !is_of_own_user(next.get()) || descends_from(peer, ::getpid())) {
      ++refused_;
      continue;
    }
    outbox_.clear();
    take_packets(calls, last_packets_most);
    agent_ = std::move(next);
    outbox_.clear();
    broken_ = false;
    calls.came();
  }
}

void AgentSide::receive(const Calls& calls) {
  // Of one that is gone everything is read: no more will come.
  const bool gone = !take_packets(calls, broken_ ? last_packets_most : packets_at_once) || broken_;
  if (!gone || !agent_) return;
  agent_.close();
  outbox_.clear();
  broken_ = false;
  calls.left();
}

bool AgentSide::take_packets(const Calls& calls, int most) {
  for (int packets = 0; packets < most && agent_ && outbox_.empty(); ++packets) {
    const Received received = receive_packet(agent_.get(), packet_buffer());
    if (received.kind == Received::Kind::nothing) break;
    if (received.kind == Received::Kind::closed) return false;
    const auto message = received.kind == Received::Kind::packet
                             ? describe::read_msgpack<FromAgent>(received.bytes, packet_bounds)
                             : tl::unexpected(describe::Faults{});
    if (message) {
      calls.said(*message);
    } else {
      ++refused_;
    }
  }
  return true;
}

void AgentSide::send(const FromSupervisor& message) {
  if (!agent_ || broken_) return;
  outbox_.push_back(describe::write_msgpack(message));
  flush();
}

void AgentSide::flush() {
  while (agent_ && !outbox_.empty()) {
    const Sent sent = send_packet(agent_.get(), outbox_.front());
    if (sent == Sent::later) return;
    if (sent == Sent::never) broken_ = true;  // noticed as a loss when it is next looked at
    outbox_.pop_front();
  }
}

}  // namespace cadre::supervisor
