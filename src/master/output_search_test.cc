// The search of output for lines of log policies: what is found, late output, bounds, and a master that ends.
#include "master/output_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "logs/record.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;
using experiment::SearchOutput;
namespace bulk = cluster::bulk;

/// Output that is stored, of which `visible` bytes have come.
struct Stored {
  explicit Stored(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) logs::encode({logs::Stream::out, false, {}, line}, records);
    visible = records.size();
    reader.open([this](api::CallId call, const bulk::ToMaster& message) {
      const auto& question = std::get<bulk::ReadOutput>(message);
      ++questions;
      if (is_silent) return;
      const auto from = static_cast<std::size_t>(question.offset);
      const BytesView rest = BytesView(records).first(std::max(visible, from)).subspan(from);
      const std::size_t most = logs::whole_records(rest.first(std::min<std::size_t>(rest.size(), 10'000)));
      bulk::Output output{0, question.offset, question.offset + static_cast<std::int64_t>(most), {}};
      output.records.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(most));
      bulk::FromMaster answer = std::move(output);
      answers.emplace_back([this, call, answer]() mutable { static_cast<void>(reader.take(call, answer)); });
    });
  }
  SearchOutput of(std::vector<std::string> patterns) const {
    return {{{1}, 0}, 1, std::move(patterns), {{{{{7}, 0}, {1}}, "a1", static_cast<std::int64_t>(records.size())}}};
  }

  OutputReader reader;
  Bytes records;
  std::size_t visible = 0;
  int questions = 0;
  bool is_silent = false;
  std::vector<std::jthread> answers;  ///< a reader is never answered by the thread that asks
};

std::vector<std::string> many_lines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 2'000; ++i) lines.push_back("line " + std::to_string(i));
  return lines;
}

TEST(OutputSearch, FindsTheFirstLineOfEachPattern) {
  Stored stored(many_lines());
  const auto found = search_output(stored.reader, stored.of({"line 19[0-9]{2}$", "nothing", "line 5"}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->problem, "");
  ASSERT_EQ(found->found.size(), 2);
  EXPECT_EQ(found->found[0].policy, 2);
  EXPECT_EQ(found->found[0].line, "line 5");
  EXPECT_EQ(found->found[1].policy, 0);
  EXPECT_EQ(found->found[1].line, "line 1900");
  EXPECT_EQ(found->found[1].agent, "a1");
  EXPECT_GT(stored.questions, 1);
}

TEST(OutputSearch, SaysWhatHasNotComeInTime) {
  Stored stored(many_lines());
  stored.visible = logs::whole_records(BytesView(stored.records).first(5'000));
  const OutputBounds bounds{200'000, 1 << 20, 100ms, 10s};
  const auto found = search_output(stored.reader, stored.of({"line 3$", "line 1999"}), bounds);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->found.size(), 1) << "what has come counts";
  EXPECT_THAT(found->problem, testing::HasSubstr("agent a1 has not sent all of it"));
}

TEST(OutputSearch, EndsWithinItsBounds) {
  Stored stored(many_lines());
  const auto few = search_output(stored.reader, stored.of({"line 1999"}), {200'000, 5'000, 1s, 10s});
  ASSERT_TRUE(few.has_value());
  EXPECT_TRUE(few->found.empty());
  EXPECT_LE(stored.questions, 2);
  const auto late = search_output(stored.reader, stored.of({"line 1999"}), {200'000, 1 << 20, 1s, 0s});
  EXPECT_THAT(late->problem, testing::HasSubstr("it takes too long"));
  stored.is_silent = true;
  const auto silent = search_output(stored.reader, stored.of({"line 1999"}), {200'000, 1 << 20, 50ms, 10s});
  EXPECT_THAT(silent->problem, testing::HasSubstr("could not be read in time"));
}

TEST(OutputSearch, DecidesNothingWhenTheMasterEnds) {
  Stored stored(many_lines());
  stored.is_silent = true;
  std::thread closer([&] {
    std::this_thread::sleep_for(50ms);
    stored.reader.close();
  });
  const auto found = search_output(stored.reader, stored.of({"line"}));
  closer.join();
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, Errc::conflict);
}

}  // namespace
}  // namespace cadre::master
