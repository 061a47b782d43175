#include "cluster/control/control.h"

#include <utility>

#include "base/overloaded.h"
#include "cluster/control/tasks/slots.h"

namespace cadre::cluster::control {
namespace {

template <class Server, class Request>
concept Serves = requires(Server& server, const Caller& caller, const Request& request) {
  server.serve(caller, request);
};

/// The one of `servers` that knows the request serves it.
template <class Request, class... Servers>
void serve_by_one(const Caller& caller, const Request& request, Servers&... servers) {
  static_assert((int{Serves<Servers, Request>} + ...) == 1, "exactly one class serves each request");
  const auto serve_if = [&](auto& server) {
    if constexpr (Serves<decltype(server), Request>) server.serve(caller, request);
  };
  (serve_if(servers), ...);
}

}  // namespace

Control::Control(Settings settings, const Rows& rows, std::uint64_t boot, TimePoint now)
    : settings_(std::move(settings)),
      ledger_(rows, {static_cast<std::size_t>(settings_.ended_jobs_kept), settings_.ended_bytes_kept.value},
              boot << 32),
      liveness_(settings_, now),
      pools_(settings_, ledger_, rows, now),
      sessions_(settings_.session_timeout, now),
      watchers_(settings_, ledger_, outbox_),
      execs_(settings_, ledger_, outbox_, boot),
      tasks_(ledger_, outbox_, pools_, execs_, sessions_),
      restarts_(ledger_, tasks_),
      absences_(settings_, ledger_, liveness_),
      jobs_(ledger_, pools_, tasks_, restarts_, absences_, sessions_),
      rejoin_(ledger_, pools_, tasks_, jobs_, absences_),
      planning_(settings_, metrics_, ledger_, outbox_, pools_, jobs_, rejoin_),
      connections_(settings_, ledger_, outbox_, pools_, execs_, liveness_, boot),
      agents_(ledger_, pools_, liveness_, connections_, jobs_, rejoin_),
      clients_(settings_, ledger_, outbox_, sessions_, jobs_),
      agent_requests_(ledger_, outbox_, pools_, sessions_, liveness_, jobs_, agents_),
      job_requests_(settings_, ledger_, outbox_, pools_, sessions_, jobs_),
      job_queries_(ledger_, outbox_, pools_, liveness_, watchers_) {
  restore_slots(ledger_);
  agents_.restore();
  for (const auto& [id, job] : ledger_.jobs()) {
    if (job.row.stage == JobStage::ended) continue;
    jobs_.restore(job);
    clients_.restore(job, now);
  }
}

void Control::hear(Peer peer, const messages::FromAgent& message, const std::optional<AgentId>& proven, TimePoint now) {
  liveness_.advance(now);
  if (const auto* hello = std::get_if<messages::Hello>(&message.body))
    return agents_.hello({peer, *hello, proven}, now);
  AgentEntry* agent = connections_.sender(peer, message);
  if (agent == nullptr || rejoin_.defer(*agent, message.body)) return;
  std::visit(overloaded{
                 [](const messages::Hello&) {},
                 [&](const messages::Beat& beat) {
                   agents_.beat(*agent, beat, now);
                   tasks_.note_usages(*agent, beat.tasks);
                   outbox_.send(*agent, messages::MasterBeat{});
                 },
                 [&](const messages::Started& news) { jobs_.started(*agent, news, now); },
                 [&](const messages::Exited& news) { jobs_.exited(*agent, news, now); },
                 [&](const messages::Report& news) { tasks_.report(*agent, news, now); },
                 [&](const messages::ExecNews& news) { execs_.hear(*agent, news); },
                 [&](const messages::Goodbye& news) { agents_.goodbye(agent->row.agent.id, news, now); },
                 [&](const messages::InputTaken& news) { execs_.hear(*agent, news); },
             },
             message.body);
}

void Control::tick(TimePoint now) {
  liveness_.advance(now);
  agents_.tick(now);
  rejoin_.tick(now);
  jobs_.tick(now);
  clients_.tick(now);
}

void Control::ask(Asker asker, const access::Principal& who, const requests::Request& request, TimePoint now) {
  route({asker, who, now, nullptr}, request);
}

void Control::ask(Asker asker, const access::Principal& who, const requests::Request& request, const Job& archived,
                  TimePoint now) {
  route({asker, who, now, &archived}, request);
}

void Control::route(const Caller& caller, const requests::Request& request) {
  liveness_.advance(caller.now);
  std::visit(
      [&](const auto& one) {
        serve_by_one(caller, one, job_requests_, job_queries_, execs_, clients_, agent_requests_);
      },
      request);
}

bool Control::is_alive(const AgentId& id) const {
  const AgentEntry* agent = ledger_.find(id);
  return agent != nullptr && liveness_.is_alive(*agent);
}

void Control::revoke_key(Asker asker, const AgentId& id) {
  ledger_.revoke_key(id);
  outbox_.answer(asker, requests::Done{});
}

void Control::forget_asker(Asker asker) {
  watchers_.forget_asker(asker);
  sessions_.forget_asker(asker);
  execs_.forget_asker(asker);
}

std::vector<Asker> Control::waiting() const {
  std::vector<Asker> askers;
  watchers_.add_waiting(askers);
  sessions_.add_waiting(askers);
  execs_.add_waiting(askers);
  return askers;
}

void Control::take_connections(const Control& dropped) {
  liveness_.take_over(dropped.liveness_);
  connections_.take_over(dropped.connections_);
}

Outcome Control::settle(TimePoint now) {
  clients_.close_orphans(now);
  pools_.offer_due();
  planning_.plan_due(now);
  watchers_.tell();
  clients_.tell();
  Outcome outcome = outbox_.take();
  outcome.writes = ledger_.take();
  outcome.is_finished = planning_.is_finished();
  return outcome;
}

plan::Snapshot Control::planned(const std::string& pool, TimePoint now) const {
  return pools_.all().at(pool).planner.snapshot(now);
}

std::size_t Control::remembered() const {
  return watchers_.size() + execs_.size() + pools_.to_offer() + sessions_.all().size() + sessions_.waiting() +
         jobs_.size();
}

}  // namespace cadre::cluster::control
