#include "master/bulk/ingest.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "access/requests.h"
#include "api/rendered.h"
#include "base/seeds.h"
#include "loop/simulated_loop.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;
using cluster::Epoch;
using cluster::LeaseId;
using cluster::TaskId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Put {
  static constexpr std::string_view type_name = "put";
};

LeaseId lease(std::uint64_t job, std::uint64_t epoch) { return {{cluster::JobId{job}, 0}, {epoch}}; }

api::Credential of_task(const LeaseId& lease) {
  api::Credential credential;
  credential.lease = to_string(lease);
  return credential;
}

api::Credential of_user(const std::string& hash) {
  api::Credential credential;
  credential.token_hash = hash;
  return credential;
}

/// Plays the master: knows the current lease of each task, answers when it likes to, in order.
class PlayedMaster : public api::Identifier {
 public:
  void identify_caller(api::Credential credential, std::function<void(Result<api::Principal>)> then) override {
    ++asked;
    waiting.push_back([this, credential = std::move(credential), then = std::move(then)] {
      if (!is_valid(credential)) return then(fail(Errc::denied, "unknown token"));
      api::Principal who;
      who.user = "ann";
      who.task = credential.lease;
      then(who);
    });
  }
  void answer() {
    for (const auto& one : std::exchange(waiting, {})) one();
  }

  std::map<TaskId, Epoch> current;
  std::set<std::string> tokens;
  std::vector<std::function<void()>> waiting;
  int asked = 0;

 private:
  bool is_valid(const api::Credential& credential) const {
    if (credential.lease.empty()) return tokens.contains(credential.token_hash);
    const LeaseId lease = *cluster::parse_lease_id(credential.lease);
    const auto found = current.find(lease.task);
    return found != current.end() && found->second == lease.epoch;
  }
};

class PlayedPart : public BulkPart {
 public:
  std::vector<api::Reply> serve(std::span<const BulkCall> calls) override {
    batches.push_back(calls.size());
    std::vector<api::Reply> replies;
    for (const BulkCall& call : calls) {
      if (on_serve) on_serve(call.who);
      served.push_back(call.who.task.empty() ? call.who.user : call.who.task);
      replies.push_back(answer);
    }
    return replies;
  }
  void learn(const std::any& fact) override { facts.push_back(std::any_cast<int>(fact)); }

  std::vector<std::string> served;
  std::vector<std::size_t> batches;
  std::vector<int> facts;
  std::function<void(const api::Principal&)> on_serve;
  api::Reply answer = api::Created{"put", ""};
};

struct IngestTest : testing::Test {
  void run() {
    ASSERT_TRUE(loop.run_until(loop.now() + 1ms));
    master.answer();
    ASSERT_TRUE(loop.run_until(loop.now() + 1ms));
  }
  void ask(api::CallId call, const api::Credential& credential) { ingest.ask(call, credential, Put{}); }
  std::string failure_of(api::CallId call) {
    const auto reply = replies.find(call);
    if (reply == replies.end()) return "no reply";
    return reply->second.failed() == nullptr ? "" : reply->second.failed()->message;
  }

