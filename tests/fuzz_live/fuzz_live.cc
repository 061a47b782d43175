// Drives every packet of the task socket, the agent link, the bulk link, the join port and the API against a live
// master with extreme values. The master must stay the same process, answer, run ordinary jobs, keep its memory bounded
// and start again from what it has stored. No request may be answered with a status of 5xx other than 503. In the end
// all jobs end, the agents are idle, and every link, socket and kind of request was served at least once.
//
//   fuzz_live PROGRAM SECONDS [SEED [postgresql]]
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "net/zmq_network.h"
#include "tests/fuzz_live/hostile_agent.h"
#include "tests/fuzz_live/task_program.h"
#include "tests/fuzz_live/trial_program.h"
#include "tests/servers/postgres.h"

namespace cadre::fuzz_live {
namespace {

using namespace std::chrono_literals;
using describe::Value;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // which keep what is freed for a while
constexpr std::int64_t memory_kib_max = 4 * 700 * 1024;
#else
constexpr std::int64_t memory_kib_max = 700 * 1024;
#endif

std::string job_of(const std::string& pool, const std::vector<std::string>& argv, int slots) {
  Value member;
  Value::List words;
  for (const std::string& word : argv) words.emplace_back(word);
  member.set("command", Value().set("argv", Value(std::move(words)))).set("slots", Value(slots));
  Value spec;
  spec.set("pool", Value(pool)).set("members", Value(Value::List{std::move(member)}));
  return describe::to_json(spec);
}

std::uint64_t submit(HostileClient& api, const std::string& spec) {
  const net::http::Response made = api.ask(net::http::Method::post, "/jobs", spec);
  const auto view = describe::read_json<cluster::requests::JobView>(made.body);
  if (!view) give_up("a job is not taken: " + made.body);
  return view->id.value;
}

bool until(loop::RealLoop& loop, Duration most, const std::function<bool()>& holds) {
  const TimePoint begun = loop.now();
  while (!holds()) {
    if (loop.now() - begun > most) return false;
    run_for(loop, 100ms);
  }
  return true;
}

cluster::requests::JobView wait_for_end(HostileClient& api, std::uint64_t id) {
  std::string seen;
  for (int i = 0; i < 900; ++i) {
    seen = api.ask(net::http::Method::get, "/jobs/" + std::to_string(id)).body;
    const auto view = describe::read_json<cluster::requests::JobView>(seen);
    if (!view) break;
    if (view->stage == cluster::JobStage::ended) return *view;
    std::this_thread::sleep_for(100ms);
  }
  give_up("a job does not end: " + seen);
}

bool ended_well(const cluster::requests::JobView& job) {
  return job.reason == cluster::lease::Reason::exited && job.code == 0;
}

/// An ordinary job must run to its end; one that a request killed by chance is tried again.
void run_ordinary_job(HostileClient& api) {
  cluster::requests::JobView job;
  for (int attempt = 0; attempt < 5; ++attempt) {
    job = wait_for_end(api, submit(api, job_of("default", {"true"}, 0)));
    if (ended_well(job)) return;
  }
  give_up("an ordinary job no longer runs: " + describe::to_json(describe::write(job)));
}

/// Tasks that send packets end by themselves, and one at least has done all that it should.
void check_tasks(HostileClient& api, const std::vector<std::uint64_t>& tasks) {
  std::size_t reported = 0;
  std::string others;
  for (const std::uint64_t id : tasks) {
    const cluster::requests::JobView job = wait_for_end(api, id);
    if (ended_well(job) && job.tasks.at(0).reports > 0 && job.tasks.at(0).last_report == last_report) {
      ++reported;
    } else {
      others += "\n" + describe::to_json(describe::write(job)).substr(0, 2'000);
    }
  }
  if (reported == 0) give_up("no task has sent its packets and its report:" + others);
}

std::uint64_t submit_experiment(HostileClient& api, const std::string& body) {
  const net::http::Response made = api.ask(net::http::Method::post, "/experiments", body);
  const auto view = describe::read_json<experiment::ExperimentView>(made.body);
  if (!view) give_up("an experiment is not taken: " + made.body);
  return view->id.value;
}

/// No trial of the experiment was answered with a fault of the master: then its program says so.
void check_answers(HostileClient& api, std::uint64_t id) {
  const auto list = describe::read_json<experiment::Trials>(
      api.ask(net::http::Method::get, "/experiments/" + std::to_string(id) + "/trials").body);
  if (!list) return;  // deleted
  for (const experiment::TrialView& trial : list->trials) {
    if (trial.reason.find("exit code 9") == std::string::npos) continue;
    give_up("a hostile request of a trial was answered with a fault: " +
            api.ask(net::http::Method::get, "/tasks/" + std::to_string(trial.jobs.back().value) + ".0/logs").body);
  }
}

/// Trials that send hostile requests end by themselves; one at least has sent all of its own, unless requests of others
/// have ended it.
void check_experiments(HostileClient& api, const std::vector<std::uint64_t>& experiments) {
  std::uint64_t completed = 0;
  std::string seen;
  for (const std::uint64_t id : experiments) {
    for (int i = 0; i < 900; ++i) {
      seen = api.ask(net::http::Method::get, "/experiments/" + std::to_string(id)).body;
      const auto view = describe::read_json<experiment::ExperimentView>(seen);
      if (!view) break;  // deleted
      if (view->state == experiment::ExperimentState::paused) {
        api.ask(net::http::Method::post, "/experiments/" + std::to_string(id) + "/activate", "{}");
      }
      completed = std::max(completed, view->trials.completed);
      if (is_terminal(view->state)) break;
      std::this_thread::sleep_for(100ms);
    }
    check_answers(api, id);
  }
  if (completed == 0) give_up("no trial has sent its requests: " + seen);
}

/// Ends all experiments that requests have made.
void end_experiments(HostileClient& api) {
  const auto all =
      describe::read_json<experiment::Experiments>(api.ask(net::http::Method::get, "/experiments?most=1000").body);
  if (!all) give_up("the experiments cannot be read");
  for (const experiment::ExperimentView& one : all->experiments) {
    if (is_terminal(one.state)) continue;
    api.ask(net::http::Method::post, "/experiments/" + std::to_string(one.id.value) + "/kill", "{}");
  }
}

/// Ends all jobs that requests have made; then nothing may be left of them, with the master and on the agent's host.
void check_idle(HostileClient& api, const Cluster& cluster, loop::RealLoop& loop) {
  const bool all_ended = until(loop, 90s, [&] {
    const std::string body = api.ask(net::http::Method::get, "/jobs?ended=false&most=10000").body;
    const auto open = describe::read_json<cluster::requests::Jobs>(body);
    if (!open) give_up("the jobs cannot be read: " + body);
    for (const cluster::requests::JobView& job : open->jobs) {
      static_cast<void>(api.ask(net::http::Method::post, "/jobs/" + std::to_string(job.id.value) + "/kill"));
    }
    return open->jobs.empty();
  });
  if (!all_ended) give_up("jobs do not end: " + api.ask(net::http::Method::get, "/jobs?ended=false").body);
  std::string left;
  const bool is_idle = until(loop, 60s, [&] {
    left = api.ask(net::http::Method::get, "/agents").body;
    const auto list = describe::read_json<cluster::requests::Agents>(left);
    if (!list) give_up("the agents cannot be read: " + left);
    bool is_up = false;
    for (const cluster::requests::AgentView& agent : list->agents) {
      if (agent.slots_used > 0 || agent.tasks > 0) return false;
      is_up |= agent.id.value == "a1" && agent.state == "up";
    }
    if (!is_up) return false;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(cluster.folder.path() + "/a1/tasks", gone)) {
      left = entry.path().filename();
      const bool is_of_task = left[0] >= '0' && left[0] <= '9' && !left.starts_with("0.");
      if (is_of_task) return false;  // others are kept ready for tasks
    }
    return true;
  });
  if (!is_idle) give_up("the agent is not idle: " + left);
}

int run_all(const std::vector<std::string>& arguments) {
  const std::string& program = arguments.at(0);
  const auto seconds = std::chrono::seconds(std::stoll(arguments.at(1)));
  const std::uint64_t seed = arguments.size() > 2 ? std::stoull(arguments[2]) : 1;
  const bool on_server = arguments.size() > 3 && arguments[3] == "postgresql";
  Cluster cluster(program, on_server ? servers::shared_postgres().url() : "");
  Dice dice(seed);
  loop::RealLoop loop;
  SilentLog log;
  auto network = net::ZmqNetwork::make(loop, log).value();
  HostileClient api(cluster, loop);
  const pid_t first = cluster.master;
  try {
    api.wait_until_up(60s);
    cluster.start_agent("a1", {"--master", cluster.data(), "--artificial-slots", "4"});
    HostileAgent evil(cluster, api, loop, *network);
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t rounds = 0;
    std::int64_t most_kib = 0;
    std::vector<std::uint64_t> tasks;
    std::vector<std::uint64_t> experiments;
    for (; std::chrono::steady_clock::now() - begun < seconds || rounds < 3; ++rounds) {
      if (rounds % 4 == 0)
        tasks.push_back(submit(api, job_of("default", {"/usr/bin/python3", "-c", task_program(dice)}, 0)));
      if (rounds % 8 == 0) experiments.push_back(submit_experiment(api, hostile_experiment(dice)));
      submit(api, job_of("evil", {"true"}, 1));
      evil.burst(dice);
      api.burst(dice);
      if (!cluster.is_master_alive()) give_up("the master has ended");
      if (api.ask(net::http::Method::get, "/health").status != 200) give_up("the master is not healthy");
      most_kib = std::max(most_kib, cluster.memory_kib());
      if (most_kib > memory_kib_max) give_up("the master uses " + std::to_string(most_kib) + " KiB");
      if (rounds % 10 == 0) run_ordinary_job(api);
    }
    run_ordinary_job(api);
    api.ask_each(dice);
    check_tasks(api, tasks);
    check_experiments(api, experiments);
    end_experiments(api);
    check_idle(api, cluster, loop);
    if (cluster.master != first || !cluster.is_master_alive()) give_up("the master is another one");
    evil.check_was_served();
    if (api.statuses[200] == 0 || api.statuses[400] == 0) give_up("no request got as far as it should");
    std::printf("%llu rounds, memory at most %lld MiB; statuses:", static_cast<unsigned long long>(rounds),
                static_cast<long long>(most_kib / 1024));
    for (const auto& [status, count] : api.statuses) std::printf(" %d: %lld", status, static_cast<long long>(count));
    std::printf("; %zu tasks; %zu kinds of requests; %s\n", tasks.size(), api.answered.size(), evil.summary().c_str());
    // What was stored must not keep it from starting.
    servers::kill_tree(cluster.master);
    cluster.start_master();
    api.wait_until_up(120s);
    run_ordinary_job(api);
    check_idle(api, cluster, loop);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "fuzz_live, seed %llu: %s\n--- the end of the master's log\n",
                 static_cast<unsigned long long>(seed), failure.what());
    const std::string text = loop::read_file(cluster.folder.path() + "/master.log").value_or("");
    std::fputs(text.substr(text.size() < 6'000 ? 0 : text.size() - 6'000).c_str(), stderr);
    loop.destroy_tasks();
    return 1;
  }
  loop.destroy_tasks();
  return 0;
}

}  // namespace
}  // namespace cadre::fuzz_live

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return std::fprintf(stderr, "usage: fuzz_live PROGRAM SECONDS [SEED [postgresql]]\n"), 2;
  return cadre::fuzz_live::run_all(arguments);
}
