#include <cadre/component.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

namespace cadre {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
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
  static void join(const std::vector<Component*>& all) {
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

struct Batch {
  std::vector<int> x;
  std::string name;
};
template <class V>
void describe(V& v, Batch& b) {
  v.required("x", b.x, "inputs");
  v.field("name", b.name, "which");
}
struct Model {
  double mean = 0;
  std::optional<std::string> of;
};
template <class V>
void describe(V& v, Model& m) {
  v.field("mean", m.mean, "of the inputs");
  v.field("of", m.of, "which");
}

/// A plain class that knows nothing of messages.
class Trainer {
 public:
  Model train(const Batch& batch) {
    ++trained_;
    return {std::accumulate(batch.x.begin(), batch.x.end(), 0.0) / static_cast<double>(batch.x.size()), batch.name};
  }
  int trained() const noexcept { return trained_; }
  void reset() { trained_ = 0; }
  std::string repeat(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  }
  void note(Component& c, const Message& m) { c.reply(m, "general").value(); }

 private:
  int trained_ = 0;
};

TEST_F(Components, AMethodTakesAndGivesValues) {
  Component server(options("learner", "l", {{"worker", 1}}));
  Component worker(options("worker", "w", {{"learner", 1}}));
  const auto table = handlers<Trainer>()
                         .on("train", &Trainer::train)
                         .on("trained", &Trainer::trained)
                         .on("reset", &Trainer::reset)
                         .on("repeat", &Trainer::repeat, concurrent)
                         .on("note", &Trainer::note);
  Node<Trainer> node = dist(Trainer{}, server, table);
  server.on("double", [](int number) { return 2 * number; }).value();
  server.on("stop", [&] { server.stop(); }).value();
  join({&server, &worker});
  std::jthread serving([&] { node.launch().value(); });

  const Model model = worker.request<Model>("l", "train", Batch{{1, 2, 6}, "b"}).value();
  EXPECT_EQ(model.mean, 3);
  EXPECT_EQ(model.of, "b");
  worker.send_value("l", "train", Batch{{1}, ""}).value();
  EXPECT_EQ(worker.request<int>("l", "trained").value(), 2) << "that of a notification runs, too";
  EXPECT_TRUE(worker.request<void>("l", "reset"));
  EXPECT_EQ(worker.request<int>("l", "trained", nullptr, 10s).value(), 0);
  EXPECT_EQ(worker.request<std::string>("l", "repeat", std::tuple("ab", 3)).value(), "ababab");
  EXPECT_EQ(worker.request<int>("l", "double", 21, Component::Sending{.reliable = true}).value(), 42);
  EXPECT_EQ(worker.request("l", "note").value().text(), "general") << "it wants the message itself";
  EXPECT_EQ(worker.request("l", "trained").value().value<int>(), 0) << "an empty body is no value";
  EXPECT_TRUE(worker.request("l", "reset", packed(nullptr).body()).value().value<std::optional<int>>() == std::nullopt);
  EXPECT_TRUE(worker.request<void>("l", "stop"));
}

TEST_F(Components, RefusesValuesOfAnotherTypeWithTheirPosition) {
  Component server(options("learner", "l", {{"worker", 1}}));
  Component worker(options("worker", "w", {{"learner", 1}}));
  const auto table = handlers<Trainer>()
                         .on("train", &Trainer::train)
                         .on("trained", &Trainer::trained)
                         .on("repeat", &Trainer::repeat)
                         .on("stop", [](Trainer&, Component& c, const Message&) { c.stop(); });
  Node<Trainer> node = dist(Trainer{}, server, table);
  join({&server, &worker});
  std::jthread serving([&] { node.launch().value(); });
  const auto why = [](const auto& outcome) {
    EXPECT_FALSE(outcome);
    EXPECT_EQ(outcome.reason().code, Reason::Code::refused);
    return outcome.reason().text;
  };
  using Texts = std::map<std::string, std::vector<std::string>>;
  EXPECT_THAT(why(worker.request<Model>("l", "train", Texts{{"x", {"1", "2", "3"}}})),
              AllOf(HasSubstr("'train'"), HasSubstr(".x[0] is"), HasSubstr("not a whole number")));
  EXPECT_THAT(why(worker.request<Model>("l", "train", Texts{})), HasSubstr("has no x"));
  EXPECT_THAT(why(worker.request("l", "train")), HasSubstr("it takes another value"));
  EXPECT_THAT(why(worker.request("l", "train", "\xc1")), HasSubstr("it takes another value"));
  EXPECT_THAT(why(worker.request<int>("l", "trained", 5)), HasSubstr("an extra value"));
  EXPECT_THAT(why(worker.request<std::string>("l", "repeat", std::tuple("ab"))), HasSubstr("another length"));
  worker.send("l", "train", "no value").value();
  const Outcome<std::string> other = worker.request<std::string>("l", "trained");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.reason().code, Reason::Code::corrupt);
  EXPECT_THAT(other.reason().text, AllOf(HasSubstr("the answer of l to 'trained'"), HasSubstr("not text")));
  worker.send("l", "stop").value();
  serving.join();
  EXPECT_EQ(node->trained(), 0);
  EXPECT_EQ(server.counters().handler_failures, 1);
}

TEST_F(Components, ConcurrentHandlersRunAtOnceAndLaunchWaitsForThem) {
  Component server(options("learner", "l", {{"worker", 1}}));
  Component worker(options("worker", "w", {{"learner", 1}}));
  constexpr int at_once = 3;
  std::latch met(at_once + 1);  // each waits for the others, and for one that is not concurrent
  std::latch may_end(1);
  std::atomic<int> ended = 0;
  const auto meet = [&] {
    met.arrive_and_wait();
    return 1;
  };
  server.on("meet", meet, concurrent).value();
  server.on("meet alone", meet).value();
  server
      .on(
          "fail", [](int) -> int { throw std::runtime_error("no idea"); }, concurrent)
      .value();
  const auto linger = [&](Component& c, const Message&) {
    c.stop();
    may_end.wait();
    ++ended;
  };
  server.on("linger", linger, concurrent).value();
  join({&server, &worker});
  std::jthread serving([&] {
    server.launch().value();
    EXPECT_EQ(ended, 1);
  });
  for (int i = 0; i < at_once; ++i) worker.send("l", "meet").value();
  EXPECT_EQ(worker.request<int>("l", "meet alone").value(), 1);
  EXPECT_THAT(worker.request<int>("l", "fail", 1).reason().text, HasSubstr("no idea"));
  worker.send_value("l", "fail", 1).value();
  worker.send("l", "linger").value();
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(ended, 0);
  may_end.count_down();
  serving.join();
  EXPECT_EQ(server.counters().handler_failures, 1);
}

TEST_F(Components, MoreThanMayRunAtOnceWaitTheirTurn) {
  Component::Options few = options("learner", "l", {{"worker", 1}});
  few.concurrent_max = 2;
  Component server(few);
  Component worker(options("worker", "w", {{"learner", 1}}));
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  const auto work = [&](int) {
    const int present = ++running;
    for (int seen = most; seen < present && !most.compare_exchange_weak(seen, present);) continue;
    std::this_thread::yield();
    --running;
    ++done;
  };
  server.on("work", work, concurrent).value();
  server.on("stop", [&] { server.stop(); }).value();
  join({&server, &worker});
  for (int i = 0; i < 200; ++i) worker.send_value("l", "work", i).value();
  worker.send("l", "stop").value();
  server.launch().value();
  EXPECT_EQ(done, 200);
  EXPECT_LE(most, 2);
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

struct Frame {
  Array<float> pixels;
  std::map<std::int64_t, std::string> names;
  std::set<int> seen;
  std::vector<std::vector<double>> rows;
};
template <class V>
void describe(V& v, Frame& f) {
  v.required("pixels", f.pixels, "of the picture");
  v.field("names", f.names, "by number");
  v.field("seen", f.seen, "numbers");
  v.field("rows", f.rows, "of numbers");
}

TEST_F(Components, ArraysSetsAndMapsOfAnyKeyTravel) {
  Component a(options("a", "a", {{"b", 1}}));
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  std::vector<float> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  a.send_value("b", "frame",
               Frame{{numbers, {100, 1'000}}, {{-7, "minus seven"}, {1LL << 40, "large"}}, {3, 1}, {{1, 2}, {}}})
      .value();
  const Message message = b.receive().value();
  const auto frame = message.value<Frame>();
  EXPECT_EQ(frame.pixels.shape(), (std::vector<std::size_t>{100, 1'000}));
  EXPECT_TRUE(std::equal(frame.pixels.begin(), frame.pixels.end(), numbers.begin(), numbers.end()));
  const auto* const start = reinterpret_cast<const std::byte*>(frame.pixels.data());
  EXPECT_TRUE(start >= message.body().data() && start < message.body().data() + message.body().size())
      << "a large array is looked at where it arrived";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % alignof(double), 0U);
  EXPECT_EQ(frame.names, (std::map<std::int64_t, std::string>{{-7, "minus seven"}, {1LL << 40, "large"}}));
  EXPECT_EQ(frame.seen, (std::set<int>{1, 3}));
  EXPECT_EQ(frame.rows, (std::vector<std::vector<double>>{{1, 2}, {}}));
}

TEST_F(Components, AnArrayIsReadAsRowsOrAsNumbersOfAnotherType) {
  const ValueWriter written = packed(Array<std::int16_t>({1, -2, 3, 4, 5, 6}, {2, 3}));
  const ValueReader reader(std::as_bytes(std::span(written.body())));
  EXPECT_EQ(read_value<std::vector<std::vector<double>>>(reader.root()),
            (std::vector<std::vector<double>>{{1, -2, 3}, {4, 5, 6}}));
  const auto whole = read_value<Array<std::int16_t>>(reader.root());
  EXPECT_EQ(whole.shape(), (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(whole[1], -2);
  try {
    static_cast<void>(read_value<std::vector<std::vector<std::uint8_t>>>(reader.root()));
    ADD_FAILURE() << "-2 was read as a number from 0";
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[0][1]"));
  }
  const ValueWriter flat = packed(Array<float>({1.5F, 2.5F}));
  const ValueReader other(std::as_bytes(std::span(flat.body())));
  EXPECT_EQ(read_value<std::vector<double>>(other.root()), (std::vector<double>{1.5, 2.5}));
  EXPECT_THROW(static_cast<void>(read_value<std::vector<int>>(other.root())), ValueError);
  EXPECT_THROW(static_cast<void>(read_value<std::string>(other.root())), ValueError);
  EXPECT_THROW((Array<int>({1, 2, 3}, {2, 2})), ValueError);
}

TEST_F(Components, AnswersComeWithoutWaiting) {
  Component a(options("a", "a", {{"b", 2}}));
  Component b(options("b", "b0", {{"a", 1}}));
  Component c(options("b", "b1", {{"a", 1}}));
  join({&a, &b, &c});
  for (Component* one : {&b, &c}) {
    one->on("double", [](int x) { return 2 * x; }).value();
    one->on("end", [one] { one->stop(); }).value();
  }
  const Pending<Message> early = a.request_async("b0", "double", 21);
  EXPECT_FALSE(early.ready()) << "nobody serves yet";
  EXPECT_EQ(early.get(1ms).reason().code, Reason::Code::timed_out);
  const Pending<Message> unwanted = a.request_async("b1", "double", 1);
  unwanted.cancel();
  EXPECT_EQ(unwanted.get().reason().code, Reason::Code::conflict);
  std::vector<Pending<Message>> many;
  for (int i = 0; i < 500; ++i) many.push_back(a.request_async("b0", "double", i));
  const auto all = a.scatter_async(
      {{"b1", "double", std::string(packed(5).body())}, {"nobody", "double", ""}, {"b0", "nothing", ""}}, {});
  std::jthread serving_b([&] { b.launch().value(); });
  std::jthread serving_c([&] { c.launch().value(); });
  EXPECT_EQ(early.get()->value<int>(), 42);
  EXPECT_TRUE(early.ready());
  for (int i = 0; i < 500; ++i) EXPECT_EQ(many[static_cast<std::size_t>(i)].get()->value<int>(), 2 * i);
  EXPECT_EQ(all.at(0).reply.get()->value<int>(), 10);
  EXPECT_EQ(all.at(0).peer, "b1");
  EXPECT_EQ(all.at(1).reply.get().reason().code, Reason::Code::not_found);
  EXPECT_EQ(all.at(2).reply.get().reason().code, Reason::Code::refused);
  std::latch called(2);
  const auto count = [&](const Pending<Message>& done) {
    EXPECT_TRUE(done.ready());
    called.count_down();
  };
  early.then(count);
  a.request_async("b1", "double", 3).then(count);
  called.wait();
  EXPECT_GT(a.send_async("b0", "end", nullptr).get().value(), 0U);
  a.send_async("b1", "end", nullptr).get().value();
  serving_b.join();
  serving_c.join();
  const Pending<Message> never = a.request_async("b0", "double", 1, {.wait = 1h});
  a.close();
  EXPECT_EQ(never.get().reason().code, Reason::Code::conflict) << "closing makes all of them ready";
}

TEST_F(Components, AsynchronousMessagesKeepTheirOrderWhileTheQueueIsFull) {
  Component::Options narrow = options("a", "a", {{"b", 1}});
  narrow.queue_max = 10;
  Component a(narrow);
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  constexpr int count = 15'000;  // more than the window of the receiver and the queue of the sender
  std::vector<Pending<std::uint64_t>> sent;
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    sent.push_back(a.send_async("b", "x", i));
    if (sent.back().ready() && !sent.back().get()) break;  // more than may wait for room
    ++accepted;
  }
  ASSERT_LT(accepted, count);
  EXPECT_EQ(sent.back().get().reason().code, Reason::Code::unavailable);
  std::jthread late([&] { a.send_value("b", "x", accepted).value(); });  // behind all that wait
  for (int i = 0; i <= accepted; ++i) ASSERT_EQ(b.receive()->value<int>(), i);
}

TEST_F(Components, AReplyMayHaveATagOfItsOwn) {
  Component a(options("a", "a", {{"b", 1}}));
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  std::jthread answering([&] {
    b.reply_value(b.receive().value(), 1).value();
    b.reply_value(b.receive().value(), 2, "done").value();
  });
  EXPECT_EQ(a.request("b", "ask")->tag, "ask");
  const Message second = a.request("b", "ask").value();
  EXPECT_EQ(second.tag, "done");
  EXPECT_EQ(second.value<int>(), 2);
}

TEST_F(Components, AMessageIsForwarded) {
  Component a(options("a", "a", {{"b", 1}}));
  Component b(options("b", "b", {{"a", 1}, {"c", 1}}));
  Component c(options("c", "c", {{"b", 1}}));
  join({&a, &b, &c});
  a.send("b", "note", std::as_bytes(std::span(std::string_view("as it is"))), {.session = 7}).value();
  const Message first = b.receive().value();
  EXPECT_EQ(b.forward(first, "nobody").reason().code, Reason::Code::not_found);
  const std::uint64_t id = b.forward(first, "c").value();
  const Message second = c.receive().value();
  EXPECT_EQ(second.tag, "note");
  EXPECT_EQ(second.text(), "as it is");
  EXPECT_EQ(second.session, 7U);
  EXPECT_EQ(second.id, id);
  EXPECT_EQ(second.source, "b") << "it is one of the forwarding component's own";
  EXPECT_EQ(second.kind, Message::Kind::notification);
  const Pending<Message> asked = a.request_async("b", "ask", 1);
  const Message task = b.receive().value();
  b.forward(task, "c").value();
  EXPECT_EQ(c.receive()->kind, Message::Kind::notification) << "who asked is answered by the one that was asked";
  b.reply_value(task, 3).value();
  EXPECT_EQ(asked.get()->value<int>(), 3);
}

TEST_F(Components, ANonBlockingSenderFailsWhenTheQueueIsFull) {
  Component::Options impatient = options("a", "a", {{"b", 1}});
  impatient.overflow = Component::Overflow::fail;
  impatient.queue_max = 100;
  Component a(impatient);
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  int taken = 0;
  std::optional<Reason> refused;
  while (taken < 1'000'000 && !refused) {  // the receiver takes none
    const Outcome<std::uint64_t> sent = a.send("b", "x", std::to_string(taken));
    if (sent) ++taken;
    if (!sent) refused = sent.reason();
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Reason::Code::unavailable);
  EXPECT_THAT(refused->text, HasSubstr("too many messages wait for b"));
  EXPECT_GE(taken, 100);
  EXPECT_EQ(a.counters().dropped, 0U);
  for (int i = 0; i < taken; ++i) ASSERT_EQ(b.receive()->text(), std::to_string(i)) << "all that were taken arrive";
  EXPECT_EQ(b.receive(100ms).reason().code, Reason::Code::timed_out) << "and none besides";
}

TEST_F(Components, ASenderThatDropsTheOldestCountsThemAndTheNewestArrive) {
  Component::Options forgetful = options("a", "a", {{"b", 1}});
  forgetful.overflow = Component::Overflow::drop_oldest;
  forgetful.queue_max = 100;
  Component a(forgetful);
  Component b(options("b", "b", {{"a", 1}}));
  join({&a, &b});
  constexpr int count = 20'000;  // more than the receiver takes in without reading
  for (int i = 0; i < count; ++i) a.send("b", "x", std::to_string(i)).value();
  const std::uint64_t dropped = a.counters().dropped;
  ASSERT_GT(dropped, 0U);
  std::vector<int> came;
  for (std::uint64_t i = 0; i < count - dropped; ++i) came.push_back(std::stoi(std::string(b.receive()->text())));
  EXPECT_EQ(b.receive(100ms).reason().code, Reason::Code::timed_out) << "what was dropped does not come";
  EXPECT_TRUE(std::is_sorted(came.begin(), came.end()));
  // What is under way counts towards the queue and cannot be dropped: for certain only the newest one is kept.
  EXPECT_EQ(came.back(), count - 1);
}

}  // namespace
}  // namespace cadre
