#include "cluster/host/host_control.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/seeds.h"
#include "cluster/control/words_for_tests.h"
#include "describe/random.h"

namespace cadre::cluster::host {
namespace {

using namespace std::chrono_literals;
using control::in_words;
using control::name_of;
using lease::Reason;

LeaseId lease_of(std::uint64_t job, std::uint64_t epoch = 1) { return {{{job}, 0}, {epoch}}; }

std::string in_words(const supervision::FromAgent& message, TimePoint now) {
  const auto* permit = std::get_if<supervision::Permit>(&message);
  if (permit != nullptr) return "permit for " + cadre::to_string(TimePoint(permit->until) - now);
  const auto* stop = std::get_if<supervision::Stop>(&message);
  if (stop == nullptr) return "something";
  return "stop: " + name_of(stop->why) + ", grace " + cadre::to_string(stop->grace);
}

std::string in_words(const Effect& effect, TimePoint now) {
  return std::visit(
      overloaded{
          [](const ToMaster& one) { return "to master  " + control::in_words(one.message); },
          [](const Launch& one) { return "launch     " + to_string(one.start.lease); },
          [now](const ToSupervisor& one) { return "to " + to_string(one.lease) + "   " + in_words(one.message, now); },
          [](const Forget& one) { return "forget     " + to_string(one.lease); },
          [](const GiveUp& one) { return (one.removed ? "end all     " : "give up    ") + one.why; },
          [](const Belong& one) { return "belong to  " + one.cluster; },
      },
      effect);
}

/// The control logic of an agent with a master and supervisors that say what a test lets them say.
class Bench {
 public:
  explicit Bench(const std::vector<Found>& found = {}) : host_(introduction(), found, now_) { pass(0s); }

  void hear(const messages::MasterMessage& message) {
    const messages::FromMaster all{session_, message};
    write("master: " + control::in_words(all));
    host_.hear(all, now_);
    tell();
  }
  void welcome(const std::vector<LeaseId>& keep = {}) {
    ++session_;
    hear(messages::Welcome{30s, 1s, keep, said_, ""});
  }
  void start(const LeaseId& lease, Fence fence = Fence::keep) {
    messages::Start start;
    start.lease = lease;
    start.role = "task";
    start.policy.fence = fence;
    hear(start);
  }
  void stop(const LeaseId& lease, Reason why, Duration grace) { hear(messages::Stop{lease, why, grace}); }
  void status(const LeaseId& lease, bool stopping = false) {
    write(to_string(lease) + ": runs" + (stopping ? ", is stopping" : ""));
    supervision::Status status;
    status.pid = 7;
    status.stopping = stopping;
    host_.hear(lease, status, now_);
    tell();
  }
  void ends(const LeaseId& lease, Reason reason, std::int32_t code) {
    write(to_string(lease) + ": ended, " + name_of(reason) + " " + std::to_string(code));
    supervision::Status status;
    status.ending = TaskEnding{reason, code, "", {}, 0};
    host_.hear(lease, status, now_);
    tell();
  }
  /// With `answered`, the master answers beats as it should.
  enum class Master : bool { silent, answers };
  void pass(Duration time, Master master = Master::silent) {
    write(cadre::to_string(time) + " pass" + (master == Master::answers ? ", the master beats" : ""));
    for (const TimePoint end = now_ + time;;) {
      host_.tick({}, now_);
      if (master == Master::answers) host_.hear({session_, messages::MasterBeat{}}, now_);
      tell();
      if (now_ >= end) return;
      now_ += 250ms;
    }
  }
  HostControl& host() { return host_; }
  TimePoint now() const { return now_; }
  const std::string& text() const { return text_; }

 private:
  static messages::Hello introduction() {
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = AgentId("a1");
    return hello;
  }
  void write(const std::string& line) { text_ += line + "\n"; }
  void tell() {
    for (const Effect& effect : host_.take()) {
      const auto* message = std::get_if<ToMaster>(&effect);
      if (message != nullptr && std::holds_alternative<messages::Beat>(message->message.body)) continue;
      const auto* told = std::get_if<ToSupervisor>(&effect);
      const bool permits = told != nullptr && std::holds_alternative<supervision::Permit>(told->message);
      if (permits && in_words(effect, now_) == std::exchange(last_permit_, in_words(effect, now_))) continue;
      if (message != nullptr) {
        if (const auto* hello = std::get_if<messages::Hello>(&message->message.body)) said_ = hello->number;
      }
      write("    " + in_words(effect, now_));
    }
  }

