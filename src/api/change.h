/// Changes of objects, as clients follow them. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace cadre::api {

/// A kind of object whose changes clients can follow. The part that writes the changes declares it.
struct ChangeKind {
  std::string_view noun;  ///< as in ChangeRow
  std::string_view doc;   ///< when there is such a change, as a sentence
};

/// An entry of the change log, written together with what changed.
struct ChangeRow {
  std::uint64_t number = 0;  ///< given by the master when it is written
  TimePoint time;
  std::string noun;  ///< of a kind that the part declares
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
