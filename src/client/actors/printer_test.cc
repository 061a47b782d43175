#include "client/actors/printer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <mutex>

namespace cadre::client {
namespace {

using namespace std::chrono_literals;

struct Paper {
  void write(Printer::Stream stream, const std::string& text) {
    const std::lock_guard lock(mutex);
    (stream == Printer::Stream::out ? out : err) += text;
  }
  std::mutex mutex;
  std::string out;
  std::string err;
};

TEST(Printer, WritesInOrderToBothStreams) {
  Paper paper;
  Printer printer([&](Printer::Stream stream, const std::string& text) { paper.write(stream, text); });
  printer.print(Printer::Stream::out, "one\n");
  printer.print(Printer::Stream::err, "trouble\n");
  printer.print(Printer::Stream::out, "two\n");
  EXPECT_TRUE(printer.finish(1min));
  EXPECT_EQ(paper.out, "one\ntwo\n");
  EXPECT_EQ(paper.err, "trouble\n");
}

TEST(Printer, SkipsAndCountsWhatDoesNotFitWhileTheSinkIsStuck) {
  Paper paper;
  std::latch is_stuck(1);
  std::latch goes_on(1);
  Printer printer([&](Printer::Stream stream, const std::string& text) {
    if (text == "first\n") {
      is_stuck.count_down();
      goes_on.wait();
    }
    paper.write(stream, text);
  });
  printer.print(Printer::Stream::out, "first\n");
  is_stuck.wait();
  const std::string line = std::string(99'999, 'x') + "\n";
  for (int i = 0; i < 15; ++i) printer.print(Printer::Stream::out, line);  // 10 of them are within a MiB
  EXPECT_FALSE(printer.finish(1ms));
  goes_on.count_down();
  EXPECT_TRUE(printer.finish(1min));
  EXPECT_EQ(paper.out.find("first\n"), 0U);
  EXPECT_EQ(std::count(paper.out.begin(), paper.out.end(), '\n'), 1 + 10 + 1);
  EXPECT_NE(paper.out.find("cadre: skipped 5 lines that actors wrote faster"), std::string::npos);
}

TEST(Printer, WritesNothingAfterItsClose) {
  Paper paper;
  Printer printer([&](Printer::Stream stream, const std::string& text) { paper.write(stream, text); });
  printer.print(Printer::Stream::out, "one\n");
  printer.close(1min);
  printer.print(Printer::Stream::out, "two\n");
  EXPECT_TRUE(printer.finish(1min));
  EXPECT_EQ(paper.out, "one\n");
}

TEST(Printer, EndsThoughItsSinkIsStuckForGood) {
  auto goes_on = std::make_shared<std::latch>(1);
  {
    Printer printer([goes_on](Printer::Stream, const std::string&) { goes_on->wait(); });
    printer.print(Printer::Stream::out, "x\n");
  }
  goes_on->count_down();
}

}  // namespace
}  // namespace cadre::client
