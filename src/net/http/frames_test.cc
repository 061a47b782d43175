#include "net/http/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::net::http {
namespace {

using testing::ElementsAre;

enum class Part { last, more };

/// As a peer sends it.
std::string masked(Opcode opcode, std::string payload, Part part = Part::last) {
  const std::string head = frame_head(opcode, payload.size());
  std::string frame;
  frame += static_cast<char>(part == Part::last ? head[0] : head[0] & 0x7f);
  frame += static_cast<char>(head[1] | 0x80);
  frame += head.substr(2);
  const std::string mask = "\x12\xfe\x34\xa9";
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(payload[i] ^ mask[i % 4]);
  return frame + mask + payload;
}

template <class Next>
std::vector<std::string> read_frames(std::string_view bytes, Next next) {
  FrameReader reader(ByteSize{1'000});
  std::vector<std::string> events;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min(next(), bytes.size() - at);
    buffer += bytes.substr(at, size);
    at += size;
    while (true) {
      const FrameReader::Taken taken = reader.take(buffer);
      buffer.erase(0, taken.bytes);
      if (taken.event == FrameReader::Event::none) break;
      const std::string code = std::to_string(reader.close_code());
      switch (taken.event) {
        case FrameReader::Event::message: events.push_back("message " + reader.payload()); break;
        case FrameReader::Event::ping: events.push_back("ping " + reader.payload()); break;
        case FrameReader::Event::pong: events.push_back("pong " + reader.payload()); break;
        case FrameReader::Event::close: events.push_back("close " + code + " " + reader.payload()); break;
        default: events.push_back("refused " + code); return events;
      }
    }
  }
  return events;
}

std::vector<std::string> read_frames(std::string_view bytes) {
  return read_frames(bytes, [&] { return bytes.size(); });
}

TEST(WebSocketFrames, HeadsAreSpelledByTheirSize) {
  EXPECT_EQ(frame_head(Opcode::text, 125), "\x81\x7d");
  EXPECT_EQ(frame_head(Opcode::text, 126), std::string("\x81\x7e\x00\x7e", 4));
  EXPECT_EQ(frame_head(Opcode::text, 65'535), "\x81\x7e\xff\xff");
  EXPECT_EQ(frame_head(Opcode::text, 65'536), std::string("\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10));
}

TEST(WebSocketFrames, MessagesAreReadWholeWhateverComesBetween) {
  EXPECT_THAT(
      read_frames(masked(Opcode::text, "one") + masked(Opcode::text, "t", Part::more) + masked(Opcode::ping, "here?") +
                  masked(Opcode::continuation, "w", Part::more) + masked(Opcode::continuation, "o") +
                  masked(Opcode::pong, "") + masked(Opcode::binary, "\xff") + masked(Opcode::text, "") +
                  masked(Opcode::text, std::string(300, 'x')) + masked(Opcode::close, std::string("\x03\xe8") + "bye")),
      ElementsAre("message one", "ping here?", "message two", "pong ", "message \xff", "message ",
                  "message " + std::string(300, 'x'), "close 1000 bye"));
  EXPECT_THAT(read_frames(masked(Opcode::close, "")), ElementsAre("close 1005 "));
}

const std::string unmasked = frame_head(Opcode::text, 3) + "abc";

struct BadFrame {
  std::string bytes;
  std::uint16_t code;
};

const BadFrame refused_frames[] = {
    {unmasked, 1002},
    {masked(Opcode::continuation, "a"), 1002},
    {masked(Opcode::text, "a", Part::more) + masked(Opcode::text, "b"), 1002},
    {masked(Opcode::ping, "a", Part::more), 1002},
    {masked(Opcode::ping, std::string(126, 'a')), 1002},
    {masked(Opcode(3), "a"), 1002},
    {masked(Opcode(11), "a"), 1002},
    {"\xc1\x83" + masked(Opcode::text, "abc").substr(2), 1002},
    {masked(Opcode::close, "a"), 1002},
    {masked(Opcode::close, std::string("\x03\xed")), 1002},  // 1005
    {masked(Opcode::close, std::string("\x03\xe7")), 1002},  // 999
    {masked(Opcode::close, std::string("\x13\x88")), 1002},  // 5000
    {masked(Opcode::close, std::string("\x03\xe8") + "\xff"), 1007},
    {masked(Opcode::text, "\xc3"), 1007},
    {masked(Opcode::text, "\xed\xa0\x80"), 1007},
    {masked(Opcode::text, "\xc0\xaf"), 1007},
    {masked(Opcode::text, std::string(1'001, 'a')), 1009},
    {masked(Opcode::text, std::string(999, 'a'), Part::more) + masked(Opcode::continuation, "bb"), 1009},
    {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff"
     "mask",
     1009},
    {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff"
     "mask",
     1009},
};

TEST(WebSocketFrames, RefusesMalformedAndTooLargeFrames) {
  for (const auto& [bytes, code] : refused_frames) {
    EXPECT_THAT(read_frames(bytes), ElementsAre("refused " + std::to_string(code))) << testing::PrintToString(bytes);
  }
}

TEST(WebSocketFrames, AreReadTheSameWhereverTheyAreSplit) {
  const std::string good = masked(Opcode::text, "o", Part::more) + masked(Opcode::ping, "there") +
                           masked(Opcode::continuation, "ne") + masked(Opcode::binary, std::string(500, '\0')) +
                           masked(Opcode::close, std::string("\x0f\xa0") + "bye");
  for (const auto& [bytes, code] : refused_frames) {
    const std::string text = good.substr(0, 30) + bytes;
    EXPECT_EQ(read_frames(text, [] { return std::size_t{1}; }), read_frames(text));
  }
  FOR_SEEDS(200,
            [&](Dice& dice) { EXPECT_EQ(read_frames(good, [&] { return 1 + dice.below(50); }), read_frames(good)); });
}

TEST(WebSocketFrames, UtfIsKnown) {
  for (const char* text : {"", "a", "ü", "€", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\x80", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "a\xed\xbf\xbf"}) {
    EXPECT_FALSE(is_utf8(text)) << testing::PrintToString(text);
  }
}

TEST(WebSocketFrames, ALongReasonIsCutBetweenCharacters) {
  EXPECT_EQ(close_payload(1000, "bye"),
            "\x03\xe8"
            "bye");
  EXPECT_EQ(close_payload(1000, std::string(200, 'x')).size(), 125);
  std::string umlauts;
  for (int i = 0; i < 100; ++i) umlauts += "ü";
  const std::string payload = close_payload(1000, "x" + umlauts);
  EXPECT_EQ(payload.size(), 125);
  EXPECT_TRUE(is_utf8(payload.substr(2)));
  EXPECT_TRUE(is_utf8(close_payload(1000, umlauts).substr(2)));
}

}  // namespace
}  // namespace cadre::net::http
