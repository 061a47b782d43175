#include "cli/commands/experiment/watch.h"

#include <unistd.h>

#include <csignal>
#include <set>

#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/experiment/progress_estimate.h"
#include "cli/experiment/redrawn_block.h"
#include "cli/experiment/sparkline.h"
#include "cli/experiment/words.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "describe/utf8.h"
#include "loop/signals.h"
#include "loop/tasks.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;
using experiment::ExperimentId;
using experiment::ExperimentView;
using experiment::TrialId;
using experiment::TrialView;

constexpr Duration look_every = 1s;
constexpr Duration look_for_lines_every = 2s;
/// The terminal is drawn five times a second at most.
constexpr Duration draw_every = 200ms;
constexpr Duration absence_noticed_after = 2s;
constexpr std::int32_t screen_curve_points = 16;
/// Failed trials that are named.
constexpr std::int32_t failures_most = 100;
/// Of these the last line of the output is read.
constexpr std::size_t failures_with_output_most = 20;
constexpr std::string_view absence_words =
    "the master is unreachable; waiting for it to return (trials continue without it)";

class Watcher {
 public:
  Watcher(CommandContext& session, ExperimentId id, Display display)
      : session_(session),
        id_(id),
        display_(display),
        block_([](std::string_view text) { print(text); }, takes_colours(1)),
        there_(session.loop.now()),
        others_(session.loop) {}

  loop::Task<Result<ExperimentView>> to_end();

 private:
  loop::Task<Result<ExperimentView>> look();
  loop::Task<void> fetch_trials();
  loop::Task<std::vector<ScreenTrial>> with_their_curves(std::vector<TrialView> trials);
  loop::Task<void> name_failures(std::uint64_t failed);
  loop::Task<std::string> say_why_trials_wait();
  loop::Task<void> redraw_and_notice();
  void note_connection();
  void draw();
  void write_line(const std::string& text) const;

  CommandContext& session_;
  const ExperimentId id_;
  const Display display_;
  SearchScreen screen_;
  bool has_seen_ = false;
  RedrawnBlock block_;
  ProgressEstimate estimate_;
  std::string last_summary_;
  std::uint64_t failures_seen_ = 0;
  std::set<TrialId> failures_named_;
  std::string last_failure_;
  std::string last_waiting_;  ///< why a trial waits, without its number
  /// Curves by trial, with the steps of the trial at that time.
  std::map<TrialId, std::pair<std::int64_t, std::vector<double>>> curves_;
  bool said_gone_ = false;
  TimePoint there_;  ///< when the master was last known to be reachable
  loop::Tasks others_;
};

ScreenShape shape_here() {
  const std::optional<cluster::Terminal> terminal = terminal_here();
  ScreenShape shape;
  if (!terminal) return shape;
  shape.columns = static_cast<std::size_t>(terminal->columns);
  // The cursor stands below the last line.
  shape.rows = static_cast<std::size_t>(std::max(terminal->rows, 2)) - 1;
  return shape;
}

void Watcher::write_line(const std::string& text) const {
  const std::string line = describe::escaped(text) + "\n";
  if (display_ == Display::lines) {
    print(line);
    flush_output();
  } else if (display_ == Display::error_lines) {
    print_error(line);
  }
}

void Watcher::draw() {
  if (!has_seen_) return;
  const ScreenShape shape = shape_here();
  screen_.now = session_.calendar.now();
  screen_.remaining = estimate_.remaining(session_.loop.now());
  block_.draw(lines_of(screen_, shape), shape.columns);
  flush_output();
}

void Watcher::note_connection() {
  if (session_.connection.is_connected()) {
    there_ = session_.loop.now();
    if (!std::exchange(said_gone_, false)) return;
    screen_.notice.clear();
    if (display_ != Display::screen) print_error(session_.name + ": the master is reachable again\n");
  } else if (!said_gone_ && session_.loop.now() - there_ > absence_noticed_after) {
    said_gone_ = true;
    screen_.notice = absence_words;
    if (display_ != Display::screen) print_error(session_.name + ": " + screen_.notice + "\n");
  }
}

