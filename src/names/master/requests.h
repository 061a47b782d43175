/// What is asked of the names that a master serves, and what is answered. Values; safe on any thread.
///
/// A session is whoever puts names, told apart by a word of its own that nobody else knows: only it keeps them alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/route.h"
#include "base/bytes.h"
#include "names/entry.h"
#include "names/master/scalars.h"
#include "names/registry.h"

namespace cadre::names::requests {

using access::Need;
using access::Route;

/// In the place of a workspace, as which it cannot be called: that of the task that asks; `default` for all others.
constexpr std::string_view own_workspace = "-";
/// A question that waits for news is answered after so long that there are none.
constexpr Duration wait_max = std::chrono::seconds(20);
/// Entries of a session that are kept alive, or let go, by one request.
constexpr std::size_t claims_max = 5'000;

/// A value as JSON can hold it.
struct Content {
  std::optional<std::string> text;
  std::optional<Bytes> bytes;
};
[[nodiscard]] Content content_of(std::string value);
[[nodiscard]] std::string value_of(const Content& content);
template <class V>
void describe_content(V& v, Content& c) {
  v.field("value", c.text, "Its value, if that is valid UTF-8.");
  v.field("bytes", c.bytes, "Its value, if it is not.", length(0, value_bytes_max));
}

// What is answered.

struct NameView {
  static constexpr std::string_view type_name = "name";
  static constexpr std::string_view doc = "A name that somebody keeps alive. Viewers see names below `groups/` without a value.";
  Key key;
  Content content;
  Epoch epoch;
};
template <class V>
void describe(V& v, NameView& m) {
  v.required("key", m.key, "The name.");
  describe_content(v, m.content);
  v.required("epoch", m.epoch, "Of its owner: later ones have larger epochs.");
}

struct NameList {
  static constexpr std::string_view type_name = "names";
  std::vector<NameView> names;
};
template <class V>
void describe(V& v, NameList& m) {
  v.required("names", m.names, "Sorted by their keys.");
}

struct NameNews {
  static constexpr std::string_view type_name = "name_news";
  static constexpr std::string_view doc = "What changed among names, or how all of it stands.";
  bool is_all = false;
  std::vector<NameView> put;
  std::vector<Key> gone;
  std::uint64_t version = 0;
};
template <class V>
void describe(V& v, NameNews& m) {
  v.field("all", m.is_all, "Whether this is all that is there; else it is what has changed since.");
  v.field("put", m.put, "Names that are new, have another value or another owner.");
  v.field("gone", m.gone, "Names that nobody has any more.");
  v.required("version", m.version, "Ask for what comes after it: seen=VERSION.");
}

struct Owned {
  static constexpr std::string_view type_name = "owned_name";
  Epoch epoch;
};
template <class V>
void describe(V& v, Owned& m) {
  v.required("epoch", m.epoch, "Of the ownership; to put one's own again keeps it.");
}

struct Removed {
  static constexpr std::string_view type_name = "removed_names";
  std::uint64_t count = 0;
};
template <class V>
void describe(V& v, Removed& m) {
  v.required("count", m.count, "How many there were.");
}

struct Holds {
  static constexpr std::string_view type_name = "held_names";
  std::vector<Hold> holds;
};
template <class V>
void describe(V& v, Holds& m) {
  v.required(
      "holds", m.holds,
      "Of each, in their order: kept; gone: it ran out and may be put back with its epoch; lost: another has it, "
      "or it was removed.");
}

// What is asked.

struct ListNames {
  static constexpr std::string_view type_name = "list_names";
  static constexpr Route route{"GET", "/names/{workspace}", "The names at or below a prefix.", Need::viewer};
  using Answer = NameList;
  std::string workspace;
  Prefix prefix;
};
template <class V>
void describe(V& v, ListNames& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.field("prefix", m.prefix, "Whole parts: `a/b` is before `a/b/c`, not before `a/bc`; empty: all.");
}

struct RemoveNames {
  static constexpr std::string_view type_name = "remove_names";
  static constexpr Route route{"DELETE", "/names/{workspace}",
                               "Removes the names at or below a prefix, whoever has them.", Need::editor};
  using Answer = Removed;
  std::string workspace;
  Prefix prefix;
};
template <class V>
void describe(V& v, RemoveNames& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("prefix", m.prefix, "Which; empty: all of the workspace.");
}

struct GetName {
  static constexpr std::string_view type_name = "get_name";
  static constexpr Route route{"GET", "/names/{workspace}/entry", "One name.", Need::viewer};
  using Answer = NameView;
  std::string workspace;
  Key key;
};
template <class V>
void describe(V& v, GetName& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("key", m.key, "Which.");
}

struct PutName {
  static constexpr std::string_view type_name = "put_name";
  static constexpr Route route{"PUT", "/names/{workspace}/entry",
                               "Puts a name, which lives until its time is over; keep_names lengthens that.",
                               Need::editor};
  using Answer = Owned;
  std::string workspace;
  SessionId session;
  Key key;
  Content content;
  Duration ttl = std::chrono::seconds(10);
  bool only_if_absent = false;
  std::optional<Epoch> epoch;
};
template <class V>
void describe(V& v, PutName& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("session", m.session, "Who puts it: a word that only he knows.", length(8, 64));
  v.required("key", m.key, "Which.");
  describe_content(v, m.content);
  v.field("ttl", m.ttl, "How long it lives if nobody keeps it alive.", range(ttl_min, ttl_max));
  v.field("only_if_absent", m.only_if_absent, "Refuse when somebody else has it; else he loses it.");
  v.field("epoch", m.epoch, "Puts back what the session had under this epoch; refused when another has it by now.");
  v.check(m.content.text.has_value() != m.content.bytes.has_value(), "value", "is needed, or bytes in its place");
  v.check(!m.content.text || m.content.text->size() <= value_bytes_max, "value", "has more than 65536 bytes");
}

struct RemoveName {
  static constexpr std::string_view type_name = "remove_name";
  static constexpr Route route{"DELETE", "/names/{workspace}/entry", "Removes one name, whoever has it.", Need::editor};
  using Answer = Removed;
  std::string workspace;
  Key key;
};
template <class V>
void describe(V& v, RemoveName& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("key", m.key, "Which.");
}

struct WatchNames {
  static constexpr std::string_view type_name = "watch_names";
  static constexpr Route route{"GET", "/names/{workspace}/news",
                               "What changes among names: answered when something has, or after a while.",
                               Need::viewer};
  using Answer = NameNews;
  std::string workspace;
  Prefix prefix;
  std::uint64_t seen = 0;
  Duration wait = wait_max;
};
template <class V>
void describe(V& v, WatchNames& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.field("prefix", m.prefix, "At or below what; empty: all.");
  v.field("seen", m.seen, "The version up to which all is known; 0: answer at once with all that is there.");
  v.field("wait", m.wait, "When to answer that nothing has changed.", range(Duration::zero(), wait_max));
}

struct HeldName {
  static constexpr std::string_view doc = "A name that a session says is its own.";
  Key key;
  Duration ttl = std::chrono::seconds(10);
  Epoch epoch;
};
template <class V>
void describe(V& v, HeldName& m) {
  v.required("key", m.key, "Which.");
  v.field("ttl", m.ttl, "How much longer it is to live.", range(ttl_min, ttl_max));
  v.required("epoch", m.epoch, "As it was put.");
}

struct KeepNames {
  static constexpr std::string_view type_name = "keep_names";
  static constexpr Route route{"POST", "/names/{workspace}/keep", "Keeps the names of a session alive, all at once.",
                               Need::editor};
  using Answer = Holds;
  std::string workspace;
  SessionId session;
  std::vector<HeldName> names;
};
template <class V>
void describe(V& v, KeepNames& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("session", m.session, "Whose.", length(8, 64));
  v.required("names", m.names, "Which.", length(0, claims_max));
}

struct ReleaseNames {
  static constexpr std::string_view type_name = "release_names";
  static constexpr Route route{"POST", "/names/{workspace}/release",
                               "Removes names of a session that are still its own.", Need::editor};
  using Answer = Removed;
  std::string workspace;
  SessionId session;
  std::vector<Key> keys;
};
template <class V>
void describe(V& v, ReleaseNames& m) {
  v.required("workspace", m.workspace, "Of which workspace; `-`: that of the task that asks, else `default`.");
  v.required("session", m.session, "Whose.", length(8, 64));
  v.required("keys", m.keys, "Which.", length(0, claims_max));
}

using Request = std::variant<ListNames, RemoveNames, GetName, PutName, RemoveName, WatchNames, KeepNames, ReleaseNames>;

}  // namespace cadre::names::requests
