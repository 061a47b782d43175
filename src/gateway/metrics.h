/// Metrics as Prometheus reads them. Safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/metric.h"
#include "base/time.h"

namespace cadre::gateway {

struct Health {
  static constexpr std::string_view type_name = "health";
  static constexpr std::string_view doc = "Whether the master is up.";
  std::string status;
  std::string version;
  TimePoint since;
};
template <class V>
void describe(V& v, Health& h) {
  v.required("status", h.status, "Always `ok`.");
  v.required("version", h.version, "Version of the master.");
  v.required("since", h.since, "Time at which the master started.");
}

/// In the text format, version 0.0.4.
[[nodiscard]] std::string exposition(const std::vector<Metric>& metrics);

}  // namespace cadre::gateway
