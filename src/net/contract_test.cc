#include <map>
#include <optional>
#include <thread>

#include "net/backends_test.h"

namespace cadre::net {
namespace {

/// A hub, whose messages are kept with their peers, and links to it.
template <class Side>
struct NetworkContract : ::testing::Test {
  HubOptions hub_options() {
    HubOptions options{.addresses = {side.address()}, .limits = quick()};
    if (Side::has_keys) options.keys = hub_keys;
    options.unix_proof = proof_of<Side>;
    options.admission = Admission::anyone();
    return options;
  }
  LinkOptions link_options(const Keys& own) {
    LinkOptions options{.address = hub->addresses().front(), .limits = quick()};
    if (Side::has_keys) options.keys = own, options.hub_key = hub_keys.open;
    options.unix_proof = proof_of<Side>;
    return options;
  }

  void bind(HubOptions options) {
    auto made = side.hub_side().bind(std::move(options), [this](const Peer& peer, const Slice& message) {
      heard.emplace_back(peer, text_of(message));
      if (on_message) on_message(peer, heard.back().second);
    });
    ASSERT_DONE(made);
    hub = std::move(*made);
  }
  std::unique_ptr<Link> connect(LinkOptions options) {
    return side.link_side()
        .connect(std::move(options), [this](const Slice& message) { answers.push_back(text_of(message)); })
        .value();
  }
  std::unique_ptr<Link> connect() { return connect(link_options(keys)); }
  void echo() {
    on_message = [this](const Peer& peer, const std::string& text) {
      EXPECT_TRUE(hub->send(peer, as_bytes("re: " + text)));
    };
  }
  template <class Holds>
  void until(Holds holds, Duration most = seconds(60)) {
    run_until(side.loop, holds, most);
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> list;
    for (const auto& [peer, text] : heard) list.push_back(text);
    return list;
  }

