// Actors in this process, at the other end of a real pipe: what callers and the called do when there is much to say, on
// many threads, or slowly.
#include "client/actors/actor.h"

#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <thread>

#include "client/actors/actor_host.h"
#include "describe/describe.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Verb;

/// Where the address of the process is: in the last report, if something on the way does not know announcements.
enum class AddressIn : std::uint8_t { announcement, last_report };

/// A session that gives every actor the same process: this one.
class Scene final : public Actor::Place {
 public:
  /// Answers calls on so many threads.
  using Method = std::function<Bytes(const Heard&)>;
  Scene(net::Cover cover, std::size_t lanes, Method method, AddressIn address_in = AddressIn::announcement)
      : cover_(cover), address_in_(address_in), method_(std::move(method)) {
    ActorHost::Options options;
    options.owner = keys_.open;
    options.lanes = lanes;
    options.shows_output = true;
    host_ = ActorHost::open(options).value();
    for (std::size_t i = 0; i < lanes; ++i) serving_.emplace_back([this] { serve(); });
    ActorOptions wish;
    wish.job.members.emplace_back();
    actor = std::make_shared<Actor>(static_cast<Actor::Place&>(*this), std::move(wish));
    engine_.run([this] { actor->begin(); });
    EXPECT_TRUE(actor->created(in(60s)));
  }
  ~Scene() override {
    actor->end();
    serving_.clear();
    engine_.perform([this] { actor.reset(); });
    engine_.perform([] {});  // what that has posted
  }

  TimePoint in(Duration wait) { return engine_.loop().now() + wait; }
  std::shared_ptr<Answer> call(std::string_view text, std::span<const BytesView> parts = {}) {
    return actor->call({Verb::call, "method", as_bytes(text), parts}, in(60s)).value();
  }
  std::string get(const std::shared_ptr<Answer>& answer) {
    EXPECT_TRUE(actor->wait(*answer, in(60s)));
    return answer->is_there() && answer->get() ? std::string(as_text(answer->get()->body.view())) : "no answer";
  }

  /// The master tells this of the running task of the actor.
  void hears_of(const std::string& last_report, const std::string& announcement) {
    engine_.perform([&] {
      cluster::requests::JobView view;
      view.id = {1};
      view.stage = cluster::JobStage::running;
      cluster::requests::TaskView& task = view.tasks.emplace_back();
      task.last_report = last_report;
      task.announcement = announcement;
      actor->news(view);
    });
  }

  Engine& engine() override { return engine_; }
  ActorHost& host() { return *host_; }
  std::string shown() {
    const std::lock_guard lock(shown_mutex_);
    return shown_;
  }
  std::shared_ptr<Actor> actor;
  std::atomic<int> answered = 0;

 private:
  Callbacks& callbacks() override { return callbacks_; }
  const net::Keys& keys() override { return keys_; }
  void submit(const std::shared_ptr<Actor>& one, const cluster::JobSpec&, Duration) override {
    engine_.loop().post([this, one] {
      ActorCard card = host_->card();
      if (cover_ == net::Cover::tls) card.name.clear();
      cluster::requests::JobView view;
      view.id = {1};
      view.stage = cluster::JobStage::running;
      cluster::requests::TaskView& task = view.tasks.emplace_back();
      (address_in_ == AddressIn::announcement ? task.announcement : task.last_report) = describe::write_json(card);
      one->begun(view.id);
      one->news(view);
    });
  }
  void kill(cluster::JobId) override {}
  void forget(cluster::JobId) override {}
  void show(const Actor&, Printer::Stream stream, std::string_view lines) override {
    const std::lock_guard lock(shown_mutex_);
    shown_ += (stream == Printer::Stream::err ? "err " : "out ") + std::string(lines);
  }

  void serve() {
    while (const std::optional<ActorHost::Wanted> wanted = host_->next()) {
      ++answered;
      const Bytes body = wanted->heard.verb == Verb::create ? Bytes() : method_(wanted->heard);
      const std::vector<BytesView> parts(wanted->heard.parts.size(), body);
      host_->answer(*wanted, Verb::value, "", parts.empty() ? BytesView(body) : BytesView(), parts);
    }
  }

  const net::Cover cover_;
  const AddressIn address_in_;
  const Method method_;
  const net::Keys keys_ = net::make_keys();
  std::unique_ptr<ActorHost> host_;
  std::vector<std::jthread> serving_;
  Engine engine_;
  Callbacks callbacks_{[this] { engine_.changed(); }};
  std::mutex shown_mutex_;
  std::string shown_;
};

