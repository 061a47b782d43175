#include "experiment/ids.h"

#include "cluster/ids.h"

namespace cadre::experiment {

std::string to_string(TrialId trial) {
  return std::to_string(trial.experiment.value) + "." + std::to_string(trial.number);
}

Result<TrialId> parse_trial_id(std::string_view text) {
  const Result<cluster::TaskId> pair = cluster::parse_task_id(text);
  if (!pair || text.find('.') == std::string_view::npos) {
    return fail(Errc::invalid,
                "a trial is written EXPERIMENT.NUMBER, as in 12.3, not '" + std::string(text.substr(0, 60)) + "'");
  }
  return TrialId{{pair->job.value}, pair->member};
}

bool is_uuid(const CheckpointId& checkpoint) {
  const std::string& text = checkpoint.value;
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (is_dash ? c != '-' : !is_digit) return false;
  }
  return true;
}

}  // namespace cadre::experiment

namespace cadre::describe {

Value Scalar<experiment::TrialId>::schema() { return Value().set("type", Value("string")); }

Result<experiment::TrialId> Scalar<experiment::TrialId>::read(const Value& value) {
  TRY_ASSIGN(text, read_text(value));
  return experiment::parse_trial_id(text);
}

experiment::TrialId Scalar<experiment::TrialId>::random(Dice& dice, const Limits&) {
  return {{dice.bits() >> 1}, static_cast<search::TrialNumber>(dice.bits())};
}

}  // namespace cadre::describe
