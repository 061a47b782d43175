/// A part of a master that counts: what a new part costs. Its requests, rows, change kind and metric are declared here;
/// the only other line is that in main.cc which puts it into the list of parts. Pure; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "api/part.h"
#include "describe/checks.h"

namespace cadre::counter {

struct CounterRow {
  std::string name;
  std::int64_t value = 0;
  std::string workspace;
};
template <class V>
void columns(V& v, CounterRow& row) {
  v.key("name", row.name);
  v.column("value", row.value);
  v.column("workspace", row.workspace);
}
inline std::string_view table_of(const CounterRow&) { return "counters"; }
inline const std::string& key_of(const CounterRow& row) { return row.name; }

struct CounterView {
  static constexpr std::string_view type_name = "counter";
  static constexpr std::string_view doc = "A number that can be incremented.";
  std::string name;
  std::int64_t value = 0;
};
template <class V>
void describe(V& v, CounterView& m) {
  v.required("name", m.name, "Name of the counter.");
  v.required("value", m.value, "Its value.");
}

struct Counters {
  static constexpr std::string_view type_name = "counters";
  std::vector<CounterView> counters;
};
template <class V>
void describe(V& v, Counters& m) {
  v.required("counters", m.counters, "All counters, by name.");
}

struct ListCounters {
  static constexpr std::string_view type_name = "list_counters";
  static constexpr api::Route route{"GET", "/counters", "Lists the counters.", api::Need::token};
  using Answer = Counters;
};
template <class V>
void describe(V&, ListCounters&) {}

struct Increment {
  static constexpr std::string_view type_name = "increment_counter";
  static constexpr api::Route route{"POST", "/counters/{name}/increments", "Increments a counter.", api::Need::editor,
                                    api::Repeated::keyed};
  using Answer = CounterView;
  std::string name;
  std::int64_t by = 1;
  std::string workspace = api::default_workspace;
};
template <class V>
void describe(V& v, Increment& m) {
  v.required("name", m.name, "Name of the counter.", not_empty());
  v.field("by", m.by, "By how much.", range(1, 1'000'000));
  v.field("workspace", m.workspace, "Workspace in which a new counter is created.");
}

using Request = std::variant<ListCounters, Increment>;

class CounterPart final : public api::Part {
 public:
  using RowTypes = std::tuple<CounterRow>;
  [[nodiscard]] static api::PartType type();
  explicit CounterPart(const std::vector<CounterRow>& rows);

  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request) override;
  std::optional<api::Reply> serve_created(const api::Call& call, const api::Created& created) override;
  api::Outcome settle(const api::Now& now) override;
  api::SnapshotPage snapshot(const api::Principal& who, const std::string& after) const override;
  std::vector<api::Metric> metrics() const override;

 private:
  Counters seen_by(const api::Principal& who) const;

  std::map<std::string, CounterRow> counters_;
  std::set<std::string> changed_;
  api::Outcome outcome_;
};

}  // namespace cadre::counter
