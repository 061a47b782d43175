// Every call lets other Python threads run while it waits. What an object is made of is pickled by cadre/remote.py;
// here it is bytes.
#include "native/remote.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "client/actors/actor.h"
#include "client/actors/actor_host.h"
#include "client/actors/actor_job.h"
#include "client/actors/session.h"
#include "native/lock.h"
#include "native/waits.h"

namespace cadre::python {
namespace {

namespace py = pybind11;
using client::Actor;
using client::ActorHost;
using client::Answer;
using client::Heard;
using client::Session;
using remote::Verb;

/// Larger ones are not copied into Python.
constexpr std::size_t copied_max = 16 << 10;

/// Memory that Python looks at where it lies.
struct Block {
  remote::Segment slice;
};

py::object object_of(const remote::Segment& slice) {
  if (slice.size <= copied_max) return py::bytes(reinterpret_cast<const char*>(slice.data), slice.size);
  return py::cast(Block{slice});
}

py::list objects_of(const std::vector<remote::Segment>& slices) {
  py::list all;
  for (const remote::Segment& slice : slices) all.append(py::cast(Block{slice}));
  return all;
}

/// Bytes of Python objects, as long as this lives.
class Views {
 public:
  explicit Views(const py::list& objects) {
    buffers_.reserve(objects.size());
    for (const py::handle& object : objects) {
      Py_buffer& buffer = buffers_.emplace_back();
      if (PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_SIMPLE) != 0) {
        buffers_.pop_back();
        release();
        throw py::error_already_set();
      }
      views_.emplace_back(static_cast<const std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len));
    }
  }
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;
  ~Views() { release(); }
  std::span<const BytesView> all() const { return views_; }
  std::vector<Bytes> copies() const {
    std::vector<Bytes> made;
    for (const BytesView& view : views_) made.emplace_back(view.begin(), view.end());
    return made;
  }

 private:
  void release() {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
    buffers_.clear();
  }
  std::vector<Py_buffer> buffers_;
  std::vector<BytesView> views_;
};

BytesView view_of(const py::bytes& bytes) { return as_bytes(static_cast<std::string_view>(bytes)); }

/// Raised as cadre.ActorError(code, text).
[[noreturn]] void raise(const Error& error) {
  const py::object make = py::module_::import("cadre.errors").attr("actor_error");
  const char* code = "invalid";
  for (const auto& [one, name] : enum_names(Errc())) {
    if (one == error.code) code = name;
  }
  const py::object made = make(code, error.message);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw py::error_already_set();
}

