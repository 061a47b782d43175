#include "cli/commands/experiment/fetch.h"
#include "cli/commands/experiment/targets.h"
#include "cli/commands/experiment/verbs.h"
#include "cli/commands/show.h"
#include "cli/files.h"
#include "cli/words.h"
#include "client/trial/file_transfer.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

namespace requests = experiment::requests;
using experiment::CheckpointId;
using experiment::CheckpointView;
using experiment::ExperimentView;
using experiment::TrialId;

constexpr std::int32_t files_at_a_time = 4;

struct CheckpointListOptions {
  ClientOptions client;
  ExperimentOrTrial target;
  std::int32_t most = 100;
  bool deleted = false;
};

loop::Task<int> list_checkpoints_of(CommandContext& session, std::shared_ptr<const CheckpointListOptions> options) {
  requests::ListCheckpoints request;
  request.experiment = experiment_of(options->target);
  if (const auto* trial = std::get_if<TrialId>(&options->target)) request.trial = trial->number;
  request.deleted = options->deleted;
  const Result<experiment::Checkpoints> got = co_await list_checkpoints(session, request, options->most);
  std::string metric = "METRIC";
  if (got && !options->client.json && !got->checkpoints.empty()) {
    const Result<ExperimentView> experiment = co_await ask(session, requests::GetExperiment{request.experiment});
    if (!experiment) co_return session.complain(experiment.error());
    metric = experiment->metric;
  }
  co_return show(session, options->client, got, [&](const experiment::Checkpoints& one) -> std::string {
    if (one.checkpoints.empty()) {
      return options->deleted ? "no checkpoints: the program has not saved any yet\n"
                              : "no checkpoints; to include deleted ones, use --deleted\n";
    }
    return checkpoints_text(one.checkpoints, metric, showing(session)) +
           (one.next.empty() ? "" : "only " + std::to_string(options->most) + " are listed; for more, use --most\n");
  });
}

struct CheckpointOptions {
  ClientOptions client;
  CheckpointId checkpoint;
};

loop::Task<int> describe_checkpoint(CommandContext& session, std::shared_ptr<const CheckpointOptions> options) {
  const requests::GetCheckpoint request{options->checkpoint};
  const Result<CheckpointView> got = co_await ask(session, request);
  co_return show(session, options->client, got,
                 [&](const CheckpointView& one) { return checkpoint_text(one, showing(session)); });
}

struct DownloadOptions {
  ClientOptions client;
  CheckpointId checkpoint;
  std::string folder;
};

loop::Task<int> download_checkpoint(CommandContext& session, std::shared_ptr<const DownloadOptions> options) {
  const requests::GetCheckpoint request{options->checkpoint};
  const Result<CheckpointView> view = co_await ask(session, request);
  if (!view) co_return session.complain(view.error());
  if (view->state != experiment::CheckpointState::completed) {
    const std::string state(describe::name_of(view->state));
    co_return session.complain(failed, "checkpoint " + view->id.value + " is " + state + "; its files are gone");
  }
  Result<void> done_with = make_empty_folder(options->folder);
  if (!done_with) co_return session.complain(done_with.error());
  const client::TransferOne one = [&](const client::CheckpointFile& file) {
    return client::download_file(session.connection, view->id, options->folder, file);
  };
  done_with = co_await client::transfer_all(session.connection, view->files, files_at_a_time, one);
  if (!done_with) co_return session.complain(done_with.error());
  if (options->client.json) {
    print_json(*view);
  } else {
    print(counted(static_cast<std::int64_t>(view->files.size()), "file") + ", " + short_size(ByteSize{view->size}) +
          ", in " + options->folder + "\n");
  }
  co_return done;
}

struct DeletionOptions {
  ClientOptions client;
  std::vector<CheckpointId> checkpoints;
};

loop::Task<int> delete_checkpoints(CommandContext& session, std::shared_ptr<const DeletionOptions> options) {
  int code = done;
  std::vector<CheckpointView> changed;
  for (const CheckpointId& id : options->checkpoints) {  // a failure does not spare the others
    const requests::DeleteCheckpoint request{id};
    const Result<CheckpointView> one = co_await ask(session, request);
    if (!one) {
      const int bad = session.complain(one.error());
      code = code == done ? bad : code;
      continue;
    }
    changed.push_back(*one);
    if (options->client.json) continue;
    const bool is_deleted = one->state == experiment::CheckpointState::deleted;
    print("checkpoint " + id.value + (is_deleted ? " is deleted\n" : " is being deleted\n"));
  }
  if (options->client.json && options->checkpoints.size() > 1) print_json(changed);
  if (options->client.json && options->checkpoints.size() == 1 && !changed.empty()) print_json(changed.front());
  co_return code;
}

}  // namespace

void add_checkpoint_verbs(CLI::App& noun, Chosen& chosen) {
  const auto listing = std::make_shared<CheckpointListOptions>();
  CLI::App& list = add_verb(noun,
                            {"list", "List the checkpoints of an experiment or a trial, newest first",
                             "  cadre checkpoint list 12\n  cadre checkpoint list 12.3 --most 5\n"},
                            listing->client);
  add_experiment_or_trial(list, listing->target);
  list.add_option("--most", listing->most, "Maximum number of checkpoints to list")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  list.add_flag("--deleted", listing->deleted, "Include deleted checkpoints");
  on_choice(list, chosen, listing, list_checkpoints_of);

  const auto one = std::make_shared<CheckpointOptions>();
  CLI::App& describe = add_verb(noun,
                                {"describe", "Show the details and the files of a checkpoint",
                                 "  cadre checkpoint describe 3f2b8c1e-0d4a-4a53-9a8e-6c1f0b7d2e55\n"},
                                one->client);
  add_checkpoint(describe, one->checkpoint);
  on_choice(describe, chosen, one, describe_checkpoint);

  const auto whole = std::make_shared<DownloadOptions>();
  CLI::App& download = add_verb(noun,
                                {"download", "Download the files of a checkpoint into a new folder",
                                 "  cadre checkpoint download 3f2b8c1e-0d4a-4a53-9a8e-6c1f0b7d2e55 model\n"},
                                whole->client);
  add_checkpoint(download, whole->checkpoint);
  download.add_option("folder", whole->folder, "Folder for the files; it must not exist, or be empty")
      ->required()
      ->type_name("DIR");
  on_choice(download, chosen, whole, download_checkpoint);

  const auto several = std::make_shared<DeletionOptions>();
  CLI::App& remove = add_verb(
      noun, {"delete", "Delete checkpoints", "  cadre checkpoint delete 3f2b8c1e-0d4a-4a53-9a8e-6c1f0b7d2e55\n"},
      several->client);
  add_checkpoints(remove, several->checkpoints);
  on_choice(remove, chosen, several, delete_checkpoints);
}

}  // namespace cadre::cli
