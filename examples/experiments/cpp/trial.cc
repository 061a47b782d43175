// A trial in C++: fits a curve of sines to noisy points by SGD with momentum. CMakeLists.txt beside it builds it.
// By itself:     build/cpp_trial/code/trial lr=0.02
// On a cluster:  cadre experiment create -f examples/experiments/cpp.yaml build/cpp_trial/code
#include <cadre/trial.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr double pi = 3.14159265358979;

using Weights = std::array<double, 8>;

double curve(const Weights& weights, double x) {
  double y = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) y += weights[i] * std::sin(static_cast<double>(i + 1) * x);
  return y;
}

/// All that changes during training: a trial that is restarted continues as if it had never been interrupted.
struct Training {
  std::mt19937_64 random;
  Weights weights{};
  Weights velocity{};
  std::int64_t steps = 0;

  explicit Training(std::uint32_t seed) : random(seed) {}

  static double wanted(double x) { return x < pi ? 1 : -1; }

  void step(double lr, double momentum) {
    // Not the distributions of the library, which differ from one library to another.
    const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    const double x = 2 * pi * uniform();
    const double error = curve(weights, x) - (wanted(x) + uniform() - 0.5);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      velocity[i] = momentum * velocity[i] - lr * error * std::sin(static_cast<double>(i + 1) * x);
      weights[i] += velocity[i];
    }
    ++steps;
  }

  double loss() const {
    double sum = 0;
    for (int i = 0; i < 1'000; ++i) {
      const double x = 2 * pi * (i + 0.5) / 1'000;
      const double error = curve(weights, x) - wanted(x);
      sum += error * error;
    }
    return sum / 1'000;
  }

  void save(const std::string& folder) const {
    std::ofstream file(folder + "/state");
    file.precision(17);
    file << steps << ' ' << random;
    for (const Weights* one : {&weights, &velocity}) {
      for (const double value : *one) file << ' ' << value;
    }
    if (!file.flush()) throw std::runtime_error(folder + "/state cannot be written");
  }

  void restore(const std::string& folder) {
    std::ifstream file(folder + "/state");
    file >> steps >> random;
    for (Weights* one : {&weights, &velocity}) {
      for (double& value : *one) file >> value;
    }
    if (!file) throw std::runtime_error(folder + "/state cannot be read");
  }
};

void train(int argc, char** argv) {
  cadre::core::InitOptions options;
  options.hyperparameters = {{"lr", 0.02}, {"momentum", 0.5}};
  options.arguments.assign(argv + 1, argv + argc);  // lr=0.05 on the command line
  options.until = 2'000;
  auto trial = cadre::core::init(options).value();
  const cadre::core::Info& info = trial.info();
  const auto lr = info.hyperparameters.get<double>("lr");
  const auto momentum = info.hyperparameters.get<double>("momentum");
  Training training(info.seed);
  if (info.latest_checkpoint) {
    trial.checkpoint
        .restore_path(info.latest_checkpoint->uuid, [&](const std::string& folder) { training.restore(folder); })
        .value();
  }
  bool stops = false;
  while (training.steps < info.until && !stops) {
    training.step(lr, momentum);
    stops = trial.preempt.should_stop();
    if (training.steps % 100 == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // otherwise it takes no time at all
      trial.train.report_validation(training.steps, {{"loss", training.loss()}}).value();
    }
    if (training.steps % 500 == 0 || stops) {
      trial.checkpoint.store_path(training.steps, [&](const std::string& folder) { training.save(folder); }).value();
    }
  }
  if (stops) trial.preempt.acknowledge().value();
  trial.close().value();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
  return 0;
}
