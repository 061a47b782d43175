#include "search/pbt.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/overloaded.h"

namespace cadre::search {
namespace {

/// The nearest multiple of the step from min, not beyond max.
std::int64_t nearest(const Int& one, double wanted) {
  const double last =
      std::floor((static_cast<double>(one.max) - static_cast<double>(one.min)) / static_cast<double>(one.step));
  const double steps = std::round((wanted - static_cast<double>(one.min)) / static_cast<double>(one.step));
  const auto clamped = static_cast<std::uint64_t>(std::clamp(steps, 0.0, last));
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one.min) +
                                   clamped * static_cast<std::uint64_t>(one.step));
}

}  // namespace

PbtRules::PbtRules(const Pbt& config, PbtState& state, Orders& orders, Draws draws)
    : config_(config), state_(state), orders_(orders), draws_(draws) {}

void PbtRules::create() {
  orders_.create();
  state_.members.emplace_back();
}

void PbtRules::begin() {
  for (std::int64_t i = 0; i < config_.population; ++i) create();
}

void PbtRules::drawn(TrialNumber trial, const Point& point) { state_.members[trial].point = point; }

void PbtRules::exit(TrialNumber trial, Exit exit) {
  PopulationMember& member = state_.members[trial];
  if (member.has_ended) return;
  member.has_ended = true;
  if (exit == Exit::completed) return;
  member.metric = std::numeric_limits<double>::infinity();
  if (exit == Exit::invalid) {
    member.metric.reset();
    create();
  }
}

std::vector<TrialNumber> PbtRules::ranking() const {
  std::vector<TrialNumber> ranking;
  for (TrialNumber i = 0; i < state_.members.size(); ++i) {
    if (state_.members[i].metric) ranking.push_back(i);
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [&](TrialNumber a, TrialNumber b) { return *state_.members[a].metric < *state_.members[b].metric; });
  return ranking;
}

void PbtRules::report(const Report& report) {
  PopulationMember& member = state_.members[report.trial];
  if (member.has_ended) return;
  member.metric = report.metric;
  const auto passed = static_cast<std::int64_t>(report.time / static_cast<double>(config_.interval));
  if (passed <= member.intervals) return;
  member.intervals = passed;
  const std::vector<TrialNumber> ranked = ranking();
  const auto share = static_cast<std::size_t>(config_.truncation * static_cast<double>(config_.population));
  const std::size_t count = std::max<std::size_t>(share, 1);
  if (ranked.size() < 2 * count) return;
  if (std::find(ranked.end() - static_cast<std::ptrdiff_t>(count), ranked.end(), report.trial) == ranked.end()) return;
  const TrialNumber source = ranked[draws_.generator.below(count)];
  state_.lineage.push_back({report.trial, source, report.time});
  orders_.add(ReplaceTrial{report.trial, source, explore(state_.members[source].point)});
}

Point PbtRules::explore(const Point& source) {
  Point point(describe::Value::Map{});
  for (const Parameter& parameter : draws_.space.parameters()) {
    const describe::Value* value = find(source, parameter.path);
    if (std::holds_alternative<Constant>(parameter.domain)) continue;
    if (draws_.generator.unit() < config_.resample_probability || value == nullptr) continue;
    insert(point, parameter.path, perturb(parameter.domain, *value));
  }
  return point;
}

describe::Value PbtRules::perturb(const Domain& domain, const describe::Value& value) {
  Generator& generator = draws_.generator;
  if (const auto* choice = std::get_if<Categorical>(&domain)) {
    const auto same = [&](const describe::Value& each) { return is_same(each, value); };
    const auto at = static_cast<std::size_t>(std::find_if(choice->values.begin(), choice->values.end(), same) -
                                             choice->values.begin());
    const std::size_t last = choice->values.size() - 1;
    if (last == 0 || at > last) return value;
    if (at == 0) return choice->values[1];
    if (at == last) return choice->values[last - 1];
    return choice->values[generator.below(2) == 0 ? at - 1 : at + 1];
  }
  const double factor = config_.perturb_factors[generator.below(config_.perturb_factors.size())];
  const double wanted = number_of(value).value_or(0) * factor;
  return std::visit(
      overloaded{[&](const Int& one) { return describe::Value(nearest(one, wanted)); },
                 [&](const Double& one) {
                   if (!one.step) return describe::Value(std::clamp(wanted, one.min, one.max));
                   const double last = std::max(0.0, std::ceil((one.max - one.min) / *one.step - 1e-9) - 1);
                   const double steps = std::clamp(std::round((wanted - one.min) / *one.step), 0.0, last);
                   return describe::Value(one.min + *one.step * steps);
                 },
                 [&](const Log& one) {
                   const double first = std::pow(one.base, one.min);
                   const double second = std::pow(one.base, one.max);
                   return describe::Value(std::clamp(wanted, std::min(first, second), std::max(first, second)));
                 },
                 [&](const auto&) { return value; }},
      domain);
}

}  // namespace cadre::search