  loop::SimulatedLoop loop;
  PlayedMaster master;
  PlayedPart part;
  std::map<api::CallId, api::Reply> replies;
  SilentLog log;
  IngestMetrics metrics;
  IngestCounters counters{metrics, "played"};
  Ingest ingest{
      {loop, part, master, [this](api::CallId call, api::Reply reply) { replies.emplace(call, reply); }, log, counters},
      {.calls_max = 5, .bytes_max{1'000}, .told_max = 20}};

  void SetUp() override { loop.spawn(ingest.run()); }
  void TearDown() override {
    ingest.stop();
    ASSERT_TRUE(loop.run_until_idle());
  }
};

TEST_F(IngestTest, AsksTheMasterOnceForEachLease) {
  master.current[lease(1, 1).task] = {1};
  for (api::CallId call = 1; call <= 3; ++call) ask(call, of_task(lease(1, 1)));
  run();
  ask(4, of_task(lease(1, 1)));
  run();
  EXPECT_EQ(master.asked, 1);
  EXPECT_THAT(part.served, ElementsAre("1.0/1", "1.0/1", "1.0/1", "1.0/1"));
  EXPECT_THAT(part.batches, ElementsAre(3, 1)) << "what came together is served together";
  EXPECT_EQ(counters.misses, 3U);
  EXPECT_EQ(counters.hits, 1U);
}

/// `name part value` of each sample that is not zero.
std::map<std::string, double> nonzero(const MetricSet& metrics) {
  std::map<std::string, double> values;
  for (const Metric& metric : metrics.read()) {
    for (const Metric::Sample& sample : metric.samples) {
      std::string name = metric.name;
      for (const auto& [label, value] : sample.labels) name += " " + value;
      if (std::get<double>(sample.value) != 0) values[name] = std::get<double>(sample.value);
    }
  }
  return values;
}

TEST_F(IngestTest, CountsWhatItServesAndRefusesByPart) {
  master.tokens = {"t"};
  ask(1, of_user("t"));
  run();
  ask(2, of_user("t"));
  ask(3, of_user("wrong"));
  run();
  const std::map<std::string, double> one{{"bulk_requests_total played", 2},
                                          {"bulk_requests_refused_total played unauthenticated", 1},
                                          {"bulk_rights_lookups_total played hit", 1},
                                          {"bulk_rights_lookups_total played miss", 2}};
  EXPECT_EQ(nonzero(metrics.all), one);
  IngestCounters other(metrics, "other");
  ++other.accepted;
  EXPECT_EQ(counters.accepted, 2U) << "each part has counters of its own";
}

TEST_F(IngestTest, MakesTheJsonOfRepliesBeforeTheGatewayGetsThem) {
  master.tokens = {"t"};
  part.answer = access::Done{};
  ask(1, of_user("t"));
  run();
  const auto* rendered = replies.at(1).as<api::Rendered>();
  ASSERT_NE(rendered, nullptr);
  EXPECT_EQ(rendered->json, describe::write_json(access::Done{}));
}

TEST_F(IngestTest, RefusesCallersThatTheMasterDoesNotKnow) {
  ask(1, of_task(lease(1, 1)));
  ask(2, of_user("wrong"));
  run();
  EXPECT_EQ(failure_of(1), "unknown token");
  EXPECT_EQ(failure_of(2), "unknown token");
  EXPECT_THAT(part.served, IsEmpty());
}

TEST_F(IngestTest, TrustsTokensOfUsersForAFewSecondsOnly) {
  master.tokens = {"t"};
  ask(1, of_user("t"));
  run();
  master.tokens.clear();
  ask(2, of_user("t"));
  run();
  EXPECT_EQ(failure_of(2), "");
  ASSERT_TRUE(loop.run_until(loop.now() + 6s));
  ask(3, of_user("t"));
  run();
  EXPECT_EQ(failure_of(3), "unknown token");
}

TEST_F(IngestTest, ServesNoOlderLeaseOnceAFenceIsAcknowledged) {
  master.current[lease(1, 1).task] = {1};
  ask(1, of_task(lease(1, 1)));
  run();
  master.current[lease(1, 1).task] = {2};
  ask(2, of_task(lease(1, 1)));  // before the fence, by cached rights
  bool fenced = false;
  ingest.fence({lease(1, 2)}, [&] {
    EXPECT_THAT(part.served, ElementsAre("1.0/1", "1.0/1")) << "what was accepted before is served before";
    fenced = true;
  });
  ask(3, of_task(lease(1, 1)));
  ask(4, of_task(lease(1, 2)));
  run();
  EXPECT_TRUE(fenced);
  EXPECT_EQ(failure_of(2), "");
  EXPECT_EQ(failure_of(3), "unknown token");
  EXPECT_EQ(failure_of(4), "");
}

TEST_F(IngestTest, ForgetsLeasesThatAreOver) {
  master.current[lease(1, 1).task] = {1};
  ask(1, of_task(lease(1, 1)));
  run();
  master.current.clear();
  ingest.end({lease(1, 1)});
  ask(2, of_task(lease(1, 1)));
  run();
  EXPECT_EQ(failure_of(2), "unknown token");
}

TEST_F(IngestTest, RefusesWhatIsMoreThanItHolds) {
  master.tokens = {"t"};
  for (api::CallId call = 1; call <= 7; ++call) ask(call, of_user("t"));
  run();
  EXPECT_EQ(failure_of(5), "");
  EXPECT_THAT(failure_of(6), HasSubstr("overloaded"));
  EXPECT_EQ(counters.overloaded, 2U);
  ask(8, of_user("t"));
  run();
  EXPECT_EQ(failure_of(8), "") << "there is room again";
}

TEST_F(IngestTest, CountsTheBodiesOfAllRequestsWithoutAReply) {
  master.tokens = {"t"};
  api::Credential large = of_user("t");
  large.body_bytes = 600;
  ask(1, large);
  ASSERT_TRUE(loop.run_until(loop.now() + 1ms));  // taken from the inbox, and the master does not say yet who it is
  ask(2, large);
  EXPECT_THAT(failure_of(2), HasSubstr("overloaded"));
  run();
  EXPECT_EQ(failure_of(1), "");
  ask(3, large);
  run();
  EXPECT_EQ(failure_of(3), "");
}

TEST_F(IngestTest, AsksAgainForTheRightsOfALease) {
  master.current[lease(1, 1).task] = {1};
  ask(1, of_task(lease(1, 1)));
  run();
  master.current.clear();  // its owner has lost the rights, though the lease goes on
  ASSERT_TRUE(loop.run_until(loop.now() + 6s));
  ask(2, of_task(lease(1, 1)));
  run();
  EXPECT_EQ(failure_of(2), "unknown token");
}

TEST_F(IngestTest, ServesNothingAndAcknowledgesNothingWhenItDoesNotKeepUp) {
  master.current[lease(1, 1).task] = {1};
  ask(1, of_task(lease(1, 1)));
  run();
  ask(2, of_task(lease(1, 1)));
  for (int i = 0; i < 30; ++i) ingest.learn({i});
  bool fenced = false;
  ingest.fence({lease(1, 2)}, [&] { fenced = true; });
  ask(3, of_task(lease(1, 1)));
  EXPECT_THAT(failure_of(3), HasSubstr("overloaded"));
  run();
  EXPECT_FALSE(fenced) << "a newer run must not begin while the older may be served";
  EXPECT_THAT(failure_of(2), HasSubstr("overloaded"));
  EXPECT_THAT(part.served, ElementsAre("1.0/1"));
}

TEST_F(IngestTest, HandsFactsToThePartInTheirOrder) {
  ingest.learn({1, 2});
  ingest.learn({3});
  run();
  EXPECT_THAT(part.facts, ElementsAre(1, 2, 3));
}

TEST_F(IngestTest, AcknowledgesFencesAtOnceWhenItHasStopped) {
  ingest.stop();
  bool fenced = false;
  ingest.fence({lease(1, 2)}, [&] { fenced = true; });
  EXPECT_TRUE(fenced);
  ask(1, of_user("t"));
  EXPECT_THAT(failure_of(1), HasSubstr("about to stop"));
}

// Whatever the delays of the master's answers and of fences, no request of an older lease is served after the fence of
// a newer one was acknowledged, which is when the newer one may start.
TEST(Ingest, KeepsOlderLeasesOutWhateverTheDelays) {
  FOR_SEEDS(300, [](Dice& dice) {
    loop::SimulatedLoop loop({.seed = static_cast<std::uint64_t>(dice.between(1, 1'000'000))});
    PlayedMaster master;
    PlayedPart part;
    std::map<TaskId, Epoch> started;
    part.on_serve = [&](const api::Principal& who) {
      const LeaseId of = *cluster::parse_lease_id(who.task);
      ASSERT_GE(of.epoch, started[of.task]) << who.task;
    };
    int replies = 0;
    SilentLog log;
    IngestMetrics metrics;
    Ingest ingest({loop, part, master, [&](api::CallId, const api::Reply&) { ++replies; }, log,
                   IngestCounters(metrics, "played")});
    loop.spawn(ingest.run());
    int asked = 0;
    for (int i = 0; i < 200; ++i) {
      const TaskId task = lease(dice.between(1, 3), 1).task;
      Epoch& current = master.current[task];
      if (dice.percent(10)) {
        ++current.value;
        // The delay of the message that removes the rights.
        const LeaseId newest{task, current};
        loop.after(std::chrono::milliseconds(dice.between(0, 20)),
                   [&, newest] {
                     ingest.fence({newest},
                                  [&, newest] { started[newest.task] = std::max(started[newest.task], newest.epoch); });
                   })
            .detach();
      }
      const std::uint64_t older = dice.between(0, 2);
      const Epoch epoch{current.value > older ? current.value - older : current.value};
      ingest.ask(++asked, of_task({task, epoch}), Put{});
      if (dice.percent(30)) master.answer();
      ASSERT_TRUE(loop.run_until(loop.now() + std::chrono::milliseconds(dice.between(0, 5))));
    }
    for (int i = 0; i < 3; ++i) {
      master.answer();
      ASSERT_TRUE(loop.run_until(loop.now() + 1s));
    }
    EXPECT_EQ(replies, asked);
    ingest.stop();
    ASSERT_TRUE(loop.run_until_idle());
  });
}

}  // namespace
}  // namespace cadre::master
