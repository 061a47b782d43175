#include "base/log.h"

#include <gmock/gmock.h>

#include <string>

namespace cadre {
namespace {

using testing::MatchesRegex;

/// What a log writes to standard error.
template <class Do>
std::string written(Level lowest, const Do& act) {
  StderrLog log(lowest);
  testing::internal::CaptureStderr();
  act(log);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, HasATimeAndALevelOnEveryLine) {
  const std::string lines = written(Level::info, [](Log& log) { log.warning("the disk is full"); });
  EXPECT_THAT(lines, MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9]+:[0-9]+:[0-9.]+Z warning: the disk is full\n"));
}

TEST(Log, HasATimeAndALevelOnEveryLineOfALongMessage) {
  const std::string lines = written(Level::info, [](Log& log) { log.error("two faults:\na: 1\nb: 2"); });
  EXPECT_THAT(lines, MatchesRegex("[0-9TZ:.-]+ error: two faults:\n[0-9TZ:.-]+ error: a: 1\n"
                                  "[0-9TZ:.-]+ error: b: 2\n"));
}

TEST(Log, WritesNothingBelowItsLevel) {
  EXPECT_EQ(written(Level::warning, [](Log& log) { log.info("hidden"); }), "");
}

TEST(Log, ComposesDebugMessagesOnlyIfTheyAreWritten) {
  int composed = 0;
  const auto say = [&](Log& log) { log.debug([&] { return "message " + std::to_string(++composed); }); };
  EXPECT_EQ(written(Level::info, say), "");
  EXPECT_EQ(composed, 0);
  EXPECT_THAT(written(Level::debug, say), testing::EndsWith("debug: message 1\n"));
  SilentLog silent;
  say(silent);
  EXPECT_EQ(composed, 1);
}

TEST(Log, ShowsControlCharactersOfOthersAsText) {
  EXPECT_THAT(written(Level::info, [](Log& log) { log.info("a\x1b[2Jb"); }), testing::HasSubstr("a\\x1b[2Jb"));
}

}  // namespace
}  // namespace cadre
