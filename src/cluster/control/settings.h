/// Settings of the cluster, as they are configured. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "plan/policy.h"
#include "plan/resources.h"

namespace cadre::cluster::control {

struct PoolSettings {
  plan::Policy policy;
  plan::Groups groups;

  static constexpr std::string_view doc = "A named set of agents with one scheduling policy.";
};
template <class V>
void describe(V& v, PoolSettings& p) {
  v.field("policy", p.policy, "Scheduling policy.");
  v.field("groups", p.groups, "Settings of groups; groups not listed have the defaults.");
}

struct Settings {
  Duration agent_timeout = std::chrono::seconds(30);
  Duration beat_every = std::chrono::seconds(1);
  Duration session_timeout = std::chrono::seconds(5);
  std::map<std::string, PoolSettings> pools = {{"default", {}}};
  Duration forget_agents_after = std::chrono::hours(24 * 7);
  std::int64_t ended_jobs_kept = 10'000;
  ByteSize ended_bytes_kept{std::int64_t{256} << 20};
  ByteSize job_bytes_max{std::int64_t{1} << 30};
  ByteSize job_bytes_of_user_max{std::int64_t{256} << 20};
  std::int64_t agents_max = 10'000;
  std::int64_t watchers_max = 10'000;
  std::int64_t sessions_max = 10'000;
  std::int64_t sessions_of_user_max = 1'000;
  std::int64_t execs_max = 1'000;
  bool record_plans = false;
  std::string cluster;          ///< id of this cluster, made with its database; not configured
  std::string owner = "admin";  ///< of the data folder; agents that name no user run for this one

  static constexpr std::string_view doc = "Settings of the cluster.";
};
template <class V>
void describe(V& v, Settings& s) {
  v.field("agent_timeout", s.agent_timeout, "Heartbeat timeout after which an agent counts as lost.",
          at_least(std::chrono::milliseconds(100)));
  v.field("beat_every", s.beat_every, "Heartbeat interval between agents and the master.",
          at_least(std::chrono::milliseconds(10)));
  v.field("session_timeout", s.session_timeout,
          "Heartbeat timeout of a client, after which the jobs of its session are killed.",
          range(std::chrono::milliseconds(100), std::chrono::hours(24)));
  v.field("pools", s.pools, "The pools that agents may join.", not_empty());
  v.field("forget_agents_after", s.forget_agents_after, "Time after which a lost agent is forgotten.",
          at_least(Duration{0}));
  v.field("ended_jobs_kept", s.ended_jobs_kept,
          "Number of ended jobs kept in memory; older ones are read from the database.", range(0, 10'000'000));
  v.field("ended_bytes_kept", s.ended_bytes_kept, "Memory for the specifications and reports of these jobs.",
          range(ByteSize{0}, plan::most_memory));
  v.field("job_bytes_max", s.job_bytes_max, "Memory for the specifications of all jobs that have not ended.",
          range(ByteSize{1 << 20}, plan::most_memory));
  v.field("job_bytes_of_user_max", s.job_bytes_of_user_max, "The same for the jobs of one user.",
          range(ByteSize{1 << 20}, plan::most_memory));
  v.field("agents_max", s.agents_max, "Maximum number of known agents.", range(1, 16'000));
  v.field("watchers_max", s.watchers_max, "Maximum number of clients that wait for a job to change.",
          range(1, 1'000'000));
  v.field("sessions_max", s.sessions_max, "Maximum number of client sessions.", range(1, 1'000'000));
  v.field("sessions_of_user_max", s.sessions_of_user_max, "Maximum number of client sessions of one user.",
          range(1, 1'000'000));
  v.field("execs_max", s.execs_max, "Maximum number of commands that run inside tasks at a time.", range(1, 100'000));
  v.check(s.beat_every <= s.agent_timeout / 3, "beat_every",
          "must be at most a third of agent_timeout; lower it or raise agent_timeout");
  v.check(s.beat_every <= s.session_timeout / 3, "session_timeout",
          "must be at least three times beat_every; raise it or lower beat_every");
}

}  // namespace cadre::cluster::control
