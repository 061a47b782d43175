#include "cluster/host/templates.h"

#include <algorithm>
#include <utility>

namespace cadre::cluster::host {

bool can_be_forked(const WarmKind& kind) {
  return kind.command.forks && kind.command.mounts.empty() && kind.isolation == Isolation::on && !kind.run_as_root;
}

Templates::Source Templates::source_of(const WarmKind& kind, TimePoint now) {
  if (rules_.all_max == 0 || !can_be_forked(kind)) return {};
  const One& one = use(kind, now);
  if (one.ready) return {Source::Way::fork, one.number};
  if (one.number == 0 && (now < one.not_before || !fits(one))) return {};
  return {Source::Way::wait, 0};
}

Templates::One& Templates::use(const WarmKind& kind, TimePoint now) {
  const auto found = std::find_if(ones_.begin(), ones_.end(), [&](const One& one) { return one.kind == kind; });
  if (found != ones_.end()) {
    ones_.splice(ones_.begin(), ones_, found);
  } else {
    if (ones_.size() == rules_.all_max) forget_last();
    ones_.emplace_front().kind = kind;
  }
  ones_.front().used = now;
  return ones_.front();
}

Templates::One* Templates::with(std::uint64_t number) {
  if (!is_template(number)) return nullptr;
  const auto found = std::find_if(ones_.begin(), ones_.end(), [&](const One& one) { return one.number == number; });
  return found == ones_.end() ? nullptr : &*found;
}

void Templates::let_go(One& one) {
  if (one.number == 0) return;
  effects_.emplace_back(WarmStock::LetGo{one.number});
  leaving_.insert(std::exchange(one.number, 0));
  one.ready = false;
  one.memory = ByteSize{0};
}

void Templates::forget_last() {
  let_go(ones_.back());
  ones_.pop_back();
}

void Templates::is_ready(std::uint64_t number) {
  if (One* one = with(number)) one->ready = true;
}

void Templates::uses(std::uint64_t number, ByteSize memory) {
  One* one = with(number);
  if (one == nullptr) return;
  one->memory = memory;
  one->memory_most = std::max(one->memory_most, memory);
}

bool Templates::is_unfit(std::uint64_t number, TimePoint now) {
  One* one = with(number);
  if (one == nullptr) return false;
  let_go(*one);
  one->not_before = now + rules_.pause;
  return true;
}

bool Templates::gone(std::uint64_t number, TimePoint now) {
  if (leaving_.erase(number) > 0) {
    std::erase_if(effects_, [&](const WarmStock::Effect& effect) {
      const auto* let_go = std::get_if<WarmStock::LetGo>(&effect);
      return let_go != nullptr && let_go->number == number;
    });
  }
  One* one = with(number);
  if (one == nullptr) return false;
  one->number = 0;
  one->ready = false;
  one->memory = ByteSize{0};
  one->not_before = now + rules_.pause;
  return true;
}

std::vector<WarmStock::Effect> Templates::tick(TimePoint now) {
  while (!ones_.empty() && now - ones_.back().used >= rules_.idle_max) forget_last();
  keep_within_memory(now);
  for (One& one : ones_) {
    if (one.number != 0 && !one.ready && now - one.since >= rules_.ready_max) {
      let_go(one);
      one.not_before = now + rules_.pause;
    }
    if (one.number != 0 || now < one.not_before || !fits(one)) continue;
    if (now - one.used >= rules_.ready_max) continue;  // nobody waits
    one.number = ++last_;
    one.since = now;
    effects_.emplace_back(WarmStock::Start{one.number, one.kind});
  }
  return std::exchange(effects_, {});
}

/// Those that were used longest ago go first.
void Templates::keep_within_memory(TimePoint now) {
  for (auto one = ones_.rbegin(); one != ones_.rend() && memory() > rules_.memory_max; ++one) {
    if (one->number == 0) continue;
    let_go(*one);
    one->not_before = now + rules_.pause;
  }
}

/// Whether it would fit if there were no others.
bool Templates::fits(const One& one) const {
  return rules_.memory_max.value > 0 && one.memory_most <= rules_.memory_max;
}

ByteSize Templates::memory() const {
  ByteSize sum{0};
  for (const One& one : ones_) sum += one.memory;
  return sum;
}

void Templates::close() {
  while (!ones_.empty()) forget_last();
  rules_.all_max = 0;
}

std::size_t Templates::count() const {
  return static_cast<std::size_t>(
      std::count_if(ones_.begin(), ones_.end(), [](const One& one) { return one.number != 0; }));
}

}  // namespace cadre::cluster::host
