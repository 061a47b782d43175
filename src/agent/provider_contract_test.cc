// What every provider of agents promises. A backend makes a provider whose instances do what their ids say: `runs…`
// runs until it is stopped, `slow…` does so and ignores the first request to end, `stubborn…` ignores all of them,
// `fails…` fails soon, `completes…` ends soon without an error, `killed…` is killed from outside soon.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <new>

#include "agent/local_provider.h"
#include "loop/real_loop.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using State = Instance::State;
using Cause = Instance::Ending::Cause;

volatile std::sig_atomic_t requests_to_end = 0;

/// Shared with the child processes.
std::atomic<int>& ready() {
  static auto* const count =
      new (::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
          std::atomic<int>(0);
  return *count;
}

struct Local {
  static constexpr auto patience = loop::ChildProcess::Patience{1s, 300ms};

  static int act(const InstanceId& id) {
    if (id.value.starts_with("fails")) return 1;
    if (id.value.starts_with("completes")) return 0;
    if (id.value.starts_with("killed")) ::raise(SIGKILL);
    ::signal(SIGTERM, [](int) { requests_to_end = requests_to_end + 1; });
    ++ready();
    const int enough = id.value.starts_with("runs") ? 1 : id.value.starts_with("slow") ? 2 : 1'000;
    while (requests_to_end < enough) ::usleep(1'000);
    return 0;
  }
  static std::unique_ptr<Provider> make(loop::Loop& loop) {
    ready() = 0;
    return std::make_unique<LocalProvider>(loop, LocalProvider::Options{act, patience});
  }
  /// Whether an instance heeds requests to end.
  static bool is_ready() { return ready() > 0; }
};

template <class T>
loop::Task<void> keep(loop::Task<T> task, std::optional<T>& into) {
  T result = co_await std::move(task);
  into.emplace(std::move(result));
}

template <class Backend>
struct ProviderContract : testing::Test {
  ~ProviderContract() override {
    for (const Instance& one : list()) EXPECT_TRUE(stop(one.id.value, Stop::at_once));
    loop.destroy_tasks();
  }

  template <class T>
  T run(loop::Task<T> task) {
    std::optional<T> result;
    loop.spawn(keep(std::move(task), result));
    EXPECT_TRUE(loop.run_until(loop.now() + 60s, [&] { return result.has_value(); })) << "not within a minute";
    return *std::move(result);
  }
  Result<void> start(const std::string& id) { return run(provider->start(InstanceId(id))); }
  Result<void> stop(const std::string& id, Stop how) { return run(provider->stop(InstanceId(id), how)); }
  std::vector<Instance> list() { return run(provider->list()).value(); }
  /// The only instance, once it is in this state.
  Instance await(State state) {
    for (;;) {
      const std::vector<Instance> all = list();
      EXPECT_EQ(all.size(), 1U);
      if (all.size() != 1 || all[0].state == state) return all.at(0);
      ::usleep(1'000);
    }
  }

  void await_ready() {
    while (!Backend::is_ready()) ::usleep(1'000);
  }

  loop::RealLoop loop;
  std::unique_ptr<Provider> provider = Backend::make(loop);
};

using Backends = testing::Types<Local>;
TYPED_TEST_SUITE(ProviderContract, Backends);

TYPED_TEST(ProviderContract, ListsWhatWasStartedInTheOrderOfIds) {
  EXPECT_TRUE(this->list().empty());
  ASSERT_TRUE(this->start("runs-2"));
  ASSERT_TRUE(this->start("runs-1"));
  const std::vector<Instance> all = this->list();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].id.value, "runs-1");
  EXPECT_EQ(all[1].id.value, "runs-2");
  for (const Instance& one : all) {
    EXPECT_NE(one.state, State::ended);
    EXPECT_FALSE(one.ending);
  }
}

TYPED_TEST(ProviderContract, StartsAnInstanceOnceForRepeatedRequests) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(this->start("runs"));
  this->await(State::running);
  ASSERT_TRUE(this->start("runs"));
  EXPECT_EQ(this->list().size(), 1U);
  ASSERT_TRUE(this->stop("runs", Stop::graceful));
  EXPECT_TRUE(this->list().empty());
}

TYPED_TEST(ProviderContract, KeepsTheEndingUntilTheInstanceIsStopped) {
  ASSERT_TRUE(this->start("fails"));
  const Instance failed = this->await(State::ended);
  ASSERT_TRUE(failed.ending);
  EXPECT_EQ(failed.ending->cause, Cause::failed);
  EXPECT_FALSE(failed.ending->reason.empty());
  EXPECT_EQ(this->start("fails").error().code, Errc::conflict) << "a repeated start must not start it again";
  EXPECT_EQ(this->list().size(), 1U);
  ASSERT_TRUE(this->stop("fails", Stop::graceful));
  EXPECT_TRUE(this->list().empty());
  ASSERT_TRUE(this->start("fails")) << "its id is free again";
}

TYPED_TEST(ProviderContract, TellsACompletedInstanceFromAFailedOne) {
  ASSERT_TRUE(this->start("completes"));
  EXPECT_EQ(this->await(State::ended).ending->cause, Cause::completed);
}

TYPED_TEST(ProviderContract, StartsAnInstanceAgainThatWasKilled) {
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(this->start("killed"));
    EXPECT_EQ(this->await(State::ended).ending->cause, Cause::killed);
    ASSERT_TRUE(this->stop("killed", Stop::graceful));
  }
}

TYPED_TEST(ProviderContract, StopsAreIdempotent) {
  EXPECT_TRUE(this->stop("unknown", Stop::graceful));
  ASSERT_TRUE(this->start("runs"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(this->stop("runs", Stop::graceful));
  EXPECT_TRUE(this->stop("runs", Stop::at_once));
}

TYPED_TEST(ProviderContract, AStopAtOnceHurriesOneThatIsUnderWay) {
  ASSERT_TRUE(this->start("slow"));
  this->await_ready();
  std::optional<Result<void>> stopped;
  this->loop.spawn(keep(this->provider->stop(InstanceId("slow"), Stop::graceful), stopped));
  this->loop.run_until(this->loop.now() + 50ms, [] { return false; });
  EXPECT_FALSE(stopped);
  EXPECT_TRUE(this->stop("slow", Stop::at_once));
  this->loop.run_until(this->loop.now() + 10s, [&] { return stopped.has_value(); });
  ASSERT_TRUE(stopped);
  EXPECT_TRUE(*stopped);
  EXPECT_TRUE(this->list().empty());
}

TYPED_TEST(ProviderContract, EndsAnInstanceThatDoesNotEndByItself) {
  ASSERT_TRUE(this->start("stubborn"));
  this->await_ready();
  EXPECT_TRUE(this->stop("stubborn", Stop::graceful));
  EXPECT_TRUE(this->list().empty());
}

}  // namespace
}  // namespace cadre::agent
