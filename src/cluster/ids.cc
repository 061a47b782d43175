#include "cluster/ids.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace cadre::cluster {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  return std::in_range<std::int64_t>(number);  // what databases hold
}

Failure bad(std::string_view what, std::string_view form, std::string_view text) {
  return fail(Errc::invalid, std::string(what) + " is written " + std::string(form) + ", not '" +
                                 std::string(text.substr(0, 60)) + "'");
}

}  // namespace

bool is_plain(const SessionId& session) {
  return std::all_of(session.value.begin(), session.value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

std::string to_string(TaskId task) { return std::to_string(task.job.value) + "." + std::to_string(task.member); }

std::string to_string(LeaseId lease) { return to_string(lease.task) + "/" + std::to_string(lease.epoch.value); }

Result<TaskId> parse_task_id(std::string_view text) {
  TaskId task;
  const std::size_t dot = text.find('.');
  const bool has_member = dot != std::string_view::npos;
  if (!read_number(text.substr(0, dot), task.job.value) ||
      (has_member && !read_number(text.substr(dot + 1), task.member))) {
    return bad("a task", "JOB or JOB.MEMBER, as in 17.0", text);
  }
  return task;
}

Result<LeaseId> parse_lease_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  LeaseId lease;
  if (slash == std::string_view::npos || !read_number(text.substr(slash + 1), lease.epoch.value)) {
    return bad("a lease", "JOB.MEMBER/EPOCH, as in 17.0/3", text);
  }
  TRY_ASSIGN(task, parse_task_id(text.substr(0, slash)));
  lease.task = task;
  return lease;
}

}  // namespace cadre::cluster