  Dice dice{11};
  const Keys hub_keys = draw_keys(dice);
  const Keys keys = draw_keys(dice);
  const Keys other_keys = draw_keys(dice);
  Side side;
  std::vector<std::pair<Peer, std::string>> heard;
  std::vector<std::string> answers;
  std::function<void(const Peer&, const std::string&)> on_message;
  std::unique_ptr<Hub> hub;
};
TYPED_TEST_SUITE(NetworkContract, AllNetworks, NetworkNames);

std::vector<std::string> numbers(int count, const std::string& prefix = "") {
  std::vector<std::string> list;
  for (int i = 0; i < count; ++i) list.push_back(prefix + std::to_string(i));
  return list;
}

TYPED_TEST(NetworkContract, CarriesMessagesBothWaysInOrder) {
  this->bind(this->hub_options());
  this->echo();
  const auto link = this->connect();
  for (const std::string& text : numbers(500)) ASSERT_DONE(link->send(as_bytes(text)));
  this->until([&] { return this->answers.size() == 500; });
  EXPECT_EQ(this->texts(), numbers(500));
  EXPECT_EQ(this->answers, numbers(500, "re: "));
  EXPECT_EQ(link->counters().sent, 500);
  EXPECT_EQ(link->counters().received, 500);
  EXPECT_EQ(this->hub->counters().received, 500);
  EXPECT_EQ(this->hub->counters().sent, 500);
  EXPECT_EQ(this->hub->counters().received_bytes, link->counters().sent_bytes);
  EXPECT_EQ(this->hub->counters().sent_bytes, link->counters().received_bytes);
  this->until([&] { return this->hub->counters().authenticated == 1 && link->counters().authenticated == 1; });
  EXPECT_EQ(this->hub->counters().refused_key + this->hub->counters().refused_malformed, 0);
}

TYPED_TEST(NetworkContract, CarriesAnyBytesOfAnySizeUpToTheBound) {
  auto options = this->hub_options();
  options.limits.message_max = ByteSize{100'000};
  this->bind(options);
  auto link_options = this->link_options(this->keys);
  link_options.limits.message_max = ByteSize{100'000};
  const auto link = this->connect(link_options);
  std::vector<std::string> sent;
  for (const std::size_t size : {0, 1, 2, 255, 256, 4'095, 8'192, 65'535, 65'536, 99'999, 100'000}) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(this->dice.bits());
    ASSERT_DONE(link->send(as_bytes(text)));
    ASSERT_DONE(link->send_whole(Bytes(as_bytes(text).begin(), as_bytes(text).end())));
    sent.push_back(text);
    sent.push_back(std::move(text));
  }
  this->until([&] { return this->heard.size() == sent.size(); });
  EXPECT_EQ(this->texts(), sent);

  const Bytes large(100'001);
  EXPECT_ERROR(Errc::invalid, link->send(large));
  EXPECT_ERROR(Errc::invalid, link->send_whole(large));
  EXPECT_ERROR(Errc::invalid, this->hub->send(this->heard[0].first, large));
  EXPECT_EQ(link->counters().refused_large, 2);
  EXPECT_EQ(this->hub->counters().refused_large, 1);
}

TYPED_TEST(NetworkContract, MessagesOutliveTheirFrame) {
  std::vector<Slice> kept;
  const auto keep = [&](const Peer&, const Slice& message) { kept.push_back(message); };
  this->hub = this->side.hub_side().bind(this->hub_options(), keep).value();
  auto link = this->connect();
  std::vector<std::string> sent;
  for (const std::size_t size : {0, 10, 100, 4'095, 4'096, 20'000, 60'000}) {
    sent.push_back(std::string(size, static_cast<char>('a' + sent.size())));
    ASSERT_DONE(link->send(as_bytes(sent.back())));
  }
  this->until([&] { return kept.size() == sent.size(); });
  link.reset();
  this->hub.reset();
  for (std::size_t i = 0; i < sent.size(); ++i) EXPECT_EQ(text_of(kept[i]), sent[i]);
}

TYPED_TEST(NetworkContract, ReceivesWhileALinkSends) {
  this->bind(this->hub_options());
  for (const Duration within : {milliseconds(0), milliseconds(5)}) {
    this->echo();
    auto options = this->link_options(this->keys);
    options.look_within = within;
    const auto link = this->connect(options);
    this->heard.clear();
    this->answers.clear();
    ASSERT_DONE(link->send(as_bytes("one")));
    this->until([&] { return this->heard.size() == 1; });
    this->on_message = nullptr;
    std::this_thread::sleep_for(milliseconds(20));  // the answer comes while nobody listens
    ASSERT_DONE(link->send(as_bytes("two")));
    this->until([&] { return this->answers.size() == 1 && this->heard.size() == 2; });
  }
}

TYPED_TEST(NetworkContract, TellsALinkThatItsConnectionIsLostAndLetsItEndForThat) {
  this->bind(this->hub_options());
  int lost = 0;
  std::unique_ptr<Link> link;
  auto options = this->link_options(this->keys);
  options.on_lost = [&] {
    ++lost;
    link.reset();
  };
  link = this->connect(options);
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->heard.size() == 1; });
  EXPECT_EQ(lost, 0);
  this->hub.reset();
  this->until([&] { return lost == 1; });
  EXPECT_EQ(link, nullptr);
}

TYPED_TEST(NetworkContract, TellsLinksApartAndAnswersEachItsOwn) {
  this->bind(this->hub_options());
  this->echo();
  const auto first = this->connect(this->link_options(this->keys));
  const auto second = this->connect(this->link_options(this->other_keys));
  for (int i = 0; i < 20; ++i) {
    ASSERT_DONE(first->send(as_bytes("first")));
    ASSERT_DONE(second->send(as_bytes("second")));
  }
  this->until([&] { return this->answers.size() == 40; });
  std::map<std::string, Peer> peers;
  for (const auto& [peer, text] : this->heard) EXPECT_EQ(peers.emplace(text, peer).first->second, peer);
  EXPECT_NE(peers.at("first").connection, peers.at("second").connection);
  EXPECT_EQ(peers.at("first").key, TypeParam::has_keys ? this->keys.open : PublicKey());
  EXPECT_EQ(peers.at("second").key, TypeParam::has_keys ? this->other_keys.open : PublicKey());
  EXPECT_EQ(first->counters().received, 20);
  EXPECT_EQ(second->counters().received, 20);
}

TYPED_TEST(NetworkContract, NeverCallsAHandlerInsideSend) {
  this->bind(this->hub_options());
  const auto link = this->connect();
  bool inside = false;
  int rounds = 0;
  this->on_message = [&](const Peer& peer, const std::string&) {
    EXPECT_FALSE(inside);
    inside = true;
    EXPECT_TRUE(this->hub->send(peer, as_bytes("x")));
    EXPECT_TRUE(link->send(as_bytes("y")));
    inside = false;
    ++rounds;
  };
  ASSERT_DONE(link->send(as_bytes("y")));
  this->until([&] { return rounds >= 50; });
}

TYPED_TEST(NetworkContract, RefusesWhenTooMuchWaitsAndGoesOnLater) {
  this->bind(this->hub_options());
  auto options = this->link_options(this->keys);
  options.limits.queue_max = 10;
  this->hub.reset();
  const auto link = this->connect(options);
  int accepted = 0;
  while (link->send(as_bytes(std::to_string(accepted)))) ASSERT_LT(++accepted, 100);
  EXPECT_GE(accepted, 10);
  EXPECT_ERROR(Errc::unavailable, link->send(as_bytes("no more")));
  EXPECT_EQ(link->counters().refused_full, 2);
  EXPECT_EQ(link->counters().sent, accepted);

  auto again = this->hub_options();
  again.addresses = {options.address};
  this->bind(again);
  this->until([&] { return static_cast<int>(this->heard.size()) == accepted; });
  EXPECT_EQ(this->texts(), numbers(accepted));
}

TYPED_TEST(NetworkContract, FindsAHubAgainThatWasRestarted) {
  this->bind(this->hub_options());
  auto again = this->hub_options();
  again.addresses = this->hub->addresses();
  const auto link = this->connect();
  for (int round = 1; round <= 3; ++round) {
    const std::string hello = "round " + std::to_string(round);
    this->until([&] {
      if (!this->heard.empty() && this->heard.back().second == hello) return true;
      EXPECT_TRUE(link->send(as_bytes(hello)));
      return false;
    });
    const Peer peer = this->heard.back().first;
    this->hub.reset();
    this->bind(again);
    EXPECT_EQ(this->hub->addresses(), again.addresses);
    EXPECT_ERROR(Errc::unavailable, this->hub->send(peer, as_bytes("you are another's")));
    EXPECT_EQ(this->hub->counters().refused_gone, 1);
  }
}

TYPED_TEST(NetworkContract, DetectsALostLink) {
  this->bind(this->hub_options());
  auto link = this->connect();
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->heard.size() == 1; });
  link.reset();
  this->until([&] { return !this->hub->send(this->heard[0].first, as_bytes("are you there?")); });
  EXPECT_GE(this->hub->counters().refused_gone, 1);
  this->until([&] { return this->hub->counters().disconnected == 1; });
}