  TimePoint now_{1h};
  HostControl host_;
  std::uint64_t session_ = 0;
  std::uint64_t said_ = 0;
  std::string last_permit_;  ///< written down once as long as it is the same
  std::string text_;
};

struct Scene {
  std::string title;
  std::vector<Found> found;
  std::function<void(Bench&)> play;
};

std::vector<Scene> scenes() {
  return {
      {"A task runs and ends",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1));
         bench.start(lease_of(1));
         bench.status(lease_of(1));
         bench.ends(lease_of(1), Reason::exited, 3);
         bench.hear(messages::EndStored{lease_of(1)});
       }},
      {"A stop that comes before the supervisor listens is told again",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1));
         bench.stop(lease_of(1), Reason::preempted, 1h);
         bench.stop(lease_of(1), Reason::killed_by_user, 5s);
         bench.status(lease_of(1));
         bench.status(lease_of(1), true);
         bench.ends(lease_of(1), Reason::signalled, 15);
       }},
      {"A stop of what never came to run",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.stop(lease_of(1), Reason::killed_by_user, 5s);
       }},
      {"An end that the master did not hear is told again after the next hello",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1));
         bench.status(lease_of(1));
         bench.ends(lease_of(1), Reason::exited, 3);
         bench.hear(messages::HelloAgain{});
         bench.welcome({lease_of(1)});
         bench.hear(messages::EndStored{lease_of(1)});
       }},
      {"What an agent finds when it starts",
       {{lease_of(1), Fence::keep, {}}, {lease_of(2), Fence::keep, TaskEnding{Reason::exited, 4, "", {}, 0}}},
       [](Bench& bench) {
         bench.welcome({lease_of(1), lease_of(2)});
       }},
      {"What has no right to run is killed before anything else starts",
       {{lease_of(1), Fence::keep, {}}, {lease_of(2), Fence::keep, TaskEnding{Reason::exited, 4, "", {}, 0}}},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(3));
         bench.status(lease_of(1), true);
         bench.ends(lease_of(1), Reason::signalled, 9);
       }},
      {"A new lease of a task waits until the old one is gone",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1));
         bench.status(lease_of(1));
         bench.start(lease_of(1, 2));
         bench.ends(lease_of(1), Reason::signalled, 9);
       }},
      {"A welcome for an older hello is not heard",
       {{lease_of(1), Fence::keep, {}}},
       [](Bench& bench) {
         bench.hear(messages::Welcome{30s, 1s, {}, 1, ""});
         bench.welcome({lease_of(1)});
       }},
      {"A strictly fenced task is killed when the master is silent for too long",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1), Fence::strict);
         bench.start(lease_of(2), Fence::keep);
         bench.status(lease_of(1));
         bench.status(lease_of(2));
         bench.pass(60s, Bench::Master::answers);
         bench.pass(24s);
         bench.pass(2s);
         bench.ends(lease_of(1), Reason::agent_lost, 9);
         bench.hear(messages::HelloAgain{});
         bench.welcome({lease_of(1), lease_of(2)});
       }},
      {"The fence does not wait for a grace, and what a user stopped stays stopped",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1), Fence::strict);
         bench.status(lease_of(1));
         bench.stop(lease_of(1), Reason::killed_by_user, 1h);
         bench.pass(26s);
         bench.ends(lease_of(1), Reason::signalled, 9);
       }},
      {"A strictly fenced task that a new agent finds, and the master keeps",
       {{lease_of(1), Fence::strict, {}}},
       [](Bench& bench) {
         bench.welcome({lease_of(1)});
         bench.pass(20s);
       }},
      {"An order to start that is too old for a strict fence is not obeyed",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.pass(26s);
         bench.start(lease_of(1), Fence::strict);
         bench.welcome();
         bench.start(lease_of(1), Fence::strict);
       }},
      {"An agent that ends takes its tasks along",
       {},
       [](Bench& bench) {
         bench.welcome();
         bench.start(lease_of(1));
         bench.status(lease_of(1));
         bench.host().end_all(5s);
         bench.status(lease_of(1));
         bench.ends(lease_of(1), Reason::agent_lost, 0);
       }},
      {"The master will not have it", {}, [](Bench& bench) { bench.hear(messages::Refused{"there are two"}); }},
  };
}

