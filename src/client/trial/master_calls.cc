#include "client/trial/master_calls.h"

#include <algorithm>
#include <cstdio>

#include "base/rounded.h"
#include "client/interrupt.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_for_interrupt_every = 200ms;
constexpr Duration notice_after = 10s;
constexpr Duration notice_again_after = 60s;
constexpr Duration absence_pause_min = 100ms;
constexpr Duration absence_pause_max = 2s;

/// Something between here and the master may answer in its place while it is away.
constexpr Duration corrupt_max = 60s;

/// Errors of the server itself are not the fault of the request, and others are.
Errc code_of_status(int status, const api::Problem& problem) {
  const Errc code = rest::code_of(status, problem);
  if (code != Errc::corrupt) return code;
  return status >= 500 ? Errc::unavailable : Errc::invalid;
}

rest::Options options_for(std::int32_t connections_max, std::string creation_key) {
  rest::Options options;
  options.creation_key = std::move(creation_key);
  options.connections_max = connections_max;
  options.code_of = code_of_status;
  return options;
}

}  // namespace

std::optional<Duration> Patience::after(const Error& error, TimePoint now) {
  if (!since_) {
    since_ = now;
    notice_at_ = now + notice_after;
    pause_ = absence_pause_min;
  }
  const bool is_away = error.code == Errc::unavailable || error.code == Errc::timed_out;
  const bool may_be_away = error.code == Errc::corrupt && now - *since_ < corrupt_max;
  if (!is_away && !may_be_away) return std::nullopt;
  if (now >= notice_at_) {
    std::fprintf(stderr, "cadre: %s for %s: %s\n", what_.c_str(), rounded(now - *since_).c_str(),
                 error.message.c_str());
    notice_at_ = now + notice_again_after;
    was_shown_ = true;
  }
  const Duration pause = pause_;
  pause_ = std::min(2 * pause_, absence_pause_max);
  return pause;
}

void Patience::succeeded(TimePoint now) {
  if (was_shown_) std::fprintf(stderr, "cadre: the master answers again after %s\n", rounded(now - *since_).c_str());
  since_.reset();
  was_shown_ = false;
}

MasterCalls::MasterCalls(rest::Endpoint master, std::int32_t connections_max, std::string creation_key)
    : client_(loop_, std::move(master), options_for(connections_max, std::move(creation_key))) {}

MasterCalls::~MasterCalls() { loop_.destroy_tasks(); }

bool MasterCalls::drive(const std::function<bool()>& done) {
  if (!has_interrupt_check()) return loop_.run_until(TimePoint::max(), done);
  while (!loop_.run_until(loop_.now() + look_for_interrupt_every, done)) {
    if (!look_for_interrupt()) continue;
    loop_.destroy_tasks();
    return false;
  }
  return true;
}

}  // namespace cadre::client
