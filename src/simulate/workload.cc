#include "simulate/workload.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/dice.h"

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;

constexpr int users = 40;
/// How much arrives in each hour of a day, in parts of the busiest.
constexpr std::array<int, 24> busy = {3, 2, 2, 2, 2, 3, 4, 6, 8, 10, 10, 9, 8, 9, 10, 10, 9, 8, 6, 6, 5, 5, 4, 3};

std::string user_name(int user) { return "user" + std::to_string(user); }

/// A moment in the day, by rejection: likely when it is busy.
Duration arrival(Dice& dice, Duration over) {
  if (over.count() == 0) return Duration(0);
  while (true) {
    const Duration moment(dice.between(0, over.count()));
    if (over < 12h) return moment;
    const auto hour = static_cast<std::size_t>(moment / 1h % 24);
    if (dice.between(1, 10) <= busy[hour]) return moment;
  }
}

Duration seconds_between(Dice& dice, Duration least, Duration most) {
  const std::int64_t first = std::max<std::int64_t>(least / 1s, 1);
  return std::chrono::seconds(dice.magnitude(first, std::max<std::int64_t>(most / 1s, first)));
}

plan::Wants pipeline(Dice& dice, std::int32_t slots) {
  plan::Role trainer{
      "trainer", 1, {std::min(slots, dice.percent(50) ? 1 : 2), {}, {1000}, {std::int64_t{8} << 30}}, {}, {}};
  plan::Role actor{"actor", 8, {0, {}, {1000}, {std::int64_t{1} << 30}}, 4, {}};
  if (dice.percent(50)) actor.layout = plan::Layout::spread;
  return plan::Roles{trainer, actor};
}

plan::Wants divisible(Dice& dice, std::int32_t slots, const Options& options) {
  const std::int32_t slots_on_agent = options.slots;
  std::int64_t memory_gib =
      slots == 0 ? dice.magnitude(1, 16) : std::min(slots, slots_on_agent) * (2 << dice.between(0, 2));
  std::int64_t cpus_milli = slots == 0 ? dice.between(1, 8) * 500 : std::min(slots, slots_on_agent) * 1000;
  memory_gib = std::min(memory_gib, std::max<std::int64_t>(options.memory.value >> 30, 1));
  cpus_milli = std::min<std::int64_t>(cpus_milli, options.cpus * std::int64_t{1000});
  plan::Divisible wants{{slots, {}, {cpus_milli}, {memory_gib << 30}}, false, false};
  wants.single_agent = slots > 1 && slots <= slots_on_agent && dice.percent(20);
  wants.uneven = slots > slots_on_agent && dice.percent(20);
  return wants;
}

/// Slots of one job: mostly few, now and then many agents' worth.
std::int32_t draw_slots(Dice& dice, const Options& options) {
  static constexpr std::array<std::int32_t, 20> few = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 8, 8, 1, 2};
  const std::int64_t most = std::int64_t{options.agents} * options.slots / 8;
  std::int64_t slots = few[dice.below(few.size())];
  if (dice.percent(4)) slots = std::int64_t{options.slots} * dice.magnitude(2, 16);
  slots = std::clamp<std::int64_t>(slots, 1, std::max<std::int64_t>(most, 1));
  if (slots > options.slots) slots -= slots % options.slots;  // whole agents, so that it fits without being uneven
  return static_cast<std::int32_t>(slots);
}

Job make_job(Dice& dice, const Options& options) {
  Job job;
  job.arrives = arrival(dice, options.over);
  const std::int64_t kind = dice.between(0, 99);
  const bool holds_pipelines = std::int64_t{options.agents} * options.cpus >= 16;
  if (kind < 2 && holds_pipelines) {
    job.gang.wants = pipeline(dice, options.slots);
  } else {
    job.gang.wants = divisible(dice, kind < 8 ? 0 : draw_slots(dice, options), options);
  }
  job.work = seconds_between(dice, options.shortest, std::max(options.shortest, options.longest));
  job.checkpoint_every = seconds_between(dice, 1min, 30min);
  job.gang.priority = dice.percent(5) ? 10 : dice.percent(25) ? 60 : 42;
  job.gang.preemptible = dice.percent(70);
  job.gang.group = plan::GroupId(user_name(static_cast<int>(dice.below(users))));
  return job;
}

}  // namespace

std::vector<Job> make_workload(const Options& options) {
  Dice dice(options.seed);
  std::vector<Job> jobs;
  jobs.reserve(static_cast<std::size_t>(options.gangs));
  for (std::int32_t i = 0; i < options.gangs; ++i) jobs.push_back(make_job(dice, options));
  std::stable_sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.arrives < b.arrives; });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].gang.id = plan::GangId("g" + std::to_string(i + 1));
    jobs[i].gang.position = static_cast<double>(i + 1);
  }
  return jobs;
}

plan::Groups make_groups(const Options& options) {
  plan::Groups groups;
  const std::int64_t slots = std::int64_t{options.agents} * options.slots;
  for (int user = 0; user < users; user += 8)
    groups[plan::GroupId(user_name(user))].max_slots = std::max<std::int64_t>(slots / 4, options.slots);
  return groups;
}

}  // namespace cadre::simulate
