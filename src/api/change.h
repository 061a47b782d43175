/// Changes of objects, as clients follow them. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace cadre::api {

/// An entry of the change log, written together with what changed.
struct ChangeRow {
  std::uint64_t number = 0;  ///< given by the master when it is written
  TimePoint time;
  std::string noun;  ///< kind of object: job, task, agent, or one that another part declares
  std::string id;
  std::string what;       ///< the new stage, or what was done
  std::string workspace;  ///< whose members may know of it; empty: everybody
};

template <class V>
void columns(V& v, ChangeRow& row) {
  v.key("number", row.number);
  v.column("time", row.time);
  v.column("noun", row.noun);
  v.column("id", row.id);
  v.column("what", row.what);
  v.column("workspace", row.workspace);
}
inline std::string_view table_of(const ChangeRow&) { return "changes"; }
inline std::uint64_t key_of(const ChangeRow& row) { return row.number; }

}  // namespace cadre::api
