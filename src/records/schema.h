/// The tables of the master itself, and those that the parts `access` and `cluster` had before parts had schemas of
/// their own, as steps from an empty database. Only the tables of the master itself (master, changes, join_tokens) get
/// further steps here; those of a part are in its folder, as PartType::migrations. Values; safe on any thread.
#pragma once

#include <span>

#include "database/migrate.h"

namespace cadre::records {

std::span<const database::Migration> migrations();

}  // namespace cadre::records