loop::Task<void> Watcher::redraw_and_notice() {
  for (;;) {
    co_await loop::sleep(session_.loop, draw_every);
    note_connection();
    if (display_ == Display::screen) draw();
  }
}

loop::Task<Result<ExperimentView>> Watcher::look() {
  // A master that is busy is waited for like one that is unreachable.
  const TimePoint until = session_.loop.now() + rest::absence_max;
  for (;;) {
    Result<ExperimentView> view = co_await ask(session_, requests::GetExperiment{id_}, rest::absence_max);
    if (view || exit_code_of(view.error()) != unreachable || session_.loop.now() >= until) co_return view;
    co_await loop::sleep(session_.loop, look_every);
  }
}

loop::Task<std::vector<ScreenTrial>> Watcher::with_their_curves(std::vector<TrialView> trials) {
  std::vector<TrialId> changed;
  for (const TrialView& trial : trials) {
    const auto known = curves_.find(trial.id);
    if (trial.last_metric && (known == curves_.end() || known->second.first != trial.steps)) {
      changed.push_back(trial.id);
    }
  }
  const Curves curves =
      co_await curves_of(session_, std::move(changed), screen_.experiment.metric, screen_curve_points);
  std::vector<ScreenTrial> all;
  for (TrialView& trial : trials) {
    if (const auto curve = curves.find(trial.id); curve != curves.end()) {
      curves_[trial.id] = {trial.steps, values_of(curve->second)};
    }
    const auto known = curves_.find(trial.id);
    std::vector<double> values = known == curves_.end() ? std::vector<double>() : known->second.second;
    all.push_back({std::move(trial), std::move(values)});
  }
  co_return all;
}

loop::Task<void> Watcher::fetch_trials() {
  const auto most = static_cast<std::int32_t>(screen_trials_most(shape_here()));
  if (most == 0) co_return;
  requests::ListTrials request;
  request.experiment = id_;
  request.order = requests::TrialOrder::metric;
  Result<experiment::Trials> best = co_await list_trials(session_, request, most);
  request.state = experiment::TrialState::running;
  Result<experiment::Trials> running = co_await list_trials(session_, request, most);
  if (!best || !running) co_return;  // the next look will tell
  std::erase_if(best->trials, [](const TrialView& trial) { return !trial.best_metric || !is_terminal(trial.state); });
  std::vector<ScreenTrial> shown_ended = co_await with_their_curves(std::move(best->trials));
  std::vector<ScreenTrial> shown_running = co_await with_their_curves(std::move(running->trials));
  screen_.ended = std::move(shown_ended);
  screen_.running = std::move(shown_running);
  std::set<TrialId> shown;
  for (const auto* part : {&screen_.ended, &screen_.running}) {
    for (const ScreenTrial& one : *part) shown.insert(one.trial.id);
  }
  std::erase_if(curves_, [&](const auto& one) { return !shown.contains(one.first); });
}

loop::Task<void> Watcher::name_failures(std::uint64_t failed) {
  if (failed <= failures_seen_) co_return;
  failures_seen_ = failed;
  if (failures_named_.size() >= static_cast<std::size_t>(failures_most)) co_return;
  requests::ListTrials request;
  request.experiment = id_;
  request.state = experiment::TrialState::error;
  const Result<experiment::Trials> trials = co_await list_trials(session_, request, failures_most);
  if (!trials) co_return;
  for (const TrialView& trial : trials->trials) {
    if (!failures_named_.insert(trial.id).second) continue;
    last_failure_ = trial_words(trial, screen_.experiment.metric);
    if (failures_named_.size() <= failures_with_output_most) {
      const std::vector<std::string> last = co_await last_output_of(session_, trial, 1);
      if (!last.empty()) last_failure_ += "; last output: " + last.back();
    }
    write_line(last_failure_);
  }
  if (failures_named_.size() >= static_cast<std::size_t>(failures_most)) {
    write_line("further failures are not named; list them with: cadre trial list " + std::to_string(id_.value) +
               " --state error");
  }
}

