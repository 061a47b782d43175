#include "master/join_service.h"

#include <gmock/gmock.h>

#include <deque>

#include "describe/describe.h"
#include "loop/simulated_loop.h"
#include "net/memory_network.h"
#include "objects/hash.h"

namespace cadre::master {
namespace {

using cluster::AgentId;
namespace joining = cluster::joining;
using std::chrono::seconds;
using testing::HasSubstr;

const std::string good(40, 'g');
const std::string local(40, 'l');
std::string hash_of(const std::string& secret) { return objects::sha256(as_bytes(secret)); }

/// An agent that shows a secret.
class Joiner {
 public:
  Joiner(net::Network& network, net::LinkOptions options)
      : link_(network.connect(std::move(options), [this](BytesView bytes) { hear(bytes); }).value()) {}
  void show(const std::string& secret) {
    EXPECT_TRUE(link_->send(describe::write_msgpack(joining::Join{AgentId("a"), secret})));
  }
  std::string why() const {
    const auto* refused = answers.empty() ? nullptr : std::get_if<joining::Refused>(&answers.back());
    return refused == nullptr ? "" : refused->why;
  }
  std::deque<joining::Answer> answers;

 private:
  void hear(BytesView bytes) { answers.push_back(describe::read_msgpack<joining::Answer>(bytes).value()); }
  std::unique_ptr<net::Link> link_;
};

struct JoinServiceTest : testing::Test {
  JoinServiceTest() {
    JoinOptions options;
    options.hub = {{"tcp://master:1", "ipc:///join"}, hub_keys, net::Admission::anyone(), {}};
    options.hub.unix_proof = net::UnixProof::keys;
    options.outside = {"tcp://master:2", "tcp://master:3", ""};
    options.inside = {"ipc:///agents", "ipc:///bulk", ""};
    options.local_secret_hash = hash_of(local);
    options.tokens = {{hash_of(good), TimePoint(), "gpu"}};
    options.limit = {3, seconds(10), 6, seconds(1), 100};
    options.admit = [this](JoinOptions::Wanted wanted, const auto& done) {
      admitted.push_back(wanted);
      done(wanted.token_hash.empty() ? Result<std::string>("") : Result<std::string>("gpu"));
    };
    service = JoinService::open({loop, network.host("master"), calendar, log, refused}, std::move(options)).value();
  }
  Joiner from(const std::string& host) {
    return {network.host(host), {"tcp://master:1", net::draw_keys(dice), hub_keys.open, {}}};
  }
  Joiner from_this_host() {
    net::LinkOptions options{"ipc:///join", net::draw_keys(dice), hub_keys.open, {}};
    options.unix_proof = net::UnixProof::keys;
    return {network.host("master"), options};
  }
  void pass(Duration time = seconds(1)) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  Dice dice{1};
  net::Keys hub_keys = net::draw_keys(dice);
  loop::SimulatedLoop loop;
  net::MemoryNetwork network{loop};
  loop::Calendar calendar = loop::Calendar::of_simulation(loop);
  SilentLog log;
  MetricSet metrics;
  Counter refused{metrics, "refused_total", "Refused attempts."};
  std::vector<JoinOptions::Wanted> admitted;
  std::unique_ptr<JoinService> service;
};

TEST_F(JoinServiceTest, AdmitsByTokenAndTellsTheWay) {
  Joiner agent = from("far");
  agent.show(good);
  pass();
  ASSERT_EQ(admitted.size(), 1);
  EXPECT_EQ(admitted[0].token_hash, hash_of(good));
  EXPECT_FALSE(admitted[0].key.empty());
  const auto& joined = std::get<joining::Joined>(agent.answers.at(0));
  EXPECT_EQ(joined.control, "tcp://master:2");
  EXPECT_EQ(joined.pool, "gpu");
}

TEST_F(JoinServiceTest, TheSecretOfTheFolderIsGoodOnThisHostOnly) {
  Joiner here = from_this_host();
  here.show(local);
  Joiner far = from("far");
  far.show(local);
  pass();
  ASSERT_EQ(admitted.size(), 1);
  EXPECT_EQ(admitted[0].token_hash, "");
  EXPECT_EQ(std::get<joining::Joined>(here.answers.at(0)).bulk, "ipc:///bulk");
  EXPECT_THAT(far.why(), HasSubstr("this join token is not known"));
}

TEST_F(JoinServiceTest, FailuresOfAnAddressAreLimitedAndNeverReachTheControlLoop) {
  Joiner guesser = from("bad");
  for (int i = 0; i < 3; ++i) guesser.show(std::string(40, static_cast<char>('0' + i)));
  pass(std::chrono::milliseconds(500));
  EXPECT_THAT(guesser.why(), HasSubstr("this join token is not known"));
  guesser.show(good);  // too late
  pass(std::chrono::milliseconds(100));
  EXPECT_THAT(guesser.why(), HasSubstr("too many attempts"));
  EXPECT_TRUE(admitted.empty());
  EXPECT_EQ(refused, 4);
  Joiner other = from("good");
  other.show(good);
  pass();
  EXPECT_EQ(admitted.size(), 1);
  pass(seconds(60));
  guesser.show(good);
  pass();
  EXPECT_EQ(admitted.size(), 2);
}

TEST_F(JoinServiceTest, DropsAFloodFromManyAddressesWithoutLockingOutOthers) {
  std::vector<std::unique_ptr<Joiner>> guessers;
  for (int i = 0; i < 30; ++i) {
    net::LinkOptions options{"tcp://master:1", net::draw_keys(dice), hub_keys.open, {}};
    guessers.push_back(std::make_unique<Joiner>(network.host("bad" + std::to_string(i)), options));
    guessers.back()->show(std::string(40, 'x'));
  }
  pass(std::chrono::milliseconds(300));
  std::size_t answered = 0;
  for (const auto& one : guessers) answered += one->answers.size();
  EXPECT_LE(answered, 10);
  EXPECT_EQ(refused, 30);
  Joiner agent = from("good");
  agent.show(good);
  pass(std::chrono::milliseconds(300));
  EXPECT_EQ(admitted.size(), 1);
}

}  // namespace
}  // namespace cadre::master
