#include "net/memory_network.h"

#include <array>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/seeds.h"
#include "net/backends_test.h"

namespace cadre::net {
namespace {

/// A hub that answers, and links that talk to it, while hosts are cut off, killed and started again. Whoever hears
/// something twice, or in a wrong order, or of a stranger, fails.
class Storm {
 public:
  explicit Storm(std::uint64_t seed) : dice_(seed), loop_({.seed = dice_.bits()}), network_(loop_, {dice_.bits()}) {
    for (Talker& talker : talkers_) talker.keys = draw_keys(dice_);
    start_hub();
    for (std::size_t i = 0; i < talkers_.size(); ++i) start_link(i);
  }

  void rage(Duration time) {
    const TimePoint end = loop_.now() + time;
    while (loop_.now() < end && !::testing::Test::HasFailure()) {
      disturb();
      pass(Duration(dice_.magnitude(1'000'000, 3'000'000'000)));
    }
  }

  /// All is healed: soon everybody is heard and answered, and nothing is lost any more.
  void calm() {
    for (std::size_t i = 0; i < talkers_.size(); ++i) network_.heal(host(i), "hub");
    pass(seconds(10));
    talks_ = false;
    pass(seconds(1));
    std::array<std::size_t, 3> before{};
    for (std::size_t i = 0; i < talkers_.size(); ++i) before[i] = talkers_[i].answers.size();
    for (int round = 0; round < 10; ++round) {
      for (std::size_t i = 0; i < talkers_.size(); ++i) say(i);
    }
    pass(seconds(1));
    for (std::size_t i = 0; i < talkers_.size(); ++i) EXPECT_EQ(talkers_[i].answers.size(), before[i] + 10);
  }

  std::uint64_t fingerprint() const { return fingerprint_; }
  std::uint64_t heard() const { return heard_; }
  std::uint64_t said() const { return said_; }

 private:
  struct Talker {
    Keys keys{{}, SecretKey("")};
    std::unique_ptr<Link> link;
    int life = 0;  // how often it was started
    int next = 0;
    std::set<std::string> answers{};
    loop::Timer speech{};
  };

  static std::string host(std::size_t i) { return "host" + std::to_string(i); }

  void start_hub() {
    HubOptions options{.addresses = {"tcp://*:7000"}, .keys = hub_keys_, .limits = impatient()};
    for (const Talker& talker : talkers_) options.admission.allow(talker.keys.open);
    hub_ = network_.host("hub")
               .bind(options, [this](const Peer& peer, const Slice& message) { hear(peer, text_of(message)); })
               .value();
  }

  void start_link(std::size_t i) {
    Talker& talker = talkers_[i];
    ++talker.life;
    LinkOptions options{
        .address = "tcp://hub:7000", .keys = talker.keys, .hub_key = hub_keys_.open, .limits = impatient()};
    talker.link = network_.host(host(i))
                      .connect(options,
                               [this, i](const Slice& answer) {
                                 mix(text_of(answer));
                                 EXPECT_TRUE(talkers_[i].answers.insert(text_of(answer)).second) << "twice";
                               })
                      .value();
    speak(i);
  }

  void speak(std::size_t i) {
    if (talks_) say(i);
    talkers_[i].speech = loop_.after(Duration(dice_.between(1'000'000, 100'000'000)), [this, i] { speak(i); });
  }

  void say(std::size_t i) {
    Talker& talker = talkers_[i];
    const std::string text =
        std::to_string(i) + " " + std::to_string(talker.life) + " " + std::to_string(1'000'000 + talker.next);
    if (!talker.link->send(as_bytes(text))) return;
    ++talker.next;
    ++said_;
  }

  void hear(const Peer& peer, const std::string& text) {
    mix(text);
    ++heard_;
    EXPECT_TRUE(all_heard_.insert(text).second) << "twice: " << text;
    EXPECT_EQ(peer.key, talkers_[text[0] - '0'].keys.open);
    std::string& last = last_of_[peer.connection];
    EXPECT_LT(last, text) << "out of order";
    last = text;
    static_cast<void>(hub_->send(peer, as_bytes(text)));
  }

  void disturb() {
    const std::size_t i = dice_.below(talkers_.size());
    switch (dice_.below(5)) {
      case 0:
      case 1: return network_.cut(host(i), "hub");
      case 2: return network_.heal(host(i), "hub");
      case 3:
        if (dice_.percent(50)) network_.crash(host(i));
        talkers_[i].link.reset();
        return start_link(i);
      default:
        if (dice_.percent(50)) network_.crash("hub");
        hub_.reset();
        pass(Duration(dice_.magnitude(1'000'000, 2'000'000'000)));
        return start_hub();
    }
  }

  void pass(Duration time) { ASSERT_TRUE(loop_.run_until(loop_.now() + time)); }
  void mix(const std::string& text) {
    fingerprint_ = fnv1a(text + "@" + cadre::to_string(loop_.now().time_since_epoch()) + ";", fingerprint_);
  }

  Dice dice_;
  loop::SimulatedLoop loop_;
  MemoryNetwork network_;
  const Keys hub_keys_ = draw_keys(dice_);
  std::array<Talker, 3> talkers_;
  std::unique_ptr<Hub> hub_;
  std::map<ConnectionId, std::string> last_of_;
  std::set<std::string> all_heard_;
  std::uint64_t fingerprint_ = fnv1a_basis;
  std::uint64_t heard_ = 0;
  std::uint64_t said_ = 0;
  bool talks_ = true;
};

TEST(MemoryNetwork, DeliversAtMostOnceAndInOrderInAnyStormAndRecovers) {
  std::uint64_t said = 0, heard = 0;
  FOR_SEEDS(100, [&](Dice& dice) {
    Storm storm(dice.bits());
    storm.rage(seconds(40));
    storm.calm();
    said += storm.said();
    heard += storm.heard();
  });
  EXPECT_GT(heard, said / 4) << "hardly anything arrived: the storm tests nothing";
  EXPECT_LT(heard, said * 99 / 100) << "hardly anything was lost: the storm tests nothing";
}

TEST(MemoryNetwork, RunsTheSameForTheSameSeed) {
  FOR_SEEDS(20, [](Dice& dice) {
    const std::uint64_t seed = dice.bits();
    Storm first(seed), second(seed), other(seed + 1);
    for (Storm* storm : {&first, &second, &other}) storm->rage(seconds(20));
    EXPECT_EQ(first.fingerprint(), second.fingerprint());
    EXPECT_NE(first.fingerprint(), other.fingerprint());
  });
}

struct Cuts : ::testing::Test {
  Dice dice{5};
  const Keys hub_keys = draw_keys(dice);
  const Keys keys = draw_keys(dice);
  loop::SimulatedLoop loop;
  MemoryNetwork network{loop};
  std::vector<std::pair<Peer, std::string>> heard;
  std::unique_ptr<Hub> hub =
      network.host("hub")
          .bind({.addresses = {"tcp://*:7000"},
                 .keys = hub_keys,
                 .admission = Admission::anyone(),
                 .limits = impatient()},
                [this](const Peer& peer, const Slice& message) { heard.emplace_back(peer, text_of(message)); })
          .value();
  std::unique_ptr<Link> link =
      network.host("link")
          .connect({.address = "tcp://hub:7000", .keys = keys, .hub_key = hub_keys.open, .limits = impatient()},
                   [](const Slice&) {})
          .value();
};

TEST_F(Cuts, ThatAreShortDelayAndLoseNothing) {
  ASSERT_DONE(link->send(as_bytes("before")));
  run_until(loop, [&] { return heard.size() == 1; });
  network.cut("link", "hub");
  for (int i = 0; i < 10; ++i) ASSERT_DONE(link->send(as_bytes("during")));
  run_for(loop, milliseconds(900));
  EXPECT_EQ(heard.size(), 1);
  network.heal("link", "hub");
  run_until(
      loop, [&] { return heard.size() == 11; }, milliseconds(100));
  EXPECT_EQ(heard.back().first, heard.front().first);
  EXPECT_EQ(hub->counters().disconnected, 0);
}

TEST_F(Cuts, ThatAreLongEndTheConnectionForBothSides) {
  ASSERT_DONE(link->send(as_bytes("before")));
  run_until(loop, [&] { return heard.size() == 1; });
  network.cut("link", "hub");
  EXPECT_TRUE(hub->send(heard[0].first, as_bytes("into the void")));
  run_for(loop, milliseconds(1'300));
  EXPECT_EQ(hub->counters().disconnected, 1);
  EXPECT_EQ(link->counters().disconnected, 1);
  EXPECT_ERROR(Errc::unavailable, hub->send(heard[0].first, as_bytes("are you there?")));
  ASSERT_DONE(link->send(as_bytes("after")));
  run_for(loop, seconds(5));
  EXPECT_EQ(heard.size(), 1);
  network.heal("link", "hub");
  run_until(
      loop, [&] { return heard.size() == 2; }, seconds(1));
  EXPECT_NE(heard[1].first.connection, heard[0].first.connection);
  EXPECT_EQ(heard[1].first.key, keys.open);
}

TEST_F(Cuts, DoNotReachOthers) {
  network.cut("link", "another");
  network.cut("hub", "another");
  ASSERT_DONE(link->send(as_bytes("hello")));
  run_until(
      loop, [&] { return heard.size() == 1; }, milliseconds(100));
}

TEST(MemoryNetwork, UnixSocketsReachTheirOwnHostOnly) {
  loop::SimulatedLoop loop;
  MemoryNetwork network{loop};
  int heard = 0;
  const auto hub =
      network.host("a").bind({.addresses = {"ipc:///run/hub"}}, [&](const Peer&, const Slice&) { ++heard; });
  ASSERT_DONE(hub);
  const auto near = network.host("a").connect({.address = "ipc:///run/hub"}, [](const Slice&) {}).value();
  const auto far = network.host("b").connect({.address = "ipc:///run/hub"}, [](const Slice&) {}).value();
  ASSERT_DONE(near->send(as_bytes("hello")));
  ASSERT_DONE(far->send(as_bytes("hello")));
  run_for(loop, seconds(10));
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(far->counters().connections, 0);
}

}  // namespace
}  // namespace cadre::net
