/// Requests about sessions of clients. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cluster/job.h"
#include "cluster/views.h"

namespace cadre::cluster::requests {

using api::Need;
using api::Repeated;
using api::Route;

/// A client's heartbeat, and its request for changes of its jobs. While such a request waits, the client counts as
/// alive. When a client is silent for longer than the timeout, its session ends and its jobs are killed.
struct KeepSession {
  static constexpr std::string_view type_name = "keep_session";
  static constexpr Route route =
      Route{"PUT", "/sessions/{session}",
            "Opens a session or keeps it alive, and returns changes of its jobs. If no request "
            "arrives within the timeout, the jobs of the session are killed.",
            Need::token}
          .without_audit();
  using Answer = SessionNews;
  SessionId session;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::uint64_t seen = 0;
  Duration wait{};
};
template <class V>
void describe(V& v, KeepSession& m) {
  v.required("session", m.session, "Session name, chosen by the client; must be unique and hard to guess.",
             length(1, session_most));
  v.field("host", m.host, "Host of the client.", length(0, 256));
  v.field("pid", m.pid, "Process ID of the client.", at_least(0));
  v.field("program", m.program, "Program name of the client.", length(0, 256));
  v.field("seen", m.seen, "`version` of the previous response; 0: respond at once with all jobs.");
  v.field("wait", m.wait, "Maximum time to wait for changes; limited by the session timeout.",
          range(std::chrono::seconds(0), std::chrono::minutes(1)));
  v.check(is_plain(m.session), "session", "has characters that are not allowed; use letters, digits, - and _");
}

struct ListSessions {
  static constexpr std::string_view type_name = "list_sessions";
  static constexpr Route route{"GET", "/sessions", "Lists the client sessions visible to the caller, by name.",
                               Need::token};
  using Answer = Sessions;
  std::int32_t most = 1'000;
  SessionId after;
};
template <class V>
void describe(V& v, ListSessions& m) {
  v.field("most", m.most, "Maximum number of sessions in the page.", range(1, 10'000));
  v.field("after", m.after, "Only sessions after this name; pass `next` of the previous page.");
}

struct EndSession {
  static constexpr std::string_view type_name = "end_session";
  static constexpr Route route{"DELETE", "/sessions/{session}", "Ends a session and kills its jobs at once.",
                               Need::token};
  using Answer = Done;
  SessionId session;
};
template <class V>
void describe(V& v, EndSession& m) {
  v.required("session", m.session, "Session name.");
}

/// All requests about sessions.
using SessionRequest = std::variant<ListSessions, KeepSession, EndSession>;

}  // namespace cadre::cluster::requests
