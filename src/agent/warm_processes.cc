#include "agent/warm_processes.h"

#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"

namespace cadre::agent {
namespace {

namespace host = cluster::host;
namespace supervision = cluster::supervision;
using cluster::LeaseId;

constexpr ByteSize spool_max{std::int64_t{1} << 20};

std::string words_of(const std::vector<std::string>& argv) {
  std::string words;
  for (const std::string& word : argv) words += (words.empty() ? "" : " ") + word;
  return words;
}

std::string words_of(const cluster::TaskEnding& ending) {
  std::string words = std::string(describe::name_of(ending.reason)) + " " + std::to_string(ending.code);
  return ending.detail.empty() ? words : words + ", " + ending.detail;
}

}  // namespace

WarmProcesses::WarmProcesses(Ground ground, const host::WarmRules& rules, supervision::CgroupParent cgroup)
    : ground_(std::move(ground)),
      stock_(rules),
      cgroup_(std::move(cgroup)),
      epoch_{static_cast<std::uint64_t>(ground_.loop.now().time_since_epoch().count())} {}

// No job has the number 0.
LeaseId WarmProcesses::home_of(std::uint64_t number) const {
  return {{cluster::JobId{0}, static_cast<std::uint32_t>(number)}, epoch_};
}

supervision::Launch WarmProcesses::launch_of(std::uint64_t number, const host::WarmKind& kind) const {
  supervision::Launch launch;
  launch.lease = home_of(number);
  launch.waited_as = launch.lease;
  launch.command = kind.command;
  launch.limits.spool = spool_max;
  launch.limits.spool_full = cluster::SpoolFull::drop_oldest;
  launch.manners.isolation = kind.isolation;
  launch.variables = {{"CADRE_WARM", "1"}};
  launch.cgroup = cgroup_;
  launch.abandon_after = Duration{0};
  return launch;
}

std::optional<WarmProcesses::Taken> WarmProcesses::take(const cluster::messages::Start& start) {
  const std::optional<host::WarmKind> kind = host::warm_kind_of(start);
  if (!kind) return std::nullopt;
  const std::optional<std::uint64_t> number = stock_.take(*kind, ground_.loop.now());
  if (!number) return std::nullopt;
  Taken taken{home_of(*number), std::move(ones_.at(*number).link)};
  ones_.erase(*number);
  tick_soon();
  return taken;
}

void WarmProcesses::tick_soon() {
  soon_ = ground_.loop.after(Duration{0}, [this] { tick(); });
}

void WarmProcesses::tick() {
  for (const host::WarmStock::Effect& effect : stock_.tick(ground_.others(), ground_.loop.now())) {
    std::visit(overloaded{
                   [&](const host::WarmStock::Start& one) { ground_.loop.spawn(start(one.number, one.kind)); },
                   [&](const host::WarmStock::LetGo& one) { let_go(one.number); },
               },
               effect);
  }
}

void WarmProcesses::end_all() {
  stock_.close();
  tick();
}

loop::Task<void> WarmProcesses::start(std::uint64_t number, host::WarmKind kind) {
  ones_[number].name = "'" + words_of(kind.command.argv) + "' of " + kind.owner;
  supervision::Launch launch = launch_of(number, kind);  // named: g++ 12 destroys such a temporary twice
  Result<supervision::Confinement> confinement = ground_.confine(kind);
  if (!confinement) {
    ones_.at(number).ending = confinement.error().message;
    gone(number);
    co_return;
  }
  launch.confinement = *std::move(confinement);
  std::string owner = kind.owner;
  Result<loop::Descriptor> socket = co_await ground_.start(std::move(launch), std::move(owner));
  if (!socket) {
    ones_.at(number).ending = socket.error().message;
    gone(number);
    co_return;
  }
  One& one = ones_.at(number);
  one.link = std::make_unique<SupervisorLink>(
      ground_.loop, std::move(*socket),
      SupervisorLink::Handler{
          [this, number](const supervision::FromSupervisor& message) { heard(number, message); },
          [this, number] { gone(number); },
      });
  if (one.leaves) let_go(number);
}

void WarmProcesses::let_go(std::uint64_t number) {
  One& one = ones_.at(number);
  one.leaves = true;
  if (one.link) one.link->send(supervision::Stop{cluster::lease::Reason::killed_by_user, Duration{0}});
}

void WarmProcesses::heard(std::uint64_t number, const supervision::FromSupervisor& message) {
  const auto* status = std::get_if<supervision::Status>(&message);
  if (status == nullptr) return;
  stock_.uses(number, status->usage.memory);
  One& one = ones_.at(number);
  if (status->ready && !std::exchange(one.ready, true)) {
    stock_.is_ready(number);
    tick_soon();
  }
  if (status->ending) one.ending = words_of(*status->ending);
}

void WarmProcesses::gone(std::uint64_t number) {
  const One& one = ones_.at(number);
  if (stock_.gone(number, ground_.loop.now())) {
    ground_.log.warning("none of " + one.name + " are kept ready until it is started again: they end too soon" +
                        (one.ending.empty() ? "" : " (" + one.ending + ")"));
  }
  ground_.loop.spawn(remove(number));
}

loop::Task<void> WarmProcesses::remove(std::uint64_t number) {
  const TaskFolder folder = ground_.folders.at(home_of(number));
  const auto done = co_await ground_.pool.run([&]() -> Result<void> { return ground_.folders.give_back(folder); });
  ones_.erase(number);
  if (!done) ground_.log.warning("a folder of a task stays: " + done.error().message);
}

}  // namespace cadre::agent