template <class T>
T take(Result<T> result) {
  if (!result) raise(result.error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

template <class Call>
auto unlocked(const Call& call) {
  const Unlocked waiting;
  return call();
}

/// (verb, name, body, parts) of what came; raises why nothing did.
py::tuple content_of(const Result<Heard>& heard) {
  if (!heard) raise(heard.error());
  return py::make_tuple(static_cast<int>(heard->verb), heard->name, object_of(heard->body), objects_of(heard->parts));
}

/// A session that Python shares with its actors and answers.
using SharedSession = std::shared_ptr<Session>;

/// Waits a while at a time, so that Python hears of signals; raises when it is not there in time.
template <class Wait>
void wait_for(Session& session, double timeout, const Wait& wait) {
  constexpr Duration look_every = std::chrono::milliseconds(200);
  const TimePoint end = session.engine().loop().now() + wait_of(timeout);
  for (TimePoint until{}; until < end;) {
    until = std::min(end, session.engine().loop().now() + look_every);
    if (wait(until)) return;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  raise({Errc::timed_out, "no response in time"});
}

struct PyAnswer {
  SharedSession session;
  std::shared_ptr<Actor> actor;
  std::shared_ptr<Answer> answer;

  py::tuple get(double timeout) const {
    wait_for(*session, timeout, [&](TimePoint until) {
      if (answer->is_there()) return true;
      take(actor->check_process());
      return unlocked([&] { return actor->wait(*answer, until); });
    });
    return content_of(answer->get());
  }
};

struct PyActor {
  SharedSession session;
  std::shared_ptr<Actor> actor;

  PyAnswer call(int verb, std::string_view name, const py::bytes& body, const py::list& parts, double timeout) const {
    const Views views(parts);
    const Actor::Saying saying{static_cast<Verb>(verb), name, view_of(body), views.all()};
    auto answer = unlocked([&] { return actor->call(saying, session->engine().loop().now() + wait_of(timeout)); });
    return {session, actor, take(std::move(answer))};
  }
};

/// The whole of a call that is waited for: Python's lock is let go once, for sending and waiting together.
py::tuple ask(const PyActor& self, int verb, std::string_view name, const py::bytes& body, const py::list& parts,
              double room_wait) {
  constexpr Duration at_first = std::chrono::milliseconds(200);
  const Views views(parts);
  const Actor::Saying saying{static_cast<Verb>(verb), name, view_of(body), views.all()};
  loop::RealLoop& loop = self.session->engine().loop();
  PyAnswer asked{self.session, self.actor, nullptr};
  Result<void> sent;
  unlocked([&] {
    const TimePoint now = loop.now();
    Result<std::shared_ptr<Answer>> answer = self.actor->call(saying, now + wait_of(room_wait));
    if (!answer) return void(sent = Failure(answer.error()));
    asked.answer = *std::move(answer);
    self.actor->wait(*asked.answer, loop.now() + at_first);
  });
  take(std::move(sent));
  return asked.get(1e9);
}

PyActor create(const SharedSession& session, const py::dict& from) {
  const auto text = [&from](const char* key) { return from[key].cast<std::string>(); };
  cluster::Command command;
  command.argv = from["argv"].cast<std::vector<std::string>>();
  command.variables = from["variables"].cast<std::map<std::string, std::string>>();
  command.code = text("code");
  command.python = text("python");
  command.forks = true;
  client::ActorNeeds needs;
  needs.class_name = text("name");
  needs.slots = from["slots"].cast<std::int32_t>();
  needs.cpus = from["cpus"].cast<double>();
  needs.memory = ByteSize{from["memory"].cast<std::int64_t>()};
  needs.pool = text("pool");
  needs.workspace = text("workspace");
  needs.lanes = from["lanes"].cast<std::size_t>();
  needs.liveness = wait_of(from["liveness"].cast<double>());
  client::ActorOptions options;
  options.job = client::actor_job(needs, std::move(command));
  options.create.name = text("name");
  const auto body = from["body"].cast<py::bytes>();
  options.create.body.assign(view_of(body).begin(), view_of(body).end());
  options.create.parts = Views(from["parts"].cast<py::list>()).copies();
  options.rules = {from["max_restarts"].cast<std::uint32_t>(), from["max_call_retries"].cast<std::uint32_t>()};
  options.calls_max = from["calls_max"].cast<std::size_t>();
  options.place_wait = wait_of(from["timeout"].cast<double>());
  return {session, unlocked([&] { return session->create(std::move(options)); })};
}

/// The last who holds a session ends it, which takes a while: not while Python waits for it.
SharedSession shared(const SharedSession& session) {
  return {session.get(), [kept = session](Session*) mutable {
            if (PyGILState_Check() == 0) return kept.reset();
            const Unlocked waiting;
            kept.reset();
          }};
}

client::Printer::Sink sink_of(const py::function& write) {
  return [call = held(write)](client::Printer::Stream stream, const std::string& text) {
    call_back(call, "the output of an actor", [&] {
      return Py_BuildValue("(ON)", stream == client::Printer::Stream::err ? Py_True : Py_False,
                           PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace"));
    });
  };
}

/// Waits until as many of them are there.
void wait_for_count(const std::vector<PyAnswer>& answers, std::size_t count, double timeout) {
  std::vector<const PyAnswer*> open;
  for (const PyAnswer& one : answers) {
    if (!one.answer->is_there()) open.push_back(&one);
  }
  const std::size_t enough = answers.size() - std::min(count, answers.size());  // that may be open still
  if (open.size() <= enough) return;
  take(open.front()->actor->check_process());
  for (const PyAnswer* one : open) one->actor->flush();
  Session& session = *open.front()->session;
  wait_for(session, timeout, [&](TimePoint until) {
    return unlocked([&] {
      return session.engine().wait(
          until, [] {},
          [&] {
            std::erase_if(open, [](const PyAnswer* one) { return one->answer->is_there(); });
            return open.size() <= enough;
          });
    });
  });
}

void add_client(py::module_& module) {
  py::class_<Session, SharedSession>(module, "Session")
      .def(py::init([](const std::string& url, double wait, std::optional<bool> output, const py::function& write) {
        Session::Options options;
        options.wait = wait_of(wait);
        options.shows_output = output;
        options.naming = "cadre.connect(\"host:port\") or CADRE_MASTER";
        options.sink = sink_of(write);
        auto session = unlocked([&] { return Session::open(url, std::move(options)); });
        return shared(take(std::move(session)));
      }))
      .def("is_at", &Session::is_at)
      .def_property_readonly("master", &Session::master)
      .def_property_readonly("id", &Session::id)
      .def("create", &create)
      .def("close", [](Session& session) { unlocked([&] { session.close(); }); })
      .def("upload", [](Session& session, const std::string& folder, double timeout) {
        return take(unlocked([&] { return session.upload(folder, session.engine().loop().now() + wait_of(timeout)); }));
      });
  py::class_<PyActor>(module, "Actor")
      .def("call", &PyActor::call)
      .def("ask", &ask)
      .def("created",
           [](const PyActor& self, double timeout) {
             std::shared_ptr<Answer> made;
             wait_for(*self.session, timeout, [&](TimePoint until) {
               auto answer = unlocked([&] { return self.actor->created(until); });
               if (!answer && answer.error().code == Errc::timed_out) return false;
               made = take(std::move(answer));
               return true;
             });
             return content_of(made->get());
           })
      .def("cancel",
           [](const PyActor& self, const PyAnswer& one) { unlocked([&] { self.actor->cancel(*one.answer); }); })
      .def("end", [](const PyActor& self) { unlocked([&] { self.actor->end(); }); })
      .def_property_readonly("job", [](const PyActor& self) { return self.actor->job().value; })
      .def_property_readonly("restarts", [](const PyActor& self) { return self.actor->restarts(); })
      .def_property_readonly("is_over", [](const PyActor& self) { return self.actor->is_over(); });
  py::class_<PyAnswer>(module, "Answer")
      .def("get", &PyAnswer::get)
      .def_property_readonly("is_there", [](const PyAnswer& self) { return self.answer->is_there(); })
      .def("then", [](const PyAnswer& self, const py::function& call) {
        unlocked([&, kept = held(call)] {
          self.answer->then(
              [kept] { call_back(kept, "a callback of cadre.Future.then", [] { return PyTuple_New(0); }); });
        });
      });
}

void add_host(py::module_& module) {
  module.def("wait_for_count", &wait_for_count);
  py::class_<ActorHost::Wanted>(module, "Wanted");
  py::class_<ActorHost>(module, "Host")
      .def(py::init([] {
        const ActorHost::Options options = take(ActorHost::options_from_environment());
        return take(unlocked([&] { return ActorHost::open(options); }));
      }))
      .def_property_readonly("shows_output", &ActorHost::shows_output)
      .def("show",
           [](ActorHost& host, bool is_error, const std::string& lines) {
             const auto stream = is_error ? client::Printer::Stream::err : client::Printer::Stream::out;
             unlocked([&] { host.show(stream, lines); });
           })
      .def("announce", [](ActorHost& host) { take(unlocked([&] { return host.announce(); })); })
      .def("next",
           [](ActorHost& host) -> py::object {
             std::optional<ActorHost::Wanted> wanted = unlocked([&] { return host.next(); });
             if (!wanted) return py::none();
             const Heard heard = std::move(wanted->heard);
             return py::make_tuple(py::cast(*std::move(wanted)), static_cast<int>(heard.verb), heard.name,
                                   object_of(heard.body), objects_of(heard.parts));
           })
      .def("answer", [](ActorHost& host, const ActorHost::Wanted& wanted, int verb, std::string_view name,
                        const py::bytes& body, const py::list& parts) {
        const Views views(parts);
        const BytesView bytes = view_of(body);
        unlocked([&] { host.answer(wanted, static_cast<Verb>(verb), name, bytes, views.all()); });
      });
}

}  // namespace

void add_remote(py::module_& module) {
  py::class_<Block>(module, "Block", py::buffer_protocol()).def_buffer([](Block& block) {
    return py::buffer_info(reinterpret_cast<std::uint8_t*>(block.slice.data),
                           static_cast<py::ssize_t>(block.slice.size), false);
  });
  py::dict verbs;
  verbs["create"] = static_cast<int>(Verb::create);
  verbs["call"] = static_cast<int>(Verb::call);
  verbs["get"] = static_cast<int>(Verb::get);
  verbs["set"] = static_cast<int>(Verb::set);
  verbs["value"] = static_cast<int>(Verb::value);
  verbs["error"] = static_cast<int>(Verb::error);
  verbs["cancelled"] = static_cast<int>(Verb::cancelled);
  module.attr("verbs") = verbs;
  module.def("wait_until_begun", [] { return unlocked([] { return core::wait_until_begun(); }); });
  add_client(module);
  add_host(module);
}

}  // namespace cadre::python
