#include "remote/group_core.h"

#include <gmock/gmock.h>

#include "base/seeds.h"
#include "remote/group_world_for_tests.h"

namespace cadre::remote {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Slice text(std::string_view words) { return Slice(Bytes(as_bytes(words).begin(), as_bytes(words).end())); }

struct TwoMembers : testing::Test {
  void SetUp() override {
    world.start("a");
    world.start("b");
    world.run_for(1500ms);
    ASSERT_TRUE(world["a"].group.is_up("b"));
    ASSERT_TRUE(world["b"].group.is_up("a"));
  }
  std::uint64_t request(Duration wait = 10s) {
    const auto id = world["a"].group.request("b", {"ask", 7, false, text("what")}, world.now + wait, world.now);
    world.settle("a");
    return id.value();
  }
  Dice dice{1};
  GroupWorld world{dice, {}};
};

TEST_F(TwoMembers, SpeakWithEachOther) {
  const auto id = world["a"].group.send("b", {"hello", 3, false, text("you")}, world.now);
  ASSERT_TRUE(id);
  world.settle("a");
  world.run_for(100ms);
  const std::optional<Letter> letter = world["b"].group.take();
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->peer, "a");
  EXPECT_EQ(letter->type, "worker");
  EXPECT_EQ(letter->note.id, *id);
  EXPECT_EQ(letter->note.session, 3);
  EXPECT_EQ(letter->note.tag, "hello");
  EXPECT_EQ(as_text(letter->note.body.view), "you");
  EXPECT_FALSE(world["b"].group.take());
  world.settle("b");
  world.run_for(100ms);
  EXPECT_EQ(world["a"].group.undelivered(), 0) << "it was acknowledged though nothing else was said";
}

TEST_F(TwoMembers, AskAndAnswer) {
  const std::uint64_t id = request();
  world.run_for(100ms);
  const std::optional<Letter> letter = world["b"].group.take();
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->note.kind, Note::Kind::request);
  ASSERT_TRUE(world["b"].group.reply(*letter, {Note::Kind::reply, text("that")}, world.now));
  world.settle("b");
  world.run_for(100ms);
  EXPECT_EQ(world["a"].completed, (std::map<std::uint64_t, int>{{id, 1}}));
}

TEST_F(TwoMembers, ARequestFailsWhenItsTimeIsOver) {
  const std::uint64_t id = request(200ms);
  world.run_for(199ms);
  EXPECT_THAT(world["a"].completed, IsEmpty());
  world.run_for(2ms);
  EXPECT_EQ(world["a"].completed.at(id), 1);
  world.read_all("b");
  ASSERT_TRUE(world["b"].group.reply(world["b"].received.at(0), {Note::Kind::reply, text("late")}, world.now));
  world.settle("b");
  world.run_for(1s);
  EXPECT_EQ(world["a"].completed.at(id), 1);
  EXPECT_EQ(world["a"].group.counters().late, 1);
}

