#include "cluster/host/warm.h"

#include <algorithm>
#include <utility>

namespace cadre::cluster::host {

std::optional<WarmKind> warm_kind_of(const messages::Start& start, std::vector<std::string> hidden) {
  if (!start.command.warm) return std::nullopt;
  WarmKind kind{start.owner,      start.rights, start.command, start.policy.isolation, start.policy.run_as_root,
                std::move(hidden)};
  std::erase_if(kind.command.variables, [](const auto& one) { return one.first.starts_with("CADRE_"); });
  return kind;
}

std::string warm_runtime_of(const WarmKind& kind) {
  const std::string program = kind.command.argv.empty() ? "" : kind.command.argv.front();
  const bool is_of_the_host = program.starts_with('/');  // else it came with the code
  return kind.owner + '\n' + program + '\n' + (is_of_the_host ? "" : kind.command.code);
}

std::optional<std::uint64_t> WarmStock::take(const WarmKind& kind, TimePoint now) {
  if (rules_.each_max == 0) return std::nullopt;
  Kind& found = use(kind, now);
  found.failures = 0;
  found.not_before = now;
  const auto ready =
      std::find_if(found.ones.begin(), found.ones.end(), [](const auto& one) { return one.second.ready; });
  if (ready == found.ones.end()) return std::nullopt;
  const std::uint64_t number = ready->first;
  found.ones.erase(ready);
  return number;
}

WarmStock::Kind& WarmStock::use(const WarmKind& kind, TimePoint now) {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& one) { return one.kind == kind; });
  if (found != kinds_.end()) {
    kinds_.splice(kinds_.begin(), kinds_, found);
  } else {
    if (kinds_.size() == rules_.kinds_max) forget_last();
    kinds_.emplace_front().kind = kind;
    kinds_.front().runtime = warm_runtime_of(kind);
  }
  kinds_.front().used = now;
  return kinds_.front();
}

void WarmStock::let_go(Kind& kind, std::uint64_t number) {
  kind.ones.erase(number);
  leaving_.insert(number);
  effects_.emplace_back(LetGo{number});
}

void WarmStock::forget_last() {
  Kind& last = kinds_.back();
  while (!last.ones.empty()) let_go(last, last.ones.begin()->first);
  kinds_.pop_back();
}

WarmStock::Kind* WarmStock::kind_with(std::uint64_t number) {
  const auto found =
      std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& one) { return one.ones.contains(number); });
  return found == kinds_.end() ? nullptr : &*found;
}

void WarmStock::is_ready(std::uint64_t number) {
  if (Kind* kind = kind_with(number)) kind->ones.at(number).ready = true;
}

void WarmStock::uses(std::uint64_t number, ByteSize memory) {
  Kind* kind = kind_with(number);
  if (kind == nullptr) return;
  kind->ones.at(number).memory = memory;
  kind->memory_each = std::max(kind->memory_each, memory);
}

bool WarmStock::gone(std::uint64_t number, TimePoint now) {
  if (leaving_.erase(number) > 0) {
    std::erase_if(effects_, [&](const Effect& one) {
      const auto* let_go = std::get_if<LetGo>(&one);
      return let_go != nullptr && let_go->number == number;
    });
  }
  Kind* kind = kind_with(number);
  if (kind == nullptr) return false;
  kind->ones.erase(number);
  fail(*kind, now);
  return kind->failures == rules_.failures_max;
}

void WarmStock::fail(Kind& kind, TimePoint now) {
  const Duration pause = rules_.pause_first * (std::int64_t{1} << std::min(kind.failures, 20));
  kind.not_before = now + std::min(pause, rules_.pause_max);
  ++kind.failures;
}

std::vector<WarmStock::Effect> WarmStock::tick(std::size_t others, TimePoint now) {
  while (!kinds_.empty() && now - kinds_.back().used >= rules_.idle_max) forget_last();
  look_at_late(now);
  keep_within_memory();
  refill(others, now);
  return std::exchange(effects_, {});
}