TEST(HostControl, MatchesTheGoldenTranscripts) {
  std::string text;
  for (const Scene& scene : scenes()) {
    Bench bench(scene.found);
    scene.play(bench);
    text += "# " + scene.title + "\n" + bench.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/host.txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

TEST(HostControl, LetsNothingStartThatWasStoppedMeanwhile) {
  Bench bench;
  bench.welcome();
  bench.start(lease_of(1));
  EXPECT_TRUE(bench.host().may_start(lease_of(1)));
  EXPECT_FALSE(bench.host().may_start(lease_of(2)));
  bench.stop(lease_of(1), Reason::killed_by_user, 5s);
  EXPECT_FALSE(bench.host().may_start(lease_of(1)));
}

TEST(HostControl, DistinguishesReportsFromAnnouncements) {
  Bench bench;
  bench.welcome();
  bench.start(lease_of(1));
  bench.status(lease_of(1));
  const auto told = [&](const supervision::Report& report) {
    bench.host().hear(lease_of(1), report, bench.now());
    const std::vector<Effect> effects = bench.host().take();
    return control::in_words(std::get<ToMaster>(effects.at(0)).message);
  };
  EXPECT_EQ(told({1, "loss 1"}), "report of 1.0/1: loss 1");
  EXPECT_EQ(told({2, "here", true}), "announcement of 1.0/1: here");
}

TEST(HostControl, PermitsNoMoreThanTheMasterIsKnownToGrant) {
  Bench bench;
  bench.welcome();
  EXPECT_EQ(bench.host().permitted_until() - bench.now(), 25s);
  bench.pass(10s);
  EXPECT_EQ(bench.host().permitted_until() - bench.now(), 15s);
  bench.hear(messages::MasterBeat{});  // late: it answers what was said ten seconds ago
  EXPECT_EQ(bench.host().permitted_until() - bench.now(), 15s);
  bench.hear(messages::MasterBeat{});  // and this one what was said a second later
  EXPECT_EQ(bench.host().permitted_until() - bench.now(), 16s);
  bench.pass(20s);
  EXPECT_LT(bench.host().permitted_until(), bench.now());
}

TEST(HostControl, BearsAnyMessage) {
  FOR_SEEDS(300, [](Dice& dice) {
    TimePoint now{1h};
    HostControl host(describe::random_value<messages::Hello>(dice), {{lease_of(1), Fence::strict, {}}}, now);
    std::uint64_t session = 0;
    const auto near_lease = [&] { return lease_of(dice.below(4), dice.below(3)); };
    for (int i = 0; i < 200; ++i) {
      now += std::chrono::milliseconds(dice.magnitude(1, 20'000));
      auto message = describe::random_value<messages::FromMaster>(dice);
      if (dice.percent(80)) message.session = session;
      std::visit(
          [&](auto& body) {
            if constexpr (requires { body.lease; }) body.lease = near_lease();
            if constexpr (requires { body.keep; }) {
              if (dice.percent(70))
                body.number = static_cast<std::uint64_t>(TimePoint(1h).time_since_epoch().count()) + 1;
              if (dice.percent(50)) body.beat_every = 1s;
              session = message.session;
            }
          },
          message.body);
      host.hear(message, now);
      host.hear(near_lease(), describe::random_value<supervision::FromSupervisor>(dice), now);
      if (dice.percent(30)) host.tick({}, now);
      if (dice.percent(5)) host.ended(near_lease(), {}, now);
      if (dice.percent(5)) host.end_all(1s);
      (void)host.take();
    }
  });
}

TEST(HostControl, SignsOffAlsoBeforeItsWelcome) {
  Bench bench;
  bench.host().say_goodbye({.last = true});
  const std::vector<Effect> effects = bench.host().take();
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<messages::Goodbye>(std::get<ToMaster>(effects[0]).message.body));
}

TEST(HostControl, SaysAtOnceAndInEveryHelloWhyItTakesNoWork) {
  messages::Hello introduction;
  introduction.protocols = protocol::own();
  introduction.agent.id = AgentId("a1");
  TimePoint now{1h};
  HostControl host(introduction, {}, now);
  const auto said = [&] {
    std::vector<std::string> obstacles;
    for (const Effect& effect : host.take()) {
      const auto* message = std::get_if<ToMaster>(&effect);
      if (message == nullptr) continue;
      if (const auto* hello = std::get_if<messages::Hello>(&message->message.body)) {
        obstacles.push_back("hello " + hello->obstacle);
        host.hear({1, messages::Welcome{30s, 1s, {}, hello->number, ""}}, now);
      }
      if (const auto* beat = std::get_if<messages::Beat>(&message->message.body)) {
        obstacles.push_back("beat " + beat->obstacle);
      }
    }
    return obstacles;
  };
  using Said = std::vector<std::string>;
  host.set_obstacle("full", now);
  EXPECT_EQ(said(), Said{}) << "nobody listens yet";
  host.tick({}, now);
  EXPECT_EQ(said(), Said{"hello full"});
  host.set_obstacle("full", now);
  EXPECT_EQ(said(), Said{}) << "that is known";
  host.set_obstacle("", now);
  EXPECT_EQ(said(), Said{"beat "}) << "not only at the next beat";
  host.set_obstacle("full again", now);
  EXPECT_EQ(said(), Said{"beat full again"});
  now += 2s;
  host.tick({}, now);
  EXPECT_EQ(said(), Said{"beat full again"});
  host.hear({1, messages::HelloAgain{}}, now);
  EXPECT_EQ(said(), Said{"hello full again"});
}

}  // namespace
}  // namespace cadre::cluster::host
