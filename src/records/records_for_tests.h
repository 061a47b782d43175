/// For tests: records of the parts access and cluster. One thread at a time.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "access/part.h"
#include "access/tables.h"
#include "cluster/control/cluster_part.h"
#include "cluster/control/tables.h"
#include "records/records.h"

namespace cadre::records {

inline Declared declared_for_tests() {
  Declared declared;
  declared.rows.add(std::type_identity<access::AccessPart::RowTypes>{});
  declared.rows.add(std::type_identity<cluster::control::ClusterPart::RowTypes>{});
  declared.rows.add(std::type_identity<std::tuple<api::ChangeRow>>{});
  declared.add_schema(access::AccessPart::type({}));
  declared.add_schema(cluster::control::ClusterPart::type({}));
  return declared;
}

inline Result<std::unique_ptr<Records>> open_for_tests(std::string_view url, Log& log) {
  return Records::open(url, log, declared_for_tests());
}

/// Changes are numbered already.
inline api::Writes rows_of(cluster::control::Writes writes, access::Writes access = {}) {
  std::vector<api::ChangeRow> changes = std::move(writes.changes);
  api::Writes rows = cluster::control::to_rows(std::move(writes));
  for (const api::ChangeRow& change : changes) rows.raise("change", change.number);
  rows.put(std::move(changes));
  rows.append(access::to_rows(std::move(access)));
  return rows;
}

inline Result<access::Rows> load_access(Records& records) {
  TRY_ASSIGN(loaded, records.load_part([](api::RowReader& reader) -> Result<std::any> {
    TRY_ASSIGN(rows, access::read_rows(reader));
    return std::any(std::move(rows));
  }));
  return std::any_cast<access::Rows>(std::move(loaded));
}

}  // namespace cadre::records
