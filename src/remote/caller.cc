#include "remote/caller.h"

#include <utility>

namespace cadre::remote {

Caller::CallId Caller::call() {
  const CallId id = ++last_;
  if (stage_ == Stage::over) {
    effects_.emplace_back(Fail{id, why_});
    return id;
  }
  if (stage_ != Stage::ready) {
    waiting_.emplace(id, 0);
    return id;
  }
  sent_.emplace_hint(sent_.end(), id, 1);  // none waits while it is ready
  effects_.emplace_back(SendCall{id});
  return id;
}

void Caller::send_waiting() {
  for (const auto& [id, times] : waiting_) {
    sent_.emplace(id, times + 1);
    effects_.emplace_back(SendCall{id});
  }
  waiting_.clear();
}

void Caller::cancel(CallId id) {
  if (waiting_.erase(id) > 0) {
    effects_.emplace_back(Cancelled{id});
  } else if (const auto found = sent_.find(id); found != sent_.end()) {
    if (stage_ == Stage::ready) effects_.emplace_back(SendCancel{id});
    found->second = rules_.retries_max + 1;  // nor is it repeated
  }
}

void Caller::connected(Process process) {
  if (stage_ == Stage::over) return;
  if (process == Process::fresh) {
    give_up_sent({Errc::unavailable, "the actor was restarted; the call may or may not have run"});
    is_made_ = false;
    stage_ = Stage::creating;
    effects_.emplace_back(SendCreate{});
    return;
  }
  give_up_sent({Errc::timed_out, "the connection to the actor was lost; it may or may not have run"});
  stage_ = Stage::ready;
  send_waiting();
}

void Caller::created() {
  if (stage_ != Stage::creating) return;
  is_made_ = true;
  stage_ = Stage::ready;
  send_waiting();
}

bool Caller::answered(CallId id) { return sent_.erase(id) > 0; }

void Caller::cut() {
  if (stage_ == Stage::ready || stage_ == Stage::creating) stage_ = Stage::away;
}

void Caller::give_up_sent(const Error& error) {
  for (const auto& [id, times] : std::exchange(sent_, {})) {
    if (times <= rules_.retries_max) {
      waiting_.emplace(id, times);
    } else {
      effects_.emplace_back(Fail{id, error});
    }
  }
}

void Caller::died(const Error& why, Fault fault) {
  if (stage_ == Stage::over) return;
  if (fault == Fault::its_own || restarts_ == rules_.restarts_max) return finish(why);
  give_up_sent({why.code, why.message + "; the call may or may not have run"});
  ++restarts_;
  is_made_ = false;
  stage_ = Stage::placing;
  effects_.emplace_back(Restart{});
}

void Caller::end(const Error& why) {
  if (stage_ != Stage::over) finish(why);
}

void Caller::finish(const Error& why) {
  stage_ = Stage::over;
  why_ = why;
  for (const auto& [id, times] : std::exchange(sent_, {})) {
    effects_.emplace_back(Fail{id, {why.code, why.message + "; the call may or may not have run"}});
  }
  for (const auto& [id, times] : std::exchange(waiting_, {})) effects_.emplace_back(Fail{id, why});
}

}  // namespace cadre::remote
