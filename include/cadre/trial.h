/// The interface of a program to its trial: hyperparameters, metrics, checkpoints, preemption, and the other processes
/// of a distributed trial. Off the cluster the same program runs by itself, and a folder keeps metrics and checkpoints.
///
///   cadre::core::Trial trial = cadre::core::init({.hyperparameters = {{"lr", 0.1}}}).value();
///   const double lr = trial.info().hyperparameters.get<double>("lr");
///   for (int step = 1; step <= 1000 && !trial.preempt.should_stop(); ++step) {
///     trial.train.report_training(step, {{"loss", train(lr)}}).value();
///   }
///   trial.checkpoint.store_path(1000, [](const std::string& folder) { save(folder + "/model"); }).value();
///
/// All functions are thread-safe, but those that all ranks of a distributed trial call together must be called by one
/// thread of each at a time. They belong to the process that called init(), not to its forked children. Reports are
/// sent in the background, in order; an error in one is the error of a later call. Link with -lcadre.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cadre/core.h"
#include "cadre/outcome.h"
#include "cadre/value.h"

namespace cadre::core {

/// A tree of plain data: hyperparameters, metrics, metadata. It is made from numbers, text, vectors, maps and described
/// structs (cadre/value.h), or from a list of names and values: Data{{"loss", 0.5}, {"by_class", {{"cat", 0.1}}}}.
class Data {
 public:
  /// An empty map.
  Data() : Data(std::initializer_list<std::pair<std::string_view, Data>>{}) {}
  Data(std::initializer_list<std::pair<std::string_view, Data>> entries) {
    ValueWriter writer;
    writer.map(entries.size());
    for (const auto& [name, value] : entries) writer.key(name), writer.encoded(value.bytes_);
    bytes_ = writer.take();
  }
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Data>) Data(const T& value) {
    ValueWriter writer;
    write_value(writer, value);
    bytes_ = writer.take();
  }
  Data(const char* text) : Data(std::string(text)) {}
  /// From MessagePack.
  static Data from_bytes(std::vector<std::byte> bytes) {
    Data data;
    data.bytes_ = std::move(bytes);
    return data;
  }

  /// All of it as a value of that type. Throws ValueError with the position if it is another one.
  template <class T>
  T as() const {
    const ValueReader reader(bytes_);
    return read_value<T>(reader.root());
  }
  /// The value at a path, names joined with dots: get<double>("optimizer.lr"). Throws ValueError if there is none.
  template <class T>
  T get(std::string_view path) const {
    const ValueReader reader(bytes_);
    const ValueView found = find(reader.root(), path);
    if (found.is_null()) throw ValueError("there is no value '" + std::string(path) + "'");
    return read_value<T>(found);
  }
  template <class T>
  T get(std::string_view path, T otherwise) const {
    const ValueReader reader(bytes_);
    const ValueView found = find(reader.root(), path);
    return found.is_null() ? otherwise : read_value<T>(found);
  }
  bool has(std::string_view path) const {
    const ValueReader reader(bytes_);
    return !find(reader.root(), path).is_null();
  }
  /// As MessagePack.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static ValueView find(ValueView at, std::string_view path) {
    for (;;) {
      const std::size_t dot = path.find('.');
      at = at.find(path.substr(0, dot));
      if (dot == std::string_view::npos || at.is_null()) return at;
      path.remove_prefix(dot + 1);
    }
  }
  std::vector<std::byte> bytes_;
};

/// A saved state of the trial.
struct CheckpointInfo {
  std::string uuid;
  std::int64_t steps = 0;  ///< steps completed when it was saved
  std::uint64_t run = 0;   ///< run that saved it
  Data metadata;           ///< as given when it was saved
  std::int64_t size_bytes = 0;
};

/// What the program needs to begin.
struct Info {
  std::string trial;       ///< 12.3; empty off the cluster
  std::string experiment;  ///< 12; empty off the cluster
  std::uint64_t run = 1;   ///< number of this start of the trial, from 1
  Data hyperparameters;
  std::uint32_t seed = 0;                           ///< for the program's random numbers
  std::optional<CheckpointInfo> latest_checkpoint;  ///< with which to begin; none: from scratch
  std::vector<std::string> slots;                   ///< of this task
  Data data;                                        ///< `data` of the experiment file
  Data config;                                      ///< the experiment file
  std::int64_t until = 0;                           ///< length up to which to train; 0: until it is stopped
  std::string metric;                               ///< validation metric that is optimized; empty: none
  bool smaller_is_better = true;
  bool on_cluster = false;
  std::string folder;  ///< off the cluster: of metrics and checkpoints
};

