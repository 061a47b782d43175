#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"

namespace cadre::bench {
namespace {

/// What a program says, a name and a number a line.
Result<std::map<std::string, double>> numbers_of(const std::string& command) {
  std::FILE* const program = popen(command.c_str(), "r");
  if (program == nullptr) return fail(Errc::unavailable, "cannot run " + command);
  std::map<std::string, double> numbers;
  char name[64] = {};
  double value = 0;
  while (std::fscanf(program, "%63s %lf", name, &value) == 2) numbers[name] = value;
  if (pclose(program) != 0) return fail(Errc::unavailable, "it failed: " + command);
  return numbers;
}

struct Kind {
  std::string name;
  std::string command;
  std::string p50;  ///< raw programs
  std::string p99;
  std::string window;
};

struct Wanted {
  const char* key;
  const char* name;
  const char* unit;
  std::string raw;
};

Result<void> add_rows(const std::string& kind, const std::string& command, std::span<const Wanted> all,
                      std::vector<Row>& rows) {
  TRY_ASSIGN(numbers, numbers_of(command));
  for (const Wanted& wanted : all) {
    const auto found = numbers.find(wanted.key);
    if (found == numbers.end()) return fail(Errc::unavailable, command + " did not say " + wanted.key);
    const std::string name = kind + " " + wanted.name;
    if (wanted.raw.empty()) {
      rows.push_back({name, found->second, wanted.unit, std::nullopt, std::nullopt});
    } else {
      TRY_ASSIGN(row, row_beside_raw(name, found->second, wanted.unit, wanted.raw));
      rows.push_back(std::move(row));
    }
  }
  return {};
}

Result<void> measure(const Kind& kind, std::vector<Row>& rows) {
  const std::string one_mb = "copy " + std::to_string(1 << 20);
  const std::string many_mb = "copy " + std::to_string(64 << 20);
  const Wanted all[] = {
      {"call_p50", "call, p50", "us", kind.p50},
      {"call_p99", "call, p99", "us", kind.p99},
      {"pipelined", "calls with 256 in flight", "1/s", kind.window},
      {"threads", "calls, 4 actors and 4 threads", "1/s", ""},
      {"argument_1mb", "argument of 1 MB", "GB/s", one_mb},
      {"result_1mb", "result of 1 MB", "GB/s", one_mb},
      {"argument_64mb", "argument of 64 MB", "GB/s", many_mb},
      {"result_64mb", "result of 64 MB", "GB/s", many_mb},
      {"create_one", "create 1 and call it", "ms", ""},
      {"create_fifty", "create 50 and call each, from a buffer of 50", "ms", ""},
      {"next_first_call", "create the 51st and call it", "ms", ""},
      {"again_fifty", "delete 50, create and call 50", "ms", ""},
      {"death_known", "until a caller knows that the process was killed", "ms", ""},
  };
  return add_rows(kind.name, kind.command, all, rows);
}

/// On an agent that keeps as many processes ready as it does by default.
Result<void> measure_cold(const std::string& command, std::vector<Row>& rows) {
  const Wanted all[] = {
      {"cold_fifty", "create 50 and call each, none ready", "ms", "fork_loop.py once"},
      {"cold_again", "delete 50, create and call 50, few ready", "ms", "fork_loop.py twice"},
  };
  return add_rows("Python", command, all, rows);
}

}  // namespace

Result<Figures> bench_remote() {
  const Scratch scratch;
  const std::string data = scratch.path() + "/master";
  const Process master({"master", "--data", data, "--port", "0"}, scratch.path() + "/master.log");
  TRY_ASSIGN(client, Client::connect(data));
  std::vector<std::string> words{
      "agent",  "--master", data,       "--data", scratch.path() + "/agent", "--allow-isolation-off",
      "--cpus", "64",       "--memory", "64GiB"};
  const auto is_up = [](const cluster::requests::Status& status) { return status.agents_up == 1; };
  const std::string folder = raw_program("").substr(0, raw_program("").size() - std::string("/bench/raw/").size());
  ::setenv("CADRE_MASTER", data.c_str(), 1);
  ::setenv("PYTHONPATH", (folder + "/python").c_str(), 1);
  Figures figures{"remote", {}};
  {
    std::vector<std::string> with_few = words;
    with_few.insert(with_few.end(), {"--warm", "2"});
    const Process agent(with_few, scratch.path() + "/agent.log");
    TRY(client->until(is_up));
    TRY(measure_cold(folder + "/bench/remote_actor.py cold", figures.rows));
  }
  TRY(client->until([](const cluster::requests::Status& status) { return status.agents_up == 0; }));
  words.insert(words.end(), {"--warm", "50", "--warm-memory", "16GiB"});
  const Process agent(words, scratch.path() + "/agent.log");
  TRY(client->until(is_up));
  TRY(measure({"C++", folder + "/bench/remote_actor", "zmq_processes p50 unix 64", "zmq_processes p99 unix 64",
               "zmq_window 64"},
              figures.rows));
  TRY(measure({"Python", folder + "/bench/remote_actor.py", "pickle_loop.py p50", "pickle_loop.py p99",
               "pickle_loop.py window"},
              figures.rows));
  return figures;
}

}  // namespace cadre::bench
