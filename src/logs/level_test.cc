#include "logs/level.h"

#include <gtest/gtest.h>

namespace cadre::logs {
namespace {

TEST(LevelOf, FindsWhatLoggersSay) {
  EXPECT_EQ(level_of("2026-11-15 11:31:10,123 ERROR trainer: no such file"), Level::error);
  EXPECT_EQ(level_of("[2026-11-15 11:31:10.123] [app] [warning] slow"), Level::warning);
  EXPECT_EQ(level_of("WARNING:root:slow"), Level::warning);
  EXPECT_EQ(level_of("DEBUG:root:x"), Level::debug);
  EXPECT_EQ(level_of(R"({"time":1,"level":"error","msg":"x"})"), Level::error);
  EXPECT_EQ(level_of("time=1 level=warn msg=x"), Level::warning);
  EXPECT_EQ(level_of("W1115 11:31:10.123456  77 file.cc:3] x"), Level::warning);
  EXPECT_EQ(level_of("F1115 11:31:10.123456  77 file.cc:3] x"), Level::error);
  EXPECT_EQ(level_of("error: could not compile"), Level::error);
  EXPECT_EQ(level_of("Traceback (most recent call last):"), Level::error);
  EXPECT_EQ(level_of("ValueError: no"), Level::error);
}

TEST(LevelOf, IsNotMisledByWordsOfASentence) {
  EXPECT_EQ(level_of("the error went down to 0.1"), Level::info);
  EXPECT_EQ(level_of("epoch 3 info gain 0.5"), Level::info);
  EXPECT_EQ(level_of("terror: in the title"), Level::info);
  EXPECT_EQ(level_of(""), Level::info);
  EXPECT_EQ(level_of(std::string_view("\0\xff\x01", 3)), Level::info);
  EXPECT_EQ(level_of(std::string(200, ' ') + "ERROR far behind"), Level::info);
}

}  // namespace
}  // namespace cadre::logs
