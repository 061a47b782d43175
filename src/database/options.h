/// The bounds of a database connection. Values; safe on any thread.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace cadre::database {

struct Options {
  /// Longest wait for a lock that another writer holds.
  Duration busy_wait = std::chrono::seconds(5);
  /// Longest wait for a connection, the first or a new one; the lookup of the host's name is not counted.
  Duration connect_wait = std::chrono::seconds(10);
  /// Longest run of one statement; a server that says nothing gets up to 5 s more.
  Duration statement_wait = std::chrono::seconds(30);
  /// Prepared statements kept ready.
  std::size_t statements_max = 128;
};

}  // namespace cadre::database