struct InitOptions {
  Data hyperparameters;                ///< defaults, for those that the experiment does not have; off the cluster, all
  std::string hyperparameters_file{};  ///< off the cluster: YAML or JSON file with hyperparameters
  /// Off the cluster: words NAME=VALUE set hyperparameters (`optimizer.lr=0.1`); words without a known name are
  /// ignored, with a warning.
  std::vector<std::string> arguments{};
  std::optional<std::uint32_t> seed{};  ///< off the cluster; default: CADRE_TRIAL_SEED, otherwise 0
  std::int64_t until = 0;               ///< off the cluster: length up to which to train; 0: not limited
  std::string folder{};                 ///< off the cluster; default: CADRE_LOCAL_FOLDER, or a new one in ./cadre-runs
  bool resume = false;                  ///< off the cluster: continue the folder, or the newest one in ./cadre-runs
  bool show_progress = true;            ///< off the cluster: on standard error
  Wait join_wait = std::chrono::minutes(10);  ///< for the other processes of a distributed trial
  /// Off the cluster: validation metric that a search would optimize; a validation without a number for it gets a
  /// warning.
  std::string metric{};
};

/// Whether all ranks save parts of one checkpoint.
enum class Shard : bool { no, yes };

/// How allreduce() combines the values of the ranks.
enum class Reduce : std::uint8_t { sum, mean, min, max };

namespace detail {
class TrialInside;

/// Types of the numbers that allreduce() takes.
enum class NumberKind : std::uint8_t { f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

template <class T>
constexpr NumberKind number_kind() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>);
  if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    return sizeof(T) == 4 ? NumberKind::f32 : NumberKind::f64;
  } else {
    constexpr int power = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return static_cast<NumberKind>(static_cast<int>(std::is_signed_v<T> ? NumberKind::i8 : NumberKind::u8) + power);
  }
}
}  // namespace detail

class Train {
 public:
  /// Reports metrics: numbers, text, true, false, and maps of them. The same group and steps again adds to them. Waits
  /// only while too many reports are not sent. Of the groups `training` and `validation` only the reports of rank 0 are
  /// sent.
  Outcome<void> report_metrics(std::string_view group, std::int64_t steps, const Data& metrics);
  Outcome<void> report_training(std::int64_t steps, const Data& metrics);
  /// The metric that the search optimizes must be among them.
  Outcome<void> report_validation(std::int64_t steps, const Data& metrics);
  /// Progress from 0 to 1, for display.
  Outcome<void> report_progress(double progress);
  /// Status text, for display; at most 256 bytes.
  Outcome<void> set_status(std::string_view text);
  /// Says that the hyperparameters cannot be used. End the program then: the trial completes and the search replaces
  /// it.
  Outcome<void> invalid_hyperparameters();
  /// Waits until all reports are stored.
  Outcome<void> flush();

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

class Checkpoints {
 public:
  using Fill = std::function<void(const std::string& folder)>;

  /// Saves the files of a folder as a checkpoint and returns its UUID. It exists when all of it is stored. With
  /// Shard::yes all ranks call this, each with a folder of its own, and get the same UUID; files of one name must be
  /// equal. Otherwise only rank 0 calls it.
  Outcome<std::string> upload(const std::string& folder, std::int64_t steps, const Data& metadata = {},
                              Shard shard = Shard::no);
  /// Brings the files of a checkpoint into a folder.
  Outcome<void> download(std::string_view uuid, const std::string& folder);
  /// Calls `fill` with an empty folder, and uploads what it has written.
  Outcome<std::string> store_path(std::int64_t steps, const Fill& fill, const Data& metadata = {},
                                  Shard shard = Shard::no);
  /// Calls `use` with a folder of the files, which must not be changed and is removed afterwards.
  Outcome<void> restore_path(std::string_view uuid, const Fill& use);
  Outcome<CheckpointInfo> find(std::string_view uuid);

