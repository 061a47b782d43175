#include "names/file/pulses.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "base/bytes.h"
#include "loop/file.h"
#include "names/entry.h"

namespace cadre::names {

Result<void> Pulses::beat(Duration ttl) {
  ttl_most_ = std::max(ttl_most_, ttl);
  beaten_ = clock_();
  const auto most_ms = std::chrono::duration_cast<std::chrono::milliseconds>(ttl_most_).count();
  return loop::write_whole(path_of(own_), as_bytes(std::to_string(++number_) + " " + std::to_string(most_ms) + "\n"),
                           loop::Durable::no);
}

Result<void> Pulses::begin(Duration ttl) {
  const bool is_known = number_ > 0 && ttl <= ttl_most_ && clock_() - beaten_ < ttl_min / 3;
  if (is_known) return {};
  return beat(ttl);
}

void Pulses::end() { ::unlink(path_of(own_).c_str()); }

Pulses::Sight Pulses::look(const std::string& session) {
  const auto looked = looked_.find(session);
  return looked != looked_.end() ? looked->second : looked_[session] = read(session);
}

Pulses::Sight Pulses::read(const std::string& session) {
  const TimePoint before = clock_();
  const Result<std::string> text = loop::read_file(path_of(session));
  if (!text && text.error().code != Errc::not_found) return Sight::unclear;
  if (!text) {
    seen_.erase(session);
    return Sight::missing;
  }
  std::uint64_t number = 0;
  std::int64_t most_ms = 0;
  std::istringstream(*text) >> number >> most_ms;
  const auto [found, is_new] = seen_.try_emplace(session);
  Pulse& pulse = found->second;
  if (is_new || pulse.number != number) pulse.since = clock_();
  if (is_new) pulse.since -= age_of(path_of(session));
  pulse.number = number;
  pulse.ttl_most = std::chrono::milliseconds(most_ms);
  pulse.stood = before - pulse.since;
  return Sight::seen;
}

Duration Pulses::age_of(const std::string& path) {
  if (!server_time_) {
    const Result<Duration> present = layout_.server_time();
    if (!present) return {};
    server_time_ = *present;
  }
  return std::max(*server_time_ - changed_at(path).value_or(*server_time_), Duration::zero());
}

bool Pulses::is_alive(const std::string& session, Duration ttl) {
  if (session == own_) return true;
  const Sight sight = look(session);
  return sight == Sight::unclear || (sight == Sight::seen && seen_[session].stood <= ttl);
}

Result<std::vector<std::string>> Pulses::dead() {
  TRY_ASSIGN(sessions, names_in(layout_.path("alive")));
  std::erase_if(sessions, [&](const std::string& session) {
    if (session.find('.') != std::string::npos) return true;  // one that is just being written
    look(session);
    return is_alive(session, seen_.contains(session) ? seen_[session].ttl_most : Duration::zero());
  });
  return sessions;
}

}  // namespace cadre::names
