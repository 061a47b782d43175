/// A part of a master that counts: what a new part costs. Its settings, requests, rows, change kind, metric, effect and
/// facts are declared here; its shell is counter_shell.h, its bulk side is in bulk/; the only other line is that in
/// main.cc which puts them into the list of parts. Pure; one thread at a time.
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

struct Settings {
  static constexpr std::string_view doc = "Settings of the counters.";
  std::int64_t counters_max = 1'000;
  std::int64_t log_every = 1'000;
};
template <class V>
void describe(V& v, Settings& s) {
  v.field("counters_max", s.counters_max, "Maximum number of counters.", range(1, 1'000'000));
  v.field("log_every", s.log_every, "Values whose multiples are logged.", range(1, 1'000'000));
}

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

/// What was added to a counter in bulk. The bulk side writes it.
struct BulkRow {
  std::string name;
  std::int64_t value = 0;
};
template <class V>
void columns(V& v, BulkRow& row) {
  v.key("name", row.name);
  v.column("value", row.value);
}
inline std::string_view table_of(const BulkRow&) { return "counter_bulk"; }
inline const std::string& key_of(const BulkRow& row) { return row.name; }

/// An effect: the shell logs that a counter has reached a multiple of Settings::log_every.
struct LogValue {
  std::string name;
  std::int64_t value = 0;
};
/// A fact for the bulk side: a new counter.
struct CounterCreated {
  std::string name;
  std::string workspace;
};
/// News from the bulk side.
struct BulkAdded {
  std::string name;
  std::int64_t by = 0;
};

struct CounterView {
  static constexpr std::string_view type_name = "counter";
  static constexpr std::string_view doc = "A number that can be incremented.";
  std::string name;
  std::int64_t value = 0;
  std::int64_t bulk = 0;
};
template <class V>
void describe(V& v, CounterView& m) {
  v.required("name", m.name, "Name of the counter.");
  v.required("value", m.value, "Its value.");
  v.field("bulk", m.bulk, "What was added in bulk.");
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

struct Added {
  static constexpr std::string_view type_name = "added";
  std::int64_t total = 0;
};
template <class V>
void describe(V& v, Added& m) {
  v.required("total", m.total, "What was added to the counter in bulk so far.");
}

struct AddInBulk {
  static constexpr std::string_view type_name = "add_in_bulk";
  static constexpr api::Route route =
      api::Route{"POST", "/counters/{name}/bulk", "Adds to a counter in bulk.", api::Need::editor}.without_audit();
  using Answer = Added;
  std::string name;
  std::int64_t by = 1;
};
template <class V>
void describe(V& v, AddInBulk& m) {
  v.required("name", m.name, "Name of the counter.", not_empty());
  v.field("by", m.by, "By how much.", range(1, 1'000'000));
}

using BulkRequest = std::variant<AddInBulk>;

inline constexpr api::ChangeKind counter_changes{"counter", "A counter has a new value."};

class CounterPart final : public api::Part {
 public:
  static constexpr std::string_view name = "counter";
  using Settings = counter::Settings;
  using RowTypes = std::tuple<CounterRow, BulkRow>;
  [[nodiscard]] static api::PartType type(const Settings& settings);
  struct Loaded {
    std::vector<CounterRow> counters;
    std::vector<BulkRow> bulk;
  };
  CounterPart(const Settings& settings, const Loaded& loaded);

  std::optional<api::Reply> serve(const api::Call& call, const api::Request& request) override;
  std::optional<api::Reply> serve_created(const api::Call& call, const api::Created& created) override;
  void hear(const std::any& news, const api::Now& now) override;
  api::Outcome settle(const api::Now& now) override;
  api::SnapshotPage snapshot(const api::Principal& who, const std::string& after) const override;
  std::vector<Metric> metrics() const override;

 private:
  Counters seen_by(const api::Principal& who) const;
  CounterView view_of(const CounterRow& row) const;

  const Settings settings_;
  std::map<std::string, CounterRow> counters_;
  std::map<std::string, std::int64_t> bulk_;
  std::set<std::string> changed_;
  api::Outcome outcome_;
};

}  // namespace cadre::counter
