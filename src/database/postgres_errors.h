/// What PostgreSQL's error codes (SQLSTATE) mean to us. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "database/options.h"

struct pg_result;

namespace cadre::database {

/// The server's answer to a statement.
Error postgres_error(const pg_result* result, std::string_view place, const Options& options);

/// Why a connection could not be made; `message` is libpq's at its most verbose, which holds the code.
struct Refusal {
  Error error;
  bool starting = false;  ///< the server is there, and will be ready soon
};
Refusal postgres_refusal(std::string_view message, std::string_view place);

}  // namespace cadre::database
