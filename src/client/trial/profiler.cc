#include "client/trial/profiler.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "client/trial/gpu_usage.h"
#include "loop/boot_clock.h"

namespace cadre::client {
namespace {

using describe::Value;

/// What only grows.
struct Totals {
  TimePoint time;
  double cpu_seconds = 0;
  double host_busy_ticks = 0;
  double host_ticks = 0;
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;
};

/// The number behind a name in a file of lines `name: number`; 0: there is none.
std::int64_t number_in(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t number = 0;
    if (word == name) return file >> number ? number : 0;
    file.ignore(4096, '\n');
  }
  return 0;
}

/// The times of all processors: the first line of /proc/stat.
void add_host_times(Totals& totals) {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  std::array<double, 8> ticks{};  // user nice system idle iowait irq softirq steal
  for (double& one : ticks) file >> one;
  for (const double one : ticks) totals.host_ticks += one;
  totals.host_busy_ticks = totals.host_ticks - ticks[3] - ticks[4];
}

Totals totals_now() {
  Totals totals;
  totals.time = loop::boot_now();
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  totals.cpu_seconds = static_cast<double>(cpu.tv_sec) + 1e-9 * static_cast<double>(cpu.tv_nsec);
  add_host_times(totals);
  totals.read_bytes = number_in("/proc/self/io", "read_bytes:");
  totals.write_bytes = number_in("/proc/self/io", "write_bytes:");
  return totals;
}

std::int64_t resident_bytes() {
  std::int64_t pages = 0;
  std::ifstream file("/proc/self/statm");
  file >> pages >> pages;
  return pages * ::sysconf(_SC_PAGESIZE);
}

double round_to_tenths(double number) { return static_cast<double>(static_cast<std::int64_t>(number * 10 + 0.5)) / 10; }

}  // namespace

struct UsageSampler::Inside {
  Totals last = totals_now();
  GpuMeter gpus;
};

UsageSampler::UsageSampler() : inside_(std::make_unique<Inside>()) {}
UsageSampler::~UsageSampler() = default;

Value UsageSampler::sample() {
  const Totals now = totals_now();
  const Totals last = std::exchange(inside_->last, now);
  const double seconds = std::chrono::duration<double>(now.time - last.time).count();
  const auto rate = [&](double before, double after) { return seconds > 0 ? (after - before) / seconds : 0.0; };
  const double host_ticks = now.host_ticks - last.host_ticks;
  const double host_busy = host_ticks > 0 ? 100 * (now.host_busy_ticks - last.host_busy_ticks) / host_ticks : 0;
  Value sample(Value::Map{});
  sample.set("cpu_percent", Value(round_to_tenths(100 * rate(last.cpu_seconds, now.cpu_seconds))));
  sample.set("memory_bytes", Value(resident_bytes()));
  sample.set("threads", Value(number_in("/proc/self/status", "Threads:")));
  const auto bytes_rate = [&](std::int64_t before, std::int64_t after) {
    return Value(static_cast<std::int64_t>(rate(static_cast<double>(before), static_cast<double>(after))));
  };
  sample.set("disk_read_bytes_per_second", bytes_rate(last.read_bytes, now.read_bytes));
  sample.set("disk_write_bytes_per_second", bytes_rate(last.write_bytes, now.write_bytes));
  sample.set("host_cpu_percent", Value(round_to_tenths(host_busy)));
  sample.set("host_memory_free_bytes", Value(number_in("/proc/meminfo", "MemAvailable:") * 1024));
  int number = 0;
  for (const GpuUsage& gpu : inside_->gpus.read()) {
    Value usage(Value::Map{});
    usage.set("percent", Value(gpu.percent)).set("memory_bytes", Value(gpu.memory_bytes));
    sample.set("gpu_" + std::to_string(number++), std::move(usage));
  }
  return sample;
}

Profiler::Profiler(Duration interval, Take take)
    : interval_(interval), take_(std::move(take)), thread_([this] { work(); }) {}

Profiler::~Profiler() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void Profiler::work() {
  UsageSampler sampler;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval_, [this] { return is_ending_; })) {
    lock.unlock();
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    take_(std::chrono::duration_cast<std::chrono::seconds>(since_1970).count(), sampler.sample());
    lock.lock();
  }
}

}  // namespace cadre::client
