#include "gateway/change_feed.h"

#include <algorithm>

namespace cadre::gateway {

using cluster::control::ChangeRow;

ChangeFeed::ChangeFeed(std::uint64_t last, const std::vector<ChangeRow>& kept)
    : rows_(kept.begin(), kept.end()), forgotten_(kept.empty() ? last : kept.front().number - 1), last_(last) {
  forget_oldest();
}

void ChangeFeed::forget_oldest() {
  while (rows_.size() > kept_max) {
    forgotten_ = rows_.front().number;
    rows_.pop_front();
  }
}

void ChangeFeed::add(const std::vector<ChangeRow>& changes) {
  for (const ChangeRow& row : changes) {
    if (row.number <= last_) continue;
    last_ = row.number;
    rows_.push_back(row);
  }
  forget_oldest();
  for (News* one : waiting_) one->wake();
}

std::vector<ChangeRow> ChangeFeed::after(std::uint64_t seq, std::size_t most) const {
  const auto from = std::upper_bound(rows_.begin(), rows_.end(), seq,
                                     [](std::uint64_t a, const ChangeRow& b) { return a < b.number; });
  const auto count = std::min<std::size_t>(most, static_cast<std::size_t>(rows_.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace cadre::gateway
