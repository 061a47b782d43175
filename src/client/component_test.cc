#include <cadre/component.h>

#include <gmock/gmock.h>

#include <thread>

namespace cadre {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

struct Components : testing::Test {
  static Component::Options options(const std::string& type, const std::string& name,
                                    std::map<std::string, std::size_t> peers = {}) {
    return {
        .group = "g",
        .type = type,
        .name = name,
        .peers = std::move(peers),
        .names = "memory://component-" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name())};
  }
  static void join(std::vector<Component*> all) {
    std::vector<std::jthread> joining;
    for (Component* one : all) joining.emplace_back([one] { one->join().value(); });
  }
};

/// A plain class, of use alone.
struct Learner {
  int learned = 0;
  int learn(int amount) { return learned += amount; }
};

TEST_F(Components, APlainClassIsReachedByMessages) {
  Component server(options("learner", "l", {{"worker", 1}}));
  Component worker(options("worker", "w", {{"learner", 1}}));
  const auto table = handlers<Learner>()
                         .on("learn",
                             [](Learner& l, Component& c, const Message& m) {
                               c.reply(m, std::to_string(l.learn(std::stoi(std::string(m.text()))))).value();
                             })
                         .on("fail", [](Learner&, Component&, const Message&) { throw std::runtime_error("no idea"); })
                         .on("stop", [](Learner&, Component& c, const Message&) { c.stop(); });
  Node<Learner> node = dist(Learner{}, server, table);
  EXPECT_EQ(node->learn(1), 1) << "it is still what it was";
  join({&server, &worker});
  std::jthread serving([&] { node.launch().value(); });
  EXPECT_EQ(worker.request("l", "learn", "41").value().text(), "42");
  for (int i = 0; i < 3; ++i) {
    const Outcome<Message> no = worker.request("l", "fail");
    ASSERT_FALSE(no);
    EXPECT_EQ(no.reason().code, Reason::Code::refused);
    EXPECT_THAT(no.reason().text, HasSubstr("no idea"));
    EXPECT_THAT(worker.request("l", "sing").reason().text, HasSubstr("no handler for 'sing'"));
  }
  worker.send("l", "fail").value();
  worker.send("l", "stop").value();
  serving.join();
  EXPECT_EQ(node->learned, 42);
  EXPECT_EQ(server.counters().handler_failures, 1);
  EXPECT_EQ(server.counters().without_handler, 3);
}

TEST_F(Components, AnEventFiresWhenEnoughHaveCome) {
  Component server(options("learner", "l", {{"worker", 4}}));
  std::vector<std::unique_ptr<Component>> workers;
  std::vector<Component*> all{&server};
  for (int i = 0; i < 4; ++i) {
    workers.push_back(std::make_unique<Component>(options("worker", "w" + std::to_string(i), {{"learner", 1}})));
    all.push_back(workers.back().get());
  }
  std::vector<std::vector<std::string>> fired;
  const auto note_sources = [&](Learner&, Component& c, const std::vector<Message>& messages) {
    std::vector<std::string> sources;
    for (const Message& one : messages) sources.push_back(one.source);
    fired.push_back(std::move(sources));
    c.stop();
  };
  const auto table =
      handlers<Learner>().when(from("worker").tag("update").percent(60).distinct_sources(), note_sources);
  Node<Learner> node = dist(Learner{}, server, table);
  join(all);
  for (const std::size_t i : {0U, 0U, 1U}) workers[i]->send("l", "update").value();
  node.launch().value();
  ASSERT_THAT(fired, SizeIs(1));
  EXPECT_THAT(fired[0], UnorderedElementsAre("w0", "w1")) << "60 % of 4 are 2, of different workers";
}

TEST_F(Components, ABadEventIsAnErrorWithItsPlace) {
  Component one(options("learner", "l"));
  const Outcome<void> bad = one.when("worker:update AND", [](Component&, const std::vector<Message>&) {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.reason().code, Reason::Code::invalid);
  EXPECT_THAT(bad.reason().text, HasSubstr("column"));
  EXPECT_TRUE(one.on("x", [](Component&, const Message&) {}));
  EXPECT_EQ(one.on("x", [](Component&, const Message&) {}).reason().code, Reason::Code::conflict);
}

TEST_F(Components, AGroupThatLostTooManyEnds) {
  Component::Options careful = options("learner", "l", {{"worker", 1}});
  careful.minimal_peers = {{"worker", 1}};
  careful.minimal_wait = 100ms;
  Component server(careful);
  auto worker = std::make_unique<Component>(options("worker", "w", {{"learner", 1}}));
  std::vector<std::string> lost;
  server.on_peer_down([&](const Component::Lost& one) { lost.push_back(one.peer); });
  join({&server, worker.get()});
  std::jthread ending([&] { worker.reset(); });
  const Outcome<void> ended = server.launch();
  ASSERT_FALSE(ended);
  EXPECT_THAT(ended.reason().text, HasSubstr("0 of 1 worker"));
  EXPECT_THAT(lost, ElementsAre("w"));
}

TEST_F(Components, ATaskIsAnsweredOnceAndANotificationNever) {
  Component a(options("a", "a", {{"b", 1}}));
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  std::jthread asking([&] {
    EXPECT_EQ(a.request("b", "ask", "x").value().text(), "first");
    a.send("b", "tell").value();
  });
  const Message task = b.receive().value();
  EXPECT_EQ(task.source, "a");
  EXPECT_EQ(task.destination, "b");
  EXPECT_TRUE(b.reply(task, "first"));
  EXPECT_EQ(b.reply(task, "second").reason().code, Reason::Code::conflict);
  EXPECT_EQ(b.reply(b.receive().value(), "why?").reason().code, Reason::Code::invalid);
}

TEST_F(Components, AskManyAtOnce) {
  Component a(options("a", "a", {{"b", 3}}));
  std::vector<std::unique_ptr<Component>> others;
  std::vector<Component*> all{&a};
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<Component>(options("b", "b" + std::to_string(i), {{"a", 1}})));
    all.push_back(others.back().get());
  }
  join(all);
  std::vector<std::jthread> serving;
  for (auto& one : others) {
    serving.emplace_back([&one] {
      for (int i = 0; i < 2; ++i) {
        const Message task = one->receive().value();
        one->reply(task, one->name() + " " + std::string(task.text())).value();
      }
    });
  }
  std::vector<std::string> heard;
  for (const Reply& reply : a.broadcast("b", "x", "hello")) {
    EXPECT_THAT(std::string(reply.outcome->text()), HasSubstr(reply.peer));
    heard.push_back(reply.peer);
  }
  EXPECT_THAT(heard, ElementsAre("b0", "b1", "b2"));
  const std::vector<Reply> replies =
      a.scatter({{"b2", "x", "1"}, {"nobody", "x", "2"}, {"b0", "x", "3"}, {"b1", "x", "4"}}, {});
  ASSERT_THAT(replies, SizeIs(4));
  EXPECT_EQ(replies[0].outcome->text(), "b2 1");
  EXPECT_EQ(replies[1].outcome.reason().code, Reason::Code::not_found);
  EXPECT_EQ(replies[2].outcome->text(), "b0 3");
}

}  // namespace
}  // namespace cadre
