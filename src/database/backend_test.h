/// For the tests of this room: short ways to ask a database of either engine. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "database/database.h"
#include "tests/servers/engines.h"
#include "tests/servers/results.h"

namespace cadre::database {

using servers::Backend;
using Kind = servers::Engine;

/// The only cell of the only row.
template <class T, class Connection>
T cell(Connection& connection, std::string_view sql, const Values& params = {}) {
  const Rows rows = connection.query(sql, params).value();
  return rows.one().value().template get<T>(0).value();
}

inline Values texts(std::vector<std::string> list) { return {list.begin(), list.end()}; }

/// A contract that both engines keep.
class BothEngines : public testing::TestWithParam<Kind> {
 protected:
  Backend backend_{GetParam()};
  std::unique_ptr<Database> db_ = backend_.connect();
};

}  // namespace cadre::database
