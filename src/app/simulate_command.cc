#include "app/simulate_command.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <thread>

#include "cli/exit_code.h"
#include "cli/table.h"
#include "simulate/simulation.h"

namespace cadre::app {
namespace {

using namespace std::chrono_literals;
using simulate::Progress;

struct SimulateSettings {
  simulate::Options options;
  std::string policy = "priority";
  std::string fitting = "best";
  bool no_preemption = false;
  bool json = false;
  Duration pace{};
};

/// A line that is drawn anew on a terminal; some lines elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(Duration pace) : pace_(pace), live_(isatty(2) == 1) {}

  void show(const Progress& progress) {
    const std::int64_t tenth = progress.gangs == 0 ? 10 : progress.completed * 10 / progress.gangs;
    const std::int64_t hundredth = progress.gangs == 0 ? 100 : progress.completed * 100 / progress.gangs;
    if (live_ ? hundredth == shown_ && ++skipped_ < 30 : tenth == shown_) return;
    if (live_ && hundredth != shown_) std::this_thread::sleep_for(pace_ / 100);
    shown_ = live_ ? hundredth : tenth;
    skipped_ = 0;
    const double used =
        progress.slots == 0 ? 0 : static_cast<double>(progress.slots_used) / static_cast<double>(progress.slots);
    const double done =
        progress.gangs == 0 ? 1 : static_cast<double>(progress.completed) / static_cast<double>(progress.gangs);
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(progress.now).count();
    std::fprintf(stderr,
                 "%s%3d:%02d  [%s] %3.0f %% of %lld gangs done   slots %s %3.0f %%   %lld running, %lld waiting%s",
                 live_ ? "\r\x1b[K" : "", static_cast<int>(minutes / 60), static_cast<int>(minutes % 60),
                 cli::bar(done, 20).c_str(), done * 100, static_cast<long long>(progress.gangs),
                 cli::bar(used, 8).c_str(), used * 100, static_cast<long long>(progress.running),
                 static_cast<long long>(progress.queued), live_ ? "" : "\n");
    std::fflush(stderr);
  }

  void finish() const {
    if (live_) std::fprintf(stderr, "\r\x1b[K");
  }

 private:
  Duration pace_;
  bool live_;
  std::int64_t shown_ = -1;
  int skipped_ = 0;
};

int run(SimulateSettings& settings) {
  if (settings.options.longest < settings.options.shortest) {
    std::fprintf(stderr, "cadre simulate: --longest %s is below --shortest %s; raise it, or lower --shortest\n",
                 to_string(settings.options.longest).c_str(), to_string(settings.options.shortest).c_str());
    return cli::bad_usage;
  }
  const auto fitting = settings.fitting == "worst" ? plan::Fitting::worst : plan::Fitting::best;
  if (settings.policy == "fair_share") {
    plan::FairSharePolicy policy;
    policy.fitting = fitting;
    settings.options.policy = policy;
  } else {
    plan::PriorityPolicy policy;
    policy.fitting = fitting;
    policy.preemption = !settings.no_preemption;
    settings.options.policy = policy;
  }
  ProgressLine line(settings.pace);
  simulate::Simulation simulation(settings.options, [&line](const Progress& progress) { line.show(progress); });
  const Result<simulate::Outcome> outcome = simulation.run();
  line.finish();
  if (!outcome) {
    std::fprintf(stderr, "cadre simulate: %s\n", outcome.error().message.c_str());
    return cli::failed;
  }
  if (settings.json) {
    std::printf("%s\n", describe::write_json(*outcome).c_str());
  } else {
    std::printf("%s", to_text(outcome->report).c_str());
  }
  std::fprintf(stderr, "%s", to_text(outcome->timings).c_str());
  return outcome->report.waiting_at_end == 0 ? cli::done : cli::failed;
}

/// A duration of at least `least`; 0s is allowed, too, where that means never.
struct Least {
  Duration least{};
  bool or_never = false;
};

void add_duration(CLI::App& command, const std::string& name, Duration& value, Least least, const std::string& help) {
  command
      .add_option_function<std::string>(
          name,
          [&value, name, least](const std::string& text) {
            const Result<Duration> parsed = parse_duration(text);
            if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
            if (*parsed < least.least && !(least.or_never && *parsed == Duration(0))) {
              throw CLI::ValidationError(name, "must be at least " + to_string(least.least) + ", is " + text);
            }
            value = *parsed;
          },
          help)
      ->default_str(to_string(value))
      ->type_name("DURATION");
}

}  // namespace

void add_simulate_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& command = *app.add_subcommand("simulate", "Run the planner in virtual time with a random load");
  const auto settings = std::make_shared<SimulateSettings>();
  simulate::Options& options = settings->options;
  command
      .add_option("--seed", options.seed, "Seed of the random load and faults; the same seed prints the same report")
      ->check(CLI::Range(0.0, 9e18))
      ->capture_default_str();
  command.add_option("--agents", options.agents, "Number of agents")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--slots", options.slots, "Slots per agent")->check(CLI::Range(1, 1'024))->capture_default_str();
  command.add_option("--cpus", options.cpus, "CPUs per agent")->check(CLI::Range(1, 4'096))->capture_default_str();
  command.add_option("--gangs", options.gangs, "Number of gangs that arrive")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  add_duration(command, "--over", options.over, {},
               "Time over which the gangs arrive; 0s: all at once; 24h: a day with a quiet night");
  add_duration(command, "--shortest", options.shortest, {1s}, "Shortest run time of a gang");
  add_duration(command, "--longest", options.longest, {1s}, "Longest run time of a gang");
  command.add_option("--policy", settings->policy, "Scheduling policy of the pool")
      ->check(CLI::IsMember({"priority", "fair_share"}))
      ->capture_default_str();
  command.add_option("--fitting", settings->fitting, "Which agent to use when several fit a gang")
      ->check(CLI::IsMember({"best", "worst"}))
      ->capture_default_str();
  command.add_flag("--no-preemption", settings->no_preemption, "Never preempt a gang for a more important one");
  add_duration(command, "--plan-every", options.plan_every, {10ms}, "Minimum time between two plans");
  add_duration(command, "--agent-timeout", options.agent_timeout, {1s},
               "Time without contact after which an agent is lost");
  add_duration(command, "--loss-every", options.loss_every, {1min, true},
               "Mean time between losses of one host; 0s: never");
  add_duration(command, "--partition-every", options.partition_every, {1min, true},
               "Mean time between network partitions of one host; 0s: never");
  command.add_option("--instances", options.instances, "Maximum number of agents that a provider may add")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  add_duration(command, "--provider-delay", options.provider_delay, {}, "Time that the provider takes to add an agent");
  add_duration(command, "--pace", settings->pace, {}, "On a terminal, minimum duration of the run, to watch it");
  command.add_flag("--verify", options.verify,
                   "Compute every plan twice, the second time from scratch, and compare (slow)");
  command.add_flag("--json", settings->json, "Print one JSON object, with timings");
  command.callback([settings, &chosen] { chosen = [settings] { return run(*settings); }; });
}

}  // namespace cadre::app