  // The steps of store_path and restore_path, for languages with scopes of their own. In a distributed trial all ranks
  // call those for Shard::yes, and open_restore.
  struct Store {
    std::string folder;
    std::string uuid;  ///< of the checkpoint to be
  };
  /// Makes an empty folder; release it in the end.
  Outcome<Store> open_store(Shard shard = Shard::no);
  /// Saves what the folder contains now.
  Outcome<void> upload_store(const Store& store, std::int64_t steps, const Data& metadata, Shard shard);
  /// Brings the files into a folder, one for all ranks of a host; release it in the end, on all ranks.
  Outcome<std::string> open_restore(std::string_view uuid);
  /// Removes the folder, unless it is the checkpoint itself.
  void release(const std::string& folder);

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

class Preempt {
 public:
  /// Whether to save a checkpoint and end. In a distributed trial all ranks must call it equally often, and get the
  /// same answer; it is true, too, if another rank was lost.
  [[nodiscard]] bool should_stop();
  /// The same with the reason of a failure.
  Outcome<bool> check();
  /// The stop request of this process, or nothing if there is none.
  [[nodiscard]] std::optional<Stop> stop();
  /// Says that everything is saved that is needed to continue, and that the program is about to end. Rank 0 is enough.
  Outcome<void> acknowledge();

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

/// For training loops that follow the search: train up to a length, report a validation, ask for the next length.
class Search {
 public:
  /// The length up to which to train; 0: until it is stopped.
  [[nodiscard]] std::int64_t until() const;
  /// The next length; nothing: this trial is done. The first call returns the present one. Later calls send all reports
  /// and ask the master; in a distributed trial all ranks call it.
  Outcome<std::optional<std::int64_t>> next();
  /// Reports the share of the present length that is done.
  Outcome<void> report_progress(double length);

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

/// The processes of a distributed trial. All of them must make the same calls in the same order; each call returns when
/// all have made it. When a process is lost, calls fail with an error that names it.
class Distributed {
 public:
  std::uint32_t rank() const;
  std::uint32_t size() const;
  std::uint32_t local_rank() const;  ///< among the processes of this host
  std::uint32_t local_size() const;
  std::uint32_t node_rank() const;  ///< index of the host (more precisely, the task)
  std::uint32_t nodes() const;

  /// What each rank gave, on rank 0; empty on the others.
  Outcome<std::vector<std::vector<std::byte>>> gather(std::span<const std::byte> bytes);
  Outcome<std::vector<std::vector<std::byte>>> allgather(std::span<const std::byte> bytes);
  /// What rank 0 gave.
  Outcome<std::vector<std::byte>> broadcast(std::span<const std::byte> bytes);
  Outcome<void> barrier();
  /// Replaces the numbers with those of all ranks combined, one by one. The values are combined in the order of the
  /// ranks: the result is the same on all ranks, and in every run.
  template <class T>
  Outcome<void> allreduce(std::span<T> numbers, Reduce how = Reduce::sum) {
    return allreduce(std::as_writable_bytes(numbers), detail::number_kind<T>(), how);
  }
  Outcome<void> allreduce(std::span<std::byte> numbers, detail::NumberKind kind, Reduce how);

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

/// Samples the use of CPU, memory, disk and GPUs by this process in the background, as metrics of the group `profiler`;
/// their steps are seconds since 1970.
class Profiler {
 public:
  Outcome<void> on(Wait interval = std::chrono::seconds(10));
  void off();

 private:
  friend class detail::TrialInside;
  friend class Trial;
  detail::TrialInside* inside_ = nullptr;
};

class Trial {
 public:
  Trial(Trial&&) noexcept;
  Trial& operator=(Trial&&) noexcept;
  /// Like close(), and prints its error.
  ~Trial();

  const Info& info() const;

  Train train;
  Checkpoints checkpoint;
  Preempt preempt;
  Search search;
  Distributed distributed;
  Profiler profiler;

  /// Waits until all reports are stored, at most so long or as long as a stop request leaves, and ends.
  Outcome<void> close(Wait most = std::chrono::minutes(10));

 private:
  friend Outcome<Trial> init(const InitOptions& options);
  explicit Trial(std::unique_ptr<detail::TrialInside> inside);
  std::unique_ptr<detail::TrialInside> inside_;
};

/// Begins: on a cluster in the trial of this task, elsewhere in a folder. In a distributed trial it waits for the other
/// processes. A process has one trial at a time: `conflict`.
Outcome<Trial> init(const InitOptions& options = {});

}  // namespace cadre::core
