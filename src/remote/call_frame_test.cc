#include "remote/call_frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/seeds.h"

namespace cadre::remote {
namespace {

std::string joined(const EncodedCall& encoded) {
  std::string all;
  for (const BytesView& piece : encoded.pieces()) all += as_text(piece);
  return all;
}

/// Feeds all of it in random portions; nothing when the reader refuses.
std::optional<std::vector<CallFrame>> read_in_portions(std::string_view bytes, Dice& dice, std::size_t most) {
  CallReader reader(1 << 20);
  std::vector<CallFrame> frames;
  while (!bytes.empty()) {
    const std::span<std::byte> room = reader.room();
    EXPECT_FALSE(room.empty());
    if (room.empty()) return std::nullopt;
    const std::size_t size = std::min({room.size(), bytes.size(), 1 + dice.below(most)});
    std::memcpy(room.data(), bytes.data(), size);
    bytes.remove_prefix(size);
    if (!reader.took(size, frames)) return std::nullopt;
  }
  return frames;
}

struct Said {
  Verb verb;
  std::uint64_t id;
  std::string name;
  std::string body;
  std::vector<std::pair<std::string, std::uint32_t>> parts;
};

Said draw(Dice& dice) {
  const auto text = [&dice](std::size_t most) {
    return std::string(dice.below(most), static_cast<char>(dice.below(256)));
  };
  Said said{static_cast<Verb>(1 + dice.below(10)), dice.bits(), text(60), text(dice.percent(10) ? 100'000 : 100), {}};
  for (std::size_t parts = dice.below(4); parts > 0; --parts) {
    said.parts.emplace_back(text(dice.percent(10) ? 100'000 : 200), dice.percent(30) ? 1 + dice.below(9) : 0);
  }
  return said;
}

TEST(CallFrame, EverythingIsReadAsItWasWritten) {
  for_seeds(
      300,
      [](Dice& dice) {
        std::vector<Said> all;
        std::string bytes;
        for (int i = 0; i < 12; ++i) {
          const Said& said = all.emplace_back(draw(dice));
          std::vector<PartToSend> parts;
          for (const auto& [text, piece] : said.parts) parts.push_back({as_bytes(text), piece});
          bytes += joined(EncodedCall(said.verb, said.id, said.name, as_bytes(said.body), parts));
        }
        const auto frames = read_in_portions(bytes, dice, dice.percent(50) ? 7 : 100'000);
        ASSERT_TRUE(frames);
        ASSERT_EQ(frames->size(), all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
          const CallFrame& frame = (*frames)[i];
          EXPECT_EQ(frame.verb, all[i].verb);
          EXPECT_EQ(frame.id, all[i].id);
          EXPECT_EQ(frame.name, all[i].name);
          EXPECT_EQ(as_text(frame.body.view()), all[i].body);
          ASSERT_EQ(frame.parts.size(), all[i].parts.size());
          for (std::size_t part = 0; part < frame.parts.size(); ++part) {
            const auto& [text, piece] = all[i].parts[part];
            EXPECT_EQ(frame.parts[part].piece, piece);
            EXPECT_EQ(frame.parts[part].size, text.size());
            if (piece != 0) continue;
            EXPECT_EQ(as_text(frame.parts[part].slice.view()), text);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.parts[part].slice.data) % 16, 0u);
          }
        }
      },
      [] { return testing::Test::HasFailure(); });
}

TEST(CallFrame, BytesAreKeptOutOfTheHead) {
  const std::string much(10'000, 'x');
  const PartToSend part{as_bytes(much), 0};
  const EncodedCall encoded(Verb::call, 1, "f", as_bytes(much), std::span(&part, 1));
  const auto holds = [&](const BytesView& one) { return one.data() == as_bytes(much).data(); };
  EXPECT_EQ(std::count_if(encoded.pieces().begin(), encoded.pieces().end(), holds), 2) << "they were copied";
}

TEST(CallFrame, NonsenseIsRefusedAndNeverReadBeyond) {
  for_seeds(
      2'000,
      [](Dice& dice) {
        const Said said = draw(dice);
        std::vector<PartToSend> parts;
        for (const auto& [text, piece] : said.parts) parts.push_back({as_bytes(text), piece});
        std::string bytes = joined(EncodedCall(said.verb, said.id, said.name, as_bytes(said.body), parts));
        for (std::size_t changes = 1 + dice.below(4); changes > 0; --changes) {
          bytes[dice.below(std::min<std::size_t>(bytes.size(), 120))] = static_cast<char>(dice.below(256));
        }
        const auto frames = read_in_portions(bytes, dice, 100'000);  // refused, or something that holds together
        if (!frames) return;
        for (const CallFrame& frame : *frames) {
          for (const Part& part : frame.parts) {
            EXPECT_EQ(part.slice.size, part.piece == 0 ? part.size : 0);
          }
        }
      },
      [] { return testing::Test::HasFailure(); });
}

TEST(CallFrame, AClaimThatIsTooLargeIsRefused) {
  const std::string body(2 << 20, 'x');
  const std::string bytes = joined(EncodedCall(Verb::call, 1, "f", as_bytes(body), {}));
  Dice dice(1);
  EXPECT_FALSE(read_in_portions(bytes, dice, 100'000));
}

TEST(CallFrame, NewsOfPieces) {
  const std::vector<PieceNews> news{{1, false}, {70'000, true}};
  const auto read = read_pieces(write_pieces(news));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[1].piece, 70'000u);
  EXPECT_TRUE((*read)[1].is_gone);
  EXPECT_FALSE(read_pieces(as_bytes("1234567")));
  EXPECT_FALSE(read_pieces(as_bytes("12345678")));
}

}  // namespace
}  // namespace cadre::remote
