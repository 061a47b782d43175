/// Metrics. A metric is declared once, with its name, help, labels and buckets, as the variable that counts:
///
///   MetricSet metrics;
///   Counter refused{metrics, "names_refused_total", "Number of names refused because a limit was reached."};
///   Histogram commit{metrics, "commit_seconds", "Duration of a commit.", buckets::seconds};
///   ...
///   ++refused;
///   commit.observe(end - begin);
///
/// One thread at a time changes a metric; any thread may read it, and its set.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace cadre {

/// A metric as it was read.
struct Metric {
  enum class Kind : std::uint8_t { gauge, counter, histogram };
  using Labels = std::vector<std::pair<std::string, std::string>>;
  /// Observations by size.
  struct Distribution {
    std::vector<double> bounds;         ///< upper bounds of the buckets, ascending; the last bucket has none
    std::vector<std::uint64_t> counts;  ///< observations in each bucket alone: one more than there are bounds
    double sum = 0;
  };
  struct Sample {
    Labels labels;
    std::variant<double, Distribution> value;
  };

  std::string name;  ///< without `cadre_`; ends with its unit, if it has one, and that of a counter with _total
  std::string help;
  Kind kind = Kind::gauge;
  std::vector<Sample> samples;
};

/// A metric whose value is derived from other state when it is read. A name that ends with _total is that of a counter.
[[nodiscard]] inline Metric metric(std::string name, std::string help, double value) {
  const auto kind = name.ends_with("_total") ? Metric::Kind::counter : Metric::Kind::gauge;
  return {std::move(name), std::move(help), kind, {{{}, value}}};
}

/// Upper bounds of the buckets of histograms.
namespace buckets {
/// From half a millisecond to ten seconds: steps of a loop, commits, requests.
inline constexpr std::array seconds_array{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                          0.1,    0.25,  0.5,    1.0,   2.5,  5.0,   10.0};
inline constexpr std::span<const double> seconds = seconds_array;
/// From a tenth of a second to a week: how long jobs wait.
inline constexpr std::array waits_array{0.1,   0.5,   1.0,     5.0,      15.0,     60.0,     300.0,
                                        900.0, 3600., 14'400., 43'200.0, 86'400.0, 604'800.0};
inline constexpr std::span<const double> waits = waits_array;
/// Number of things that are handled together.
inline constexpr std::array counts_array{1.0,   2.0,   5.0,   10.0,    20.0,     50.0,
                                         100.0, 200.0, 500.0, 1'000.0, 10'000.0, 100'000.0};
inline constexpr std::span<const double> counts = counts_array;
}  // namespace buckets

namespace metrics {

/// A number that one thread changes and any reads. Without a locked instruction: adding costs what it costs to a plain
/// variable.
template <class T>
class Cell {
 public:
  T get() const { return value_.load(std::memory_order_relaxed); }
  void set(T value) { value_.store(value, std::memory_order_relaxed); }
  void add(T more) { set(get() + more); }

 private:
  std::atomic<T> value_ = 0;
};

class CounterValue {
 public:
  static constexpr Metric::Kind kind = Metric::Kind::counter;
  CounterValue& operator++() { return *this += 1; }
  CounterValue& operator+=(std::uint64_t more) { return cell_.add(more), *this; }
  operator std::uint64_t() const { return cell_.get(); }  // NOLINT: it is used as the number it counts
  [[nodiscard]] double read() const { return static_cast<double>(cell_.get()); }

 private:
  Cell<std::uint64_t> cell_;
};

class GaugeValue {
 public:
  static constexpr Metric::Kind kind = Metric::Kind::gauge;
  void set(std::int64_t value) { cell_.set(value); }
  GaugeValue& operator+=(std::int64_t more) { return cell_.add(more), *this; }
  GaugeValue& operator++() { return *this += 1; }
  GaugeValue& operator--() { return *this += -1; }
  operator std::int64_t() const { return cell_.get(); }  // NOLINT: it is used as the number it holds
  [[nodiscard]] double read() const { return static_cast<double>(cell_.get()); }

