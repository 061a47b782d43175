#include "search/pbt.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/overloaded.h"
#include "search/sample.h"

namespace cadre::search {
namespace {

/// The nearest multiple of the step from min, not beyond max.
std::int64_t nearest(const Int& one, double wanted) {
  constexpr double largest = 18446744073709549568.0;  // that a whole number of 64 bits can hold
  const double range = static_cast<double>(one.max) - static_cast<double>(one.min);
  const double last = std::min(std::floor(range / static_cast<double>(one.step)), largest);
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

/// One that has failed is neither copied nor compared with.
void PbtRules::exit(TrialNumber trial, Exit exit) {
  PopulationMember& member = state_.members[trial];
  if (member.has_ended) return;
  member.has_ended = true;
  if (exit != Exit::completed) member.metric.reset();
  if (exit == Exit::invalid) create();
}

/// All others that have reported, the best first.
std::vector<TrialNumber> PbtRules::others_of(TrialNumber trial) const {
  std::vector<TrialNumber> others;
  for (TrialNumber i = 0; i < state_.members.size(); ++i) {
    if (i != trial && state_.members[i].metric) others.push_back(i);
  }
  std::stable_sort(others.begin(), others.end(),
                   [&](TrialNumber a, TrialNumber b) { return *state_.members[a].metric < *state_.members[b].metric; });
  return others;
}

/// Of several with the same metric it is the first, so that it is never replaced by an equal.
bool PbtRules::is_among_the_worst(TrialNumber trial, const std::vector<TrialNumber>& others, std::size_t count) const {
  const auto is_better = [&](TrialNumber other) {
    return *state_.members[other].metric < *state_.members[trial].metric;
  };
  const auto place = static_cast<std::size_t>(std::count_if(others.begin(), others.end(), is_better));
  return place + count >= others.size() + 1;
}

void PbtRules::report(const Report& report) {
  PopulationMember& member = state_.members[report.trial];
  if (member.has_ended) return;
  member.metric = report.metric;
  const double passed = std::floor(report.time / static_cast<double>(config_.interval));
  if (!(passed > static_cast<double>(member.intervals))) return;
  member.intervals = static_cast<std::int64_t>(std::min(passed, static_cast<double>(longest_time)));
  if (member.is_replaced) return;
  const std::vector<TrialNumber> others = others_of(report.trial);
  const auto share = static_cast<std::size_t>(config_.truncation * static_cast<double>(others.size() + 1));
  const std::size_t count = std::max<std::size_t>(share, 1);
  if (others.size() < count || !is_among_the_worst(report.trial, others, count)) return;
  const TrialNumber source = others[draws_.generator.below(count)];
  state_.lineage.push_back({report.trial, source, report.time});
  member.intervals = state_.members[source].intervals;  // where the checkpoint is that it continues
  member.is_replaced = true;
  orders_.add(ReplaceTrial{report.trial, source, explore(state_.members[source].point)});
}

/// Each hyperparameter is drawn anew or perturbed. With a model, those which are drawn anew are left to it, and so is
/// whether those exist that depend on them.
Point PbtRules::explore(const Point& source) {
  const bool has_model = std::holds_alternative<TpeSampler>(config_.sampler);
  std::set<std::string> open;
  const auto is_open = [&](const Parameter& parameter) {
    return std::any_of(parameter.when.begin(), parameter.when.end(), [&](const When& when) {
      return std::any_of(when.begin(), when.end(), [&](const auto& entry) { return open.contains(entry.first); });
    });
  };
  Point point(describe::Value::Map{});
  for (const std::size_t i : draws_.space.order()) {
    const Parameter& parameter = draws_.space.parameters()[i];
    const describe::Value* value = find(source, parameter.path);
    if (is_open(parameter) ? value == nullptr : !Space::exists(parameter, point)) continue;
    const auto* constant = std::get_if<Constant>(&parameter.domain);
    if (constant != nullptr) {
      insert(point, parameter.path, constant->value);
    } else if (value != nullptr && draws_.generator.unit() >= config_.resample_probability) {
      insert(point, parameter.path, perturb(parameter.domain, *value));
    } else if (has_model) {
      open.insert(parameter.name());
    } else {
      insert(point, parameter.path, draw(parameter.domain, draws_.generator));
    }
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
                   const auto last = static_cast<double>(sampled_steps(one) - 1);
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