/// Says why one of the trials waits, if there is one; in lines only if the reason is another one.
loop::Task<std::string> Watcher::say_why_trials_wait() {
  const experiment::TrialCounts& counts = screen_.experiment.trials;
  const bool all_known = counts.created <= counts.running + counts.completed + counts.failed + counts.canceled;
  if (screen_.experiment.state != experiment::ExperimentState::active || all_known) co_return "";
  std::string words = co_await waiting_words(session_, id_);
  const std::size_t colon = words.find(": ");
  const std::string why = colon == std::string::npos ? "" : words.substr(colon);
  if (!why.empty() && std::exchange(last_waiting_, why) != why) write_line(words);
  co_return words;
}

loop::Task<Result<ExperimentView>> Watcher::to_end() {
  others_.spawn(redraw_and_notice());
  for (;;) {
    Result<ExperimentView> view = co_await look();
    if (!view) {
      if (display_ == Display::screen) draw();
      co_return view;
    }
    note_connection();
    if (view->state != experiment::ExperimentState::active) estimate_.reset();
    estimate_.add(session_.loop.now(), view->progress);
    screen_.experiment = *view;
    has_seen_ = true;
    std::vector<std::string> remarks;
    if (display_ != Display::nothing) {
      const std::uint64_t failed = view->trials.failed;
      co_await name_failures(failed);
      const std::string waiting = co_await say_why_trials_wait();
      if (!waiting.empty()) remarks.push_back(waiting);
      if (!last_failure_.empty()) remarks.push_back(last_failure_);
    }
    screen_.remarks = std::move(remarks);
    if (display_ == Display::screen) {
      co_await fetch_trials();
      draw();
    } else if (display_ != Display::nothing) {
      const std::string summary = summary_words(*view);
      const bool follows_outcome = display_ == Display::lines && is_terminal(view->state);  // which says the same
      if (std::exchange(last_summary_, summary) != summary && !follows_outcome) {
        const std::optional<Duration> left = estimate_.remaining(session_.loop.now());
        write_line(left && *left >= 1s ? summary + "; about " + short_duration(*left) + " left" : summary);
      }
    }
    if (is_terminal(view->state)) co_return view;
    co_await loop::sleep(session_.loop, display_ == Display::screen ? look_every : look_for_lines_every);
  }
}

/// An experiment that is completed has a reason only if it has no result.
void warn_of_no_result(const CommandContext& session, const ExperimentView& ended) {
  if (ended.state != experiment::ExperimentState::completed || ended.reason.empty()) return;
  const std::string id = std::to_string(ended.id.value);
  print_error(session.name + ": warning: experiment " + id + " has no result: " + describe::escaped(ended.reason) +
              "; let the program call report_validation with this metric, and see cadre experiment logs " + id + "\n");
}

struct WatchVerbOptions {
  ClientOptions client;
  ExperimentId experiment;
};

loop::Task<int> watch_verb(CommandContext& session, std::shared_ptr<const WatchVerbOptions> options) {
  auto watching = std::make_shared<const WatchOptions>(WatchOptions{options->client, options->experiment, done});
  const int code = co_await watch_experiment(session, std::move(watching));
  co_return code;
}

struct WaitVerbOptions {
  ClientOptions client;
  std::vector<ExperimentId> experiments;
};

