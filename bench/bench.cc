#include "bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace cadre::bench {

std::string raw_program(const std::string& name) {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string program(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return program.substr(0, program.rfind('/')) + "/bench/raw/" + name;
}

const std::map<std::string, Bench>& all() {
  static const std::map<std::string, Bench> benches{
      {"api", bench_api},           {"component", bench_component},   {"control", bench_control},
      {"database", bench_database}, {"describe", bench_describe},     {"experiments", bench_experiments},
      {"logs", bench_logs},         {"metrics", bench_metrics},       {"net", bench_net},
      {"planner", bench_planner},   {"remote", bench_remote},         {"scale", bench_scale},
      {"search", bench_search},     {"supervisor", bench_supervisor}, {"tasks", bench_tasks}};
  return benches;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

double rate(const std::function<void()>& work, double units) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  double done = 0;
  std::chrono::duration<double> passed{};
  do {
    work();
    done += units;
    passed = Clock::now() - begin;
  } while (passed.count() < 0.5);
  return done / passed.count();
}

Result<Row> row_beside_raw(std::string name, double value, std::string unit, const std::string& raw_command) {
  const std::string command = raw_program(raw_command);
  std::FILE* raw = popen(command.c_str(), "r");
  double limit = 0;
  const bool read = raw != nullptr && std::fscanf(raw, "%lf", &limit) == 1;
  const int code = raw != nullptr ? pclose(raw) : -1;
  if (!read || code != 0 || limit <= 0) {
    return fail(Errc::unavailable, "the raw program failed: " + command + "; build it with make bench");
  }
  return Row{std::move(name), value, std::move(unit), limit, value / limit};
}

}  // namespace cadre::bench
