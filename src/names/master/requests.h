/// Requests and responses of the name registry of a master. Values; safe on any thread.
///
/// A session is a client that registers names. It is identified by a secret of its own: no other session can keep its
/// names alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/route.h"
#include "base/bytes.h"
#include "names/entry.h"
#include "names/master/scalars.h"
#include "names/registry.h"

namespace cadre::names::requests {

using api::Need;
using api::Route;

/// In place of the name of a workspace: the workspace of the calling task; `default` for all other callers. No
/// workspace can have this name.
constexpr std::string_view own_workspace = "-";
/// Maximum time that a request waits for changes; then the response says that there are none.
constexpr Duration wait_max = std::chrono::seconds(20);
/// Maximum number of entries that one request can keep alive or release.
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
  v.field("value", c.text, "Value, if it is valid UTF-8.");
  v.field("bytes", c.bytes, "Value, if it is not valid UTF-8.", length(0, value_bytes_max));
}

// Responses.

struct NameView {
  static constexpr std::string_view type_name = "name";
  static constexpr std::string_view doc =
      "A name that a session keeps alive. Viewers see names below `groups/` without a value.";
  Key key;
  Content content;
  Epoch epoch;
};
template <class V>
void describe(V& v, NameView& m) {
  v.required("key", m.key, "The name.");
  describe_content(v, m.content);
  v.required("epoch", m.epoch, "Epoch of its owner; later owners have larger epochs.");
}

struct NameList {
  static constexpr std::string_view type_name = "names";
  std::vector<NameView> names;
};
template <class V>
void describe(V& v, NameList& m) {
  v.required("names", m.names, "Names, sorted by key.");
}

struct NameNews {
  static constexpr std::string_view type_name = "name_news";
  static constexpr std::string_view doc = "Changes of names, or a complete list.";
  bool is_all = false;
  std::vector<NameView> put;
  std::vector<Key> gone;
  std::uint64_t version = 0;
};
template <class V>
void describe(V& v, NameNews& m) {
  v.field("all", m.is_all, "Whether this is the complete list; otherwise it contains only changes.");
  v.field("put", m.put, "Names that are new or have another value or another owner.");
  v.field("gone", m.gone, "Names that no session has any more.");
  v.required("version", m.version, "Version of this response; pass it as seen=VERSION in the next request.");
}

struct Owned {
  static constexpr std::string_view type_name = "owned_name";
  Epoch epoch;
};
template <class V>
void describe(V& v, Owned& m) {
  v.required("epoch", m.epoch, "Epoch of the ownership; putting one's own name again keeps it.");
}

struct Removed {
  static constexpr std::string_view type_name = "removed_names";
  std::uint64_t count = 0;
};
template <class V>
void describe(V& v, Removed& m) {
  v.required("count", m.count, "Number of names removed.");
}

struct Holds {
  static constexpr std::string_view type_name = "held_names";
  std::vector<Hold> holds;
};
template <class V>
void describe(V& v, Holds& m) {
  v.required("holds", m.holds,
             "One state for each name, in the order of the request. kept: still owned; gone: it expired and can be put "
             "back with its epoch; lost: another session owns it, or it was removed.");
}

// Requests.

struct ListNames {
  static constexpr std::string_view type_name = "list_names";
  static constexpr Route route{"GET", "/names/{workspace}", "Lists the names at or below a prefix.", Need::viewer};
  using Answer = NameList;
  std::string workspace;
  Prefix prefix;
};
template <class V>
void describe(V& v, ListNames& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.field("prefix", m.prefix, "Prefix of whole path segments: `a/b` matches `a/b/c`, not `a/bc`; empty: all names.");
}

struct RemoveNames {
  static constexpr std::string_view type_name = "remove_names";
  static constexpr Route route{"DELETE", "/names/{workspace}",
                               "Removes the names at or below a prefix, also those of other sessions.", Need::editor};
  using Answer = Removed;
  std::string workspace;
  Prefix prefix;
};
template <class V>
void describe(V& v, RemoveNames& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("prefix", m.prefix, "Prefix of whole path segments; empty: all names of the workspace.");
}

