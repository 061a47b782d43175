// Every call lets other Python threads run while it waits.
#include "native/names.h"

#include <cadre/names.h>
#include <pybind11/stl.h>

#include "native/outcomes.h"

namespace cadre::python {
namespace {

namespace py = pybind11;

/// (key, value, epoch)
py::tuple entry_of(const Names::Entry& entry) { return py::make_tuple(entry.key, py::bytes(entry.value), entry.epoch); }

/// The outcome with what `shape` makes of its value.
template <class T, class Shape>
py::tuple shaped(const Outcome<T>& outcome, const Shape& shape) {
  if (!outcome) return py::make_tuple(false, reason_of(outcome.reason()));
  return py::make_tuple(true, shape(outcome.value()));
}

py::list entries_of(const std::vector<Names::Entry>& entries) {
  py::list all;
  for (const Names::Entry& entry : entries) all.append(entry_of(entry));
  return all;
}

/// (is_gone, entry)
py::tuple change_of(const Names::Change& change) {
  return py::make_tuple(change.kind == Names::Change::Kind::gone, entry_of(change.entry));
}

/// Ends without the lock: what is on its way may need it.
template <class T>
struct EndUnlocked {
  void operator()(T* object) const {
    const Unlocked ending;
    delete object;
  }
};

}  // namespace

void add_names(py::module_& module) {
  using Watch = Names::Watch;
  py::class_<Watch, std::unique_ptr<Watch, EndUnlocked<Watch>>>(module, "NamesWatch")
      .def("next",
           [](Watch& w, double wait) { return shaped(unlocked([&] { return w.next(wait_of(wait)); }), change_of); });
  py::class_<Names, std::unique_ptr<Names, EndUnlocked<Names>>>(module, "Names")
      .def(py::init([](const std::string& url) { return new Names(url); }))
      .def("put",
           [](Names& n, const std::string& key, const py::bytes& value, double ttl, bool only_if_absent) {
             const std::string_view bytes(value);
             return outcome_of(unlocked([&] { return n.put(key, bytes, {wait_of(ttl), only_if_absent}); }));
           })
      .def("get",
           [](Names& n, const std::string& key) { return shaped(unlocked([&] { return n.get(key); }), entry_of); })
      .def("wait", [](Names& n, const std::string& key,
                      double wait) { return shaped(unlocked([&] { return n.wait(key, wait_of(wait)); }), entry_of); })
      .def("list",
           [](Names& n, const std::string& prefix) {
             return shaped(unlocked([&] { return n.list(prefix); }), entries_of);
           })
      .def("watch",
           [](Names& n, const std::string& prefix) {
             Outcome<Watch> watch = unlocked([&] { return n.watch(prefix); });
             if (!watch) return py::make_tuple(false, reason_of(watch.reason()));
             std::unique_ptr<Watch, EndUnlocked<Watch>> owned(new Watch(std::move(watch).value()));
             return py::make_tuple(true, py::cast(std::move(owned)));
           })
      .def("remove",
           [](Names& n, const std::string& key) { return outcome_of(unlocked([&] { return n.remove(key); })); })
      .def("remove_subtree",
           [](Names& n, const std::string& prefix) {
             return outcome_of(unlocked([&] { return n.remove_subtree(prefix); }));
           })
      .def("on_lost",
           [](Names& n, const py::function& call) {
             const auto lost = [kept = held(call)](const std::string& key) {
               const Locked locked;
               called(kept, key);
             };
             unlocked([&] { n.on_lost(lost); });
           })
      .def("close", [](Names& n) { unlocked([&] { n.close(); }); });
}

}  // namespace cadre::python
