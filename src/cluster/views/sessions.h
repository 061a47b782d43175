/// Responses about sessions of clients. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/views/jobs.h"

namespace cadre::cluster::requests {

struct SessionView {
  static constexpr std::string_view doc = "A session of a client that keeps jobs alive.";
  SessionId id;
  std::string owner;
  std::string host;
  std::int64_t pid = 0;
  std::string program;
  std::optional<TimePoint> since;
  std::optional<TimePoint> heard;
  std::int64_t actors = 0;
};
template <class V>
void describe(V& v, SessionView& m) {
  v.required("id", m.id, "Session name.");
  v.field("owner", m.owner, "User of the client.");
  v.field("host", m.host, "Host of the client, as reported by the client.");
  v.field("pid", m.pid, "Process ID of the client, as reported by the client.");
  v.field("program", m.program, "Program name of the client, as reported by the client.");
  v.field("since", m.since, "Time at which it was opened.");
  v.field("heard", m.heard, "Time of the last heartbeat.");
  v.field("actors", m.actors, "Number of its actors that have not ended and are visible to the caller.");
}

struct Sessions {
  static constexpr std::string_view type_name = "sessions";
  std::vector<SessionView> sessions;
  std::optional<SessionId> next;
};
template <class V>
void describe(V& v, Sessions& m) {
  v.required("sessions", m.sessions, "The sessions.");
  v.field("next", m.next, "Cursor for the next page, to pass as `after`; omitted on the last page.");
}

struct SessionNews {
  static constexpr std::string_view type_name = "session_news";
  static constexpr std::string_view doc = "Changes of the jobs of a session.";
  std::uint64_t version = 0;
  Duration timeout{};
  Duration beat_every{};
  std::vector<JobView> jobs;
};
template <class V>
void describe(V& v, SessionNews& m) {
  v.required("version", m.version, "Version of this response, to pass as `seen` in the next request.");
  v.required("timeout", m.timeout, "Session timeout: when a client is silent for longer, its jobs are killed.");
  v.required("beat_every", m.beat_every, "Heartbeat interval of a client that does not wait for changes.");
  v.required("jobs", m.jobs, "Jobs changed after `seen`, in order of their last change; at most 1000.");
}

}  // namespace cadre::cluster::requests
