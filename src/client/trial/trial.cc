// The parts of a trial as programs see them.
#include <cadre/trial.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "client/outcomes.h"
#include "client/trial/trial_inside.h"

namespace cadre::core {
namespace {

using client::reason_of;
using detail::TrialInside;

Outcome<void> outcome_of(const Result<void>& result) {
  return result ? Outcome<void>() : Outcome<void>(reason_of(result.error()));
}
template <class T>
Outcome<T> outcome_of(Result<T> result) {
  if (!result) return reason_of(result.error());
  return *std::move(result);
}

static_assert(static_cast<int>(detail::NumberKind::u64) == static_cast<int>(client::NumberKind::u64));
static_assert(static_cast<int>(Reduce::max) == static_cast<int>(client::Reduction::max));

}  // namespace

// Train.

Outcome<void> Train::report_metrics(std::string_view group, std::int64_t steps, const Data& metrics) {
  return outcome_of(inside_->report(group, steps, metrics));
}
Outcome<void> Train::report_training(std::int64_t steps, const Data& metrics) {
  return report_metrics("training", steps, metrics);
}
Outcome<void> Train::report_validation(std::int64_t steps, const Data& metrics) {
  return report_metrics("validation", steps, metrics);
}
Outcome<void> Train::report_progress(double progress) { return outcome_of(inside_->report_progress(progress)); }
Outcome<void> Train::set_status(std::string_view text) { return outcome_of(inside_->set_status(text)); }
Outcome<void> Train::invalid_hyperparameters() { return outcome_of(inside_->declare_invalid()); }
Outcome<void> Train::flush() { return outcome_of(inside_->flush()); }

// Checkpoints.

Outcome<std::string> Checkpoints::upload(const std::string& folder, std::int64_t steps, const Data& metadata,
                                         Shard shard) {
  const Result<std::string> uuid = inside_->new_checkpoint(shard);
  if (!uuid) return reason_of(uuid.error());
  const Outcome<void> done = upload_store({folder, *uuid}, steps, metadata, shard);
  if (!done) return done.reason();
  return *uuid;
}
Outcome<void> Checkpoints::upload_store(const Store& store, std::int64_t steps, const Data& metadata, Shard shard) {
  return outcome_of(inside_->upload(store, steps, metadata, shard));
}
Outcome<void> Checkpoints::download(std::string_view uuid, const std::string& folder) {
  return outcome_of(inside_->download(uuid, folder));
}
Outcome<CheckpointInfo> Checkpoints::find(std::string_view uuid) { return outcome_of(inside_->find(uuid)); }
Outcome<Checkpoints::Store> Checkpoints::open_store(Shard shard) { return outcome_of(inside_->open_store(shard)); }
Outcome<std::string> Checkpoints::open_restore(std::string_view uuid) {
  return outcome_of(inside_->open_restore(uuid));
}
void Checkpoints::release(const std::string& folder) { inside_->release(folder); }

namespace {

/// Releases a folder also when the program throws.
struct Released {
  TrialInside* inside;
  const std::string& folder;
  ~Released() { inside->release(folder); }
};

}  // namespace

Outcome<std::string> Checkpoints::store_path(std::int64_t steps, const Fill& fill, const Data& metadata, Shard shard) {
  const Result<Store> store = inside_->open_store(shard);
  if (!store) return reason_of(store.error());
  const Released released{inside_, store->folder};
  fill(store->folder);
  const Outcome<void> done = upload_store(*store, steps, metadata, shard);
  if (!done) return done.reason();
  return store->uuid;
}

Outcome<void> Checkpoints::restore_path(std::string_view uuid, const Fill& use) {
  const Result<std::string> folder = inside_->open_restore(uuid);
  if (!folder) return reason_of(folder.error());
  const Released released{inside_, *folder};
  use(*folder);
  return {};
}

// Preemption.

bool Preempt::should_stop() {
  const Result<bool> stops = inside_->should_stop();
  return !stops || *stops;
}
Outcome<bool> Preempt::check() { return outcome_of(inside_->should_stop()); }
std::optional<Stop> Preempt::stop() { return inside_->stop(); }
Outcome<void> Preempt::acknowledge() { return outcome_of(inside_->acknowledge()); }

// Search.

std::int64_t Search::until() const { return inside_->until(); }
Outcome<std::optional<std::int64_t>> Search::next() { return outcome_of(inside_->next_until()); }
Outcome<void> Search::report_progress(double length) {
  const std::int64_t until = inside_->until();
  if (until == 0) return {};
  return outcome_of(inside_->report_progress(std::min(1.0, length / static_cast<double>(until))));
}

// The other processes.

std::uint32_t Distributed::rank() const { return inside_->place().rank; }
std::uint32_t Distributed::size() const { return inside_->place().size; }
std::uint32_t Distributed::local_rank() const { return inside_->place().local_rank; }
std::uint32_t Distributed::local_size() const { return inside_->place().local_size; }
std::uint32_t Distributed::node_rank() const { return inside_->place().node_rank; }
std::uint32_t Distributed::nodes() const { return inside_->place().nodes; }
Outcome<std::vector<std::vector<std::byte>>> Distributed::gather(std::span<const std::byte> bytes) {
  return outcome_of(inside_->gather(bytes));
}
Outcome<std::vector<std::vector<std::byte>>> Distributed::allgather(std::span<const std::byte> bytes) {
  return outcome_of(inside_->allgather(bytes));
}
Outcome<std::vector<std::byte>> Distributed::broadcast(std::span<const std::byte> bytes) {
  return outcome_of(inside_->broadcast(bytes));
}
Outcome<void> Distributed::barrier() {
  const Result<std::vector<Bytes>> all = inside_->allgather({});
  return all ? Outcome<void>() : Outcome<void>(reason_of(all.error()));
}
Outcome<void> Distributed::allreduce(std::span<std::byte> numbers, detail::NumberKind kind, Reduce how) {
  return outcome_of(
      inside_->allreduce(numbers, static_cast<client::NumberKind>(kind), static_cast<client::Reduction>(how)));
}

Outcome<void> Profiler::on(Wait interval) { return outcome_of(inside_->profile(interval)); }
void Profiler::off() { inside_->end_profile(); }

// The whole.

Trial::Trial(std::unique_ptr<TrialInside> inside) : inside_(std::move(inside)) {
  train.inside_ = inside_.get();
  checkpoint.inside_ = inside_.get();
  preempt.inside_ = inside_.get();
  search.inside_ = inside_.get();
  distributed.inside_ = inside_.get();
  profiler.inside_ = inside_.get();
}

Trial::Trial(Trial&&) noexcept = default;

Trial& Trial::operator=(Trial&& other) noexcept {
  std::swap(inside_, other.inside_);
  std::swap(train, other.train);
  std::swap(checkpoint, other.checkpoint);
  std::swap(preempt, other.preempt);
  std::swap(search, other.search);
  std::swap(distributed, other.distributed);
  std::swap(profiler, other.profiler);
  return *this;
}

Trial::~Trial() {
  if (inside_ == nullptr) return;
  if (!inside_->is_own()) {
    TrialInside::forget(std::move(inside_));
    return;
  }
  const Outcome<void> closed = close();
  if (!closed) std::fprintf(stderr, "cadre: at the end of the trial: %s\n", closed.reason().text.c_str());
}

const Info& Trial::info() const { return inside_->info(); }

Outcome<void> Trial::close(Wait most) {
  if (inside_->is_own() && inside_->is_closed()) return {};
  return outcome_of(inside_->close(most));
}

Outcome<Trial> init(const InitOptions& options) {
  Result<std::unique_ptr<TrialInside>> inside = TrialInside::open(options);
  if (!inside) return reason_of(inside.error());
  return Trial(*std::move(inside));
}

}  // namespace cadre::core
