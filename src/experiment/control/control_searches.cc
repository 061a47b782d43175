#include "experiment/control/control.h"

#include <utility>

#include "base/overloaded.h"
#include "experiment/control/refusals.h"
#include "search/sample.h"

namespace cadre::experiment {

using api::Failed;

namespace {

/// So long a program waits for events of its search before it gets an empty list.
constexpr Duration wait_for_events = std::chrono::seconds(20);

}  // namespace

std::optional<api::Reply> Control::get_events(const api::Call& call, const requests::GetSearchEvents& request) {
  const Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  if (!std::holds_alternative<search::Custom>(experiment->checked.config.searcher)) {
    return Failed{Errc::invalid, name_of(request.experiment) + " has no custom search", {}};
  }
  const Waiter waiter{call.id, request.experiment, request.after, call.now.time + wait_for_events};
  if (auto events = events_for(waiter)) return *std::move(events);
  if (waiters_.size() >= search_waiters_most) {
    return Failed{Errc::unavailable, "too many programs wait for events of searches; try again later", {}};
  }
  waiters_.push_back(waiter);
  return std::nullopt;
}

std::optional<requests::SearchEvents> Control::events_for(const Waiter& waiter) const {
  const Experiment* experiment = ledger_.find(waiter.experiment);
  requests::SearchEvents found;
  if (experiment == nullptr) {
    found.state = ExperimentState::completed;  // it is over, and was forgotten meanwhile
    return found;
  }
  found.state = experiment->row.state;
  for (const OpenEvent& event : experiment->search.open()) {
    if (event.number > waiter.after) found.events.push_back({event.number, event.event});
  }
  if (found.events.empty() && !is_stopping(found.state) && !is_terminal(found.state)) return std::nullopt;
  return found;
}

void Control::answer_waiters(std::optional<TimePoint> now) {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    std::optional<requests::SearchEvents> events = events_for(waiter);
    if (!events && (!now || *now < waiter.until)) return false;
    outcome_.replies.emplace_back(waiter.call, events.value_or(requests::SearchEvents()));
    return true;
  });
}

std::vector<api::CallId> Control::waiting() const {
  std::vector<api::CallId> calls;
  for (const Waiter& waiter : waiters_) calls.push_back(waiter.call);
  return calls;
}

api::Reply Control::serve(const api::Call& call, const requests::PostSearchActions& request) {
  Experiment* experiment = own(call, request.experiment);
  if (experiment == nullptr) return refusal_;
  if (request.answers > experiment->search.last_event()) {
    return Failed{Errc::invalid, "answers: there is no event " + std::to_string(request.answers) + " yet", {}};
  }
  if (request.answers <= experiment->search.answered()) return view_of(experiment->row);
  describe::Faults faults;
  const describe::Path root;
  const describe::Path actions(root, "actions");
  for (std::size_t i = 0; i < request.actions.size(); ++i) {
    const auto* create = std::get_if<requests::CreateAction>(&request.actions[i]);
    if (create == nullptr) continue;
    const describe::Path action(actions, i);
    const describe::Path point(action, "hyperparameters");
    search::check_point(experiment->checked.space, create->hyperparameters, {point, faults});
  }
  if (!faults.empty()) return Failed{Errc::invalid, "the actions are invalid", faults.kept()};
  search::Ordered ordered;
  for (const requests::SearchAction& action : request.actions) {
    std::visit(
        overloaded{[&](const requests::CreateAction& one) {
                     ordered.orders.emplace_back(search::CreateTrial{0, one.hyperparameters});
                   },
                   [&](const requests::StopAction& one) { ordered.orders.emplace_back(search::StopTrial{one.trial}); },
                   [&](const requests::ShutdownAction&) { ordered.is_last = true; }},
        action);
  }
  const Result<void> done = lives_.order(*experiment, std::move(ordered), request.answers, call.now.time);
  return done ? api::Reply(view_of(experiment->row)) : api::Reply(done.error());
}

}  // namespace cadre::experiment
