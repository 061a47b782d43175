#include "cli/commands/experiment/trial_outputs.h"

namespace cadre::cli {

using experiment::TrialId;

TrialOutputs::TrialOutputs(CommandContext& session, const ClientOptions& client, OutputOptions output, Prefix prefix)
    : session_(session),
      output_(std::move(output)),
      prefix_(prefix),
      sink_(LineSink::form_of(client, output_)),
      readers_(session.loop) {}

void TrialOutputs::show(const experiment::TrialView& trial, Jobs jobs) {
  if (trial.jobs.empty()) return;
  const auto known = trials_.find(trial.id);
  const bool is_read = known != trials_.end() && known->second.is_read;
  if (!is_read && readers_.count() >= followed_most) {
    if (!std::exchange(said_too_many_, true)) {
      print_error(session_.name + ": more than " + std::to_string(followed_most) +
                  " trials run; the output of the others is not shown: follow it with cadre trial logs -f TRIAL\n");
    }
    return;
  }
  Trial& mine = trials_[trial.id];
  for (const cluster::JobId job : trial.jobs) {
    const bool is_wanted = jobs == Jobs::all || job == trial.jobs.back();
    if (mine.begun.insert(job).second && is_wanted) mine.next.push_back(job);
  }
  if (mine.next.empty() || std::exchange(mine.is_read, true)) return;
  readers_.spawn(read_jobs(trial.id));
}

loop::Task<void> TrialOutputs::read_jobs(TrialId id) {
  Trial& mine = trials_.at(id);
  const OnJobLine on_line = [&](cluster::TaskId task, const logs::Line& line, std::size_t tasks) {
    const std::string name = name_among(task, tasks);
    const std::string trial = prefix_ == Prefix::trial ? to_string(id) + (name.empty() ? "" : "/") : "";
    const std::string prefix = trial + name;
    sink_.take(task, line, prefix.empty() ? "" : "[" + prefix + "] ", id);
  };
  while (!mine.next.empty()) {
    const Target target{{mine.next.front(), 0}, false};
    mine.next.pop_front();
    const int own = co_await show_output(session_, target, output_, on_line);
    code_ = code_ == done ? own : code_;
  }
  mine.is_read = false;
}

loop::Task<void> TrialOutputs::ended() { co_await readers_.ended(); }

int TrialOutputs::finish() {
  sink_.finish();
  return code_;
}

}  // namespace cadre::cli