TEST_F(TwoMembers, DetectsAKilledPeerAtOnceAndFailsItsRequests) {
  const std::uint64_t id = request();
  const auto notice = world["a"].group.send("b", {"x", 0, false, text("")}, world.now);
  world.settle("a");
  static_cast<void>(world.kill("b"));
  world.run_for(10ms);
  EXPECT_THAT(world["a"].events, ElementsAre("up b", "down b"));
  EXPECT_EQ(world["a"].completed.at(id), 1);
  EXPECT_EQ(world["a"].lost, (std::set<std::uint64_t>{id, *notice}));
  const auto refused = world["a"].group.send("b", {"x", 0, false, text("")}, world.now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(world["a"].group.send("c", {"x", 0, false, text("")}, world.now).error().code, Errc::not_found);
}

TEST_F(TwoMembers, DetectsASilentPeerInTime) {
  world.run_for(10s);
  EXPECT_THAT(world["a"].events, ElementsAre("up b")) << "who has nothing to say beats";
  const std::uint64_t id = request(1min);
  world.freeze("b");
  world.run_for(1900ms);
  EXPECT_THAT(world["a"].events, ElementsAre("up b"));
  world.run_for(1200ms);
  EXPECT_THAT(world["a"].events, ElementsAre("up b", "down b"));
  EXPECT_EQ(world["a"].completed.at(id), 1);
}

TEST_F(TwoMembers, ASuspendedPeerAnswersAsSoonAsItResumes) {
  for (const auto asks : {0ms, 1ms, 20ms, 300ms, 2000ms}) {
    for (const auto pause : {2s, 5s, 8s, 60s}) {
      world.freeze("b");
      world.run_for(pause);
      world.thaw("b");
      world.run_for(asks);
      const auto id = world["a"].group.request("b", {"ask", 0, false, text("this")}, world.now + 30s, world.now);
      ASSERT_TRUE(id) << id.error().message;
      world.settle("a");
      for (int i = 0; i < 100; ++i) {
        world.run_for(100ms);
        const std::size_t before = world["b"].received.size();
        world.read_all("b");
        for (std::size_t at = before; at < world["b"].received.size(); ++at) {
          ASSERT_TRUE(world["b"].group.reply(world["b"].received[at], {Note::Kind::reply, text("that")}, world.now));
        }
        world.settle("b");
      }
      EXPECT_EQ(world["a"].answered.count(*id), 1U) << "after a pause of " << cadre::to_string(Duration(pause));
    }
  }
}

TEST_F(TwoMembers, TimeInSuspendDoesNotExpirePeers) {
  const std::size_t events = world["b"].events.size();
  world.freeze("b");
  world.run_for(2500ms);  // not long enough for others to miss it
  world.thaw("b");
  world.run_for(5s);
  EXPECT_EQ(world["b"].events.size(), events);
  EXPECT_THAT(world["a"].events, ElementsAre("up b"));
}

TEST_F(TwoMembers, ABreakIsHealedAndWhatIsReliableComesOnce) {
  std::vector<std::uint64_t> reliable;
  for (int i = 0; i < 5; ++i) {
    reliable.push_back(*world["a"].group.send("b", {"r", 0, true, text("x")}, world.now));
    world.settle("a");
    world.break_line("a", "b");
    world.run_for(500ms);
  }
  world.read_all("b");
  std::vector<std::uint64_t> got;
  for (const Letter& letter : world["b"].received) got.push_back(letter.note.id);
  EXPECT_EQ(got, reliable);
  EXPECT_THAT(world["a"].lost, IsEmpty());
}

TEST_F(TwoMembers, MessagesFromUnauthenticatedPeersAreIgnored) {
  GroupCore& b = world["b"].group;
  const Hello good{"g", {"worker", "c", 0, "t", "k", {}}, 9, b.self().epoch, b.self().ticket, 1};
  Hello wrong_ticket = good;
  wrong_ticket.ticket = "ticket-0";
  Hello wrong_group = good;
  wrong_group.group = "h";
  Hello old = good;
  old.to = 99;
  Connection connection = 1'000;
  for (const Hello& hello : {wrong_ticket, wrong_group, old}) {
    b.heard(++connection, spell(hello), world.now);
    b.heard(connection, spell(Notes{0, false, 0, 0, 0, 1, {{Note::Kind::notice, false, 1, 0, 0, "x", text("y")}}}),
            world.now);
  }
  b.heard(++connection, Bytes(100, std::byte{1}), world.now);
  b.heard(connection, {}, world.now);
  EXPECT_THAT(b.effects(), IsEmpty());
  EXPECT_FALSE(b.has_letters());
  EXPECT_EQ(b.counters().strangers, 8);
  b.heard(++connection, spell(good), world.now);
  EXPECT_EQ(b.effects().size(), 2) << "a welcome, and a line back";
}

TEST_F(TwoMembers, ASlowReaderHoldsTheSenderBack) {
  Dice other(2);
  GroupCore::Options options;
  options.limits.window = 10;
  options.limits.queue = 20;
  GroupWorld small(other, options);
  small.start("a");
  small.start("b");
  small.run_for(1s);
  std::size_t accepted = 0;
  for (int i = 0; i < 100; ++i) {
    if (small["a"].group.send("b", {"x", 0, false, text("y")}, small.now)) ++accepted;
    small.settle("a");
    small.run_for(20ms);
  }
  EXPECT_EQ(accepted, 30U) << "10 wait at the other side, 20 here";
  EXPECT_FALSE(small["a"].group.has_room("b", 1));
  for (int i = 0; i < 5; ++i) {
    small.read_all("b");
    small.run_for(50ms);
  }
  EXPECT_EQ(small["b"].received.size(), 30U);
  EXPECT_EQ(small["a"].group.undelivered(), 0U);
  EXPECT_FALSE(small["a"].group.drop_oldest("b")) << "there is nothing that was not sent";
}

TEST_F(TwoMembers, TheOldestThatWasNotSentIsDroppedAndCounted) {
  Dice other(2);
  GroupCore::Options options;
  options.limits.window = 10;
  options.limits.queue = 20;
  GroupWorld small(other, options);
  small.start("a");
  small.start("b");
  small.run_for(1s);
  GroupCore& a = small["a"].group;
  std::vector<std::uint64_t> ids;
  while (a.has_room("b", 100)) {
    ids.push_back(*a.send("b", {"x", 0, false, text("y")}, small.now));
    small.settle("a");
    small.run_for(20ms);
  }
  ASSERT_EQ(ids.size(), 30U);
  ASSERT_TRUE(a.drop_oldest("b"));
  ASSERT_TRUE(a.has_room("b", 100));
  const auto asked = a.request("b", {"ask", 0, false, text("y")}, small.now + 1min, small.now);
  ASSERT_TRUE(asked);
  EXPECT_FALSE(a.has_room("b", 100));
  EXPECT_EQ(a.counters().dropped, 1U);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(a.drop_oldest("b")) << "all that were not sent, the request last";
  EXPECT_FALSE(a.drop_oldest("b"));
  small.settle("a");
  EXPECT_EQ(small["a"].completed[*asked], 1) << "who asked is told";
  small.read_all("b");
  small.run_for(1s);
  small.read_all("b");
  std::vector<std::uint64_t> got;
  for (const Letter& letter : small["b"].received) got.push_back(letter.note.id);
  EXPECT_EQ(got, std::vector<std::uint64_t>(ids.begin(), ids.begin() + 10)) << "the window was sent, the rest dropped";
}

TEST_F(TwoMembers, MessagesToALostPeerWaitIfRejoinIsSet) {
  Dice other(3);
  GroupCore::Options options;
  options.rejoin = true;
  GroupWorld patient(other, options);
  patient.start("a");
  patient.start("b");
  patient.run_for(1s);
  static_cast<void>(patient.kill("b"));
  patient.run_for(3s);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(*patient["a"].group.send("b", {"x", 0, false, text("y")}, patient.now));
  patient.settle("a");
  patient.start("b");
  patient.run_for(1s);
  patient.read_all("b");
  std::vector<std::uint64_t> got;
  for (const Letter& letter : patient["b"].received) got.push_back(letter.note.id);
  EXPECT_EQ(got, ids);
  EXPECT_THAT(patient["a"].events, ElementsAre("up b", "down b", "up b"));
}

TEST_F(TwoMembers, AnOldConnectionDoesNotTakeThePlaceOfANewerOne) {
  GroupCore& b = world["b"].group;
  const Card a = world["a"].group.self();
  const auto hello = [&](std::uint64_t line) {
    return spell(Hello{"g", a, a.epoch, b.self().epoch, b.self().ticket, line});
  };
  b.heard(101, hello(12), world.now);
  b.heard(102, hello(11), world.now);
  EXPECT_EQ(b.effects().size(), 1) << "the older one is not welcome";
  EXPECT_EQ(b.counters().late, 1);
  b.heard(101, spell(Notes{0, false, 0, 0, 0, 1, {{Note::Kind::notice, false, 1, 0, 0, "x", text("y")}}}), world.now);
  EXPECT_TRUE(b.has_letters());
}

TEST_F(TwoMembers, APeerThatIsNotReceivedReconnects) {
  world.deafen("b", "a");
  world.run_for(1900ms);
  EXPECT_THAT(world["a"].events, ElementsAre("up b"));
  world.run_for(2500ms);
  EXPECT_THAT(world["a"].events, ElementsAre("up b", "down b", "up b"));
  EXPECT_THAT(world["b"].events, ElementsAre("up a", "down a", "up a"));
}

TEST_F(TwoMembers, APeerMissingInTheNamesIsNotLost) {
  world["a"].group.parted("b", world["b"].group.self().epoch, world.now);
  world.settle("a");
  world.run_for(10s);
  EXPECT_THAT(world["a"].events, ElementsAre("up b"));
  static_cast<void>(world.kill("b"));
  world.run_for(10ms);
  EXPECT_FALSE(world["a"].group.send("b", {"x", 0, true, text("")}, world.now));
  world.run_for(10s);
  EXPECT_EQ(world["a"].group.find("b"), nullptr) << "and then it need not be remembered";
}

TEST_F(TwoMembers, ReliableMessagesToAProcessThatIsReplacedAreReported) {
  world.freeze("b");
  const std::uint64_t id = *world["a"].group.send("b", {"x", 0, true, text("")}, world.now);
  const std::uint64_t asked = *world["a"].group.request("b", {"x", 0, true, text("")}, world.now + 1h, world.now);
  world.settle("a");
  static_cast<void>(world.kill("b"));
  world.thaw("b");
  world.start("b");
  world.run_for(1s);
  EXPECT_EQ(world["a"].lost, (std::set<std::uint64_t>{id, asked}));
  EXPECT_EQ(world["a"].completed[asked], 1);
}

TEST_F(TwoMembers, AReplyReachesItsRequester) {
  const std::uint64_t id = request();
  world.run_for(10ms);
  world["a"].group.heard(
      999,
      spell(Hello{
          "g", {"worker", "c", 0, "t", "k", {}}, 9, world["a"].group.self().epoch, world["a"].group.self().ticket, 1}),
      world.now);
  world["a"].group.heard(
      999, spell(Notes{0, false, 0, 0, 0, 1, {{Note::Kind::reply, false, 1, 0, id, "x", text("forged")}}}), world.now);
  static_cast<void>(world["a"].group.effects());
  world.settle("a");
  EXPECT_THAT(world["a"].completed, IsEmpty());
}

/// All that is promised, whatever breaks.
class History {
 public:
  explicit History(Dice& dice) : dice_(dice), world_(dice, options_of(dice)) {
    for (const std::string& name : names_) world_.start(name);
    for (int step = 0; step < 150; ++step) act();
    world_.run_for(20s);
    for (const std::string& name : names_) {
      if (!world_.lives(name)) world_.start(name);
    }
    for (int i = 0; i < 40; ++i) {
      world_.run_for(1s);
      for (const std::string& name : names_) world_.read_all(name);
    }
    for (const std::string& name : names_) check(world_[name]);
  }

 private:
  static GroupCore::Options options_of(Dice& dice) {
    GroupCore::Options options;
    options.limits.window = static_cast<std::size_t>(dice.between(1, 20));
    options.limits.window_bytes = ByteSize{dice.between(100, 5'000)};
    options.limits.frame_bytes = ByteSize{dice.between(100, 1'000)};
    options.limits.queue = static_cast<std::size_t>(dice.between(5, 50));
    options.rejoin = dice.percent(50);
    return options;
  }
  const std::string& some() { return names_[dice_.below(names_.size())]; }

  void act() {
    const std::string& name = some();
    const std::string& peer = some();
    const std::int64_t what = dice_.between(0, 99);
    if (!world_.lives(name)) {
      if (what < 20) world_.start(name);
    } else if (what < 60 && name != peer) {
      say(name, peer);
    } else if (what < 75) {
      const std::size_t before = world_[name].received.size();
      world_.read_all(name);
      answer_some(name, before);
    } else if (what < 80) {
      const std::unique_ptr<GroupWorld::Member> dead = world_.kill(name);
      check_what_came(*dead);
    } else if (what < 90) {
      if (name != peer) world_.break_line(name, peer);
    } else {
      world_.run_for(Duration(dice_.magnitude(1'000'000, 5'000'000'000)));
    }
    world_.run_for(Duration(dice_.magnitude(1'000, 5'000'000)));
  }

  void say(const std::string& name, const std::string& peer) {
    GroupWorld::Member& member = world_[name];
    GroupCore::Wish wish{"t", 0, dice_.percent(40), text(std::string(dice_.below(300), 'x'))};
    const bool is_reliable = wish.is_reliable;
    const bool is_request = dice_.percent(20);
    const TimePoint deadline = world_.now + 5s;
    const auto id = is_request ? member.group.request(peer, std::move(wish), deadline, world_.now)
                               : member.group.send(peer, std::move(wish), world_.now);
    if (id) {
      if (is_request) member.requests.insert(*id);
      member.sent.emplace_back(peer, Note{Note::Kind::notice, is_reliable, *id, 0, 0, "", {}});
      member.sent_to_epoch[*id] = member.group.find(peer)->epoch;
    }
    world_.settle(name);
  }

  void answer_some(const std::string& name, std::size_t from) {
    GroupWorld::Member& member = world_[name];
    for (std::size_t i = from; i < member.received.size(); ++i) {
      const Letter& letter = member.received[i];
      if (letter.note.kind != Note::Kind::request || dice_.percent(30)) continue;
      static_cast<void>(member.group.reply(letter, {Note::Kind::reply, text("answer")}, world_.now));
    }
    world_.settle(name);
  }

  /// Each once at most, in order, from each process that had a name.
  static void check_what_came(const GroupWorld::Member& member) {
    std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> last;
    for (const Letter& letter : member.received) {
      std::uint64_t& before = last[{letter.peer, letter.epoch}];
      EXPECT_GT(letter.note.id, before);
      before = letter.note.id;
    }
  }

  void check(GroupWorld::Member& member) {
    check_what_came(member);
    EXPECT_EQ(member.group.undelivered(), 0) << "all are there and read";
    for (const std::uint64_t request : member.requests) EXPECT_EQ(member.completed[request], 1);
    for (const auto& [peer, note] : member.sent) {
      if (world_[peer].group.self().epoch != member.sent_to_epoch[note.id]) continue;  // it died since
      const auto& came = world_[peer].received;
      const auto count = std::count_if(came.begin(), came.end(), [&](const Letter& letter) {
        return letter.epoch == member.group.self().epoch && letter.note.id == note.id;
      });
      if (note.is_reliable) {
        EXPECT_EQ(count, 1);
      } else {
        EXPECT_TRUE(count == 1 || member.lost.contains(note.id)) << "nothing is lost in silence";
      }
    }
  }

  Dice& dice_;
  const std::vector<std::string> names_{"a", "b", "c"};
  GroupWorld world_;
};

TEST(Group, KeepsItsPromisesWhateverBreaks) {
  FOR_SEEDS(300, [](Dice& dice) { History history(dice); });
}

}  // namespace
}  // namespace cadre::remote
