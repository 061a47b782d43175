#include "client/gang/socket_gang.h"

#include <gmock/gmock.h>

#include <numeric>
#include <thread>

#include "client/gang/meeting.h"
#include "tests/servers/results.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

enum class Between { sockets, network };

/// Ranks on threads of this process; over TCP as between hosts, or over unix sockets.
struct Gangs {
  explicit Gangs(std::uint32_t count, Between between = Between::network) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      GangCard card;
      card.gang = "test";
      card.rank = rank;
      card.size = count;
      card.place = "agent " + std::string(1, static_cast<char>('a' + rank));
      gangs.push_back(SocketGang::listen(card).value());
    }
    for (const auto& gang : gangs) {
      roster.push_back(gang->card());
      if (between == Between::network) roster.back().host += std::to_string(roster.size());
    }
  }
  void begin() {
    for (const auto& gang : gangs) gang->begin(roster);
  }
  /// On all that are left, at once.
  template <class Body>
  void on_each(const Body& body) {
    std::vector<std::jthread> threads;
    for (const auto& gang : gangs) {
      if (gang != nullptr) threads.emplace_back([&body, &gang] { body(*gang); });
    }
  }

  std::vector<std::unique_ptr<SocketGang>> gangs;
  std::vector<GangCard> roster;
};

struct OverLines : testing::TestWithParam<Between> {};

TEST_P(OverLines, LargeAndSmallCallsGiveTheSameOnAllRanks) {
  Gangs all(3, GetParam());
  all.begin();
  all.on_each([](Gang& gang) {
    const std::uint32_t rank = gang.place().rank;
    for (const std::size_t count : {1, 100, 70'000, 10'000'000}) {
      std::vector<float> numbers(count);
      std::iota(numbers.begin(), numbers.end(), static_cast<float>(rank));
      ASSERT_DONE(gang.allreduce(std::as_writable_bytes(std::span(numbers)), NumberKind::f32, Reduction::max));
      ASSERT_EQ(numbers.front(), 2);
      ASSERT_EQ(numbers.back(), static_cast<float>(count + 1));
    }
    const Bytes own(3'000'000, static_cast<std::byte>(rank));
    const auto gathered = gang.gather(own);
    ASSERT_DONE(gathered);
    ASSERT_EQ(gathered->size(), rank == 0 ? 3 : 0);
    const auto everything = gang.allgather(own);
    ASSERT_DONE(everything);
    for (std::uint8_t from = 0; from < 3; ++from) {
      ASSERT_TRUE(everything->at(from) == Bytes(3'000'000, std::byte{from}));
      ASSERT_TRUE(rank != 0 || gathered->at(from) == everything->at(from));
    }
    const auto told = gang.broadcast(own);
    ASSERT_DONE(told);
    ASSERT_TRUE(*told == Bytes(3'000'000, std::byte{0}));
    gang.leave();
  });
}

INSTANTIATE_TEST_SUITE_P(Both, OverLines, testing::Values(Between::sockets, Between::network));

TEST(SocketGang, ALostRankIsNamedByAllOthersAtOnce) {
  for (const std::size_t dead : {2, 0}) {
    Gangs all(4);
    all.begin();
    all.on_each([](Gang& gang) { ASSERT_DONE(gang.allgather({})); });
    std::jthread ends([&] {
      std::this_thread::sleep_for(100ms);
      all.gangs[dead].reset();  // without a word, as when its process is killed
    });
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::jthread> waiting;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      if (rank == dead) continue;
      waiting.emplace_back([&, gang = all.gangs[rank].get()] {
        const auto result = gang->allgather({});
        ASSERT_FALSE(result);
        EXPECT_THAT(result.error().message, HasSubstr(all.roster[dead].name() + " was lost"));
        const auto again = gang->broadcast({});
        ASSERT_FALSE(again);
        EXPECT_EQ(again.error().message, result.error().message);
      });
    }
    waiting.clear();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
  }
}

TEST(SocketGang, ARankThatLeavesIsNotLost) {
  Gangs all(3);
  all.begin();
  all.on_each([](Gang& gang) { ASSERT_DONE(gang.allgather({})); });
  all.gangs[1]->leave();
  all.gangs[1].reset();
  const auto result = all.gangs[0]->broadcast({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "rank 1 on agent b has ended before broadcast");
}

TEST(SocketGang, CallsThatDifferFailOnAllRanks) {
  Gangs all(3);
  all.begin();
  all.on_each([](Gang& gang) {
    const auto result = gang.place().rank == 1 ? gang.gather({}) : gang.allgather({});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::conflict);
    EXPECT_THAT(result.error().message, HasSubstr("gather on rank 1 on agent b"));
  });
}