/// Waits for each in turn: all of them have ended when the last one has.
loop::Task<int> wait_verb(CommandContext& session, std::shared_ptr<const WaitVerbOptions> options) {
  int code = done;
  std::vector<ExperimentView> ended;
  for (const ExperimentId id : options->experiments) {
    const Result<ExperimentView> one = co_await watch_to_end(session, id, Display::nothing);
    const int own = one ? exit_code_of(*one) : session.complain(one.error());
    code = code == done ? own : code;
    if (!one) continue;
    ended.push_back(*one);
    if (!options->client.json) print(describe::escaped(outcome_words(*one)) + "\n");
    flush_output();
    warn_of_no_result(session, *one);
  }
  if (options->client.json && options->experiments.size() > 1) print_json(ended);
  if (options->client.json && options->experiments.size() == 1 && !ended.empty()) print_json(ended.front());
  co_return code;
}

}  // namespace

Display display_of(const ClientOptions& client) {
  if (client.json) return Display::error_lines;
  const char* term = std::getenv("TERM");
  const bool can_redraw = isatty(1) == 1 && term != nullptr && std::string_view(term) != "dumb";
  return can_redraw ? Display::screen : Display::lines;
}

loop::Task<Result<ExperimentView>> watch_to_end(CommandContext& session, ExperimentId id, Display display) {
  Watcher watcher(session, id, display);
  Result<ExperimentView> ended = co_await watcher.to_end();
  co_return ended;
}

int exit_code_of(const ExperimentView& experiment) {
  return experiment.state == experiment::ExperimentState::completed ? done : failed;
}

loop::Task<int> watch_experiment(CommandContext& session, std::shared_ptr<const WatchOptions> options) {
  const std::string id = std::to_string(options->experiment.value);
  const auto hear = [&session, &options, &id](int) {
    // From now on an interrupt ends the process at once, whatever it is waiting for.
    for (const int one : {SIGINT, SIGTERM, SIGHUP}) ::signal(one, SIG_DFL);
    print_error("\n" + session.name + ": experiment " + id +
                " continues; to show it again, run: cadre experiment watch " + id + "\n");
    session.leave(options->interrupted_code);
  };
  const auto signals = loop::on_signal(session.loop, {SIGINT, SIGTERM, SIGHUP}, hear);
  if (!signals) co_return session.complain(failed, signals.error().message);
  const Result<ExperimentView> ended = co_await watch_to_end(session, options->experiment, display_of(options->client));
  if (!ended) {
    const int code = session.complain(ended.error());
    print_error(session.name + ": to show the experiment again, run: cadre experiment watch " + id + "\n");
    co_return code;
  }
  if (options->client.json) {
    print_json(*ended);
    warn_of_no_result(session, *ended);
  } else {
    print(describe::escaped(outcome_words(*ended)) + "\n");
    warn_of_no_result(session, *ended);
    if (ended->trials.failed > 0) print("for the output of its trials, run: cadre experiment logs " + id + "\n");
  }
  co_return exit_code_of(*ended);
}

void add_experiment_watch(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<WatchVerbOptions>();
  CLI::App& command =
      add_verb(noun,
               {"watch", "Show a running search until it has ended",
                "  cadre experiment watch 12\n  cadre experiment watch 12 | tee search.log\n"
                "Ctrl-C leaves the experiment running. Without a terminal, each change is one line. Exits with 0 if\n"
                "the experiment completed or was left running, and with 1 if it ended otherwise.\n"},
               options->client);
  add_experiment(command, options->experiment);
  on_choice(command, chosen, options, watch_verb);
}

void add_experiment_wait(CLI::App& noun, Chosen& chosen) {
  const auto options = std::make_shared<WaitVerbOptions>();
  CLI::App& command = add_verb(noun,
                               {"wait", "Wait until experiments have ended",
                                "  cadre experiment wait 12\n  cadre experiment wait 12 13\n"
                                "Exits with 0 if all of them completed, and with 1 if one ended otherwise.\n"},
                               options->client);
  add_experiments(command, options->experiments);
  on_choice(command, chosen, options, wait_verb);
}

}  // namespace cadre::cli
