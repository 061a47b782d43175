#include <cadre/search.h>

#include "client/outcomes.h"
#include "client/search/search_program.h"
#include "client/trial/plain_data.h"

namespace cadre {
namespace {

namespace requests = experiment::requests;

core::Data data_of(const describe::Value& value) { return core::Data::from_bytes(describe::to_msgpack(value)); }

}  // namespace

Outcome<std::string> run_search(Searcher& searcher, const SearchOptions& options) {
  if (options.experiment.empty() == options.config_file.empty()) {
    return Reason{Reason::Code::invalid,
                  "set either experiment, to decide about one that exists, or config_file, to create one"};
  }
  auto opened = client::SearchProgram::open(
      {options.file, options.master, options.experiment, options.config_file, std::nullopt, options.code});
  if (!opened) return client::reason_of(opened.error());
  client::SearchProgram& program = **opened;
  searcher.created_ = program.created();
  if (program.state()) searcher.restore(data_of(*program.state()));
  for (;;) {
    const auto events = program.next();
    if (!events) return client::reason_of(events.error());
    if (events->empty()) return std::string(program.ended());
    searcher.decisions_.clear();
    for (const search::Event& event : *events) {
      if (std::holds_alternative<search::Begun>(event)) searcher.on_begin();
      if (const auto* report = std::get_if<search::Reported>(&event)) {
        searcher.on_report(report->trial, report->time, report->metric);
      }
      if (const auto* ended = std::get_if<search::Ended>(&event)) {
        searcher.on_end(ended->trial, static_cast<Searcher::TrialEnd>(ended->exit));
      }
    }
    client::SearchProgram::Actions actions;
    for (const Searcher::Decision& one : searcher.decisions_) {
      switch (one.kind) {
        case Searcher::Decision::Kind::create: {
          auto point = client::read_map(one.hyperparameters.bytes(), "hyperparameters");
          if (!point) return client::reason_of(point.error());
          actions.emplace_back(requests::CreateAction{*std::move(point)});
          break;
        }
        case Searcher::Decision::Kind::stop: actions.emplace_back(requests::StopAction{one.trial}); break;
        case Searcher::Decision::Kind::shutdown: actions.emplace_back(requests::ShutdownAction{}); break;
      }
    }
    auto state = describe::parse_msgpack(searcher.state().bytes());
    if (!state) return client::reason_of(describe::to_error(state.error(), "state"));
    const Result<void> answered = program.answer(std::move(actions), *std::move(state));
    if (!answered) return client::reason_of(answered.error());
  }
}

}  // namespace cadre
