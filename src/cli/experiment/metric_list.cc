#include "cli/experiment/metric_list.h"

#include <algorithm>

namespace cadre::cli {

double value_of_report(const std::vector<double>& values, std::int64_t report) {
  return values[std::min(static_cast<std::size_t>(report), values.size() - 1)];
}

describe::Read<MetricList> MetricList::read(std::string_view json) {
  const describe::Parsed tree = describe::parse_yaml(json);
  if (!tree) return tl::unexpected(tree.error());
  MetricList metrics;
  describe::Faults faults;
  const describe::Path root;
  const describe::Place place{root, faults};
  const auto* list = place.list(*tree);
  if (list != nullptr && list->empty()) place.fault(*tree, "is empty; give the metrics of one trial at least");
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const describe::Value& entry = (*list)[i];
    const describe::Path path(root, i);
    const describe::Place at = place.at(path);
    std::vector<double>& values = metrics.trials_.emplace_back();
    if (entry.as<describe::Value::List>() != nullptr) {
      describe::read_into(entry, values, at);
      if (entry.as<describe::Value::List>()->empty()) at.fault(entry, "is empty; give one number at least");
    } else {
      describe::read_into(entry, values.emplace_back(), at);
    }
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return metrics;
}

double MetricList::at(const search::Moment& moment) const {
  return value_of_report(trials_[moment.trial % trials_.size()], moment.reports);
}

}  // namespace cadre::cli