struct GetName {
  static constexpr std::string_view type_name = "get_name";
  static constexpr Route route{"GET", "/names/{workspace}/entry", "Returns one name.", Need::viewer};
  using Answer = NameView;
  std::string workspace;
  Key key;
};
template <class V>
void describe(V& v, GetName& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("key", m.key, "The name.");
}

struct PutName {
  static constexpr std::string_view type_name = "put_name";
  static constexpr Route route{"PUT", "/names/{workspace}/entry",
                               "Puts a name, which expires after its time to live unless keep_names renews it.",
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
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("session", m.session, "BackendNames that owns the name: a secret that only its client knows.",
             length(8, 64));
  v.required("key", m.key, "The name.");
  describe_content(v, m.content);
  v.field("ttl", m.ttl, "Time to live, unless the name is renewed.", range(ttl_min, ttl_max));
  v.field("only_if_absent", m.only_if_absent,
          "Whether to refuse if another session owns the name; otherwise that session loses it.");
  v.field(
      "epoch", m.epoch,
      "Epoch under which the session owned the name before, to put it back; refused if another session owns it now.");
  v.check(m.content.text.has_value() != m.content.bytes.has_value(), "value", "is required, or bytes instead");
  v.check(!m.content.text || m.content.text->size() <= value_bytes_max, "value",
          "has more than 65536 bytes; use a shorter value");
}

struct RemoveName {
  static constexpr std::string_view type_name = "remove_name";
  static constexpr Route route{"DELETE", "/names/{workspace}/entry",
                               "Removes one name, also if another session owns it.", Need::editor};
  using Answer = Removed;
  std::string workspace;
  Key key;
};
template <class V>
void describe(V& v, RemoveName& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("key", m.key, "The name.");
}

struct WatchNames {
  static constexpr std::string_view type_name = "watch_names";
  static constexpr Route route{"GET", "/names/{workspace}/news",
                               "Waits for changes of names; responds when there are some, or when the wait is over.",
                               Need::viewer};
  using Answer = NameNews;
  std::string workspace;
  Prefix prefix;
  std::uint64_t seen = 0;
  Duration wait = wait_max;
};
template <class V>
void describe(V& v, WatchNames& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.field("prefix", m.prefix, "Prefix of whole path segments; empty: all names.");
  v.field("seen", m.seen, "`version` of the previous response; 0: respond at once with all names.");
  v.field("wait", m.wait, "Maximum time to wait for changes.", range(Duration::zero(), wait_max));
}

struct HeldName {
  static constexpr std::string_view doc = "A name that a session claims to own.";
  Key key;
  Duration ttl = std::chrono::seconds(10);
  Epoch epoch;
};
template <class V>
void describe(V& v, HeldName& m) {
  v.required("key", m.key, "The name.");
  v.field("ttl", m.ttl, "New time to live.", range(ttl_min, ttl_max));
  v.required("epoch", m.epoch, "Epoch under which it was put.");
}

struct KeepNames {
  static constexpr std::string_view type_name = "keep_names";
  static constexpr Route route{"POST", "/names/{workspace}/keep", "Renews several names of a session.", Need::editor};
  using Answer = Holds;
  std::string workspace;
  SessionId session;
  std::vector<HeldName> names;
};
template <class V>
void describe(V& v, KeepNames& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("session", m.session, "BackendNames that owns the names.", length(8, 64));
  v.required("names", m.names, "Names to renew.", length(0, claims_max));
}

struct ReleaseNames {
  static constexpr std::string_view type_name = "release_names";
  static constexpr Route route{"POST", "/names/{workspace}/release", "Removes names that the session still owns.",
                               Need::editor};
  using Answer = Removed;
  std::string workspace;
  SessionId session;
  std::vector<Key> keys;
};
template <class V>
void describe(V& v, ReleaseNames& m) {
  v.required("workspace", m.workspace, "Workspace name; `-`: that of the calling task, otherwise `default`.");
  v.required("session", m.session, "BackendNames that owns the names.", length(8, 64));
  v.required("keys", m.keys, "Names to remove.", length(0, claims_max));
}

using Request = std::variant<ListNames, RemoveNames, GetName, PutName, RemoveName, WatchNames, KeepNames, ReleaseNames>;

}  // namespace cadre::names::requests
