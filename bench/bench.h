/// Benchmarks: each gives figures beside the raw limit, measured in the same run by a small program of bench/raw.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "describe/describe.h"

namespace cadre::bench {

/// One figure. The limit and the ratio to it are left out where there is no raw program to compare with.
struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::optional<double> limit;
  std::optional<double> ratio;
};

template <class V>
void describe(V& v, Row& r) {
  v.required("name", r.name, "What is measured.");
  v.required("value", r.value, "How much.");
  v.required("unit", r.unit, "Of what.");
  v.field("limit", r.limit, "What the raw program reached in the same run.");
  v.field("ratio", r.ratio, "The value by the limit.");
}

struct Figures {
  std::string bench;
  std::vector<Row> rows;
};

template <class V>
void describe(V& v, Figures& f) {
  v.required("bench", f.bench, "Which benchmark.");
  v.required("rows", f.rows, "Its figures.");
}

using Bench = std::function<Result<Figures>()>;

/// All benchmarks by name.
const std::map<std::string, Bench>& all();

Result<Figures> bench_api();
Result<Figures> bench_component();
Result<Figures> bench_control();
Result<Figures> bench_database();
Result<Figures> bench_describe();
Result<Figures> bench_experiments();
Result<Figures> bench_logs();
Result<Figures> bench_metrics();
Result<Figures> bench_net();
Result<Figures> bench_planner();
Result<Figures> bench_remote();
Result<Figures> bench_scale();
Result<Figures> bench_search();
Result<Figures> bench_supervisor();
Result<Figures> bench_tasks();

/// Where a raw program is, beside the running one.
[[nodiscard]] std::string raw_program(const std::string& name);

/// A row with its limit, which the raw program prints as one number.
[[nodiscard]] Result<Row> row_beside_raw(std::string name, double value, std::string unit,
                                         const std::string& raw_command);

/// The value below which that share of the values are; 0: there are none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// How often a second `work` can be done, over about half a second of wall-clock time; `work` does `units` at a time.
double rate(const std::function<void()>& work, double units);

}  // namespace cadre::bench
