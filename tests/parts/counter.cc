#include "tests/parts/counter.h"

#include <utility>

namespace cadre::counter {

api::PartType CounterPart::type(const Settings& settings) {
  api::PartType type;
  type.name = name;
  type.operations = api::operations_of(std::type_identity<Request>{});
  type.requests = api::names_of(std::type_identity<Request>{});
  type.bulk_operations = api::operations_of(std::type_identity<BulkRequest>{});
  type.migrations = {{1, "counters", R"(
CREATE TABLE counters (name TEXT PRIMARY KEY, value BIGINT NOT NULL, workspace TEXT NOT NULL);
CREATE TABLE counter_bulk (name TEXT PRIMARY KEY, value BIGINT NOT NULL);
)"}};
  type.changes = {counter_changes};
  type.has_snapshot = true;
  type.load = [](api::RowReader& reader) -> Result<std::any> {
    TRY_ASSIGN(counters, reader.all<CounterRow>());
    TRY_ASSIGN(bulk, reader.all<BulkRow>());
    return std::any(Loaded{std::move(counters), std::move(bulk)});
  };
  type.make = [settings](const std::any& rows, std::span<const std::unique_ptr<Part>>, const api::Now&) {
    return std::make_unique<CounterPart>(settings, *std::any_cast<Loaded>(&rows));
  };
  return type;
}

CounterPart::CounterPart(const Settings& settings, const Loaded& loaded) : settings_(settings) {
  for (const CounterRow& row : loaded.counters) counters_[row.name] = row;
  for (const BulkRow& row : loaded.bulk) bulk_[row.name] = row.value;
}

CounterView CounterPart::view_of(const CounterRow& row) const {
  const auto bulk = bulk_.find(row.name);
  return {row.name, row.value, bulk == bulk_.end() ? 0 : bulk->second};
}

Counters CounterPart::seen_by(const api::Principal& who) const {
  Counters seen;
  for (const auto& [id, row] : counters_) {
    if (api::may_read(who, row.workspace)) seen.counters.push_back(view_of(row));
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
  if (known == counters_.end() && std::cmp_greater_equal(counters_.size(), settings_.counters_max)) {
    return api::Failed{Errc::conflict, "there are as many counters as counters_max allows", {}};
  }
  if (known == counters_.end()) outcome_.facts.emplace_back(CounterCreated{increment->name, workspace});
  CounterRow& row = counters_.try_emplace(increment->name, CounterRow{increment->name, 0, workspace}).first->second;
  const std::int64_t before = std::exchange(row.value, row.value + increment->by);
  if (before / settings_.log_every != row.value / settings_.log_every) {
    outcome_.effects.emplace_back(LogValue{row.name, row.value});
  }
  changed_.insert(row.name);
  outcome_.changes.push_back(
      {0, call.now.time, std::string(counter_changes.noun), row.name, std::to_string(row.value), row.workspace});
  api::Reply reply(view_of(row));
  reply.set_created({"counter", row.name});
  return reply;
}

std::optional<api::Reply> CounterPart::serve_created(const api::Call&, const api::Created& created) {
  return view_of(counters_.at(created.id));
}

void CounterPart::hear(const std::any& news, const api::Now&) {
  if (const auto* added = std::any_cast<BulkAdded>(&news)) bulk_[added->name] += added->by;
}

api::Outcome CounterPart::settle(const api::Now&) {
  std::vector<CounterRow> rows;
  for (const std::string& changed : std::exchange(changed_, {})) rows.push_back(counters_.at(changed));
  outcome_.writes.put(std::move(rows));
  return std::exchange(outcome_, {});
}

api::SnapshotPage CounterPart::snapshot(const api::Principal& who, const std::string&) const {
  return {0, describe::write(seen_by(who)), ""};
}

std::vector<Metric> CounterPart::metrics() const {
  Metric values{"counter_value", "Value of a counter.", Metric::Kind::gauge, {}};
  for (const auto& [id, row] : counters_) {
    values.samples.push_back({{{"name", row.name}}, static_cast<double>(row.value)});
  }
  return {values};
}

}  // namespace cadre::counter
