#include "agent/process/warm_processes.h"

#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"

namespace cadre::agent {
namespace {

namespace host = cluster::host;
namespace supervision = cluster::supervision;
using cluster::LeaseId;

constexpr Duration warm_look_every = std::chrono::milliseconds(2);
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

WarmProcesses::WarmProcesses(Dependencies deps, const Rules& rules, supervision::CgroupParent cgroup)
    : deps_(std::move(deps)),
      stock_(rules.processes),
      templates_(rules.templates),
      cgroup_(std::move(cgroup)),
      epoch_{static_cast<std::uint64_t>(deps_.loop.now().time_since_epoch().count())} {}

// No job has the number 0.
LeaseId WarmProcesses::home_of(std::uint64_t number) const {
  return {{cluster::JobId{0}, static_cast<std::uint32_t>(number)}, epoch_};
}

supervision::Launch WarmProcesses::launch_of(std::uint64_t number, const host::WarmKind& kind) const {
  supervision::Launch launch;
  launch.protocols = protocol::own();
  launch.lease = home_of(number);
  launch.waited_as = launch.lease;
  launch.command = kind.command;
  launch.limits.spool = spool_max;
  launch.limits.spool_full = cluster::SpoolFull::drop_oldest;
  launch.policy.isolation = kind.isolation;
  launch.variables = deps_.variables;
  launch.variables["CADRE_WARM"] = "1";
  launch.is_template = host::Templates::is_template(number);
  launch.cgroup = cgroup_;
  launch.abandon_after = Duration{0};
  return launch;
}

std::optional<WarmProcesses::Taken> WarmProcesses::take(const cluster::messages::Start& start,
                                                        std::vector<std::string> hidden) {
  const std::optional<host::WarmKind> kind = host::warm_kind_of(start, std::move(hidden));
  if (!kind) return std::nullopt;
  const std::optional<std::uint64_t> number = stock_.take(*kind, deps_.loop.now());
  if (!number) return std::nullopt;
  Taken taken{home_of(*number), std::move(ones_.at(*number).link)};
  ones_.erase(*number);
  tick_soon();
  return taken;
}

void WarmProcesses::tick_soon() {
  soon_ = deps_.loop.after(Duration{0}, [this] { tick(); });
}

loop::Task<std::string> WarmProcesses::template_for(std::optional<host::WarmKind> kind, std::function<bool()> goes_on) {
  using Way = host::Templates::Source::Way;
  if (!kind) co_return "";
  host::Templates::Source source = templates_.source_of(*kind, deps_.loop.now());
  if (source.way == Way::wait) tick_soon();
  while (source.way == Way::wait && goes_on()) {
    co_await loop::sleep(deps_.loop, warm_look_every);
    source = templates_.source_of(*kind, deps_.loop.now());
  }
  co_return source.way == Way::fork ? deps_.folders.at(home_of(source.number)).path() : "";
}

void WarmProcesses::not_forked(const supervision::NotForked& said) {
  for (const auto& [number, one] : ones_) {
    if (deps_.folders.at(home_of(number)).path() != said.from) continue;
    if (!templates_.is_unfit(number, deps_.loop.now())) return;
    deps_.log.warning("processes of " + one.name + " are started, not forked, for now: " + said.why);
    return tick_soon();
  }
}

void WarmProcesses::tick() {
  const TimePoint now = deps_.loop.now();
  for (const host::WarmStock::Effect& effect : templates_.tick(now)) perform(effect);
  stock_.templates_use(templates_.memory());
  for (const host::WarmStock::Effect& effect : stock_.tick(deps_.others(), now)) perform(effect);
}

void WarmProcesses::perform(const host::WarmStock::Effect& effect) {
  std::visit(overloaded{
                 [&](const host::WarmStock::Start& one) { deps_.loop.spawn(start(one.number, one.kind)); },
                 [&](const host::WarmStock::LetGo& one) { let_go(one.number); },
             },
             effect);
}

void WarmProcesses::end_all() {
  templates_.close();
  stock_.close();
  tick();
}

loop::Task<void> WarmProcesses::start(std::uint64_t number, host::WarmKind kind) {
  ones_[number].name = "'" + words_of(kind.command.argv) + "' of " + kind.owner;
  supervision::Launch launch = launch_of(number, kind);  // named: g++ 12 destroys such a temporary twice
  Result<supervision::Confinement> confinement = deps_.confine(kind);
  if (!confinement) {
    ones_.at(number).ending = confinement.error().message;
    gone(number);
    co_return;
  }
  launch.confinement = *std::move(confinement);
  std::string owner = kind.owner;
  if (!launch.is_template) {
    launch.forked_from = co_await template_for(std::move(kind), [this, number] { return !ones_.at(number).leaves; });
  }
  Result<loop::Descriptor> socket = co_await deps_.start(std::move(launch), std::move(owner));
  if (!socket) {
    ones_.at(number).ending = socket.error().message;
    gone(number);
    co_return;
  }
  One& one = ones_.at(number);
  one.link = std::make_unique<SupervisorLink>(
      deps_.loop, std::move(*socket),
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
  if (const auto* said = std::get_if<supervision::NotForked>(&message)) return not_forked(*said);
  const auto* status = std::get_if<supervision::Status>(&message);
  if (status == nullptr) return;
  stock_.uses(number, status->usage.memory);
  templates_.uses(number, status->usage.memory);
  One& one = ones_.at(number);
  if (status->ready && !std::exchange(one.ready, true)) {
    stock_.is_ready(number);
    templates_.is_ready(number);
    tick_soon();
  }
  if (status->ending) one.ending = words_of(*status->ending);
}

void WarmProcesses::gone(std::uint64_t number) {
  const One& one = ones_.at(number);
  if (stock_.gone(number, deps_.loop.now())) {
    deps_.log.warning("none of " + one.name + " are kept ready until it is started again: they end too soon" +
                      (one.ending.empty() ? "" : " (" + one.ending + ")"));
  }
  if (templates_.gone(number, deps_.loop.now())) {
    deps_.log.warning("the template of " + one.name + " has ended" +
                      (one.ending.empty() ? "" : " (" + one.ending + ")"));
  }
  deps_.loop.spawn(remove(number));
}

loop::Task<void> WarmProcesses::remove(std::uint64_t number) {
  const TaskFolder folder = deps_.folders.at(home_of(number));
  const auto done = co_await deps_.pool.run([&]() -> Result<void> { return deps_.folders.give_back(folder); });
  ones_.erase(number);
  if (!done) deps_.log.warning("cannot remove the folder of a task: " + done.error().message);
}

}  // namespace cadre::agent
