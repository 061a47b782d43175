// Every call lets other Python threads run while it waits.
#include "native/trial.h"

#include <cadre/trial.h>
#include <pybind11/stl.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "native/outcomes.h"
#include "native/values.h"

namespace cadre::python {
namespace {

namespace py = pybind11;
using core::CheckpointInfo;
using core::Data;
using core::Info;
using core::InitOptions;
using core::Shard;
using core::Trial;

/// Ends without the lock: what is on its way is waited for.
struct EndTrial {
  void operator()(Trial* trial) const {
    const Unlocked ending;
    delete trial;
  }
};

Data data_of(const py::handle& value, const char* name) { return Data::from_bytes(pack(value, name, 0)); }
py::object object_of(const Data& data) {
  const auto bytes = std::make_shared<const std::vector<std::byte>>(data.bytes().begin(), data.bytes().end());
  return unpack(*bytes, bytes);
}

std::span<const std::byte> span_of(const py::bytes& bytes) {
  const std::string_view text(bytes);
  return std::as_bytes(std::span(text));
}
py::bytes bytes_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
py::list list_of(const std::vector<std::vector<std::byte>>& all) {
  py::list list;
  for (const auto& one : all) list.append(bytes_of(one));
  return list;
}

/// The outcome with what `shape` makes of its value.
template <class T, class Shape>
py::tuple shaped(const Outcome<T>& outcome, const Shape& shape) {
  if (!outcome) return py::make_tuple(false, reason_of(outcome.reason()));
  return py::make_tuple(true, shape(outcome.value()));
}

py::dict facts_of(const CheckpointInfo& checkpoint) {
  py::dict facts;
  facts["uuid"] = checkpoint.uuid;
  facts["steps"] = checkpoint.steps;
  facts["run"] = checkpoint.run;
  facts["metadata"] = object_of(checkpoint.metadata);
  facts["size_bytes"] = checkpoint.size_bytes;
  return facts;
}

py::dict facts_of(const Info& info) {
  py::dict facts;
  facts["trial"] = info.trial;
  facts["experiment"] = info.experiment;
  facts["run"] = info.run;
  facts["hyperparameters"] = object_of(info.hyperparameters);
  facts["seed"] = info.seed;
  facts["latest_checkpoint"] = info.latest_checkpoint ? py::object(facts_of(*info.latest_checkpoint)) : py::none();
  facts["slots"] = py::tuple(py::cast(info.slots));
  facts["data"] = object_of(info.data);
  facts["config"] = object_of(info.config);
  facts["until"] = info.until;
  facts["metric"] = info.metric;
  facts["smaller_is_better"] = info.smaller_is_better;
  facts["on_cluster"] = info.on_cluster;
  facts["folder"] = info.folder;
  return facts;
}

InitOptions options_of(const py::dict& from) {
  InitOptions to;
  to.hyperparameters = data_of(from["hyperparameters"], "hyperparameters");
  to.hyperparameters_file = from["hyperparameters_file"].cast<std::string>();
  to.arguments = from["arguments"].cast<std::vector<std::string>>();
  to.seed = from["seed"].cast<std::optional<std::uint32_t>>();
  to.until = from["until"].cast<std::int64_t>();
  to.folder = from["folder"].cast<std::string>();
  to.resume = from["resume"].cast<bool>();
  to.show_progress = from["show_progress"].cast<bool>();
  to.metric = from["metric"].cast<std::string>();
  to.join_wait = wait_of(from["join_timeout"].cast<double>());
  return to;
}

py::tuple init(const py::dict& options) {
  const InitOptions wanted = options_of(options);
  Outcome<Trial> trial = unlocked([&] { return core::init(wanted); });
  if (!trial) return py::make_tuple(false, reason_of(trial.reason()));
  std::unique_ptr<Trial, EndTrial> owned(new Trial(std::move(trial).value()));
  return py::make_tuple(true, py::cast(std::move(owned)));
}

py::object stop_of(Trial& trial) {
  const std::optional<core::Stop> stop = unlocked([&] { return trial.preempt.stop(); });
  if (!stop) return py::none();
  return py::make_tuple(stop->why, std::chrono::duration<double>(stop->grace_left).count());
}

Shard shard_of(bool shard) { return shard ? Shard::yes : Shard::no; }

py::tuple allreduce(Trial& trial, const py::buffer& buffer, int kind, int how) {
  const py::buffer_info info = buffer.request(true);
  const std::span<std::byte> numbers(static_cast<std::byte*>(info.ptr),
                                     static_cast<std::size_t>(info.size * info.itemsize));
  return outcome_of(unlocked([&] {
    return trial.distributed.allreduce(numbers, static_cast<core::detail::NumberKind>(kind),
                                       static_cast<core::Reduce>(how));
  }));
}

using TrialClass = py::class_<Trial, std::unique_ptr<Trial, EndTrial>>;

void add_reports(TrialClass& trial) {
  trial
      .def("report",
           [](Trial& t, const std::string& group, std::int64_t steps, const py::object& metrics) {
             const Data data = data_of(metrics, "metrics");
             return outcome_of(unlocked([&] { return t.train.report_metrics(group, steps, data); }));
           })
      .def("report_progress",
           [](Trial& t, double progress) {
             return outcome_of(unlocked([&] { return t.train.report_progress(progress); }));
           })
      .def("set_status",
           [](Trial& t, const std::string& text) {
             return outcome_of(unlocked([&] { return t.train.set_status(text); }));
           })
      .def("invalid_hyperparameters",
           [](Trial& t) { return outcome_of(unlocked([&] { return t.train.invalid_hyperparameters(); })); })
      .def("flush", [](Trial& t) { return outcome_of(unlocked([&] { return t.train.flush(); })); })
      .def("profile",
           [](Trial& t, double interval) {
             return outcome_of(unlocked([&] { return t.profiler.on(wait_of(interval)); }));
           })
      .def("end_profile", [](Trial& t) { unlocked([&] { t.profiler.off(); }); });
}

void add_checkpoints(TrialClass& trial) {
  trial
      .def("upload",
           [](Trial& t, const std::string& folder, std::int64_t steps, const py::object& metadata, bool shard) {
             const Data data = data_of(metadata, "metadata");
             return outcome_of(unlocked([&] { return t.checkpoint.upload(folder, steps, data, shard_of(shard)); }));
           })
      .def("download",
           [](Trial& t, const std::string& uuid, const std::string& folder) {
             return outcome_of(unlocked([&] { return t.checkpoint.download(uuid, folder); }));
           })
      .def("find_checkpoint",
           [](Trial& t, const std::string& uuid) {
             return shaped(unlocked([&] { return t.checkpoint.find(uuid); }),
                           [](const CheckpointInfo& found) { return facts_of(found); });
           })
      .def("open_store",
           [](Trial& t, bool shard) {
             return shaped(unlocked([&] { return t.checkpoint.open_store(shard_of(shard)); }),
                           [](const auto& store) { return py::make_tuple(store.folder, store.uuid); });
           })
      .def("upload_store",
           [](Trial& t, const std::string& folder, const std::string& uuid, std::int64_t steps,
              const py::object& metadata, bool shard) {
             const Data data = data_of(metadata, "metadata");
             return outcome_of(unlocked([&] {
               return t.checkpoint.upload_store({folder, uuid}, steps, data, shard_of(shard));
             }));
           })
      .def("open_restore",
           [](Trial& t, const std::string& uuid) {
             return outcome_of(unlocked([&] { return t.checkpoint.open_restore(uuid); }));
           })
      .def("release", [](Trial& t, const std::string& folder) { unlocked([&] { t.checkpoint.release(folder); }); });
}

void add_others(TrialClass& trial) {
  trial
      .def("place",
           [](const Trial& t) {
             const core::Distributed& d = t.distributed;
             return py::make_tuple(d.rank(), d.size(), d.local_rank(), d.local_size(), d.node_rank(), d.nodes());
           })
      .def("gather",
           [](Trial& t, const py::bytes& bytes) {
             const auto own = span_of(bytes);
             return shaped(unlocked([&] { return t.distributed.gather(own); }), list_of);
           })
      .def("allgather",
           [](Trial& t, const py::bytes& bytes) {
             const auto own = span_of(bytes);
             return shaped(unlocked([&] { return t.distributed.allgather(own); }), list_of);
           })
      .def("broadcast",
           [](Trial& t, const py::bytes& bytes) {
             const auto own = span_of(bytes);
             return shaped(unlocked([&] { return t.distributed.broadcast(own); }), bytes_of);
           })
      .def("barrier", [](Trial& t) { return outcome_of(unlocked([&] { return t.distributed.barrier(); })); })
      .def("allreduce", &allreduce);
}

}  // namespace

void add_trial(py::module_& module) {
  TrialClass trial(module, "Trial");
  trial.def_property_readonly("info", [](const Trial& t) { return facts_of(t.info()); })
      .def("should_stop", [](Trial& t) { return outcome_of(unlocked([&] { return t.preempt.check(); })); })
      .def("stop", &stop_of)
      .def("acknowledge", [](Trial& t) { return outcome_of(unlocked([&] { return t.preempt.acknowledge(); })); })
      .def_property_readonly("until", [](const Trial& t) { return t.search.until(); })
      .def("next_until", [](Trial& t) { return outcome_of(unlocked([&] { return t.search.next(); })); })
      .def("close", [](Trial& t, double wait) { return outcome_of(unlocked([&] { return t.close(wait_of(wait)); })); });
  add_reports(trial);
  add_checkpoints(trial);
  add_others(trial);
  module.def("init_trial", &init);
}

}  // namespace cadre::python