Bytes echo(const Heard& heard) {
  const BytesView view = heard.parts.empty() ? heard.body.view() : heard.parts.front().view();
  return {view.begin(), view.end()};
}

class ActorTest : public testing::TestWithParam<net::Cover> {};

TEST_P(ActorTest, LinesThatTheActorWritesAreThereBeforeTheAnswerOfTheCallThatWroteThem) {
  Scene* at = nullptr;
  Scene scene(GetParam(), 1, [&at](const Heard& heard) {
    at->host().show(Printer::Stream::out, std::string(as_text(heard.body.view())) + "\n");
    at->host().show(Printer::Stream::err, "trouble\n");
    return echo(heard);
  });
  at = &scene;
  EXPECT_EQ(scene.get(scene.call("one")), "one");
  EXPECT_EQ(scene.shown(), "out one\nerr trouble\n");
}

TEST_P(ActorTest, LinesForWhichThereIsNoRoomAreSkippedAndCounted) {
  Scene scene(GetParam(), 1, echo);
  scene.host().show(Printer::Stream::out, std::string(100'000, 'x') + "\n\n\n");  // more than is shown at once
  scene.host().show(Printer::Stream::out, "next\n");
  EXPECT_EQ(scene.get(scene.call("")), "");
  EXPECT_EQ(scene.shown(), "out ... 3 lines are not shown here; see `cadre actor logs`\nnext\n");
}

TEST_P(ActorTest, ReportsThatAreNoCardChangeNothing) {
  Scene scene(GetParam(), 1, echo, AddressIn::last_report);
  for (const char* report : {"{\"loss\": 1}", "text", "[1]", "{\"key\": \"short\"}"}) {
    scene.hears_of(report, "");
    EXPECT_EQ(scene.get(scene.call("still")), "still") << report;
  }
}

TEST_P(ActorTest, NoReportChangesWhatWasAnnounced) {
  Scene scene(GetParam(), 1, echo);
  ActorCard forged = scene.host().card();
  forged.key = net::make_keys().open.text();
  ActorCard announced = scene.host().card();
  if (GetParam() == net::Cover::tls) announced.name.clear();  // as the scene announces it
  const std::string card = describe::write_json(announced);
  for (const std::string& report : {std::string("text"), describe::write_json(forged)}) {
    scene.hears_of(report, card);
    EXPECT_EQ(scene.get(scene.call("still")), "still") << report;
  }
  EXPECT_EQ(scene.actor->restarts(), 0U);
}

TEST_P(ActorTest, ThreadsGetTheirOwnAnswersHoweverManyAreUnderWay) {
  Scene scene(GetParam(), 1, echo);
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int round = 0; round < 20; ++round) {
          const int window = round % 2 == 0 ? 60 : 1;
          std::vector<std::shared_ptr<Answer>> flying;
          const auto text = [&](std::size_t i) {
            return std::to_string(thread * 1'000'000 + round * 1'000) + "." + std::to_string(i);
          };
          for (int i = 0; i < window; ++i) flying.push_back(scene.call(text(static_cast<std::size_t>(i))));
          for (std::size_t i = 0; i < flying.size(); ++i) wrong += scene.get(flying[i]) == text(i) ? 0 : 1;
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(ActorTest, SeveralLanesAnswerEachCallOnce) {
  Scene scene(GetParam(), 4, echo);
  std::vector<std::shared_ptr<Answer>> flying;
  for (int i = 0; i < 2'000; ++i) flying.push_back(scene.call(std::to_string(i)));
  for (std::size_t i = 0; i < flying.size(); ++i) EXPECT_EQ(scene.get(flying[i]), std::to_string(i));
  EXPECT_EQ(scene.answered, 2'001) << "and the one that made it";
}

TEST_P(ActorTest, LargePartsComeAsTheyWere) {
  Scene scene(GetParam(), 1, echo);
  for (const std::size_t size : {0, 1, 1'000, 40'000, 3'000'000}) {
    for (int round = 0; round < 5; ++round) {
      const Bytes part(size, static_cast<std::byte>(round));
      const std::vector<BytesView> parts{part, part};
      const std::shared_ptr<Answer> answer = scene.call("", parts);
      scene.get(answer);
      ASSERT_TRUE(answer->is_there() && answer->get());
      ASSERT_EQ(answer->get()->parts.size(), 2u);
      for (const remote::Segment& came : answer->get()->parts) {
        EXPECT_TRUE(std::equal(came.view().begin(), came.view().end(), part.begin(), part.end())) << size;
      }
    }
  }
}

TEST_P(ActorTest, ACallbackMayWaitForOtherAnswers) {
  Scene scene(GetParam(), 1, echo);
  std::latch is_done(1);
  std::string heard;
  const std::shared_ptr<Answer> first = scene.call("first");
  first->then([&] {
    heard = scene.get(scene.call("second"));
    is_done.count_down();
  });
  is_done.wait();
  EXPECT_EQ(heard, "second");
}

TEST_P(ActorTest, SurvivesExceptionsOfCallbacks) {
  Scene scene(GetParam(), 1, echo);
  std::latch is_done(1);
  scene.call("first")->then([] { throw std::runtime_error("expected here"); });
  scene.call("also")->then([] { throw 7; });
  scene.call("second")->then([&] { is_done.count_down(); });
  is_done.wait();
}

TEST_P(ActorTest, CallbacksThatWaitHoldTheCallerBack) {
  Scene scene(GetParam(), 1, echo);
  std::latch may_go_on(1);
  std::atomic<int> made = 0;
  std::atomic<int> at_once = 0;
  std::atomic<int> called_back = 0;
  std::jthread caller([&] {
    for (int i = 0; i < 40'000; ++i, ++made) {
      scene.call("x")->then([&, caller = std::this_thread::get_id()] {
        if (std::this_thread::get_id() == caller) ++at_once;
        if (std::this_thread::get_id() != caller) may_go_on.wait();
        ++called_back;
      });
    }
  });
  int before = -1;
  while (made != before || before < 1'000) {  // until it stands still
    before = made;
    std::this_thread::sleep_for(300ms);
  }
  EXPECT_LT(before - at_once, 25'000) << "10,000 that are not answered, and as many that are";
  may_go_on.count_down();
  caller.join();
  while (called_back < 40'000) std::this_thread::sleep_for(1ms);
}

TEST_P(ActorTest, BoundsUnreadResponses) {
  const Bytes much(1 << 20, std::byte{7});
  Scene scene(GetParam(), 1, [&](const Heard&) { return much; });
  std::latch may_go_on(1);
  std::vector<std::shared_ptr<Answer>> flying;
  scene.engine().post([&] { may_go_on.wait(); });  // the caller hears nothing
  for (int i = 0; i < 300; ++i) flying.push_back(scene.call(""));
  int before = -1;
  while (scene.answered != before || before < 60) {  // until it stands still
    before = scene.answered;
    std::this_thread::sleep_for(300ms);
  }
  EXPECT_LT(before, 120);
  may_go_on.count_down();
  for (const auto& one : flying) EXPECT_EQ(scene.get(one).size(), much.size());
}

TEST_P(ActorTest, ACallThatWaitsCanBeCancelled) {
  std::latch may_go_on(1);
  Scene scene(GetParam(), 1, [&](const Heard& heard) {
    if (as_text(heard.body.view()) == "slow") may_go_on.wait();
    return echo(heard);
  });
  const std::shared_ptr<Answer> slow = scene.call("slow");
  std::vector<std::shared_ptr<Answer>> behind;
  for (int i = 0; i < 40; ++i) behind.push_back(scene.call(std::to_string(i)));
  scene.actor->cancel(*behind[20]);
  EXPECT_TRUE(scene.actor->wait(*behind[20], scene.in(60s)));
  EXPECT_EQ(behind[20]->get()->verb, Verb::cancelled);
  may_go_on.count_down();
  EXPECT_EQ(scene.get(behind[39]), "39");
  EXPECT_EQ(scene.answered, 1 + 1 + 39);
}

TEST_P(ActorTest, CallsToAnEndedActorFail) {
  Scene scene(GetParam(), 1, echo);
  EXPECT_EQ(scene.get(scene.call("before")), "before");
  scene.actor->end();
  const std::shared_ptr<Answer> late = scene.call("after");
  ASSERT_TRUE(scene.actor->wait(*late, scene.in(60s)));
  ASSERT_FALSE(late->get());
  EXPECT_EQ(late->get().error().message, "the actor was ended");
}

INSTANTIATE_TEST_SUITE_P(Covers, ActorTest, testing::Values(net::Cover::none, net::Cover::tls),
                         [](const auto& one) { return one.param == net::Cover::none ? "Unix" : "Tls"; });

}  // namespace
}  // namespace cadre::client