void WarmStock::look_at_late(TimePoint now) {
  for (Kind& kind : kinds_) {
    for (auto next = kind.ones.begin(); next != kind.ones.end();) {
      const auto& [number, one] = *next++;
      if (one.ready || now - one.since < rules_.ready_max) continue;
      let_go(kind, number);
      fail(kind, now);
    }
  }
}

void WarmStock::keep_within_memory() {
  for (auto kind = kinds_.rbegin(); kind != kinds_.rend(); ++kind) {
    while (!kind->ones.empty() && memory() > rules_.memory_max) let_go(*kind, kind->ones.rbegin()->first);
  }
}

void WarmStock::refill(std::size_t others, TimePoint now) {
  for (Kind& kind : kinds_) {
    while (wants(kind, now)) {
      if (starting() + others >= rules_.starting_max) return;
      if (of_runtime(kind.runtime) >= rules_.each_max) make_room_in_runtime(kind);
      if (!has_room_for(kind)) return make_room_for(kind);  // there may be room at the next tick
      kind.ones[++last_] = {false, now, kind.memory_each};
      effects_.emplace_back(Start{last_, kind.kind});
    }
  }
}

bool WarmStock::wants(const Kind& kind, TimePoint now) const {
  if (up_to(kind) >= rules_.each_max || is_given_up(kind) || now < kind.not_before) return false;
  // One that would not fit into an empty stock must not drive out the others.
  const ByteSize memory = used_by_templates_ + memory_of(kind);
  return memory + kind.memory_each <= rules_.memory_max && memory < rules_.memory_max;
}

bool WarmStock::has_room_for(const Kind& kind) const {
  return count() < rules_.all_max && memory() + kind.memory_each <= rules_.memory_max && memory() < rules_.memory_max;
}

std::size_t WarmStock::up_to(const Kind& kind) const {
  std::size_t sum = 0;
  for (const Kind& one : kinds_) {
    if (one.runtime == kind.runtime) sum += one.ones.size();
    if (&one == &kind) break;
  }
  return sum;
}

std::size_t WarmStock::of_runtime(const std::string& runtime) const {
  std::size_t sum = 0;
  for (const Kind& one : kinds_) sum += one.runtime == runtime ? one.ones.size() : 0;
  return sum;
}

void WarmStock::make_room_in_runtime(const Kind& kind) {
  for (auto other = kinds_.rbegin(); other != kinds_.rend() && &*other != &kind; ++other) {
    if (other->runtime == kind.runtime && !other->ones.empty()) return let_go(*other, other->ones.rbegin()->first);
  }
}

void WarmStock::make_room_for(const Kind& kind) {
  for (auto other = kinds_.rbegin(); other != kinds_.rend() && &*other != &kind; ++other) {
    if (!other->ones.empty()) return let_go(*other, other->ones.rbegin()->first);
  }
}

void WarmStock::close() {
  while (!kinds_.empty()) forget_last();
  rules_.each_max = 0;
}

ByteSize WarmStock::memory_of(const Kind& kind) {
  ByteSize sum{0};
  for (const auto& [number, one] : kind.ones) sum += one.memory;
  return sum;
}

ByteSize WarmStock::memory() const {
  ByteSize sum = used_by_templates_;
  for (const Kind& kind : kinds_) sum += memory_of(kind);
  return sum;
}

std::size_t WarmStock::starting() const {
  std::size_t sum = 0;
  for (const Kind& kind : kinds_) {
    sum += std::count_if(kind.ones.begin(), kind.ones.end(), [](const auto& one) { return !one.second.ready; });
  }
  return sum;
}

std::size_t WarmStock::count() const {
  std::size_t sum = leaving_.size();
  for (const Kind& kind : kinds_) sum += kind.ones.size();
  return sum;
}

}  // namespace cadre::cluster::host
