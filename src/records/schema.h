/// The tables of the master's records, as steps from an empty database. Values; safe on any thread.
#pragma once

#include <span>

#include "database/migrate.h"

namespace cadre::records {

std::span<const database::Migration> migrations();

}  // namespace cadre::records
