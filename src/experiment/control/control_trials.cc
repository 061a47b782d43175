#include "experiment/control/control.h"

#include "experiment/control/refusals.h"

namespace cadre::experiment {

using api::Failed;

api::Reply Control::stop_trial(const api::Call& call, TrialId id, Outcome outcome) {
  Experiment* experiment = own(call, id.experiment);
  if (experiment == nullptr) return refusal_;
  Trial* trial = ledger_.find(id);
  if (trial == nullptr) return no_such("trial " + to_string(id));
  lives_.stop(*experiment, *trial, outcome, call.now.time);
  return view_of(trial->row);
}

api::Reply Control::serve(const api::Call& call, const requests::CancelTrial& request) {
  return stop_trial(call, request.trial, Outcome::canceled);
}

api::Reply Control::serve(const api::Call& call, const requests::KillTrial& request) {
  return stop_trial(call, request.trial, Outcome::killed);
}

api::Reply Control::serve(const api::Call& call, const requests::ContinueTrial& request) {
  Experiment* experiment = own(call, request.trial.experiment);
  if (experiment == nullptr) return refusal_;
  Trial* trial = ledger_.find(request.trial);
  if (trial == nullptr) return no_such("trial " + to_string(request.trial));
  if (is_stopping(experiment->row.state) || experiment->row.state >= ExperimentState::deleting) {
    return Failed{Errc::conflict,
                  name_of(request.trial.experiment) + " is " + std::string(describe::name_of(experiment->row.state)) +
                      "; its trials cannot be continued",
                  {}};
  }
  lives_.resume(*experiment, *trial, call.now.time);
  return view_of(trial->row);
}

api::Reply Control::serve(const api::Call& call, const requests::BeginRun& request) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  const Experiment& experiment = *ledger_.find(request.trial.experiment);
  RunView view;
  view.trial = request.trial;
  view.run = trial->row.runs_before + call.who.epoch;
  view.hyperparameters = trial->row.hyperparameters;
  view.seed = trial->row.seed;
  if (const auto& id = trial->row.latest_checkpoint ? trial->row.latest_checkpoint : trial->row.first_checkpoint) {
    view.checkpoint.emplace().id = *id;
  }
  view.config = experiment.spec.config;
  view.until = trial->row.until == 0 ? length_of(experiment) : trial->row.until;
  view.metric = experiment.row.metric;
  view.smaller_is_better = experiment.row.smaller_is_better;
  return view;
}

api::Reply Control::serve(const api::Call& call, const requests::ReportTrial& request) {
  Trial* trial = running(call, request.trial);
  if (trial == nullptr) return refusal_;
  if (request.status && !describe::is_printable(*request.status)) {
    return Failed{Errc::invalid, "status: has control characters; remove them", {}};
  }
  Experiment& experiment = *ledger_.find(request.trial.experiment);
  lives_.report(experiment, *trial, request.progress);
  if (request.status) trial->row.status = *request.status;
  if (request.acknowledges_stop) trial->row.acknowledged = true;
  ledger_.changed(*trial);
  if (request.invalid_hyperparameters) lives_.declare_invalid(experiment, *trial, call.now.time);
  return access::Done{};
}

}  // namespace cadre::experiment
