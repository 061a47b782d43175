#include "master/output_reader.h"

#include <utility>
#include <variant>

namespace cadre::master {
namespace {

namespace bulk = cluster::bulk;

/// Questions of the gateway have smaller numbers.
constexpr api::CallId of_reader = api::CallId{1} << 62;

}  // namespace

void OutputReader::open(Ask ask) {
  const std::lock_guard lock(mutex_);
  ask_ = std::move(ask);
}

void OutputReader::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

Result<bulk::Output> OutputReader::read(const bulk::ReadOutput& question, Duration wait_max) {
  std::unique_lock lock(mutex_);
  if (!ask_) return fail(Errc::unavailable, "output cannot be read yet");
  const api::CallId call = of_reader | ++last_;
  answers_.emplace(call, std::nullopt);
  if (!is_closed_) ask_(call, question);
  changed_.wait_for(lock, wait_max, [&] { return is_closed_ || answers_.at(call).has_value(); });
  const std::optional<bulk::FromMaster> answer = std::move(answers_.at(call));
  answers_.erase(call);
  if (is_closed_) return fail(Errc::conflict, "the master is about to end");
  if (!answer) return fail(Errc::timed_out, "the output could not be read in time");
  if (const auto* refused = std::get_if<bulk::Refused>(&*answer)) return fail(refused->code, refused->why);
  if (const auto* output = std::get_if<bulk::Output>(&*answer)) return *output;
  return fail(Errc::corrupt, "an unexpected answer to a question for output");
}

bool OutputReader::take(api::CallId call, bulk::FromMaster& message) {
  if ((call & of_reader) == 0) return false;
  const std::lock_guard lock(mutex_);
  if (const auto found = answers_.find(call); found != answers_.end()) {
    found->second = std::move(message);
    changed_.notify_all();
  }
  return true;
}

}  // namespace cadre::master
