// What the store has acknowledged is there after a power loss at any moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/dice.h"
#include "logs/lines_for_tests.h"
#include "logs/store.h"
#include "loop/power_loss_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::logs {
namespace {

std::unique_ptr<LogStore> open_small(const std::string& folder) {
  return LogStore::open(folder, {ByteSize{300}}).value();
}

Chunk rest_of(const Bytes& bytes, std::int64_t from) { return {from, 0, {bytes.begin() + from, bytes.end()}}; }

/// From its beginning to the first gap.
Bytes all_of(LogStore& store, std::string_view log) {
  Bytes all;
  while (true) {
    const Chunk chunk = store.read(log, size_of(all), 1'000).value();
    if (chunk.dropped != 0 || chunk.bytes.empty()) return all;
    all.insert(all.end(), chunk.bytes.begin(), chunk.bytes.end());
  }
}

/// What was appended to a log, and what of it was acknowledged after how many operations on files.
struct Written {
  Bytes bytes;
  std::set<std::int64_t> ends{0};
  std::map<std::size_t, std::int64_t> acknowledged;

  std::int64_t acknowledged_after(std::size_t done) const {
    const auto next = acknowledged.upper_bound(done);
    return next == acknowledged.begin() ? 0 : std::prev(next)->second;
  }
};

class LogsAndPowerLoss : public testing::Test {
 protected:
  void append(const std::string& log) {
    Written& known = written_[log];
    Bytes more;
    encode({Stream::out, false, at(1), random_text(dice_, 84)}, more);  // three of them fill a segment
    ASSERT_TRUE(store_->append(log, {size_of(known.bytes), 0, more}));
    known.bytes.insert(known.bytes.end(), more.begin(), more.end());
    known.ends.insert(size_of(known.bytes));
  }
  void sync() {
    ASSERT_TRUE(store_->sync());
    for (auto& [log, known] : written_) known.acknowledged[loss_.operations()] = size_of(known.bytes);
  }

  /// Of each log a part of what was sent, whole chunks, and no less than was acknowledged; the agent can send the rest.
  void expect_kept(const std::string& folder, const std::vector<std::string>& logs, std::size_t done) {
    SCOPED_TRACE("after " + std::to_string(done) + " operations");
    {
      const auto store = open_small(folder);
      for (const std::string& log : logs) {
        const Written& known = written_.at(log);
        const std::int64_t end = store->end(log);
        ASSERT_GE(end, known.acknowledged_after(done)) << log;
        ASSERT_TRUE(known.ends.contains(end)) << log << " ends at " << end;
        const Bytes found = all_of(*store, log);
        ASSERT_EQ(size_of(found), end) << log;
        ASSERT_TRUE(std::equal(found.begin(), found.end(), known.bytes.begin())) << log;
        if (end == size_of(known.bytes)) continue;
        ASSERT_TRUE(store->append(log, rest_of(known.bytes, end)));
      }
      ASSERT_TRUE(store->sync());
    }
    const auto store = open_small(folder);
    for (const std::string& log : logs) ASSERT_EQ(all_of(*store, log), written_.at(log).bytes) << log << ", sent again";
  }

  Dice dice_{7};
  servers::TempDir folder_;
  loop::PowerLoss loss_{folder_.path()};
  std::unique_ptr<LogStore> store_ = open_small(folder_.path());
  std::map<std::string, Written> written_;
};

TEST_F(LogsAndPowerLoss, AcknowledgedLinesSurviveInEverySegment) {
  for (int segment = 0; segment < 2; ++segment) {
    append("first");
    append("second");
    sync();
    append("first");
    sync();  // the segment is full, and the next one is begun with the next line
  }
  append("second");
  sync();
  store_.reset();
  int with_an_index = 0;
  const int states = loss_.each([&](const std::string& left, std::size_t done) {
    with_an_index += std::filesystem::exists(left + "/000000000002.index") ? 1 : 0;
    if (!HasFatalFailure()) expect_kept(left, {"first", "second"}, done);
  });
  EXPECT_GT(states, 100);
  EXPECT_GT(with_an_index, 0) << "no two segments were full: this test would prove little";
}

TEST_F(LogsAndPowerLoss, ARemovedLogStaysRemoved) {
  append("removed");
  append("kept");
  sync();
  const std::size_t before = loss_.operations();
  ASSERT_TRUE(store_->remove("removed"));
  const std::size_t removed = loss_.operations();
  append("kept");
  sync();
  store_.reset();
  int came_back = 0;
  loss_.each([&](const std::string& left, std::size_t done) {
    const std::int64_t end = open_small(left)->end("removed");
    EXPECT_TRUE(done < removed || end == 0) << "after " << done << " operations";
    EXPECT_TRUE(done != before || end == size_of(written_.at("removed").bytes));
    came_back += done > before && end > 0 ? 1 : 0;
    if (!HasFatalFailure()) expect_kept(left, {"kept"}, done);
  });
  EXPECT_GT(came_back, 0) << "a removal that is not acknowledged may be lost; else this test could find nothing";
}

TEST_F(LogsAndPowerLoss, WhatRetentionLeavesIsWhole) {
  for (int i = 0; i < 8; ++i) {
    append("log");
    sync();
  }
  const Bytes& sent = written_.at("log").bytes;
  const servers::TempDir copy;
  store_.reset();
  std::filesystem::copy(folder_.path(), copy.path(), std::filesystem::copy_options::recursive);
  const auto store = open_small(copy.path());
  loop::PowerLoss loss(copy.path());
  const ByteSize before = store->size();
  ASSERT_TRUE(store->prune(at(10'000'000), {Duration::max(), ByteSize{before.value / 2}}));
  ASSERT_LT(store->size().value, before.value * 2 / 3);
  const std::int64_t pruned = store->read("log", 0, 1).value().offset;
  ASSERT_GT(pruned, 0);
  loss.each([&](const std::string& left, std::size_t done) {
    const auto reopened = open_small(left);
    ASSERT_EQ(reopened->end("log"), size_of(sent)) << "after " << done << " operations";
    for (std::int64_t offset = 0; offset < size_of(sent);) {
      const Chunk chunk = reopened->read("log", offset, 1'000).value();
      ASSERT_FALSE(chunk.bytes.empty()) << "at " << offset << " after " << done << " operations";
      ASSERT_LE(chunk.offset, std::max(pruned, offset)) << "more is missing than retention took";
      ASSERT_TRUE(std::equal(chunk.bytes.begin(), chunk.bytes.end(), sent.begin() + chunk.offset));
      offset = chunk.next();
    }
  });
}

}  // namespace
}  // namespace cadre::logs
