#include "experiment/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "base/seeds.h"

namespace cadre::experiment {
namespace {

using describe::Value;

double unit(Dice& dice) { return static_cast<double>(dice.bits() >> 11) * 0x1p-53; }

/// Trials with three independent hyperparameters; `metric` gets their values.
template <class Metric>
std::vector<ImportanceSample> draw_samples(Dice& dice, std::size_t count, Metric metric) {
  std::vector<ImportanceSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const double lr = std::pow(10, -5 + 4 * unit(dice));
    const auto layers = static_cast<std::int64_t>(dice.bits() % 4 + 1);
    const std::string optimizer = dice.bits() % 2 == 0 ? "adam" : "sgd";
    Value point;
    point.set("model", Value().set("layers", Value(layers)));
    point.set("lr", Value(lr)).set("optimizer", Value(optimizer)).set("epochs", Value(10));
    samples.push_back({std::move(point), metric(lr, layers, optimizer, unit(dice))});
  }
  return samples;
}

std::map<std::string, double> shares_of(const std::vector<ImportanceSample>& samples, bool smaller = true) {
  std::map<std::string, double> shares;
  const auto all = importance_of(samples, smaller);
  EXPECT_TRUE(all.has_value());
  for (const Importance& one : *all) shares[one.name] = one.share;
  return shares;
}

TEST(Importance, IsZeroForWhatDoesNotMatterAndAtMostOneInTotal) {
  double irrelevant = 0;
  FOR_SEEDS(200, [&](Dice& dice) {
    const auto samples = draw_samples(dice, 20 + dice.bits() % 100, [](double lr, auto, const auto&, double noise) {
      return std::abs(std::log10(lr) + 3) + 0.1 * noise;
    });
    const auto shares = shares_of(samples);
    EXPECT_GT(shares.at("lr"), 0.5);
    double sum = 0;
    for (const auto& [name, share] : shares) {
      EXPECT_GE(share, 0) << name;
      sum += share;
    }
    EXPECT_LE(sum, 1.0 + 1e-12);
    irrelevant += shares.at("model.layers") + shares.at("optimizer");
  });
  EXPECT_LT(irrelevant / 400, 0.02) << "on average over all seeds";
}

TEST(Importance, OrdersHyperparametersByTheirEffect) {
  FOR_SEEDS(50, [](Dice& dice) {
    const auto samples = draw_samples(dice, 200, [](double lr, auto layers, const auto& optimizer, double) {
      return 10 * std::log10(lr) + 4 * static_cast<double>(layers) + (optimizer == "adam" ? 0 : 3);
    });
    const auto all = importance_of(samples, true);
    ASSERT_TRUE(all.has_value());
    ASSERT_EQ(all->size(), 3U) << "the same value in all trials explains nothing and is left out";
    EXPECT_EQ((*all)[0].name, "lr");
    EXPECT_GT((*all)[0].share, (*all)[1].share);
    EXPECT_GE((*all)[1].share, (*all)[2].share);
  });
}

TEST(Importance, DoesNotDependOnTheScaleOrTheDirectionOfTheMetric) {
  Dice dice(7);
  auto samples = draw_samples(dice, 60, [](double lr, auto layers, const auto&, double) {
    return -std::log10(lr) + 0.5 * static_cast<double>(layers);
  });
  const auto shares = shares_of(samples);
  for (ImportanceSample& sample : samples) sample.metric = -std::exp(3 * sample.metric);
  const auto scaled = shares_of(samples, false);
  for (const auto& [name, share] : shares) EXPECT_NEAR(scaled.at(name), share, 1e-12) << name;
}

TEST(Importance, CountsDivergedTrialsAsTheWorst) {
  Dice dice(3);
  auto samples = draw_samples(dice, 80, [](double lr, auto, const auto&, double noise) {
    return lr > 1e-2 ? std::numeric_limits<double>::quiet_NaN() : noise;
  });
  EXPECT_GT(shares_of(samples).at("lr"), 0.3);
  EXPECT_NEAR(shares_of(samples, false).at("lr"), shares_of(samples).at("lr"), 0.1) << "NaN is the worst either way";
}

TEST(Importance, TakesAnAbsentHyperparameterAsAValue) {
  std::vector<ImportanceSample> samples;
  for (int i = 0; i < 40; ++i) {
    Value point;
    point.set("optimizer", Value(i % 2 == 0 ? "sgd" : "adam"));
    if (i % 2 == 0) point.set("momentum", Value(0.9 + i * 0.001));
    samples.push_back({point, static_cast<double>(i % 2) + i * 1e-3});
  }
  const auto shares = shares_of(samples);
  EXPECT_GT(shares.at("momentum"), 0.2);
  EXPECT_GT(shares.at("optimizer"), 0.2);
  EXPECT_LE(shares.at("momentum") + shares.at("optimizer"), 1.0 + 1e-12) << "they explain the same";
}

TEST(Importance, SaysThatItNeedsMoreTrials) {
  Dice dice(1);
  const auto samples = draw_samples(dice, 9, [](double lr, auto, const auto&, double) { return lr; });
  const auto all = importance_of(samples, true);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().message, "needs at least 10 trials with a result; there are 9");
}

TEST(Importance, IsZeroWhenAllTrialsAreEquallyGood) {
  Dice dice(1);
  const auto samples = draw_samples(dice, 30, [](double, auto, const auto&, double) { return 1.0; });
  for (const auto& [name, share] : shares_of(samples)) EXPECT_EQ(share, 0) << name;
}

}  // namespace
}  // namespace cadre::experiment
