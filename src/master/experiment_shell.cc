#include "master/experiment_shell.h"

#include <utility>

namespace cadre::master {
namespace {

/// Draws that wait; there is at most one for each experiment.
constexpr std::size_t draws_max = 100'000;
constexpr Duration draw_again_after = std::chrono::seconds(1);

}  // namespace

ExperimentShell::ExperimentShell(const Dependencies& dependencies)
    : deps_(dependencies), samplers_(dependencies.loop, {"the samplers of searches", 1, draws_max}) {}

void ExperimentShell::perform(std::vector<std::any> effects) {
  for (std::any& effect : effects) {
    if (auto* wanted = std::any_cast<experiment::DrawPoint>(&effect)) {
      deps_.loop.spawn(draw(std::move(*wanted)));
    } else if (auto* lost = std::any_cast<experiment::FindExperiment>(&effect)) {
      deps_.loop.spawn(find(std::move(*lost)));
    } else if (auto* checkpoint = std::any_cast<experiment::FindCheckpoint>(&effect)) {
      deps_.loop.spawn(find(std::move(*checkpoint)));
    }
  }
}

loop::Task<void> ExperimentShell::draw(experiment::DrawPoint effect) {
  for (;;) {
    const Result<search::Point> point =
        co_await samplers_.run([&]() -> Result<search::Point> { return experiment::draw(effect.order); });
    const bool is_posted = point && post(experiment::PointReady{effect.order.experiment, effect.order.event, *point});
    if (is_posted) co_return;
    co_await loop::sleep(deps_.loop, draw_again_after);  // its search waits for it
  }
}

loop::Task<void> ExperimentShell::find(experiment::FindExperiment effect) {
  Result<std::any> read = co_await deps_.pool.run([&] {
    return deps_.records.load_part([&](api::RowReader& reader) -> Result<std::any> {
      TRY_ASSIGN(rows, experiment::read_experiment(reader, effect.experiment));
      return std::any(std::move(rows));
    });
  });
  using Rows = std::optional<experiment::ExperimentRows>;
  Result<Rows> rows = read ? Result<Rows>(std::any_cast<Rows>(*std::move(read))) : Failure(read.error());
  post_for(effect.call.id, experiment::ExperimentFound{effect.call, effect.request, std::move(rows)});
}

loop::Task<void> ExperimentShell::find(experiment::FindCheckpoint effect) {
  Result<std::any> read = co_await deps_.pool.run([&] {
    return deps_.records.load_part([&](api::RowReader& reader) -> Result<std::any> {
      TRY_ASSIGN(found, experiment::read_checkpoint(reader, effect.checkpoint));
      return std::any(std::move(found));
    });
  });
  using Found = std::optional<experiment::FoundCheckpoint>;
  Result<Found> found = read ? Result<Found>(std::any_cast<Found>(*std::move(read))) : Failure(read.error());
  post_for(effect.call.id, experiment::CheckpointFound{effect.call, effect.request, std::move(found)});
}

}  // namespace cadre::master
