// Every call lets other Python threads run while it waits; handlers and callbacks take the lock when they are called.
#include "native/component.h"

#include <pybind11/stl.h>

#include <atomic>

#include "cadre/component.h"
#include "native/outcomes.h"
#include "native/values.h"

namespace cadre::python {
namespace {

namespace py = pybind11;

/// A message, and its value once somebody has asked for it.
struct PyMessage {
  Message message;
  py::object value{};
};

struct PyComponent : Component {
  using Component::Component;
  std::atomic<bool> has_events = false;
};

/// Waits for threads that may want Python's lock.
struct WithoutLock {
  void operator()(PyComponent* component) const {
    const Unlocked waiting;
    delete component;
  }
};

using Sending = Component::Sending;

/// What to send: a value, or bytes as they are.
std::vector<std::byte> body_of(const py::object& content, bool is_value, const char* name, const std::string& tag) {
  if (is_value) return pack(content, name, Component::lead_of(tag));
  const std::string_view text(content.cast<std::string_view>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

py::tuple outcome_of_message(Outcome<Message> outcome) {
  if (!outcome) return py::make_tuple(false, reason_of(outcome.reason()));
  return py::make_tuple(true, py::cast(PyMessage{std::move(outcome).value()}));
}

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
    const Locked locked;
    if (error.matches(PyExc_KeyboardInterrupt)) client::remember_interrupt();
    throw;
  }
}

py::list replies_of(std::vector<Reply> replies) {
  py::list all;
  for (Reply& one : replies) all.append(py::make_tuple(one.peer, outcome_of_message(std::move(one.outcome))));
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
  py::class_<PyMessage>(module, "Message",
                        "A received message: its tag, its sender, and its body, also decoded as a value.")
      .def_property_readonly("tag", [](const PyMessage& m) { return m.message.tag; })
      .def_property_readonly("source", [](const PyMessage& m) { return m.message.source; })
      .def_property_readonly("source_type", [](const PyMessage& m) { return m.message.source_type; })
      .def_property_readonly("destination", [](const PyMessage& m) { return m.message.destination; })
      .def_property_readonly("session", [](const PyMessage& m) { return m.message.session; })
      .def_property_readonly("id", [](const PyMessage& m) { return m.message.id; })
      .def_property_readonly("is_task", [](const PyMessage& m) { return m.message.kind == Message::Kind::task; })
      .def_property_readonly(
          "body", [](const PyMessage& m) { return py::bytes(m.message.text().data(), m.message.text().size()); })
      .def_property_readonly("value",
                             [](PyMessage& m) {
                               if (!m.value) m.value = unpack(m.message.body(), m.message.owner());
                               return m.value;
                             })
      .def("__repr__", [](const PyMessage& m) {
        return "<cadre.Message '" + m.message.tag + "' from " + m.message.source + ", " +
               std::to_string(m.message.text().size()) + " bytes>";
      });
}

/// What a handler returns is the answer to those tasks that have none yet.
void answer_with(Component& component, const std::vector<Message>& messages, const py::object& result) {
  for (const Message& message : messages) {
    if (message.kind != Message::Kind::task || Component::is_answered(message)) continue;
    std::vector<std::byte> body = pack(result, "the result", Component::lead_of(message.tag));
    const Unlocked waiting;
    component.reply(message, std::move(body)).value();
  }
}

template <class T>
void add_pending(py::module_& module, const char* name) {
  py::class_<Pending<T>>(module, name)
      .def("get",
           [](const Pending<T>& pending, double wait) {
             Outcome<T> outcome = unlocked([&] { return pending.get(wait_of(wait)); });
             if constexpr (std::is_same_v<T, Message>) return outcome_of_message(std::move(outcome));
             if constexpr (!std::is_same_v<T, Message>) return outcome_of(std::move(outcome));
           })
      .def_property_readonly("is_there", [](const Pending<T>& pending) { return pending.ready(); })
      .def("then",
           [](const Pending<T>& pending, const py::function& call) {
             const auto without_argument = [kept = held(call)](const Pending<T>&) {
               const Locked locked;
               called(kept);
             };
             unlocked([&] { pending.then(without_argument); });
           })
      .def("cancel", [](const Pending<T>& pending) { unlocked([&] { pending.cancel(); }); });
}

}  // namespace

void add_component(py::module_& module) {
  add_message(module);
  add_pending<Message>(module, "PendingMessage");
  add_pending<std::uint64_t>(module, "PendingId");
  module.def("pack", [](const py::object& value) {
    const std::vector<std::byte> bytes = pack(value, "the value", 0);
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  module.def("unpack", [](const py::bytes& bytes) {
    const std::string_view text(bytes);
    return unpack(std::as_bytes(std::span(text)), nullptr);
  });
  py::class_<PyComponent, std::unique_ptr<PyComponent, WithoutLock>>(module, "Component")
      .def(py::init([](const py::dict& options) {
        return std::unique_ptr<PyComponent, WithoutLock>(new PyComponent(options_of(options)));
      }))
      .def_property_readonly("name", [](const PyComponent& c) { return c.name(); })
      .def("join",
           [](PyComponent& c, double wait) { return outcome_of(unlocked([&] { return c.join(wait_of(wait)); })); })
      .def("peers", [](const PyComponent& c, const std::string& type) { return c.peers(type); })
      .def("send",
           [](PyComponent& c, const std::string& peer, const std::string& tag, const py::object& content, bool is_value,
              std::uint64_t session, bool reliable, double wait) {
             std::vector<std::byte> body = body_of(content, is_value, "the value", tag);
             return outcome_of(unlocked([&] {
               return c.send(peer, tag, std::move(body), Sending{session, reliable, wait_of(wait)});
             }));
           })
      .def(
          "send_async",
          [](PyComponent& c, const std::string& peer, const std::string& tag, const py::object& content, bool is_value,
             std::uint64_t session, bool reliable, double wait) {
            std::vector<std::byte> body = body_of(content, is_value, "the value", tag);
            return unlocked([&] {
              return c.send_async(peer, tag, std::move(body), Sending{session, reliable, wait_of(wait)});
            });
          },
          py::keep_alive<0, 1>())
      .def("request",
           [](PyComponent& c, const std::string& peer, const std::string& tag, const py::object& content, bool is_value,
              std::uint64_t session, bool reliable, double wait) {
             std::vector<std::byte> body = body_of(content, is_value, "the value", tag);
             return outcome_of_message(unlocked([&] {
               return c.request(peer, tag, std::move(body), Sending{session, reliable, wait_of(wait)});
             }));
           })
      .def(
          "request_async",
          [](PyComponent& c, const std::string& peer, const std::string& tag, const py::object& content, bool is_value,
             std::uint64_t session, bool reliable, double wait) {
            std::vector<std::byte> body = body_of(content, is_value, "the value", tag);
            return unlocked([&] {
              return c.request_async(peer, tag, std::move(body), Sending{session, reliable, wait_of(wait)});
            });
          },
          py::keep_alive<0, 1>())
      .def(
          "broadcast",
          [](PyComponent& c, const std::string& type, const std::string& tag, const py::object& content, bool is_value,
             double wait) {
            const std::vector<std::byte> body = body_of(content, is_value, "the value", tag);
            return replies_of(unlocked([&] { return c.broadcast(type, tag, body, Sending{0, false, wait_of(wait)}); }));
          })
      .def("scatter",
           [](PyComponent& c, const std::vector<std::tuple<std::string, std::string, py::object>>& parcels,
              double wait) {
             std::vector<Component::Parcel> all;
             for (const auto& [peer, tag, value] : parcels) {
               const std::vector<std::byte> body = body_of(value, true, "the value", tag);
               all.push_back({peer, tag, std::string(reinterpret_cast<const char*>(body.data()), body.size())});
             }
             return replies_of(unlocked([&] { return c.scatter(all, Sending{0, false, wait_of(wait)}); }));
           })
      .def("receive",
           [](PyComponent& c, double wait) {
             return outcome_of_message(unlocked([&] { return c.receive(wait_of(wait)); }));
           })
      .def("reply",
           [](PyComponent& c, const PyMessage& task, const py::object& content, bool is_value, const std::string& tag) {
             std::vector<std::byte> body =
                 body_of(content, is_value, "the value", tag.empty() ? task.message.tag : tag);
             return outcome_of(unlocked([&] { return c.reply(task.message, std::move(body), tag); }));
           })
      .def("refuse",
           [](PyComponent& c, const PyMessage& task, const std::string& why) {
             return outcome_of(unlocked([&] { return c.refuse(task.message, why); }));
           })
      .def("forward",
           [](PyComponent& c, const PyMessage& message, const std::string& peer) {
             return outcome_of(unlocked([&] { return c.forward(message.message, peer); }));
           })
      .def("on",
           [](PyComponent& c, const std::string& tag, const py::function& handler, bool concurrent) {
             const auto call = [kept = held(handler), &c](Component& self, const Message& m) {
               noticing_interrupts([&] {
                 const Locked locked;
                 const py::object given = py::cast(PyMessage{m});
                 const py::object result = called(kept, given);
                 const bool may_be_answered_later = given.ref_count() > 1 || c.has_events;  // somebody holds it
                 if (!result.is_none() || !may_be_answered_later) answer_with(self, {m}, result);
               });
             };
             return outcome_of(c.on(tag, call, concurrent ? Turn::concurrent : Turn::alone));
           })
      .def("when",
           [](PyComponent& c, const std::string& event, const py::function& handler) {
             const auto call = [kept = held(handler)](Component& self, const std::vector<Message>& all) {
               noticing_interrupts([&] {
                 const Locked locked;
                 std::vector<PyMessage> given;
                 for (const Message& one : all) given.push_back({one});
                 const py::object result = called(kept, std::move(given));
                 if (!result.is_none()) answer_with(self, all, result);
               });
             };
             c.has_events = true;
             return outcome_of(c.when(event, call));
           })
      .def("launch", [](PyComponent& c) { return outcome_of(unlocked([&] { return c.launch(); })); })
      .def("stop", [](PyComponent& c) { c.stop(); })
      .def("on_peer_up",
           [](PyComponent& c, const py::function& call) {
             c.on_peer_up([kept = held(call)](const std::string& peer) {
               const Locked locked;
               called(kept, peer);
             });
           })
      .def("on_peer_down",
           [](PyComponent& c, const py::function& call) {
             c.on_peer_down([kept = held(call)](const Component::Lost& lost) {
               const Locked locked;
               called(kept, lost.peer, lost.why, lost.ids);
             });
           })
      .def("close", [](PyComponent& c, double linger) { return unlocked([&] { return c.close(wait_of(linger)); }); })
      .def("counters", [](const PyComponent& c) { return counters_of(c); });
}

}  // namespace cadre::python