TYPED_TEST(NetworkContract, SendsAcceptedMessagesAfterClose) {
  this->bind(this->hub_options());
  auto link = this->connect();
  ASSERT_DONE(link->send(as_bytes("first")));
  this->until([&] { return this->heard.size() == 1; });
  for (int i = 0; i < 100; ++i) ASSERT_DONE(link->send(as_bytes("more")));
  link.reset();
  this->until([&] { return this->heard.size() == 101; });
}

TYPED_TEST(NetworkContract, LetsAHandlerDestroyItsEnd) {
  this->bind(this->hub_options());
  std::unique_ptr<Link> link;
  bool answered = false;
  link = this->side.link_side()
             .connect(this->link_options(this->keys),
                      [&](const Slice&) {
                        link.reset();
                        answered = true;
                      })
             .value();
  this->on_message = [&](const Peer& peer, const std::string&) {
    EXPECT_TRUE(this->hub->send(peer, as_bytes("one")));
    EXPECT_TRUE(this->hub->send(peer, as_bytes("two")));
  };
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return answered; });

  const auto other = this->connect();
  bool destroyed = false;
  this->on_message = [&](const Peer&, const std::string&) {
    this->hub.reset();
    destroyed = true;
  };
  ASSERT_DONE(other->send(as_bytes("hello")));
  ASSERT_DONE(other->send(as_bytes("hello")));
  this->until([&] { return destroyed; });
  EXPECT_EQ(this->heard.size(), 2);
}

TYPED_TEST(NetworkContract, DoesNotStarveTheLoopInAFlood) {
  auto options = this->hub_options();
  options.limits.turn_max = 16;
  this->bind(options);
  this->on_message = [this](const Peer& peer, const std::string&) {
    static_cast<void>(this->hub->send(peer, as_bytes("again")));
  };
  std::unique_ptr<Link> link;
  int received = 0;
  link = this->side.link_side()
             .connect(this->link_options(this->keys),
                      [&](const Slice&) {
                        ++received;
                        static_cast<void>(link->send(as_bytes("again")));
                      })
             .value();
  for (int i = 0; i < 200; ++i) ASSERT_DONE(link->send(as_bytes("go")));
  int turns = 0;
  loop::Timer timer;
  std::function<void()> turn = [&] { ++turns, timer = this->side.loop.after(milliseconds(1), turn); };
  turn();
  this->until([&] { return received > 5'000 && turns > 20; });
}

TYPED_TEST(NetworkContract, RefusesASecondHubAtTheSameAddress) {
  this->bind(this->hub_options());
  auto options = this->hub_options();
  options.addresses = this->hub->addresses();
  const auto second = this->side.hub_side().bind(options, [](const Peer&, const Slice&) { FAIL(); });
  EXPECT_ERROR(Errc::conflict, second);
  const auto link = this->connect();
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->heard.size() == 1; });
}

