#include "base/metric.h"

namespace cadre {

std::vector<Metric> MetricSet::read() const {
  std::vector<Metric> all;
  for (const metrics::Declared* one : declared_) all.push_back(one->as_metric());
  return all;
}

namespace metrics {

Declared::Declared(MetricSet& set, std::string_view name, std::string_view help, Metric::Kind kind)
    : name_(name), help_(help), kind_(kind) {
  CHECK(name.ends_with("_total") == (kind == Metric::Kind::counter));
  set.declared_.push_back(this);
}

}  // namespace metrics

}  // namespace cadre
