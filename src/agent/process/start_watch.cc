#include "agent/process/start_watch.h"

#include <string_view>

#include "loop/file.h"

namespace cadre::agent {

namespace {

using cluster::lease::Reason;

constexpr std::string_view no_supervisor_words = "the agent cannot start a supervisor: ";
constexpr Duration wait_after_failure = std::chrono::seconds(10);

}  // namespace

Error no_supervisor(const Error& error) { return {error.code, std::string(no_supervisor_words) + error.message}; }

bool is_no_supervisor(const Error& error) { return error.message.starts_with(no_supervisor_words); }

cluster::TaskEnding ending_before_start(const Error& error) {
  if (!loop::is_disk_full(error) && !is_no_supervisor(error)) return {Reason::failed_to_start, 0, error.message, {}, 0};
  return {Reason::agent_lost, 0, "it could not start: " + error.message, {}, 0};
}

void StartWatch::failed(const Error& error, TimePoint now) {
  obstacle_ = error.message;
  until_ = now + wait_after_failure;
}

const std::string& StartWatch::obstacle(TimePoint now) {
  if (now >= until_) obstacle_.clear();
  return obstacle_;
}

}  // namespace cadre::agent