TYPED_TEST(NetworkContract, SaysWhatIsWrongWithOptions) {
  const auto ignore = [](const Peer&, const Slice&) {};
  EXPECT_ERROR(Errc::invalid, this->side.hub_side().bind({}, ignore));
  EXPECT_ERROR(Errc::invalid, this->side.hub_side().bind({.addresses = {"tcp://127.0.0.1:0"}}, ignore));
  EXPECT_ERROR(Errc::invalid, this->side.hub_side().bind({.addresses = {"http://x"}}, ignore));
  EXPECT_ERROR(Errc::invalid, this->side.link_side().connect({.address = "tcp://127.0.0.1:7000"}, [](const Slice&) {}));
  LinkOptions options{.address = "tcp://127.0.0.1:0", .keys = this->keys, .hub_key = this->hub_keys.open};
  EXPECT_ERROR(Errc::invalid, this->side.link_side().connect(options, [](const Slice&) {}));
  options.address = "tcp://*:7000";
  EXPECT_ERROR(Errc::invalid, this->side.link_side().connect(options, [](const Slice&) {}));
  options.address = "tcp://127.0.0.1:7000";
  options.limits.silence_max = milliseconds(100);
  EXPECT_ERROR(Errc::invalid, this->side.link_side().connect(options, [](const Slice&) {}));
}

/// Only where there are keys.
template <class Side>
struct KeyContract : NetworkContract<Side> {};
using NetworksWithKeys = ::testing::Types<ByTcp, ByUnixSocketWithKeys, ByMemory, ByMemoryOnOneHostWithKeys>;
TYPED_TEST_SUITE(KeyContract, NetworksWithKeys, NetworkNames);

TYPED_TEST(KeyContract, AdmitsOnlyAllowedKeys) {
  auto options = this->hub_options();
  options.admission = Admission::only({this->keys.open});
  this->bind(options);
  const auto stranger = this->connect(this->link_options(this->other_keys));
  const auto ask = [&] { static_cast<void>(stranger->send(as_bytes("let me in"))); };
  ask();
  const auto link = this->connect();
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->hub->counters().refused_key >= 3 && this->heard.size() == 1; });
  EXPECT_EQ(this->heard[0].first.key, this->keys.open);
  EXPECT_EQ(this->hub->counters().authenticated, 1);
  EXPECT_GE(this->hub->counters().handshakes_failed, 2);
  this->until([&] { return stranger->counters().refused_key >= 2; });
  EXPECT_EQ(link->counters().refused_key, 0);

  this->hub->allow(this->other_keys.open);
  this->until([&] { return ask(), this->heard.size() >= 2; });
  EXPECT_EQ(this->heard[1].first.key, this->other_keys.open);
  EXPECT_EQ(this->heard[1].second, "let me in");
}

TYPED_TEST(KeyContract, HearsNothingMoreOfARevokedKeyAndTellsItNothing) {
  this->bind(this->hub_options());
  this->echo();
  const auto link = this->connect();
  const auto other = this->connect(this->link_options(this->other_keys));
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->answers.size() == 1; });
  const Peer peer = this->heard[0].first;
  for (int i = 0; i < 10; ++i) ASSERT_DONE(link->send(as_bytes("still me")));
  this->hub->revoke(this->keys.open);
  this->until([&] { return this->hub->counters().refused_key == 10; });
  EXPECT_ERROR(Errc::denied, this->hub->send(peer, as_bytes("a secret")));
  EXPECT_EQ(this->hub->counters().refused_key, 11);
  ASSERT_DONE(other->send(as_bytes("hello")));
  this->until([&] { return this->answers.size() == 2; });
  EXPECT_EQ(this->heard.size(), 2);

  this->hub->allow(this->keys.open);
  ASSERT_DONE(link->send(as_bytes("thanks")));
  this->until([&] { return this->heard.size() == 3; });
}

TYPED_TEST(KeyContract, RefusesALinkWithTheWrongKeyOfTheHub) {
  this->bind(this->hub_options());
  auto options = this->link_options(this->keys);
  options.hub_key = this->other_keys.open;
  const auto link = this->connect(options);
  ASSERT_DONE(link->send(as_bytes("hello")));
  this->until([&] { return this->hub->counters().handshakes_failed >= 2; });
  EXPECT_EQ(this->hub->counters().authenticated, 0);
  EXPECT_TRUE(this->heard.empty());
}

}  // namespace
}  // namespace cadre::net
