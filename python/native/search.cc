// Every call that may take time lets other Python threads run.
#include "native/search.h"

#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/outcomes.h"
#include "client/search/search_program.h"
#include "describe/describe.h"
#include "experiment/config.h"
#include "experiment/recorded_search.h"
#include "native/outcomes.h"
#include "native/values.h"

namespace cadre::python {
namespace {

namespace py = pybind11;

/// Plain data of Python as a tree.
describe::Value tree_of(const py::handle& value, const char* name) {
  const std::vector<std::byte> packed = pack(value, name, 0);
  describe::Parsed parsed = describe::parse_msgpack(BytesView(packed));
  if (!parsed) throw py::value_error(describe::to_error(parsed.error(), name).message);
  return *std::move(parsed);
}
py::object object_of(const describe::Value& value) {
  const Bytes packed = describe::to_msgpack(value);
  return unpack(packed, nullptr);
}

/// The search of a program: what a master runs for an experiment, with points that are drawn where they are asked for.
class Search {
 public:
  Search(const experiment::Checked& checked, std::uint32_t seed)
      : search_(experiment::ExperimentId{}, checked.config.searcher, checked.space, seed) {}

  /// (True, actions) or (False, why).
  py::tuple apply(const py::dict& from) {
    const describe::Read<search::Event> event = describe::read<search::Event>(tree_of(from, "event"));
    if (!event) return py::make_tuple(false, describe::to_error(event.error(), "event").message);
    const Result<std::vector<search::Action>> actions = search_.apply(*event);
    if (!actions) return py::make_tuple(false, actions.error().message);
    static_cast<void>(search_.take_rows());  // a program keeps its events itself
    py::list list;
    for (const search::Action& action : *actions) list.append(object_of(describe::write(action)));
    return py::make_tuple(true, list);
  }
  /// The event Drawn if a point is to be drawn.
  py::object draw() {
    const std::optional<experiment::DrawOrder>& order = search_.drawing();
    if (!order) return py::none();
    search::Drawn drawn;
    {
      const Unlocked working;
      drawn.point = experiment::draw(*order);
    }
    return object_of(describe::write(search::Event(drawn)));
  }

  [[nodiscard]] const search::Search& inner() const { return search_.search(); }

 private:
  experiment::RecordedSearch search_;
};

/// (Search, []) or (None, [(path, what is wrong), …]).
py::tuple make_search(const py::dict& config, std::uint32_t seed) {
  const auto checked = experiment::read_config(tree_of(config, "study"));
  py::list faults;
  if (checked) return py::make_tuple(py::cast(std::make_unique<Search>(*checked, seed)), faults);
  for (const describe::Fault& fault : checked.error()) faults.append(py::make_tuple(fault.path, fault.message));
  return py::make_tuple(py::none(), faults);
}

using client::SearchProgram;

py::tuple failed(const Error& error) { return outcome_of(Outcome<void>(client::reason_of(error))); }

/// (True, SearchProgram) or (False, (code, text)).
py::tuple open_search(const py::dict& from) {
  client::SearchProgramOptions options;
  options.file = from["file"].cast<std::string>();
  options.master = from["master"].cast<std::string>();
  options.experiment = from["experiment"].cast<std::string>();
  options.config_file = from["config_file"].cast<std::string>();
  if (!from["config"].is_none()) options.config = tree_of(from["config"], "config");
  options.code = from["code"].cast<std::string>();
  auto opened = unlocked([&] { return SearchProgram::open(options); });
  if (!opened) return failed(opened.error());
  return py::make_tuple(true, py::cast(*std::move(opened)));
}

/// The events as dicts with their type.
py::tuple next_events(SearchProgram& program) {
  const Result<SearchProgram::Events> events = unlocked([&] { return program.next(); });
  if (!events) return failed(events.error());
  py::list list;
  for (const search::Event& one : *events) list.append(object_of(describe::write(one)));
  return py::make_tuple(true, list);
}

py::tuple answer(SearchProgram& program, const py::list& actions, const py::object& state) {
  auto read = describe::read<SearchProgram::Actions>(tree_of(actions, "actions"));
  if (!read) return failed(describe::to_error(read.error(), "actions"));
  describe::Value tree = tree_of(state, "state");
  const Result<void> done = unlocked([&] { return program.answer(*std::move(read), std::move(tree)); });
  return done ? outcome_of(Outcome<void>()) : failed(done.error());
}

}  // namespace

void add_search(py::module_& module) {
  py::class_<Search>(module, "Search")
      .def("apply", &Search::apply)
      .def("draw", &Search::draw)
      .def_property_readonly("is_done", [](const Search& s) { return s.inner().is_done(); })
      .def_property_readonly("most_trials", [](const Search& s) { return s.inner().most_trials(); })
      .def("progress", [](const Search& s, double running) { return s.inner().progress(running); })
      .def("rung_ends", [](const Search& s, search::TrialNumber trial) -> std::optional<std::vector<std::int64_t>> {
        if (trial >= s.inner().state().created) return std::nullopt;
        const std::vector<std::int64_t>* const ends = s.inner().rung_ends_of(trial);
        return ends == nullptr ? std::nullopt : std::optional(*ends);
      });
  module.def("make_search", &make_search);

  py::class_<SearchProgram>(module, "SearchProgram")
      .def_property_readonly("experiment", [](const SearchProgram& p) { return p.experiment().value; })
      .def_property_readonly("created", &SearchProgram::created)
      .def_property_readonly("has_state", [](const SearchProgram& p) { return p.state().has_value(); })
      .def_property_readonly("state", [](const SearchProgram& p) { return object_of(p.state().value()); })
      .def_property_readonly("ended", [](const SearchProgram& p) { return std::string(p.ended()); })
      .def("next", &next_events)
      .def("answer", &answer);
  module.def("open_search", &open_search);
}

}  // namespace cadre::python
