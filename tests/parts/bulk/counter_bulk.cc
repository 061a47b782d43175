#include "tests/parts/bulk/counter_bulk.h"

namespace cadre::counter {

CounterBulk::CounterBulk(const Dependencies& dependencies) : deps_(dependencies) {
  const Result<database::Rows> rows = deps_.database.query("SELECT name, workspace FROM counters");
  if (!rows) deps_.log.error("the counters cannot be read: " + rows.error().message);
  for (const database::Row& row : rows.value_or(database::Rows())) {
    if (const auto cells = row.read<std::string, std::string>()) workspaces_[std::get<0>(*cells)] = std::get<1>(*cells);
  }
}

void CounterBulk::learn(const std::any& fact) {
  if (const auto* created = std::any_cast<CounterCreated>(&fact)) workspaces_[created->name] = created->workspace;
}

api::Reply CounterBulk::add(database::Transaction& transaction, const api::Principal& who, const AddInBulk& request) {
  const auto workspace = workspaces_.find(request.name);
  if (workspace == workspaces_.end() || !api::may_create(who, workspace->second)) {
    return Error{Errc::not_found, "there is no counter '" + request.name + "' that you may change"};
  }
  const auto rows = transaction.query(
      "INSERT INTO counter_bulk (name, value) VALUES ($1, $2) "
      "ON CONFLICT (name) DO UPDATE SET value = counter_bulk.value + excluded.value RETURNING value",
      {request.name, request.by});
  if (!rows) return rows.error();
  const Result<std::int64_t> total = (*rows)[0].get<std::int64_t>(0);
  return total ? api::Reply(Added{*total}) : api::Reply(total.error());
}

std::vector<api::Reply> CounterBulk::serve(std::span<const master::BulkCall> calls) {
  std::vector<api::Reply> replies;
  const Result<void> written = deps_.database.transaction([&](database::Transaction& transaction) -> Result<void> {
    for (const master::BulkCall& call : calls) {
      replies.push_back(add(transaction, call.who, *call.request.as<AddInBulk>()));
    }
    return {};
  });
  if (!written) return std::vector<api::Reply>(calls.size(), api::Reply(written.error()));
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& added = *calls[i].request.as<AddInBulk>();
    if (replies[i].failed() == nullptr) deps_.tell_part(BulkAdded{added.name, added.by}, {});
  }
  return replies;
}

}  // namespace cadre::counter
