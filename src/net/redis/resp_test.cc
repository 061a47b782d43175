#include "net/redis/resp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/overloaded.h"
#include "base/seeds.h"

namespace cadre::net::redis {
namespace {

using testing::HasSubstr;

std::string random_text(Dice& dice, bool is_line) {
  std::string text(static_cast<std::size_t>(dice.magnitude(1, 300) - 1), ' ');
  for (char& c : text) c = is_line ? static_cast<char>('!' + dice.below(90)) : static_cast<char>(dice.below(256));
  return text;
}

Reply random_reply(Dice& dice, int depth = 0) {
  switch (dice.below(depth < 4 ? 6 : 5)) {
    case 0: return {RespNull{}};
    case 1: return {RespError{random_text(dice, true)}};
    case 2: return {RespStatus{random_text(dice, true)}};
    case 3: return {static_cast<std::int64_t>(dice.bits())};
    case 4: return {random_text(dice, false)};
    default: {
      RespArray elements;
      for (std::size_t left = dice.below(5); left > 0; --left) elements.push_back(random_reply(dice, depth + 1));
      return {std::move(elements)};
    }
  }
}

std::string written(const Reply& reply) {
  return std::visit(
      overloaded{
          [](const RespNull&) -> std::string { return "$-1\r\n"; },
          [](const RespError& error) { return "-" + error.text + "\r\n"; },
          [](const RespStatus& status) { return "+" + status.text + "\r\n"; },
          [](std::int64_t number) { return ":" + std::to_string(number) + "\r\n"; },
          [](const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; },
          [](const RespArray& array) {
            std::string text = "*" + std::to_string(array.size()) + "\r\n";
            for (const Reply& element : array) text += written(element);
            return text;
          },
      },
      reply.value);
}

/// Cuts it anywhere.
Result<std::vector<Reply>> read(Dice& dice, std::string_view bytes, const RespLimits& limits = {}) {
  RespReader reader(limits);
  std::vector<Reply> replies;
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), static_cast<std::size_t>(dice.magnitude(1, 500)));
    TRY(reader.take(bytes.substr(0, size), replies));
    bytes.remove_prefix(size);
  }
  return replies;
}

TEST(Resp, ReadsBackWhatIsWrittenHoweverItIsCut) {
  FOR_SEEDS(5'000, [](Dice& dice) {
    std::vector<Reply> replies;
    std::string bytes;
    for (std::size_t left = 1 + dice.below(6); left > 0; --left) {
      replies.push_back(random_reply(dice));
      bytes += written(replies.back());
    }
    ASSERT_EQ(read(dice, bytes).value(), replies);
  });
}

TEST(Resp, BearsAnyBytes) {
  FOR_SEEDS(20'000, [](Dice& dice) {
    std::string bytes = written(random_reply(dice));
    for (std::size_t left = dice.below(4); left > 0; --left) {
      static constexpr std::string_view likely = "*$:+-0123456789\r\n";
      const char changed = dice.percent(80) ? likely[dice.below(likely.size())] : static_cast<char>(dice.below(256));
      bytes[dice.below(bytes.size())] = changed;
    }
    RespLimits limits;
    limits.string_max = 400;
    limits.elements_max = 50;
    const auto replies = read(dice, bytes + "\r\n", limits);
    ASSERT_TRUE(replies || replies.error().code == Errc::corrupt);
  });
}

TEST(Resp, ACommandIsAnArrayOfStrings) {
  EXPECT_EQ(write_command({"SET", "", "a\r\nb"}), "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n");
}

TEST(Resp, ALineOfFullLengthMayBeCutBeforeItsLastByte) {
  RespLimits limits;
  limits.line_max = 20;
  RespReader reader(limits);
  std::vector<Reply> replies;
  const std::string line = "+" + std::string(19, 'x');
  ASSERT_TRUE(reader.take(line + "\r", replies));
  EXPECT_TRUE(replies.empty());
  ASSERT_TRUE(reader.take("\n", replies));
  EXPECT_EQ(replies.size(), 1U);
  EXPECT_FALSE(reader.take(line + "xx", replies)) << "this line is too long, however it ends";
}

TEST(Resp, RefusesWhatIsNoReplyOrBeyondTheLimits) {
  RespLimits limits;
  limits.line_max = 20;
  limits.string_max = 10;
  limits.elements_max = 6;
  limits.bytes_max = 25;
  limits.depth_max = 2;
  const std::string ten = "$10\r\n0123456789\r\n";
  for (const std::string& bytes :
       std::vector<std::string>{"?\r\n", "\r\n", ":1x\r\n", ":\r\n", ":99999999999999999999\r\n", "$-2\r\n", "*-2\r\n",
                                "$11\r\n", "$99999999999999999999\r\n", "$2\r\nabc\r\n", "*7\r\n",
                                "*9223372036854775807\r\n", "*1\r\n*1\r\n*1\r\n:1\r\n", "*3\r\n" + ten + ten + ten,
                                "*2\r\n*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n*4\r\n", "+" + std::string(21, 'a')}) {
    RespReader reader(limits);
    std::vector<Reply> replies;
    const auto taken = reader.take(bytes, replies);
    ASSERT_FALSE(taken.has_value()) << bytes;
    EXPECT_EQ(taken.error().code, Errc::corrupt);
    EXPECT_FALSE(reader.take("+OK\r\n", replies).has_value()) << "once it has failed it takes no more";
    EXPECT_TRUE(replies.empty());
  }
  Dice dice(1);
  EXPECT_TRUE(read(dice, "*2\r\n" + ten + ten + "*2\r\n" + ten + ten, limits).has_value()) << "each is within them";
}

}  // namespace
}  // namespace cadre::net::redis