/// Something that connects to rank 0 and greets it.
struct OtherProcess {
  OtherProcess(const GangCard& to, const std::string& address, const std::string& word, std::uint32_t rank) {
    engine.perform([&] {
      network = net::ZmqNetwork::make(engine.loop(), log).value();
      net::LinkOptions options;
      options.address = address;
      options.keys = net::make_keys();
      options.hub_key = net::parse_public_key(to.key).value();
      link = network->connect(options, [this](const Slice&) { ++answers; }).value();
      Bytes greeting{std::byte{1}};
      greeting.insert(greeting.end(), as_bytes(word).begin(), as_bytes(word).end());
      const BytesView number = std::as_bytes(std::span(&rank, 1));
      greeting.insert(greeting.end(), number.begin(), number.end());
      ASSERT_DONE(link->send(greeting));
    });
  }
  ~OtherProcess() {
    engine.perform([this] { link.reset(), network.reset(); });
  }
  std::uint64_t refusals() {
    std::uint64_t count = 0;
    engine.perform([&] { count = link->counters().refused_key; });
    return count;
  }

  Engine engine;
  SilentLog log;
  std::unique_ptr<net::ZmqNetwork> network;
  std::unique_ptr<net::Link> link;
  std::atomic<int> answers = 0;
};

TEST(SocketGang, RefusesProcessesOutsideTheGang) {
  Gangs all(2);
  all.begin();
  const GangCard& chief = all.roster[0];
  // One that knows everything but the key of a member, and one on this host that does not know the word.
  OtherProcess over_network(chief, "tcp://127.0.0.1:" + std::to_string(chief.port), chief.word, 1);
  OtherProcess over_socket(chief, "ipc://" + chief.socket, std::string(32, 'x'), 1);
  all.on_each([](Gang& gang) {
    for (int i = 0; i < 200; ++i) {
      ASSERT_DONE(gang.allgather({}));
      std::this_thread::sleep_for(1ms);
    }
  });
  EXPECT_EQ(over_network.answers, 0);
  EXPECT_GT(over_network.refusals(), 0);
  EXPECT_EQ(over_socket.answers, 0);
}

TEST(SocketGang, MalformedMessagesOfAMemberFailTheGang) {
  Gangs all(2, Between::sockets);
  all.begin();
  all.on_each([](Gang& gang) { ASSERT_DONE(gang.allgather({})); });
  OtherProcess member(all.roster[0], "ipc://" + all.roster[0].socket, all.roster[0].word, 1);
  while (member.answers == 0) std::this_thread::sleep_for(1ms);
  member.engine.perform([&] { ASSERT_DONE(member.link->send(Bytes{std::byte{3}, std::byte{99}})); });
  const auto result = all.gangs[0]->allgather({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "rank 1 on agent b sent a malformed message");
}

/// Where ranks 0 and 1 meet, on the engine of rank 0.
struct Meetings : testing::Test {
  Meetings() {
    Engine& engine = all.gangs[0]->engine();
    engine.perform([&] {
      meeting =
          Meeting::open(all.gangs[0]->lines().network(), socket, 0, 2, [this](const std::vector<GangCard>& cards) {
            meeting->answer(cards);
          }).value();
    });
  }
  ~Meetings() override {
    all.gangs[0]->engine().perform([this] { meeting.reset(); });
  }

  Gangs all{2};
  const std::string socket = all.gangs[0]->lines().folder() + "/meeting";
  std::unique_ptr<Meeting> meeting;
};

TEST_F(Meetings, AllGetTheCardsOfAll) {
  all.on_each([this](SocketGang& gang) {
    const auto roster = meet(gang, socket, 30s);
    ASSERT_DONE(roster);
    ASSERT_EQ(roster->size(), 2);
    EXPECT_EQ(roster->at(1).name(), "rank 1 on agent b");
    EXPECT_EQ(roster->at(1).word, all.roster[1].word);
  });
}

TEST_F(Meetings, MissingRanksAreNamed) {
  const auto roster = meet(*all.gangs[0], socket, 300ms);
  ASSERT_FALSE(roster);
  EXPECT_EQ(roster.error().code, Errc::timed_out);
  EXPECT_THAT(roster.error().message, HasSubstr("rank 1 on agent a did not join"));
}

TEST_F(Meetings, ASecondProcessOfOneRankIsRefused) {
  GangCard twin = all.gangs[0]->card();
  auto other = SocketGang::listen(twin).value();
  const auto first = meet(*all.gangs[0], socket, 300ms);
  ASSERT_FALSE(first);
  const auto second = meet(*other, socket, 10s);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::conflict);
  EXPECT_THAT(second.error().message, HasSubstr("another process has joined as rank 0"));
}

TEST_F(Meetings, ProcessesOfAnotherGangAreRefused) {
  ASSERT_FALSE(meet(*all.gangs[0], socket, 300ms));
  GangCard card = all.gangs[1]->card();
  card.gang = "another";
  const auto other = SocketGang::listen(card).value();
  const auto refused = meet(*other, socket, 10s);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it belongs to another gang (another, 2 processes)"));
}

}  // namespace
}  // namespace cadre::client
