#include "master/experiment_shell.h"

#include <utility>

#include "master/output_search.h"

namespace cadre::master {
namespace {

/// Draws that wait; there is at most one for each experiment.
constexpr std::size_t draws_max = 100'000;
/// Checkpoints that wait to be removed.
constexpr std::size_t removals_max = 1'000'000;
constexpr std::size_t remover_threads = 2;
/// Checkpoints whose files are to be listed. Who saves them waits.
constexpr std::size_t lists_max = 10'000;
constexpr std::size_t lister_threads = 4;
constexpr Duration again_after = std::chrono::seconds(1);
/// Trials whose output waits to be searched.
constexpr std::size_t searches_max = 100'000;
constexpr std::size_t searcher_threads = 2;

}  // namespace

ExperimentShell::ExperimentShell(const Dependencies& dependencies, std::shared_ptr<CheckpointStores> stores,
                                 std::shared_ptr<OutputReader> output)
    : deps_(dependencies),
      stores_(std::move(stores)),
      output_(std::move(output)),
      removers_(dependencies.loop, {"the removal of checkpoints", remover_threads, removals_max}),
      listers_(dependencies.loop, {"the lists of files", lister_threads, lists_max}),
      samplers_(dependencies.loop, {"the samplers of searches", 1, draws_max}),
      searchers_(dependencies.loop, {"log policies", searcher_threads, searches_max}) {}

void ExperimentShell::perform(std::vector<std::any> effects) {
  for (std::any& effect : effects) {
    if (auto* wanted = std::any_cast<experiment::DrawPoint>(&effect)) {
      deps_.loop.spawn(draw(std::move(*wanted)));
    } else if (auto* lost = std::any_cast<experiment::FindExperiment>(&effect)) {
      deps_.loop.spawn(find(std::move(*lost)));
    } else if (auto* checkpoint = std::any_cast<experiment::FindCheckpoint>(&effect)) {
      deps_.loop.spawn(find(std::move(*checkpoint)));
    } else if (auto* list = std::any_cast<experiment::ReadCheckpoints>(&effect)) {
      deps_.loop.spawn(read(std::move(*list)));
    } else if (auto* whole = std::any_cast<experiment::ListFiles>(&effect)) {
      deps_.loop.spawn(this->list(std::move(*whole)));
    } else if (auto* removed = std::any_cast<experiment::RemoveCheckpoint>(&effect)) {
      deps_.loop.spawn(remove(std::move(*removed)));
    } else if (auto* wanted_output = std::any_cast<experiment::SearchOutput>(&effect)) {
      deps_.loop.spawn(search(std::move(*wanted_output)));
    }
  }
}

loop::Task<void> ExperimentShell::deliver(std::any news) {
  while (!post(news)) co_await loop::sleep(deps_.loop, again_after);
}

loop::Task<void> ExperimentShell::draw(experiment::DrawPoint effect) {
  for (;;) {
    const Result<search::Point> point =
        co_await samplers_.run([&]() -> Result<search::Point> { return experiment::draw(effect.order); });
    if (point) {
      std::any news = experiment::PointReady{effect.order.experiment, effect.order.event, *point};
      co_await deliver(std::move(news));
      co_return;
    }
    co_await loop::sleep(deps_.loop, again_after);
  }
}

loop::Task<void> ExperimentShell::read(experiment::ReadCheckpoints effect) {
  for (;;) {
    const Result<std::any> rows = co_await deps_.pool.run([&] {
      return deps_.records.load_part([&](api::RowReader& reader) -> Result<std::any> {
        TRY_ASSIGN(all, experiment::read_checkpoints(reader, effect.experiment));
        return std::any(std::move(all));
      });
    });
    if (rows) {
      std::any news =
          experiment::CheckpointsRead{effect.experiment, std::any_cast<std::vector<experiment::CheckpointRow>>(*rows)};
      co_await deliver(std::move(news));
      co_return;
    }
    deps_.log.warning("the checkpoints of experiment " + std::to_string(effect.experiment.value) +
                      " cannot be read, trying again: " + rows.error().message);
    co_await loop::sleep(deps_.loop, again_after);
  }
}

loop::Task<void> ExperimentShell::list(experiment::ListFiles effect) {
  using Files = std::map<std::string, std::int64_t>;
  Result<Files> files =
      co_await listers_.run([&]() -> Result<Files> { return stores_->files(effect.store, effect.request.checkpoint); });
  post_for(effect.call.id, experiment::FilesListed{effect.call, effect.request, std::move(files)});
}

loop::Task<void> ExperimentShell::remove(experiment::RemoveCheckpoint effect) {
  const Result<void> removed = co_await removers_.run(
      [&]() -> Result<void> { return stores_->remove(effect.checkpoint.store, effect.checkpoint.id); });
  std::optional<Error> error;
  if (!removed) error = removed.error();
  std::any news = experiment::CheckpointRemoved{effect.checkpoint, error};
  co_await deliver(std::move(news));
}

/// If the master ends meanwhile, its next start searches again: nothing was decided.
loop::Task<void> ExperimentShell::search(experiment::SearchOutput effect) {
  const Result<experiment::OutputSearched> searched =
      co_await searchers_.run([&]() -> Result<experiment::OutputSearched> {
        if (output_ == nullptr) return experiment::OutputSearched{effect.trial, effect.run, {}, "it is not stored"};
        return search_output(*output_, effect);
      });
  if (!searched && searched.error().code == Errc::conflict) co_return;  // the master is about to end
  experiment::OutputSearched done{effect.trial, effect.run, {}, searched ? "" : searched.error().message};
  std::any news = searched ? *searched : std::move(done);
  co_await deliver(std::move(news));
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
  post_for(effect.call.id,
           experiment::ExperimentFound{effect.call, effect.request, effect.experiment, std::move(rows)});
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
