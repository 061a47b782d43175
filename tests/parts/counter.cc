#include "tests/parts/counter.h"

#include <utility>

namespace cadre::counter {

api::PartType CounterPart::type() {
  api::PartType type;
  type.name = "counter";
  type.operations = api::operations_of(std::type_identity<Request>{});
  type.requests = api::names_of(std::type_identity<Request>{});
  type.migrations = {{1, "counters", R"(
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL, workspace TEXT NOT NULL);
)"}};
  type.has_snapshot = true;
  type.load = [](api::RowReader& reader) -> Result<std::any> {
    TRY_ASSIGN(rows, reader.all<CounterRow>());
    return std::any(std::move(rows));
  };
  type.make = [](const std::any& rows, std::span<const std::unique_ptr<Part>>, const api::Now&) {
    return std::make_unique<CounterPart>(*std::any_cast<std::vector<CounterRow>>(&rows));
  };
  return type;
}

CounterPart::CounterPart(const std::vector<CounterRow>& rows) {
  for (const CounterRow& row : rows) counters_[row.name] = row;
}

Counters CounterPart::seen_by(const api::Principal& who) const {
  Counters seen;
  for (const auto& [name, row] : counters_) {
    if (api::may_read(who, row.workspace)) seen.counters.push_back({name, row.value});
  }
  return seen;
}

std::optional<api::Reply> CounterPart::serve(const api::Call& call, const api::Request& request) {
  if (request.as<ListCounters>() != nullptr) return seen_by(call.who);
  const auto* increment = request.as<Increment>();
  if (increment == nullptr) return std::nullopt;
  const auto known = counters_.find(increment->name);
  const std::string& workspace = known == counters_.end() ? increment->workspace : known->second.workspace;
  if (!api::may_create(call.who, workspace)) {
    return api::Failed{Errc::denied, "incrementing requires the role editor in workspace '" + workspace + "'", {}};
  }
  CounterRow& row = counters_.try_emplace(increment->name, CounterRow{increment->name, 0, workspace}).first->second;
  row.value += increment->by;
  changed_.insert(row.name);
  outcome_.changes.push_back({0, call.now.time, "counter", row.name, std::to_string(row.value), row.workspace});
  api::Reply reply(CounterView{row.name, row.value});
  reply.set_created({"counter", row.name});
  return reply;
}

std::optional<api::Reply> CounterPart::serve_created(const api::Call&, const api::Created& created) {
  const CounterRow& row = counters_.at(created.id);
  return CounterView{row.name, row.value};
}

api::Outcome CounterPart::settle(const api::Now&) {
  std::vector<CounterRow> rows;
  for (const std::string& name : std::exchange(changed_, {})) rows.push_back(counters_.at(name));
  outcome_.writes.put(std::move(rows));
  return std::exchange(outcome_, {});
}

api::SnapshotPage CounterPart::snapshot(const api::Principal& who, const std::string&) const {
  return {0, describe::write(seen_by(who)), ""};
}

std::vector<api::Metric> CounterPart::metrics() const {
  api::Metric values{"counter_value", "Value of a counter.", api::Metric::Kind::gauge, {}};
  for (const auto& [name, row] : counters_) {
    values.samples.push_back({{{"name", name}}, static_cast<double>(row.value)});
  }
  return {values};
}

}  // namespace cadre::counter
