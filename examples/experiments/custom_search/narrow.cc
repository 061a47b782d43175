// A search of one's own in C++: it divides the range of the learning rate into a few points, and then the range around
// the best of them: narrow FILE CONFIG CODE. Started again with the same FILE, it continues the same experiment.
#include <cadre/search.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

namespace {

constexpr int points = 4;
constexpr double narrow_enough = 0.3;

class Narrower final : public cadre::Searcher {
 public:
  void on_begin() override { divide(); }

  void on_report(std::uint32_t trial, double, double metric) override { losses_[trial] = metric; }

  void on_end(std::uint32_t, TrialEnd) override {
    if (++ended_ < points) return;
    const auto best = std::min_element(losses_.begin(), losses_.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best != losses_.end()) {
      center_ = exponent_of(best->first - first_);
      std::printf("loss %.3f with lr = %.4g\n", best->second, std::pow(10, center_));
      std::fflush(stdout);
    }
    width_ /= 2;
    if (width_ < narrow_enough) return shutdown();
    divide();
  }

  [[nodiscard]] cadre::core::Data state() const override {
    std::vector<double> losses;
    std::vector<std::uint32_t> trials;
    for (const auto& [trial, loss] : losses_) trials.push_back(trial), losses.push_back(loss);
    return {{"center", center_}, {"width", width_},  {"first", first_},
            {"ended", ended_},   {"trials", trials}, {"losses", losses}};
  }
  void restore(const cadre::core::Data& state) override {
    center_ = state.get<double>("center");
    width_ = state.get<double>("width");
    first_ = state.get<std::uint32_t>("first");
    ended_ = state.get<int>("ended");
    const auto trials = state.get<std::vector<std::uint32_t>>("trials");
    const auto losses = state.get<std::vector<double>>("losses");
    for (std::size_t i = 0; i < trials.size(); ++i) losses_[trials[i]] = losses[i];
  }

 private:
  [[nodiscard]] double exponent_of(std::uint32_t index) const { return center_ + width_ * (index / 1.5 - 1); }

  void divide() {
    losses_.clear();
    ended_ = 0;
    for (std::uint32_t i = 0; i < points; ++i) {
      const std::uint32_t trial = create({{"lr", std::pow(10, exponent_of(i))}, {"layers", 3}});
      if (i == 0) first_ = trial;
    }
  }

  double center_ = -2.2;  // of the exponents of a round
  double width_ = 1.5;
  std::uint32_t first_ = 0;  // trial of a round
  int ended_ = 0;
  std::map<std::uint32_t, double> losses_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s FILE CONFIG CODE\n", argv[0]);
    return 2;
  }
  Narrower narrower;
  const auto state = cadre::run_search(narrower, {.file = argv[1], .config_file = argv[2], .code = argv[3]});
  if (!state) {
    std::fprintf(stderr, "%s\n", state.reason().text.c_str());
    return 1;
  }
  std::printf("%s\n", state->c_str());
}
