#include "cli/experiment/search_screen.h"

#include <algorithm>

#include "cli/experiment/numbers.h"
#include "cli/experiment/sparkline.h"
#include "cli/experiment/words.h"
#include "cli/text_width.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using experiment::ExperimentView;
using experiment::TrialView;

constexpr std::size_t head_lines = 5;   ///< above the trials, with the empty line
constexpr std::size_t other_lines = 4;  ///< two titles, the names of the columns, the last line
constexpr std::size_t curve_cells = 16;
constexpr std::size_t narrow_columns = 60;  ///< below that, curves and hyperparameters are left out

std::string time_words(const SearchScreen& screen) {
  const ExperimentView& one = screen.experiment;
  std::string text;
  if (one.created) text = short_duration(one.ended.value_or(screen.now) - *one.created) + " elapsed";
  if (is_terminal(one.state)) return text;
  if (!text.empty()) text += ", ";
  if (!screen.remaining) return text + "time left: unknown";
  if (*screen.remaining < std::chrono::seconds(1)) return text + "less than 1s left";
  return text + "about " + short_duration(*screen.remaining) + " left";
}

std::string progress_line(const SearchScreen& screen, std::size_t columns) {
  const std::string right = percent_text(screen.experiment.progress) + "  " + time_words(screen);
  const std::size_t width = std::clamp<std::size_t>(columns / 3, 4, 40);
  const std::string filled = bar(screen.experiment.progress, width);
  return "[" + filled + "] " + right;
}

/// The rows of all trials, with the same columns.
class TrialRows {
 public:
  TrialRows(const SearchScreen& screen, std::size_t columns) : is_narrow_(columns < narrow_columns), columns_(columns) {
    std::vector<std::string> head = {"TRIAL", "STATE", "STEPS", screen.experiment.metric, "BEST"};
    if (!is_narrow_) head.insert(head.end(), {"CURVE", "HYPERPARAMETERS"});
    rows_.push_back(std::move(head));
    for (const std::vector<ScreenTrial>* part : {&screen.ended, &screen.running}) {
      for (const ScreenTrial& one : *part) rows_.push_back(cells_of_trial(one));
    }
    for (std::vector<std::string>& row : rows_) {
      widths_.resize(std::max(widths_.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = describe::escaped(row[i]);
        widths_[i] = std::max(widths_[i], cli::cells_of(row[i]));
      }
    }
    if (!is_narrow_) widths_[5] = curve_cells;
    widths_[3] = std::min<std::size_t>(widths_[3], 16);
  }

  /// 0 is the head; the ended trials follow, then those that run.
  std::string line(std::size_t number) const {
    const std::vector<std::string>& row = rows_[number];
    std::string text;
    for (std::size_t i = 0; i + 1 < row.size(); ++i) text += fit_to_cells(row[i], widths_[i]) + "  ";
    return cut_to_cells(text + row.back(), columns_);
  }

 private:
  std::vector<std::string> cells_of_trial(const ScreenTrial& one) const {
    const TrialView& trial = one.trial;
    std::vector<std::string> row = {to_string(trial.id), std::string(describe::name_of(trial.state)),
                                    std::to_string(trial.steps), number_text(trial.last_metric),
                                    number_text(trial.best_metric)};
    if (is_narrow_) return row;
    row.push_back(sparkline(one.curve, curve_cells));
    row.push_back((trial.status.empty() ? "" : "(" + trial.status + ") ") +
                  hyperparameters_line(trial.hyperparameters));
    return row;
  }

  bool is_narrow_;
  std::size_t columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> widths_;
};

/// How many of the ended and of the running trials are shown.
struct Room {
  std::size_t ended = 0;
  std::size_t running = 0;
};
Room room_of(const SearchScreen& screen, std::size_t rows) {
  const std::size_t taken = head_lines + other_lines + screen.remarks.size();
  const std::size_t all = rows > taken ? rows - taken : 0;
  Room room;
  room.ended = std::min(screen.ended.size(), std::max<std::size_t>(all / 3, std::min<std::size_t>(all, 1)));
  room.running = std::min(screen.running.size(), all - room.ended);
  room.ended = std::min(screen.ended.size(), all - room.running);
  return room;
}

void add_trials(const SearchScreen& screen, const ScreenShape& shape, std::vector<ScreenLine>& lines) {
  const Room room = room_of(screen, shape.rows);
  if (room.ended + room.running == 0) return;
  const TrialRows rows(screen, shape.columns);
  const auto add_title = [&](const std::string& what, std::uint64_t shown, std::uint64_t all) {
    const std::string count = shown < all ? " (" + std::to_string(shown) + " of " + std::to_string(all) + ")" : "";
    lines.push_back({cut_to_cells(what + " trials, best first" + count, shape.columns), Colour::dim});
  };
  const experiment::TrialCounts& counts = screen.experiment.trials;
  lines.push_back({"", Colour::plain});
  lines.push_back({rows.line(0), Colour::bold});
  if (room.ended > 0) add_title("ended", room.ended, counts.completed + counts.failed + counts.canceled);
  for (std::size_t i = 0; i < room.ended; ++i) lines.push_back({rows.line(1 + i), Colour::plain});
  if (room.running == 0) return;
  add_title("running", room.running, counts.running);
  for (std::size_t i = 0; i < room.running; ++i) {
    lines.push_back({rows.line(1 + screen.ended.size() + i), Colour::plain});
  }
}

Colour colour_of(const ExperimentView& experiment) {
  using experiment::ExperimentState;
  switch (experiment.state) {
    case ExperimentState::completed: return experiment.reason.empty() ? Colour::green : Colour::yellow;
    case ExperimentState::error:
    case ExperimentState::delete_failed: return Colour::red;
    case ExperimentState::active: return Colour::bold;
    default: return Colour::yellow;
  }
}

}  // namespace

std::vector<ScreenLine> lines_of(const SearchScreen& screen, const ScreenShape& shape) {
  const ExperimentView& one = screen.experiment;
  std::vector<ScreenLine> lines;
  const auto add = [&](const std::string& text, Colour colour = Colour::plain) {
    lines.push_back({cut_to_cells(describe::escaped(text), shape.columns), colour});
  };
  add("experiment " + std::to_string(one.id.value) + "  " + one.name + "  " + state_words(one) +
          (one.reason.empty() ? "" : ": " + one.reason),
      colour_of(one));
  add(progress_line(screen, shape.columns));
  add(count_words(one) + (one.restarts > 0 ? "; " + counted(static_cast<std::int64_t>(one.restarts), "restart") : ""));
  add(one.best
          ? "best " + best_words(one)
          : "no value of " + one.metric + " yet (" + (one.smaller_is_better ? "smaller" : "larger") + " is better)");
  for (const std::string& remark : screen.remarks) add(remark, Colour::yellow);
  add_trials(screen, shape, lines);
  if (!screen.notice.empty()) {
    add(screen.notice, Colour::yellow);
  } else if (one.state == experiment::ExperimentState::paused) {
    add("Ctrl-C detaches; resume it with: cadre experiment activate " + std::to_string(one.id.value), Colour::dim);
  } else if (!is_terminal(one.state)) {
    add("Ctrl-C detaches; the experiment continues", Colour::dim);
  }
  if (lines.size() > shape.rows) lines.resize(shape.rows);
  return lines;
}

std::size_t screen_trials_most(const ScreenShape& shape) {
  return shape.rows > head_lines + other_lines ? shape.rows - head_lines - other_lines : 0;
}

}  // namespace cadre::cli
