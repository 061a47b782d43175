/// The bounds of a database connection. Values; safe on any thread.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace cadre::database {

struct Options {
  Duration busy_wait = std::chrono::seconds(5);        ///< longest wait for a lock that another writer holds
  Duration connect_wait = std::chrono::seconds(10);    ///< longest wait for a connection, the first or a new one
  Duration statement_wait = std::chrono::seconds(30);  ///< longest run of one statement; a silent server gets 5 s more
  std::size_t statements_max = 128;                    ///< prepared statements kept ready
};

}  // namespace cadre::database
