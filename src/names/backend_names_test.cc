// The session on a simulated loop: what it does over days, and over a backend that comes and goes.
#include "names/backend_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "loop/simulated_loop.h"
#include "names/memory_backend.h"

namespace cadre::names {
namespace {

using namespace std::chrono_literals;
using loop::SimulatedLoop;
using testing::ElementsAre;

/// Fails when it is told to, before or after it has done what it was asked.
class Flaky final : public Backend {
 public:
  enum class Fault : std::uint8_t { none, before, after };

  explicit Flaky(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}

  void set(Fault fault) {
    const bool found = fault_ != Fault::none && fault == Fault::none;
    fault_ = fault;
    if (found) tell_found();
  }
  int asked() const { return asked_; }

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) override {
    return pass(inner_->put(claim, mode, deadline));
  }
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint deadline) override {
    return pass(inner_->keep(claims, deadline));
  }
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) override {
    return pass(inner_->restore(claim, deadline));
  }
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) override {
    return pass(inner_->get(key, deadline));
  }
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) override {
    return pass(inner_->list(prefix, deadline));
  }
  loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) override {
    return pass(inner_->remove(key, deadline));
  }
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint deadline) override {
    return pass(inner_->remove_subtree(prefix, deadline));
  }
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override {
    return pass(inner_->news(prefix, since, until));
  }
  void release(std::vector<std::string> keys, std::function<void()> done) override {
    inner_->release(std::move(keys), std::move(done));
  }
  void end() override { inner_->end(); }

 private:
  template <class T>
  loop::Task<Result<T>> pass(loop::Task<Result<T>> task) {
    ++asked_;
    if (fault_ == Fault::before) co_return fail(Errc::unavailable, "nobody there");
    Result<T> result = co_await std::move(task);
    if (fault_ == Fault::after) co_return fail(Errc::timed_out, "no answer");
    co_return result;
  }

  const std::shared_ptr<Backend> inner_;
  Fault fault_ = Fault::none;
  int asked_ = 0;
};

void pass(SimulatedLoop& loop, Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

template <class T>
loop::Task<void> keep_result(loop::Task<T> task, std::optional<T>& into) {
  T result = co_await std::move(task);
  into.emplace(std::move(result));
}

/// Virtual time passes until it has ended.
template <class T>
T run(SimulatedLoop& loop, loop::Task<T> task) {
  std::optional<T> result;
  loop.spawn(keep_result(std::move(task), result));
  while (!result) pass(loop, 10ms);
  return *std::move(result);
}

TEST(BackendNames, KeepsAnEntryAliveForAsLongAsItLivesAndNoLonger) {
  SimulatedLoop loop;
  const auto watcher = open_memory(loop, "days");
  std::vector<std::string> told;
  const Watch watch =
      watcher
          ->watch("",
                  [&](const Change& change) {
                    told.push_back(change.entry.key + (change.kind == Change::Kind::put ? " put" : " gone"));
                  })
          .value();
  auto owner = open_memory(loop, "days");
  ASSERT_TRUE(run(loop, owner->put("a", "v", {.ttl = 10s})).has_value());
  pass(loop, std::chrono::hours(24));
  EXPECT_THAT(told, ElementsAre("a put"));
  owner.reset();
  pass(loop, 1ms);
  EXPECT_THAT(told, ElementsAre("a put", "a gone"));
}

TEST(BackendNames, RidesOverALossAndTellsWhatChangedMeanwhile) {
  FOR_SEEDS(200, [](Dice& dice) {
    SimulatedLoop loop({.seed = dice.bits()});
    const auto flaky = std::make_shared<Flaky>(make_memory_backend(loop, "loss"));
    BackendNames session(loop, flaky, {});
    const auto other = open_memory(loop, "loss");
    std::vector<std::string> lost;
    session.on_lost([&](const std::string& key) { lost.push_back(key); });
    std::map<std::string, std::string> told;
    const Watch watch = session
                            .watch("",
                                   [&](const Change& change) {
                                     if (change.kind == Change::Kind::gone) {
                                       told.erase(change.entry.key);
                                     } else {
                                       told[change.entry.key] = change.entry.value;
                                     }
                                   })
                            .value();
    const Epoch epoch = run(loop, session.put("own", "v", {.ttl = 1s})).value();
    ASSERT_TRUE(run(loop, session.put("taken", "v", {.ttl = 1s})).has_value());
    ASSERT_TRUE(run(loop, other->put("theirs", "1", {})).has_value());

    flaky->set(dice.percent(50) ? Flaky::Fault::before : Flaky::Fault::after);
    const int asked = flaky->asked();
    pass(loop, std::chrono::milliseconds(dice.between(1, 20'000)));
    ASSERT_LT(flaky->asked() - asked, 150) << "it does not ask without pause";
    ASSERT_FALSE(run(loop, session.get("own")).has_value());
    ASSERT_EQ(run(loop, session.wait("theirs", loop.now() + 1s)).error().code, Errc::timed_out);
    ASSERT_TRUE(run(loop, other->put("theirs", "2", {})).has_value());
    ASSERT_TRUE(run(loop, other->put("taken", "mine", {})).has_value());
    flaky->set(Flaky::Fault::none);

    pass(loop, 5s);
    ASSERT_EQ(run(loop, other->get("own")).value(), (Entry{"own", "v", epoch}));
    ASSERT_THAT(lost, ElementsAre("taken"));
    ASSERT_EQ(told, (std::map<std::string, std::string>{{"own", "v"}, {"taken", "mine"}, {"theirs", "2"}}));
  });
}

TEST(BackendNames, RemovesAPutWhoseReplyWasLost) {
  SimulatedLoop loop;
  const auto flaky = std::make_shared<Flaky>(make_memory_backend(loop, "doubt"));
  BackendNames session(loop, flaky, {});
  const auto other = open_memory(loop, "doubt");
  ASSERT_TRUE(run(loop, session.put("own", "1", {})).has_value());
  flaky->set(Flaky::Fault::after);
  EXPECT_EQ(run(loop, session.put("new", "v", {})).error().code, Errc::timed_out);
  EXPECT_EQ(run(loop, session.put("own", "2", {})).error().code, Errc::timed_out);
  EXPECT_EQ(run(loop, other->get("new")).error().code, Errc::not_found);
  EXPECT_EQ(run(loop, other->get("own")).value().value, "2") << "it is ours and kept alive, whichever value it has";
}

TEST(BackendNames, HoldsAndWatchesNoMoreThanItMay) {
  SimulatedLoop loop;
  Options options;
  options.entries_max = 2;
  options.watches_max = 1;
  const auto names = open_memory(loop, "bounds", options);
  ASSERT_TRUE(run(loop, names->put("a", "v", {})).has_value());
  ASSERT_TRUE(run(loop, names->put("b", "v", {})).has_value());
  EXPECT_EQ(run(loop, names->put("c", "v", {})).error().code, Errc::unavailable);
  ASSERT_TRUE(run(loop, names->put("a", "w", {})).has_value());
  ASSERT_TRUE(run(loop, names->remove("b")).has_value());
  ASSERT_TRUE(run(loop, names->put("c", "v", {})).has_value());
  Watch watch = names->watch("", [](const Change&) {}).value();
  EXPECT_EQ(names->watch("", [](const Change&) {}).error().code, Errc::unavailable);
  watch = Watch();
  EXPECT_TRUE(names->watch("", [](const Change&) {}).has_value());
}

}  // namespace
}  // namespace cadre::names
