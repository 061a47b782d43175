// A trial that reports metrics as fast as the master takes them, for `cadre bench metrics`: `reports` reports with
// `values` metrics each, from the time `begin` on, in seconds of the steady clock. It reports when they were stored.
#include <cadre/trial.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

namespace {

using cadre::core::Data;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// A whole number, so that sums are exact; bench/metrics_bench.cc expects the same.
double value_at(std::int64_t step) { return static_cast<double>(step * 7'919 % 1'000); }

Data one_metric(double value) { return {{"loss", value}}; }
Data eight_metrics(double value) {
  return {{"loss", value},    {"accuracy", value}, {"lr", value},        {"gradient_norm", value},
          {"entropy", value}, {"reward", value},   {"step_time", value}, {"memory", value}};
}

}  // namespace

int main() {
  cadre::core::Trial trial = cadre::core::init().value();
  const Data& parameters = trial.info().hyperparameters;
  const auto reports = parameters.get<std::int64_t>("reports");
  const auto spike_at = parameters.get<std::int64_t>("spike_at");
  const auto metrics = parameters.get<std::int64_t>("values") == 1 ? one_metric : eight_metrics;
  std::this_thread::sleep_until(
      Clock::time_point(std::chrono::duration_cast<Clock::duration>(Seconds(parameters.get<double>("begin")))));
  for (std::int64_t step = 1; step <= reports; ++step) {
    const double value = step == spike_at ? 1'000'000 : value_at(step);
    trial.train.report_training(step, metrics(value)).value();
  }
  trial.train.flush().value();
  trial.train.report_metrics("timing", 1, {{"end", Seconds(Clock::now().time_since_epoch()).count()}}).value();
  trial.close().value();
}
