#include "client/search/search_program.h"

#include <fcntl.h>

#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

#include "client/cluster/packed_code.h"
#include "client/cluster/which_master.h"
#include "client/interrupt.h"
#include "experiment/config.h"
#include "loop/file.h"
#include "loop/random_word.h"
#include "loop/task.h"
#include "objects/stores/folder_lock.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = experiment::requests;

/// The master answers a request for events after 20 s if there is none.
constexpr Duration events_wait = 40s;
constexpr Duration end_pause = 500ms;
/// Values in the state of a searcher.
constexpr std::size_t state_nodes_most = 20'000'000;
const std::string waits = "the search waits for the master";

Result<SearchProgram::Kept> read_kept(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown)) return SearchProgram::Kept();
  TRY_ASSIGN(file, loop::File::open(path, O_RDONLY | O_CLOEXEC));
  TRY_ASSIGN(size, file.size());
  std::string text(static_cast<std::size_t>(size), '\0');
  TRY(file.read_at(0, std::as_writable_bytes(std::span(text))));
  describe::Bounds bounds;
  bounds.nodes = state_nodes_most;
  auto kept = describe::read_json_of_peer<SearchProgram::Kept>(text, bounds);
  if (kept) return *std::move(kept);
  return fail(Errc::corrupt, path + " is not the file of a search: " + describe::to_error(kept.error(), path).message +
                                 "; use another file");
}

Result<describe::Value> config_of(const SearchProgramOptions& options) {
  describe::Value tree;
  const std::string name = options.config ? "config" : options.config_file;
  if (options.config) {
    tree = *options.config;
  } else {
    TRY_ASSIGN(text, loop::read_file(options.config_file));
    auto parsed = describe::parse_yaml(text);
    if (!parsed) return Failure(describe::to_error(parsed.error(), name));
    tree = *std::move(parsed);
  }
  const auto checked = experiment::read_config(tree);
  if (!checked) return Failure(Error{Errc::invalid, describe::to_text(checked.error(), name)});
  if (!std::holds_alternative<search::Custom>(checked->config.searcher)) {
    return fail(Errc::invalid, name + ": searcher.type: must be custom, so that a program decides about the trials");
  }
  return tree;
}

Result<experiment::ExperimentId> parse_experiment(const std::string& text) {
  experiment::ExperimentId id;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id.value);
  if (error == std::errc() && end == text.data() + text.size()) return id;
  return fail(Errc::invalid, "'" + text + "' is not an experiment; pass its ID, a number");
}

}  // namespace

template <class V>
void describe(V& v, SearchProgram::Point& p) {
  v.required("event", p.event, "Last event that was answered.");
  v.required("created", p.created, "Trials created.");
  v.field("state", p.state, "State of the searcher.");
}
template <class V>
void describe(V& v, SearchProgram::Decided& d) {
  v.required("after", d.after, "What is known after it.");
  v.required("actions", d.actions, "Actions.");
}
template <class V>
void describe(V& v, SearchProgram::Kept& k) {
  v.field("creation_key", k.creation_key, "Key with which the experiment is created.");
  v.field("experiment", k.experiment, "The experiment.");
  v.field("done", k.done, "What the master has received.");
  v.field("decided", k.decided, "What was decided, and may not have reached the master.");
}

SearchProgram::SearchProgram(std::string file, loop::Descriptor lock, Kept kept, rest::Endpoint master)
    : file_(std::move(file)),
      lock_(std::move(lock)),
      kept_(std::move(kept)),
      calls_(std::move(master), 2, kept_.creation_key) {}

Result<std::unique_ptr<SearchProgram>> SearchProgram::open(const SearchProgramOptions& options) {
  if (options.file.empty()) return fail(Errc::invalid, "file is empty; name the file that keeps the search");
  Result<loop::Descriptor> lock = objects::lock_folder(options.file + ".lock", 0s);
  if (!lock && lock.error().code == Errc::timed_out) {
    return fail(Errc::conflict,
                "another program uses " + options.file + "; wait until it has ended, or use another file");
  }
  if (!lock) return Failure(lock.error());
  TRY_ASSIGN(kept, read_kept(options.file));
  if (kept.creation_key.empty()) kept.creation_key = loop::random_word(32);
  TRY_ASSIGN(master, find_master(options.master, "master or CADRE_MASTER"));
  std::unique_ptr<SearchProgram> program(
      new SearchProgram(options.file, *std::move(lock), std::move(kept), endpoint_of(master)));
  TRY(program->find_experiment(options));
  if (program->kept_.decided) TRY(program->send());
  return program;
}

