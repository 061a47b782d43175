#include <algorithm>

#include "base/check.h"
#include "simulate/simulation.h"

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;
namespace lease = cluster::lease;

}  // namespace

void Simulation::schedule_faults() {
  strike(Link::down);
  strike(Link::cut);
}

/// Lets faults of one kind befall the cluster, on the average as often as the options say.
void Simulation::strike(Link link) {
  const Duration every = link == Link::down ? options_.loss_every : options_.partition_every;
  if (every.count() == 0 || hosts_.empty()) return;
  const std::int64_t mean = std::max<std::int64_t>(every.count() / static_cast<std::int64_t>(hosts_.size()), 1);
  loop_
      .after(Duration(dice_.between(0, 2 * mean)),
             [this, link] {
               if (finished()) return;
               const auto host = static_cast<std::uint32_t>(dice_.below(hosts_.size()));
               const auto how_long = link == Link::down ? dice_.magnitude(120, 7'200) : dice_.magnitude(4, 600);
               if (hosts_[host].link == Link::up && !hosts_[host].gone && hosts_[host].ready) {
                 fall(host, link, std::chrono::seconds(how_long));
               }
               strike(link);
             })
      .detach();
}

void Simulation::fall(std::uint32_t host, Link link, Duration how_long) {
  Host& one = hosts_[host];
  one.link = link;
  const std::uint64_t incident = ++one.incident;
  ++(link == Link::down ? report_.hosts_lost : report_.partitions);
  loop_.after(options_.agent_timeout, [this, host, incident] { give_up(host, incident); }).detach();
  loop_.after(how_long, [this, host] { come_back(host); }).detach();
}

/// The master has not heard from a host for too long.
void Simulation::give_up(std::uint32_t host, std::uint64_t incident) {
  Host& one = hosts_[host];
  if (one.incident != incident || one.link == Link::up) return;
  one.lost = true;
  const std::set<std::uint32_t> gangs = one.gangs;
  for (const std::uint32_t gang : gangs) lose(gang, host);
  slots_ -= one.agent.slots;
  meter_.slots_changed(clock(), 0, -one.agent.slots);
  tell({News::Kind::agent_gone, host});
}

/// A gang loses its place because one of its hosts is given up or came back without it.
void Simulation::lose(std::uint32_t gang, std::uint32_t host) {
  Row& row = rows_[gang];
  Host& one = hosts_[host];
  const lease::Held held = *lease::current(row.lease);
  const bool whole = row.hosts.size() == 1;
  if (one.link == Link::cut && row.runs) one.stale.push_back({gang, held, row.on, row.began, row.saved, whole});
  const bool ended_unheard = row.exit_unreported;

  step(row, lease::AgentLost{held.agent});
  if (!whole || one.link != Link::cut) step(row, lease::NotReported{held});  // nobody can come back with all of it
  if (std::holds_alternative<lease::Ended>(row.lease.stage)) step(row, lease::Again{});

  if (row.runs) {
    const Duration done = std::min(now() - row.began, row.job.work - row.saved);
    const Duration kept = done / row.job.checkpoint_every * row.job.checkpoint_every;
    report_.work_lost += done - kept;
    row.saved = std::min(row.saved + kept, row.job.work);
  }
  ++report_.requeued_by_loss;
  requeue(gang);
  row.exit_unreported = ended_unheard;
}

void Simulation::come_back(std::uint32_t host) {
  Host& one = hosts_[host];
  const Link was = one.link;
  one.link = Link::up;
  if (one.lost) {
    one.lost = false;
    one.idle_since = now();
    slots_ += one.agent.slots;
    meter_.slots_changed(clock(), 0, one.agent.slots);
    tell({News::Kind::agent_here, host});
    hear_from_stale(one, host);
  } else if (was == Link::down) {
    const std::set<std::uint32_t> gangs = one.gangs;
    for (const std::uint32_t gang : gangs) lose(gang, host);
  } else {
    meet_again(one, host);
  }
}

/// A short cut is over: what had to wait for the host goes on.
void Simulation::meet_again(Host& host, std::uint32_t) {
  const std::set<std::uint32_t> gangs = host.gangs;
  for (const std::uint32_t gang : gangs) {
    Row& row = rows_[gang];
    if (!reachable(row)) continue;
    if (row.exit_unreported) {
      complete(gang);
    } else if (row.stop_overdue) {
      stopped(gang, row.lease.epoch);
    } else if (!row.runs && std::holds_alternative<lease::Placed>(row.lease.stage)) {
      begin(gang);
    }
  }
}

/// A host that was given up comes back with its processes: those that still have a right go on, the others are killed.
void Simulation::hear_from_stale(Host& host, std::uint32_t index) {
  for (const Stale& stale : std::exchange(host.stale, {})) {
    Row& row = rows_[stale.gang];
    const bool may_return = stale.whole && !row.completed;
    step(row, may_return ? lease::Event(lease::Reported{stale.held}) : lease::Event(lease::Started{stale.held}));
    if (!may_return || lease::current(row.lease) != stale.held) continue;
    row.on = stale.on;
    row.began = stale.began;
    row.saved = stale.saved;
    row.runs = true;
    ++running_;
    ++report_.leases_taken_back;
    occupy(stale.gang);
    CHECK(row.hosts == std::vector<std::uint32_t>{index});
    tell({News::Kind::resumed, stale.gang});
    if (row.exit_unreported) complete(stale.gang);
  }
}

void Simulation::add_host(const plan::Agent& agent) {
  const auto index = static_cast<std::uint32_t>(hosts_.size());
  host_of_.emplace(agent.id, index);
  Host& host = hosts_.emplace_back();
  host.agent = agent;
  host.ready = true;
  slots_ += agent.slots;
  meter_.slots_changed(clock(), 0, agent.slots);
  tell({News::Kind::agent_here, index});
}

/// Asks the provider for what the queue wants and gives back what is idle, every half minute.
void Simulation::provide() {
  if (options_.instances == 0 || finished()) return;
  plan::ProvisionRule rule;
  rule.max = options_.instances;
  rule.slots_per_instance = options_.slots;
  std::vector<plan::Instance> instances;
  for (const Host& host : hosts_) {
    if (!host.provided || host.gone) continue;
    plan::Instance instance{host.agent.id, host.asked, host.ready, {}};
    if (host.ready && host.link == Link::up && host.gangs.empty()) instance.idle_since = host.idle_since;
    instances.push_back(std::move(instance));
  }
  for (const plan::AgentId& id : plan::instances_to_release(rule, instances, now())) {
    const std::uint32_t index = host_of_.at(id);
    hosts_[index].gone = true;
    ++report_.instances_released;
    if (!hosts_[index].ready) continue;
    slots_ -= hosts_[index].agent.slots;
    meter_.slots_changed(clock(), 0, -hosts_[index].agent.slots);
    tell({News::Kind::agent_gone, index});
  }
  const std::int64_t wanted = plan::instances_to_add(rule, planner_.queued_demand(), instances);
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto index = static_cast<std::uint32_t>(hosts_.size());
    Host& host = hosts_.emplace_back();
    host.agent = hosts_.front().agent;
    host.agent.id = plan::AgentId("p" + std::to_string(++report_.instances_added));
    host_of_.emplace(host.agent.id, index);
    host.provided = true;
    host.asked = now();
    loop_
        .after(options_.provider_delay,
               [this, index] {
                 Host& one = hosts_[index];
                 if (one.gone) return;
                 one.ready = true;
                 one.idle_since = now();
                 slots_ += one.agent.slots;
                 meter_.slots_changed(clock(), 0, one.agent.slots);
                 tell({News::Kind::agent_here, index});
               })
        .detach();
  }
  loop_.after(30s, [this] { provide(); }).detach();
}

}  // namespace cadre::simulate
