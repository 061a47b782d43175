#include "experiment/importance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "search/space.h"

namespace cadre::experiment {
namespace {

using describe::Value;

constexpr std::size_t trials_in_bin_least = 5;
constexpr std::size_t bins_most = 8;
/// More than that cannot be told apart from chance.
constexpr double deviations_above_chance = 2;

/// The values of one hyperparameter; null: the trial does not have it.
using Column = std::vector<const Value*>;

void add_columns(const Value& map, const std::string& prefix, std::size_t row, std::size_t rows,
                 std::map<std::string, Column>& columns) {
  const auto* entries = map.as<Value::Map>();
  if (entries == nullptr) return;
  for (const describe::Entry& entry : *entries) {
    const std::string name = prefix + entry.key;
    if (entry.value.as<Value::Map>() != nullptr) {
      add_columns(entry.value, name + ".", row, rows, columns);
      continue;
    }
    Column& column = columns[name];
    column.resize(rows);
    column[row] = &entry.value;
  }
}

/// Ranks from 0 for the best; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<ImportanceSample>& samples, bool smaller_is_better) {
  const auto cost = [&](std::size_t i) {
    const double metric = samples[i].metric;
    if (std::isnan(metric)) return std::numeric_limits<double>::infinity();
    return smaller_is_better ? metric : -metric;
  };
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(a) < cost(b); });
  std::vector<double> ranks(samples.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && cost(order[last + 1]) == cost(order[first])) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return ranks;
}

/// The group of each trial, by a number or another value in bins of about equal size. Equal numbers are never divided.
std::vector<std::size_t> bins_of_numbers(const std::vector<double>& numbers) {
  const std::set<double> distinct(numbers.begin(), numbers.end());
  const std::size_t bins = std::clamp(numbers.size() / trials_in_bin_least, std::size_t{2}, bins_most);
  std::vector<std::size_t> groups(numbers.size());
  if (distinct.size() <= bins) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      groups[i] = static_cast<std::size_t>(std::distance(distinct.begin(), distinct.find(numbers[i])));
    }
    return groups;
  }
  std::vector<double> sorted = numbers;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto below = std::lower_bound(sorted.begin(), sorted.end(), numbers[i]) - sorted.begin();
    groups[i] = static_cast<std::size_t>(below) * bins / numbers.size();
  }
  return groups;
}

/// The group of each trial; numbers that are present are binned, an absent value is a group of its own.
std::vector<std::size_t> groups_of(const Column& column) {
  std::vector<double> numbers;
  std::vector<std::size_t> rows;
  bool all_numbers = true;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (column[i] == nullptr) continue;
    const std::optional<double> number = search::number_of(*column[i]);
    all_numbers = all_numbers && number && !std::isnan(*number);
    numbers.push_back(number.value_or(0));
    rows.push_back(i);
  }
  std::vector<std::size_t> groups(column.size());
  if (all_numbers) {
    const std::vector<std::size_t> bins = bins_of_numbers(numbers);
    for (std::size_t i = 0; i < rows.size(); ++i) groups[rows[i]] = bins[i] + 1;
    return groups;
  }
  std::map<std::string, std::size_t> known;
  for (const std::size_t row : rows) {
    groups[row] = known.emplace(describe::to_json(*column[row]), known.size() + 1).first->second;
  }
  return groups;
}

/// The share of the variance of the ranks that the groups explain.
double explained_share(const std::vector<double>& ranks, const std::vector<std::size_t>& groups) {
  struct Group {
    double sum = 0;
    double count = 0;
  };
  std::map<std::size_t, Group> by_group;
  const auto n = static_cast<double>(ranks.size());
  const double mean = std::accumulate(ranks.begin(), ranks.end(), 0.0) / n;
  double total = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    total += (ranks[i] - mean) * (ranks[i] - mean);
    by_group[groups[i]].sum += ranks[i] - mean;
    by_group[groups[i]].count += 1;
  }
  const auto k = static_cast<double>(by_group.size());
  if (total <= 0 || k < 2 || n - k < 1) return 0;
  double between = 0;
  for (const auto& [key, group] : by_group) between += group.sum * group.sum / group.count;
  const double share = between / total;
  // Of groups that mean nothing, the share has a beta distribution with this mean and deviation.
  const double by_chance = (k - 1) / (n - 1);
  const double deviation = std::sqrt(2 * (k - 1) * (n - k) / (n + 1)) / (n - 1);
  if (share < by_chance + deviations_above_chance * deviation) return 0;
  return std::max(0.0, (between - (k - 1) * (total - between) / (n - k)) / total);
}

}  // namespace

Result<std::vector<Importance>> importance_of(const std::vector<ImportanceSample>& samples, bool smaller_is_better) {
  if (samples.size() < importance_trials_least) {
    return fail(Errc::invalid, "needs at least " + std::to_string(importance_trials_least) +
                                   " trials with a result; there are " + std::to_string(samples.size()));
  }
  std::map<std::string, Column> columns;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    add_columns(samples[i].hyperparameters, "", i, samples.size(), columns);
  }
  const std::vector<double> ranks = ranks_of(samples, smaller_is_better);
  std::vector<Importance> all;
  double sum = 0;
  for (const auto& [name, column] : columns) {
    const std::vector<std::size_t> groups = groups_of(column);
    if (std::set<std::size_t>(groups.begin(), groups.end()).size() < 2) continue;
    all.push_back({name, explained_share(ranks, groups)});
    sum += all.back().share;
  }
  // Samplers that learn draw dependent values: what two hyperparameters both explain is divided between them.
  for (Importance& one : all) one.share /= std::max(1.0, sum);
  std::stable_sort(all.begin(), all.end(), [](const Importance& a, const Importance& b) { return a.share > b.share; });
  return all;
}

}  // namespace cadre::experiment