Result<void> SearchProgram::find_experiment(const SearchProgramOptions& options) {
  if (options.experiment.empty()) return kept_.experiment ? Result<void>() : create_experiment(options);
  TRY_ASSIGN(id, parse_experiment(options.experiment));
  if (kept_.experiment && *kept_.experiment != id) {
    return fail(Errc::conflict, file_ + " belongs to experiment " + std::to_string(kept_.experiment->value) +
                                    "; use another file for experiment " + options.experiment);
  }
  kept_.experiment = id;
  return {};
}

Result<void> SearchProgram::create_experiment(const SearchProgramOptions& options) {
  requests::CreateExperiment request;
  TRY_ASSIGN(config, config_of(options));
  request.config = std::move(config);
  TRY(write());  // the key, before it is used
  if (!options.code.empty()) {
    TRY_ASSIGN(code, PackedCode::pack(options.code));
    TRY(calls_.run<void>([&](rest::Client& client) { return code->send(client); }));
    request.code = code->hash();
  }
  TRY_ASSIGN(view, calls_.ask_patiently(request, waits, rest::creation_max));
  kept_.experiment = view.id;
  return write();
}

Result<void> SearchProgram::write() {
  const std::string text = describe::write_json(kept_, describe::Indent::two_spaces) + "\n";
  return loop::write_whole(file_, as_bytes(text));
}

Result<SearchProgram::Events> SearchProgram::end_or(const Error& error) {
  if (error.code != Errc::not_found) return Failure(error);
  TRY_ASSIGN(view, calls_.ask_patiently(requests::GetExperiment{experiment()}, waits));
  if (!experiment::is_terminal(view.state)) return Failure(error);
  ended_ = describe::name_of(view.state);
  return Events();
}

Result<SearchProgram::Events> SearchProgram::take(const requests::SearchEvents& found) {
  Events events;
  for (const requests::SearchEventView& one : found.events) {
    auto event = describe::read_of_peer<search::Event>(one.event);
    if (!event) return Failure(describe::to_error(event.error(), "event " + std::to_string(one.number)));
    events.push_back(*std::move(event));
  }
  if (kept_.done.event == 0 && !std::holds_alternative<search::Begun>(events.front())) {
    return fail(Errc::conflict, "another program has decided about experiment " + std::to_string(experiment().value) +
                                    " before event " + std::to_string(found.events.front().number) +
                                    "; use its file instead of " + file_);
  }
  last_event_ = found.events.back().number;
  return events;
}

Result<SearchProgram::Events> SearchProgram::next() {
  for (;;) {
    Result<requests::SearchEvents> found =
        calls_.ask_patiently(requests::GetSearchEvents{experiment(), kept_.done.event}, waits, events_wait);
    if (!found) return end_or(found.error());
    if (!found->events.empty()) return take(*found);
    if (experiment::is_terminal(found->state)) {
      ended_ = describe::name_of(found->state);
      return Events();
    }
    if (experiment::is_stopping(found->state)) {
      TRY(calls_.run<void>([](rest::Client& client) -> loop::Task<Result<void>> {
        co_await loop::sleep(client.loop(), end_pause);
        co_return Result<void>();
      }));
    }
  }
}

Result<void> SearchProgram::answer(Actions actions, describe::Value state) {
  Decided decided{{last_event_, kept_.done.created, std::move(state)}, std::move(actions)};
  for (const requests::SearchAction& action : decided.actions) {
    decided.after.created += std::holds_alternative<requests::CreateAction>(action) ? 1 : 0;
  }
  kept_.decided = std::move(decided);
  TRY(write());
  return send();
}

/// An answer that was received before does nothing. One that is refused is forgotten: the program may decide otherwise.
Result<void> SearchProgram::send() {
  const requests::PostSearchActions request{experiment(), kept_.decided->after.event, kept_.decided->actions};
  const Result<experiment::ExperimentView> sent = calls_.ask_patiently(request, waits);
  const bool has_ended = !sent && sent.error().code == Errc::not_found;
  if (sent || has_ended) {
    kept_.done = std::move(kept_.decided->after);
    kept_.decided.reset();
    return {};
  }
  const Errc code = sent.error().code;
  if ((code == Errc::invalid || code == Errc::conflict) && !was_interrupted()) {
    kept_.decided.reset();
    TRY(write());
  }
  return Failure(sent.error());
}

}  // namespace cadre::client