 private:
  Cell<std::int64_t> cell_;
};

class HistogramValue {
 public:
  static constexpr Metric::Kind kind = Metric::Kind::histogram;
  /// The bounds must be constants.
  explicit HistogramValue(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {
    CHECK(std::is_sorted(bounds.begin(), bounds.end()));
  }
  void observe(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)].add(1);
    sum_.add(value);
  }
  /// In seconds.
  void observe(Duration duration) { observe(std::chrono::duration<double>(duration).count()); }
  /// Of observations meanwhile it may have some: those that are counted are in exactly one bucket each.
  [[nodiscard]] Metric::Distribution read() const {
    Metric::Distribution read{{bounds_.begin(), bounds_.end()}, {}, sum_.get()};
    for (const Cell<std::uint64_t>& one : counts_) read.counts.push_back(one.get());
    return read;
  }

 private:
  std::span<const double> bounds_;
  std::vector<Cell<std::uint64_t>> counts_;
  Cell<double> sum_;
};

class Declared;

}  // namespace metrics

/// The metrics of one owner, in the order of their declaration: they register themselves. To be declared before them.
class MetricSet {
 public:
  MetricSet() = default;
  MetricSet(const MetricSet&) = delete;
  MetricSet& operator=(const MetricSet&) = delete;
  [[nodiscard]] std::vector<Metric> read() const;

 private:
  friend class metrics::Declared;
  std::vector<const metrics::Declared*> declared_;
};

namespace metrics {

class Declared {
 public:
  Declared(MetricSet& set, std::string_view name, std::string_view help, Metric::Kind kind);
  Declared(const Declared&) = delete;
  Declared& operator=(const Declared&) = delete;
  virtual ~Declared() = default;
  [[nodiscard]] Metric as_metric() const { return {name_, help_, kind_, samples()}; }

 private:
  [[nodiscard]] virtual std::vector<Metric::Sample> samples() const = 0;

  std::string name_;
  std::string help_;
  Metric::Kind kind_;
};

/// A metric without labels.
template <class Value>
class Single final : public Declared, public Value {
 public:
  template <class... Args>
  Single(MetricSet& set, std::string_view name, std::string_view help, Args&&... args)
      : Declared(set, name, help, Value::kind), Value(std::forward<Args>(args)...) {}

 private:
  std::vector<Metric::Sample> samples() const override { return {{{}, Value::read()}}; }
};

/// A metric with labels: one value for each combination of label values that was used.
template <class Value>
class Labelled final : public Declared {
 public:
  struct Labels {
    std::vector<std::string> names;
    /// How many combinations of values are kept apart. Further ones are counted together, as `other`.
    std::size_t series_max;
  };
  template <class... Args>
  Labelled(MetricSet& set, std::string_view name, std::string_view help, Labels labels, Args... args)
      : Declared(set, name, help, Value::kind),
        labels_(std::move(labels)),
        make_([args...] { return std::make_unique<Value>(args...); }) {}

  /// The value of this combination, one for each label. It stays where it is.
  Value& with(std::vector<std::string> values) {
    CHECK(values.size() == labels_.names.size());
    const std::lock_guard lock(mutex_);
    const auto found = series_.find(values);
    if (found != series_.end()) return *found->second;
    if (series_.size() >= labels_.series_max) values.assign(values.size(), "other");
    std::unique_ptr<Value>& value = series_[std::move(values)];
    if (!value) value = make_();
    return *value;
  }

 private:
  std::vector<Metric::Sample> samples() const override {
    const std::lock_guard lock(mutex_);
    std::vector<Metric::Sample> samples;
    for (const auto& [values, value] : series_) {
      Metric::Labels labels;
      for (std::size_t i = 0; i < values.size(); ++i) labels.emplace_back(labels_.names[i], values[i]);
      samples.push_back({std::move(labels), value->read()});
    }
    return samples;
  }

  const Labels labels_;
  const std::function<std::unique_ptr<Value>()> make_;
  mutable std::mutex mutex_;  ///< the thread that counts adds to `series_`, others read it
  std::map<std::vector<std::string>, std::unique_ptr<Value>> series_;
};

}  // namespace metrics

using Counter = metrics::Single<metrics::CounterValue>;
using Gauge = metrics::Single<metrics::GaugeValue>;
using Histogram = metrics::Single<metrics::HistogramValue>;
using LabelledCounter = metrics::Labelled<metrics::CounterValue>;
using LabelledHistogram = metrics::Labelled<metrics::HistogramValue>;

}  // namespace cadre
