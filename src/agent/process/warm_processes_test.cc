#include "agent/process/warm_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>
#include <vector>

#include "describe/describe.h"
#include "loop/thread_pool.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
namespace supervision = cluster::supervision;
using namespace std::chrono_literals;
using testing::HasSubstr;

class NotedLog final : public Log {
 public:
  void write(Level, std::string_view message) override { text += message; }
  std::string text;
};

/// With supervisors that say what a test lets them say.
class WarmProcessesTest : public testing::Test {
 protected:
  struct Supervisor {
    supervision::Launch launch;
    loop::Descriptor socket;

    void say(const supervision::FromSupervisor& message) const {
      const Bytes packet = describe::write_msgpack(message);
      EXPECT_EQ(::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL), packet.size());
    }
    void say_ready() const {
      supervision::Status status;
      status.ready = true;
      say(status);
    }
    std::optional<supervision::FromAgent> hear() const {
      Bytes packet(supervision::packet_bytes_max);
      const ssize_t size = ::recv(socket.get(), packet.data(), packet.size(), MSG_DONTWAIT);
      if (size <= 0) return std::nullopt;
      packet.resize(static_cast<std::size_t>(size));
      return describe::read_msgpack<supervision::FromAgent>(packet).value();
    }
  };

  ~WarmProcessesTest() override { loop_.destroy_tasks(); }

  loop::Task<Result<loop::Descriptor>> start(supervision::Launch launch) {
    ++started_;
    if (fails_) co_return fail(Errc::unavailable, "no room");
    const TaskFolder folder = folders_.make(launch.lease).value();
    EXPECT_TRUE(folder.write_launch(launch));
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    supervisors_.push_back({std::move(launch), loop::Descriptor(ends[0])});
    co_return loop::Descriptor(ends[1]);
  }
  static WarmProcesses::Rules rules() {
    WarmProcesses::Rules rules;
    rules.processes.each_max = 2;
    rules.processes.all_max = 10;
    rules.processes.memory_max = ByteSize{1 << 30};
    rules.processes.pause_first = rules.processes.pause_max = 1ms;
    rules.templates.all_max = 2;
    return rules;
  }
  static cluster::messages::Start start_of(const std::string& owner) {
    cluster::messages::Start start;
    start.owner = owner;
    start.command.argv = {"host"};
    start.command.warm = true;
    return start;
  }
  void pass_a_while() {
    processes_.tick();
    loop_.run_until(loop_.now() + 1ms, [] { return false; });
  }
  bool until(const std::function<bool()>& holds) {
    for (const TimePoint end = loop_.now() + 30s; !holds(); pass_a_while()) {
      if (loop_.now() > end) return false;
    }
    return true;
  }
  std::size_t folders() const {
    return std::count_if(fs::directory_iterator(folder_.path()), fs::directory_iterator(),
                         [](const auto& entry) { return !entry.path().filename().string().starts_with("spare-"); });
  }

  servers::TempDir folder_;
  NotedLog log_;
  loop::RealLoop loop_;
  loop::ThreadPool pool_{loop_, {"the test's files", 2, 100}};
  TaskFolders folders_{folder_.path()};
  std::vector<Supervisor> supervisors_;
  int started_ = 0;
  bool fails_ = false;
  WarmProcesses processes_{
      {loop_, pool_, log_, folders_,
       [this](supervision::Launch launch, const std::string&) { return start(std::move(launch)); },
       [](const cluster::host::WarmKind&) { return supervision::Confinement(); }, [] { return std::size_t{0}; }},
      rules(),
      {}};
};

