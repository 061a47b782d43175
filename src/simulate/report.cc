#include "simulate/report.h"

#include <algorithm>
#include <cstdio>

#include "simulate/chart.h"

namespace cadre::simulate {
namespace {

std::string permille(std::int64_t share) {
  return std::to_string(share / 10) + "." + std::to_string(share % 10) + " %";
}

/// The two largest units are enough for people.
std::string rounded(Duration duration) {
  using namespace std::chrono_literals;
  const Duration unit = duration >= 24h ? Duration(1h) : duration >= 1h ? Duration(1min) : Duration(1s);
  return to_string(duration / unit * unit);
}

std::string column(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string line(const std::string& name, const std::string& value) {
  return "  " + name + std::string(name.size() < 26 ? 26 - name.size() : 1, ' ') + value + "\n";
}

std::string waits_table(const std::vector<Waits>& waits) {
  std::string text = "\nWaiting, from arrival to first start\n";
  text += "  " + column("gangs", 22) + column("count", 9) + column("p50", 10) + column("p90", 10) + column("p99", 10) +
          column("longest", 11) + "\n";
  for (const Waits& one : waits) {
    text += "  " + column(one.gangs, 22) + column(std::to_string(one.count), 9) + column(rounded(one.p50), 10) +
            column(rounded(one.p90), 10) + column(rounded(one.p99), 10) + column(rounded(one.longest), 11) + "\n";
  }
  return text;
}

std::string charts(const Report& report) {
  Chart used{"Slots in use", "100 %", "0s", rounded(report.lasted), 1000, {}};
  Chart queued{"Gangs waiting", "", "0s", rounded(report.lasted), 1, {}};
  for (const Sample& sample : report.samples) {
    used.values.push_back(sample.slots_used_permille);
    queued.values.push_back(sample.queued);
    queued.highest = std::max(queued.highest, sample.queued);
  }
  queued.top = std::to_string(queued.highest);
  return "\n" + draw(used, 6) + "\n" + draw(queued, 6);
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text =
      "Simulated " + std::to_string(report.gangs) + " gangs on " + std::to_string(report.slots) + " slots\n";
  text += line("completed", std::to_string(report.completed));
  text += line("waiting at the end", std::to_string(report.waiting_at_end));
  text += line("virtual time", rounded(report.lasted));
  text += line("slots in use, mean", permille(report.slots_used_permille));
  text += line("deepest queue", std::to_string(report.deepest_queue));
  text += line("plans", std::to_string(report.plans));
  text += line("placements", std::to_string(report.placements));
  text += line("preemptions", std::to_string(report.preemptions));
  text += line("hosts lost / cut off", std::to_string(report.hosts_lost) + " / " + std::to_string(report.partitions));
  text += line("gangs queued again", std::to_string(report.requeued_by_loss));
  text += line("leases taken back", std::to_string(report.leases_taken_back));
  text += line("stale processes killed", std::to_string(report.stale_processes_killed));
  if (report.instances_added > 0) {
    text += line("instances added", std::to_string(report.instances_added));
    text += line("instances given back", std::to_string(report.instances_released));
  }
  text += line("work lost", rounded(report.work_lost));
  return text + waits_table(report.waits) + charts(report);
}

std::string to_text(const Timings& timings) {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "planner: %.3f CPU seconds, %.0f placements per CPU second; one plan p50 %.3f ms, p99 %.3f ms, longest %.3f ms\n",
      timings.cpu_seconds, timings.placements_per_cpu_second, timings.plan_p50_ms, timings.plan_p99_ms,
      timings.plan_max_ms);
  return text;
}

}  // namespace cadre::simulate
