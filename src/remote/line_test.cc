#include "remote/line.h"

#include <gmock/gmock.h>

#include "base/seeds.h"

namespace cadre::remote {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Note note(std::uint64_t id, std::size_t size = 10, bool is_reliable = false) {
  return {Note::Kind::notice, is_reliable, id, 0, 0, "t", Slice(Bytes(size))};
}

std::vector<std::uint64_t> ids(const std::vector<Note>& notes) {
  std::vector<std::uint64_t> all;
  for (const Note& one : notes) all.push_back(one.id);
  return all;
}

Notes read(Bytes frame) { return std::get<Notes>(read_frame(std::move(frame)).value()); }

Line::Limits limits(std::size_t window, std::size_t queue, std::int64_t frame_bytes = 64 << 10) {
  Line::Limits limits;
  limits.window = window;
  limits.queue = queue;
  limits.frame_bytes = ByteSize{frame_bytes};
  return limits;
}

TEST(Line, SendsTogetherWhatFitsInAFrame) {
  Line line(limits(100, 100, 500));
  for (std::uint64_t id = 1; id <= 9; ++id) line.put(note(id, 50));
  std::vector<std::uint64_t> firsts;
  std::size_t count = 0;
  while (line.has_notes()) {
    const Notes frame = read(line.make_frame({}));
    firsts.push_back(frame.first);
    count += frame.notes.size();
  }
  EXPECT_EQ(count, 9);
  EXPECT_THAT(firsts, ElementsAre(1, 6));
  line.put(note(10, 100'000));
  EXPECT_EQ(read(line.make_frame({})).notes.at(0).body.size(), 100'000) << "one that is larger goes alone";
}

TEST(Line, SendsNoMoreThanTheOtherSideHasRoomFor) {
  Line a(limits(3, 10));
  Line b(limits(3, 10));
  for (std::uint64_t id = 1; id <= 8; ++id) a.put(note(id));
  std::vector<Note> came = b.take(read(a.make_frame({}))).value();
  EXPECT_THAT(ids(came), ElementsAre(1, 2, 3));
  EXPECT_FALSE(a.has_notes());
  EXPECT_THAT(a.take(read(b.make_frame({}))).value(), IsEmpty());
  EXPECT_FALSE(a.has_notes()) << "they are there, but nobody has taken them";
  EXPECT_EQ(a.waiting(), 5);
  b.taken(came.at(0));
  EXPECT_EQ(b.debt(), Line::Debt::urgent) << "the other side may wait for it";
  static_cast<void>(a.take(read(b.make_frame({}))).value());
  EXPECT_THAT(ids(b.take(read(a.make_frame({}))).value()), ElementsAre(4));
}

TEST(Line, DropsUnacknowledgedMessagesAndResendsReliableOnes) {
  Line a(limits(10, 10));
  Line b(limits(10, 10));
  a.put(note(1, 1, true));
  a.put(note(2));
  static_cast<void>(b.take(read(a.make_frame({}))).value());
  a.put(note(3, 1, true));
  a.put(note(4));
  static_cast<void>(a.make_frame({}));  // is lost
  a.put(note(5));
  a.put(note(6, 1, true));
  EXPECT_THAT(ids(a.broke(Line::Unsent::give_up)), ElementsAre(2, 4, 5)) << "not acknowledged: nobody knows";
  a.resumed(b.welcome(2));
  EXPECT_THAT(ids(b.take(read(a.make_frame({}))).value()), ElementsAre(3, 6)) << "1 had come";
  EXPECT_THAT(ids(a.broke(Line::Unsent::keep)), IsEmpty());
  EXPECT_THAT(ids(a.give_up()), ElementsAre(3, 6));
  EXPECT_EQ(a.waiting(), 0);
}

TEST(Line, KeepsWhatWasNotSentIfItMay) {
  Line a(limits(1, 10));
  for (std::uint64_t id = 1; id <= 3; ++id) a.put(note(id));
  static_cast<void>(a.make_frame({}));
  EXPECT_THAT(ids(a.broke(Line::Unsent::keep)), ElementsAre(1));
  EXPECT_THAT(a.begin_anew(), IsEmpty());
  EXPECT_EQ(read(a.make_frame({})).first, 1);
}

TEST(Line, TakesNothingTwice) {
  Line a(limits(10, 10));
  Line b(limits(10, 10));
  a.put(note(1));
  const Bytes frame = a.make_frame({});
  EXPECT_EQ(b.take(read(frame)).value().size(), 1);
  EXPECT_FALSE(b.take(read(frame))) << "who sends it twice breaks the rules";
  EXPECT_EQ(b.held(), 1);
}

TEST(Line, TakesNoMoreThanItHasRoomForAndNothingOutOfTurn) {
  Line small(limits(2, 10));
  const auto notes = [](std::uint64_t first, std::size_t count) {
    Notes frame;
    frame.first = first;
    for (std::size_t i = 0; i < count; ++i) frame.notes.push_back(note(first + i));
    return frame;
  };
  EXPECT_FALSE(small.take(notes(1, 3)));
  EXPECT_FALSE(small.take(notes(2, 1))) << "the first is missing";
  EXPECT_TRUE(small.take(notes(1, 2)));
  EXPECT_FALSE(small.take(notes(3, 1)));
  Notes false_claim;
  false_claim.acknowledged = 1;
  EXPECT_FALSE(small.take(false_claim)) << "nothing was sent";
}

TEST(Line, ABreakDoesNotMakeRoomAtTheOtherSide) {
  Line a(limits(3, 10));
  Line b(limits(2, 10));
  for (std::uint64_t id = 1; id <= 6; ++id) a.put(note(id, 1, true));
  a.resumed(b.welcome(1));
  EXPECT_THAT(ids(b.take(read(a.make_frame({}))).value()), ElementsAre(1, 2)) << "as much as the other side wants";
  EXPECT_THAT(a.broke(Line::Unsent::give_up), IsEmpty());
  a.resumed(b.welcome(2));
  EXPECT_FALSE(a.has_notes()) << "two still wait there";
}

TEST(Line, AnswersAreNotForAnother) {
  Line a(limits(10, 10));
  a.put(note(1));
  Note answer = note(2);
  answer.kind = Note::Kind::reply;
  a.put(answer);
  EXPECT_THAT(ids(a.begin_anew()), ElementsAre(2));
  EXPECT_EQ(a.waiting(), 1);
}

TEST(Line, DropsTheOldestThatWasNotSent) {
  Line a(limits(1, 2));
  a.put(note(1));
  static_cast<void>(a.make_frame({}));
  EXPECT_FALSE(a.drop_oldest());
  a.put(note(2));
  EXPECT_FALSE(a.has_room(1));
  EXPECT_EQ(a.drop_oldest()->id, 2);
  EXPECT_TRUE(a.has_room(1));
}

TEST(Frame, SurvivesTheWayAndNothingElseIsTakenForOne) {
  FOR_SEEDS(300, [](Dice& dice) {
    Notes notes{dice.bits(), dice.percent(50), dice.bits(), static_cast<std::uint32_t>(dice.below(1'000)),
                dice.bits(), dice.bits(),      {}};
    for (std::size_t i = dice.below(5); i > 0; --i) {
      notes.notes.push_back({static_cast<Note::Kind>(dice.below(4)), dice.percent(50), dice.bits(), dice.bits(),
                             dice.bits(), std::string(dice.below(40), 't'), Slice(Bytes(dice.below(2'000)))});
    }
    const Bytes frame = spell(notes);
    const Notes back = read(frame);
    EXPECT_EQ(back.hears, notes.hears);
    EXPECT_EQ(back.is_deaf, notes.is_deaf);
    EXPECT_EQ(back.acknowledged, notes.acknowledged);
    EXPECT_EQ(back.held, notes.held);
    EXPECT_EQ(back.held_bytes, notes.held_bytes);
    EXPECT_EQ(back.first, notes.first);
    ASSERT_EQ(back.notes.size(), notes.notes.size());
    EXPECT_EQ(spell(back), frame);

    Bytes bad = frame;
    bad.resize(dice.below(bad.size()));
    const auto cut_short = read_frame(bad);  // it may end after a whole note
    EXPECT_TRUE(!cut_short || spell(std::get<Notes>(*cut_short)) == bad);
    Bytes spoiled = frame;
    for (int i = 0; i < 3; ++i) spoiled[dice.below(spoiled.size())] = static_cast<std::byte>(dice.bits());
    static_cast<void>(read_frame(spoiled));
  });
}

}  // namespace
}  // namespace cadre::remote