TEST_F(WarmProcessesTest, AreHandedOutOnceTheyAreReady) {
  EXPECT_FALSE(processes_.take(start_of("ann")));
  ASSERT_TRUE(until([&] { return supervisors_.size() == 2; }));
  EXPECT_FALSE(processes_.take(start_of("ann"))) << "none is ready";
  const supervision::Launch& launch = supervisors_[1].launch;
  EXPECT_TRUE(launch.waits());
  EXPECT_NE(launch.lease, supervisors_[0].launch.lease);
  EXPECT_EQ(launch.variables.at("CADRE_WARM"), "1");
  EXPECT_EQ(launch.abandon_after, Duration{0});
  supervisors_[1].say_ready();
  std::optional<WarmProcesses::Taken> taken;
  ASSERT_TRUE(until([&] { return (taken = processes_.take(start_of("ann"))).has_value(); }));
  EXPECT_EQ(taken->home, launch.lease);
  taken->link->send(supervision::Adopt{launch});
  const auto heard = supervisors_[1].hear();
  ASSERT_TRUE(heard);
  EXPECT_TRUE(std::holds_alternative<supervision::Adopt>(*heard));
  EXPECT_TRUE(until([&] { return supervisors_.size() == 3; })) << "it is replaced";
}

TEST_F(WarmProcessesTest, ThatAreLetGoAreKilledAndLeaveNothing) {
  EXPECT_FALSE(processes_.take(start_of("ann")));
  ASSERT_TRUE(until([&] { return supervisors_.size() == 2; }));
  processes_.end_all();
  for (Supervisor& supervisor : supervisors_) {
    const auto heard = supervisor.hear();
    ASSERT_TRUE(heard);
    EXPECT_EQ(std::get<supervision::Stop>(*heard).grace, Duration{0});
    EXPECT_FALSE(processes_.empty());
    supervisor.socket.close();
  }
  EXPECT_TRUE(until([&] { return processes_.empty() && folders() == 0; }));
}

TEST_F(WarmProcessesTest, ThatDieAreReplacedAndLeaveNothing) {
  EXPECT_FALSE(processes_.take(start_of("ann")));
  ASSERT_TRUE(until([&] { return supervisors_.size() == 2; }));
  supervisors_[0].socket.close();
  EXPECT_TRUE(until([&] { return supervisors_.size() == 3 && folders() == 2; }));
}

TEST_F(WarmProcessesTest, ThatCannotBeStartedAreGivenUpAndItIsSaidWhy) {
  fails_ = true;
  EXPECT_FALSE(processes_.take(start_of("ann")));
  ASSERT_TRUE(until([&] { return !log_.text.empty(); }));
  EXPECT_THAT(log_.text, HasSubstr("none of 'host' of ann are kept ready"));
  EXPECT_THAT(log_.text, HasSubstr("no room"));
  const int started = started_;
  for (int i = 0; i < 100; ++i) pass_a_while();
  EXPECT_EQ(started_, started);
}

TEST_F(WarmProcessesTest, OfAKindThatForksAreForkedFromATemplateThatStaysReady) {
  cluster::messages::Start start = start_of("ann");
  start.command.forks = true;
  EXPECT_FALSE(processes_.take(start));
  std::string from;
  const auto ask = [&]() -> loop::Task<void> {
    from = co_await processes_.template_for(cluster::host::warm_kind_of(start), [] { return true; });
  };
  loop_.spawn(ask());
  ASSERT_TRUE(until([&] { return supervisors_.size() == 1; })) << "the others wait for it";
  EXPECT_TRUE(supervisors_[0].launch.is_template);
  EXPECT_EQ(from, "");
  supervisors_[0].say_ready();
  ASSERT_TRUE(until([&] { return supervisors_.size() == 3; }));
  EXPECT_EQ(from, folders_.at(supervisors_[0].launch.lease).path());
  for (const int waiting : {1, 2}) {
    EXPECT_EQ(supervisors_[waiting].launch.forked_from, from);
    EXPECT_FALSE(supervisors_[waiting].launch.is_template);
  }
  supervisors_[1].say(supervision::NotForked{from, "threads"});
  ASSERT_TRUE(until([&] { return supervisors_[0].hear().has_value(); })) << "it is let go";
  EXPECT_THAT(log_.text, HasSubstr("not forked, for now: threads"));
  from = "?";
  loop_.spawn(ask());
  ASSERT_TRUE(until([&] { return from.empty(); })) << "the next one is started";
}

}  // namespace
}  // namespace cadre::agent
