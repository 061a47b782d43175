#include "tests/sim/simulated_runtime.h"

#include <algorithm>
#include <utility>

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
using cluster::lease::Reason;
namespace supervision = cluster::supervision;

constexpr std::size_t record_bytes = logs::header_bytes + 16;  // all lines are as long

class MemoryOutput final : public agent::OutputSource {
 public:
  explicit MemoryOutput(std::shared_ptr<const Bytes> bytes) : bytes_(std::move(bytes)) {}

  Result<logs::Chunk> read(std::int64_t offset, std::size_t bytes_max) override {
    logs::Chunk chunk{offset, 0, {}};
    const auto from = static_cast<std::size_t>(offset);
    if (!bytes_ || from >= bytes_->size()) return chunk;
    const std::size_t most = std::max(bytes_max / record_bytes, std::size_t{1}) * record_bytes;
    const std::size_t size = std::min(bytes_->size() - from, most);
    chunk.bytes.assign(bytes_->begin() + offset, bytes_->begin() + offset + static_cast<std::ptrdiff_t>(size));
    return chunk;
  }
  Result<std::int64_t> begin() const override { return 0; }

 private:
  std::shared_ptr<const Bytes> bytes_;
};

}  // namespace

SimulatedRuntime::SimulatedRuntime(loop::Loop& loop, SimulatedHost& host, Dice dice)
    : loop_(loop), host_(host), dice_(dice) {}

SimulatedRuntime::~SimulatedRuntime() {
  host_.disconnect();
  for (const LeaseId& lease : starting_) {
    if (host_.processes().contains(lease) && dice_.percent(50)) host_.begin(lease);
  }
}

std::vector<cluster::host::Found> SimulatedRuntime::found() const {
  std::vector<cluster::host::Found> found;
  for (const auto& [lease, process] : host_.processes()) {
    found.push_back({lease, process.launch.start.policy.fence, process.ending});
  }
  return found;
}

void SimulatedRuntime::begin(const cluster::host::HostControl& host, Events events) {
  control_ = &host;
  events_ = std::move(events);
  for (const auto& [lease, process] : std::as_const(host_).processes()) {
    if (process.ending) continue;
    if (process.rebooted) {
      events_.ended(lease, {Reason::agent_lost, 0, "its host was rebooted", {}, agent::all_output});
    } else if (!process.was_begun) {
      loop_
          .after(draw_delay(),
                 [this, id = lease] {
                   events_.ended(id, {Reason::agent_lost, 0, "its agent was killed before it began", {}, 0});
                 })
          .detach();
    } else {
      events_.output(lease, 0);
    }
  }
  host_.connect(*this);
}

Duration SimulatedRuntime::draw_delay() {
  return Duration(dice_.between(1'000'000, host_.disk.slowest.count() + 20'000'000));
}

void SimulatedRuntime::start(const cluster::messages::Start& start) { loop_.spawn(launch(start)); }

void SimulatedRuntime::disk_is_full(const LeaseId& lease) {
  full_until_ = loop_.now() + 10s;
  events_.ended(lease, {Reason::agent_lost, 0, "it could not start: the disk is full", {}, 0});
}

/// The same steps, with the same checks between them, as ProcessRuntime has.
loop::Task<void> SimulatedRuntime::launch(cluster::messages::Start start) {
  const LeaseId lease = start.lease;
  const Duration first = draw_delay();
  co_await loop::sleep(loop_, first);
  if (!control_->may_start(lease)) {
    events_.ended(lease, {Reason::signalled, 0, "it was stopped before it began", {}, 0});
    co_return;
  }
  if (host_.disk.full) {
    disk_is_full(lease);
    co_return;
  }
  Launch launch{start, control_->abandon_after(), {}};
  if (start.policy.fence == cluster::Fence::strict) launch.permitted_until = control_->permitted_until();
  host_.write_launch(std::move(launch));
  starting_.insert(lease);
  const Duration second = draw_delay();
  co_await loop::sleep(loop_, second);
  starting_.erase(lease);
  if (host_.disk.full) {
    disk_is_full(lease);
    co_return;
  }
  host_.begin(lease);
  events_.output(lease, 0);
}

void SimulatedRuntime::send(const LeaseId& lease, const supervision::FromAgent& message) { host_.send(lease, message); }

std::unique_ptr<agent::OutputSource> SimulatedRuntime::output(const LeaseId& lease) const {
  const auto found = host_.processes().find(lease);
  return std::make_unique<MemoryOutput>(found == host_.processes().end() ? nullptr : found->second.output);
}

void SimulatedRuntime::keep_endings(const std::vector<LeaseId>& leases) {
  for (const LeaseId& lease : leases) {
    const auto found = host_.processes().find(lease);
    if (found != host_.processes().end()) found->second.is_durable = found->second.ending.has_value();
  }
}

void SimulatedRuntime::remove(const LeaseId& lease) { host_.remove(lease); }

std::string SimulatedRuntime::obstacle() {
  return host_.disk.full || loop_.now() < full_until_ ? "the disk is full" : "";
}

std::string SimulatedRuntime::fault() const {
  for (const auto& [lease, process] : std::as_const(host_).processes()) {
    if (!process.is_alive || control_ == nullptr || !control_->has_ended(lease)) continue;
    return "the agent of " + host_.name() + " counts lease " + to_string(lease) + " as ended while it runs";
  }
  return "";
}

void SimulatedRuntime::hear(const LeaseId& lease, const supervision::FromSupervisor& message) {
  news_.emplace_back(lease, message);
  if (news_.size() == 1) reading_ = loop_.after(Duration(dice_.between(0, 5'000'000)), [this] { pump(); });
}

void SimulatedRuntime::pump() {
  const News news = std::move(news_.front());
  news_.pop_front();
  if (!news_.empty()) reading_ = loop_.after(Duration{0}, [this] { pump(); });
  const auto& [lease, message] = news;
  const auto* status = std::get_if<supervision::Status>(&message);
  if (status != nullptr && !status->ending) events_.output(lease, status->output_end);
  events_.heard(lease, message);
}

}  // namespace cadre::sim
