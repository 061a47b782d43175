/// Metrics, as parts and shells declare them and Prometheus reads them. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cadre::api {

struct Metric {
  enum class Kind : std::uint8_t { gauge, counter };
  using Labels = std::vector<std::pair<std::string, std::string>>;
  struct Sample {
    Labels labels;
    double value = 0;
  };

  std::string name;  ///< without `cadre_`; of a counter it ends with _total
  std::string help;
  Kind kind = Kind::gauge;
  std::vector<Sample> samples;
};

/// A metric of one value. A name that ends with _total is that of a counter.
[[nodiscard]] inline Metric metric(std::string name, std::string help, double value) {
  const auto kind = name.ends_with("_total") ? Metric::Kind::counter : Metric::Kind::gauge;
  return {std::move(name), std::move(help), kind, {{{}, value}}};
}

}  // namespace cadre::api
