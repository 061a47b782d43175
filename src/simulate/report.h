/// What came out of a simulation. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "describe/describe.h"

namespace cadre::simulate {

/// Waiting times of some gangs, from arrival to the first start.
struct Waits {
  static constexpr std::string_view doc = "Waiting times, from arrival to the first start.";
  std::string gangs;
  std::int64_t count = 0;
  Duration p50{};
  Duration p90{};
  Duration p99{};
  Duration longest{};
};

template <class V>
void describe(V& v, Waits& w) {
  v.required("gangs", w.gangs, "Which gangs.");
  v.required("count", w.count, "Number of gangs that started.");
  v.required("p50", w.p50, "Median wait.");
  v.required("p90", w.p90, "90th percentile.");
  v.required("p99", w.p99, "99th percentile.");
  v.required("longest", w.longest, "Longest wait.");
}

/// One stretch of time.
struct Sample {
  Duration at{};
  std::int64_t slots_used_permille = 0;
  std::int64_t queued = 0;
};

template <class V>
void describe(V& v, Sample& s) {
  v.required("at", s.at, "Beginning of the interval.");
  v.required("slots_used_permille", s.slots_used_permille, "Mean share of the slots in use, in thousandths.");
  v.required("queued", s.queued, "Most gangs queued.");
}

/// The same for one seed, byte for byte.
struct Report {
  std::int64_t gangs = 0;
  std::int64_t completed = 0;
  std::int64_t waiting_at_end = 0;
  Duration lasted{};
  std::int64_t slots = 0;
  std::int64_t slots_used_permille = 0;
  std::int64_t deepest_queue = 0;
  std::int64_t plans = 0;
  std::int64_t placements = 0;
  std::int64_t preemptions = 0;
  std::int64_t hosts_lost = 0;
  std::int64_t partitions = 0;
  std::int64_t requeued_by_loss = 0;
  std::int64_t leases_taken_back = 0;
  std::int64_t stale_processes_killed = 0;
  std::int64_t instances_added = 0;
  std::int64_t instances_released = 0;
  Duration work_lost{};
  std::vector<Waits> waits;
  std::vector<Sample> samples;
};

template <class V>
void describe(V& v, Report& r) {
  v.required("gangs", r.gangs, "Gangs submitted.");
  v.required("completed", r.completed, "Gangs that did all their work.");
  v.required("waiting_at_end", r.waiting_at_end, "Gangs that had not completed when the simulation ended.");
  v.required("lasted", r.lasted, "Virtual time until the last one completed.");
  v.required("slots", r.slots, "Slots at the beginning.");
  v.required("slots_used_permille", r.slots_used_permille, "Mean share of the slots in use, in thousandths.");
  v.required("deepest_queue", r.deepest_queue, "Most gangs queued at a time.");
  v.required("plans", r.plans, "How often the planner ran.");
  v.required("placements", r.placements, "Number of gangs it started.");
  v.required("preemptions", r.preemptions, "Number of gangs it stopped.");
  v.required("hosts_lost", r.hosts_lost, "Number of hosts that failed.");
  v.required("partitions", r.partitions, "Number of network partitions of hosts.");
  v.required("requeued_by_loss", r.requeued_by_loss, "Gangs queued again because an agent was lost.");
  v.required("leases_taken_back", r.leases_taken_back, "Gangs that continued because their agent reconnected in time.");
  v.required("stale_processes_killed", r.stale_processes_killed,
             "Gangs killed because they ran without a valid lease.");
  v.required("instances_added", r.instances_added, "Agents that the provider started.");
  v.required("instances_released", r.instances_released, "Agents given back to the provider.");
  v.required("work_lost", r.work_lost, "Run time that was repeated.");
  v.required("waits", r.waits, "Waiting times of all gangs, and by size and priority.");
  v.required("samples", r.samples, "Course of the simulation over time.");
}

/// Timings, which depend on the machine.
struct Timings {
  double cpu_seconds = 0;
  double placements_per_cpu_second = 0;
  double plan_p50_ms = 0;
  double plan_p99_ms = 0;
  double plan_max_ms = 0;
};

template <class V>
void describe(V& v, Timings& t) {
  v.required("cpu_seconds", t.cpu_seconds, "CPU time of the planner.");
  v.required("placements_per_cpu_second", t.placements_per_cpu_second, "Placements divided by that time.");
  v.required("plan_p50_ms", t.plan_p50_ms, "Median duration of one plan with its inputs.");
  v.required("plan_p99_ms", t.plan_p99_ms, "99th percentile.");
  v.required("plan_max_ms", t.plan_max_ms, "The longest.");
}

struct Outcome {
  Report report;
  Timings timings;
};

template <class V>
void describe(V& v, Outcome& o) {
  v.required("report", o.report, "Results that are equal on every machine for the same seed.");
  v.required("timings", o.timings, "Timings, which depend on the machine.");
}

/// For people, with a picture of utilisation and waiting.
std::string to_text(const Report& report);
std::string to_text(const Timings& timings);

}  // namespace cadre::simulate
