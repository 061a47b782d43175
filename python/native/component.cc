// Every call lets other Python threads run while it waits; handlers and callbacks take the lock when they are called.
#include "native/component.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "cadre/component.h"
#include "native/outcomes.h"
#include "native/values.h"

namespace cadre::python {
namespace {

namespace py = pybind11;

std::span<const std::byte> bytes_of(const std::string_view& body) { return std::as_bytes(std::span(body)); }

Component::Options options_of(const py::dict& from) {
  Component::Options to;
  to.group = from["group"].cast<std::string>();
  to.type = from["type"].cast<std::string>();
  to.name = from["name"].cast<std::string>();
  to.peers = from["peers"].cast<std::map<std::string, std::size_t>>();
  to.names = from["names"].cast<std::string>();
  to.host = from["host"].cast<std::string>();
  to.rejoin = from["rejoin"].cast<bool>();
  to.minimal_peers = from["minimal_peers"].cast<std::map<std::string, std::size_t>>();
  to.minimal_wait = wait_of(from["minimal_wait"].cast<double>());
  to.concurrent_max = from["concurrent_max"].cast<std::size_t>();
  const auto overflow = from["overflow"].cast<std::string>();
  to.overflow = overflow == "fail"          ? Component::Overflow::fail
                : overflow == "drop_oldest" ? Component::Overflow::drop_oldest
                                            : Component::Overflow::block;
  to.queue_max = from["queue_max"].cast<std::size_t>();
  to.queue_bytes_max = from["queue_bytes_max"].cast<std::size_t>();
  to.heartbeat = wait_of(from["heartbeat"].cast<double>());
  to.silence_max = wait_of(from["silence_max"].cast<double>());
  return to;
}

/// A signal that is heard in a handler ends launch(), too.
template <class Call>
void noticing_interrupts(const Call& call) {
  try {
    call();
  } catch (const py::error_already_set& error) {
    const py::gil_scoped_acquire locked;
    if (error.matches(PyExc_KeyboardInterrupt)) client::remember_interrupt();
    throw;
  }
}

py::list replies_of(std::vector<Reply> replies) {
  py::list all;
  for (Reply& one : replies) all.append(py::make_tuple(one.peer, outcome_of(std::move(one.outcome))));
  return all;
}

py::dict counters_of(const Component& component) {
  const Component::Counters from = component.counters();
  py::dict to;
  to["strangers"] = from.strangers;
  to["malformed"] = from.malformed;
  to["dropped"] = from.dropped;
  to["late"] = from.late;
  to["handler_failures"] = from.handler_failures;
  to["without_handler"] = from.without_handler;
  return to;
}

void add_message(py::module_& module) {
  py::class_<Message>(module, "Message",
                      "What came from a peer: its tag, who sent it, and its body, also read as a value.")
      .def_readonly("tag", &Message::tag)
      .def_readonly("source", &Message::source)
      .def_readonly("source_type", &Message::source_type)
      .def_readonly("destination", &Message::destination)
      .def_readonly("session", &Message::session)
      .def_readonly("id", &Message::id)
      .def_property_readonly("is_task", [](const Message& m) { return m.kind == Message::Kind::task; })
      .def_property_readonly("body", [](const Message& m) { return py::bytes(m.text().data(), m.text().size()); })
      .def_property_readonly("value", [](const Message& m) { return unpack(m.text()); })
      .def("__repr__", [](const Message& m) {
        return "<cadre.Message '" + m.tag + "' from " + m.source + ", " + std::to_string(m.text().size()) + " bytes>";
      });
}

}  // namespace

void add_component(py::module_& module) {
  add_message(module);
  module.def("pack", &pack);
  module.def("unpack", [](const py::bytes& bytes) { return unpack(std::string_view(bytes)); });
  using Sending = Component::Sending;
  py::class_<Component>(module, "Component")
      .def(py::init([](const py::dict& options) { return std::make_unique<Component>(options_of(options)); }))
      .def_property_readonly("name", &Component::name)
      .def("join",
           [](Component& c, double wait) { return outcome_of(unlocked([&] { return c.join(wait_of(wait)); })); })
      .def("peers", [](const Component& c, const std::string& type) { return c.peers(type); })
      .def("send",
           [](Component& c, const std::string& peer, const std::string& tag, const py::bytes& body,
              std::uint64_t session, bool reliable, double wait) {
             const std::string_view bytes(body);
             return outcome_of(unlocked([&] {
               return c.send(peer, tag, bytes_of(bytes), Sending{session, reliable, wait_of(wait)});
             }));
           })
      .def("request",
           [](Component& c, const std::string& peer, const std::string& tag, const py::bytes& body,
              std::uint64_t session, bool reliable, double wait) {
             const std::string_view bytes(body);
             return outcome_of(unlocked([&] {
               return c.request(peer, tag, bytes_of(bytes), Sending{session, reliable, wait_of(wait)});
             }));
           })
      .def("broadcast",
           [](Component& c, const std::string& type, const std::string& tag, const py::bytes& body, double wait) {
             const std::string_view bytes(body);
             return replies_of(unlocked([&] {
               return c.broadcast(type, tag, bytes_of(bytes), Sending{0, false, wait_of(wait)});
             }));
           })
      .def("scatter",
           [](Component& c, const std::vector<std::tuple<std::string, std::string, py::bytes>>& parcels, double wait) {
             std::vector<Component::Parcel> all;
             for (const auto& [peer, tag, body] : parcels) all.push_back({peer, tag, std::string(body)});
             return replies_of(unlocked([&] { return c.scatter(all, Sending{0, false, wait_of(wait)}); }));
           })
      .def("receive",
           [](Component& c, double wait) { return outcome_of(unlocked([&] { return c.receive(wait_of(wait)); })); })
      .def("reply",
           [](Component& c, const Message& task, const py::bytes& body) {
             const std::string_view bytes(body);
             return outcome_of(unlocked([&] { return c.reply(task, bytes_of(bytes)); }));
           })
      .def("refuse", [](Component& c, const Message& task,
                        const std::string& why) { return outcome_of(unlocked([&] { return c.refuse(task, why); })); })
      .def("forward",
           [](Component& c, const Message& message, const std::string& peer) {
             return outcome_of(unlocked([&] { return c.forward(message, peer); }));
           })
      .def("on",
           [](Component& c, const std::string& tag, std::function<void(const Message&)> handler, bool concurrent) {
             const auto call = [handler = std::move(handler)](Component&, const Message& message) {
               noticing_interrupts([&] { handler(message); });
             };
             return outcome_of(c.on(tag, call, concurrent ? Turn::concurrent : Turn::alone));
           })
      .def("when",
           [](Component& c, const std::string& event, std::function<void(const std::vector<Message>&)> handler) {
             const auto call = [handler = std::move(handler)](Component&, const std::vector<Message>& all) {
               noticing_interrupts([&] { handler(all); });
             };
             return outcome_of(c.when(event, call));
           })
      .def("launch", [](Component& c) { return outcome_of(unlocked([&] { return c.launch(); })); })
      .def("stop", &Component::stop)
      .def("on_peer_up", &Component::on_peer_up)
      .def("on_peer_down",
           [](Component& c, std::function<void(std::string, std::string, std::vector<std::uint64_t>)> call) {
             c.on_peer_down(
                 [call = std::move(call)](const Component::Lost& lost) { call(lost.peer, lost.why, lost.ids); });
           })
      .def("close", [](Component& c, double linger) { return unlocked([&] { return c.close(wait_of(linger)); }); })
      .def("counters", &counters_of);
}

}  // namespace cadre::python
