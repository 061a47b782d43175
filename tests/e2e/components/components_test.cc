// Components as processes: on one host with a real Redis, and on four hosts with a network that fails.
#include <cadre/component.h>
#include <cadre/names.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "tests/servers/hosts.h"
#include "tests/servers/master.h"
#include "tests/servers/process.h"
#include "tests/servers/redis.h"
#include "tests/servers/scratch.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using servers::Hosts;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// What a component was told of its peers.
class Told {
 public:
  void watch(Component& component) {
    component.on_peer_up([this](const std::string& peer) { note("up " + peer, {}); });
    component.on_peer_down([this](const Component::Lost& lost) { note("down " + lost.peer, lost.ids); });
  }
  bool wait(const std::string& event, std::size_t count = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 60s, [&] {
      return static_cast<std::size_t>(std::count(events_.begin(), events_.end(), event)) >= count;
    });
  }
  bool has(const std::string& event) {
    const std::lock_guard lock(mutex_);
    return std::count(events_.begin(), events_.end(), event) > 0;
  }
  std::vector<std::uint64_t> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  void note(const std::string& event, const std::vector<std::uint64_t>& ids) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    lost_.insert(lost_.end(), ids.begin(), ids.end());
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> events_;
  std::vector<std::uint64_t> lost_;
};

struct Processes : testing::Test {
  pid_t start(const std::string& name, const std::vector<std::string>& expected = {"test=1"},
              const std::string& host = "127.0.0.1", servers::Fork fork = {}) {
    std::vector<std::string> argv{CADRE_PEER, names, group, "peer", name, host};
    argv.insert(argv.end(), expected.begin(), expected.end());
    const pid_t pid = servers::start({argv, "", "", SIGKILL, {}, std::move(fork)});
    running.push_back(pid);
    return pid;
  }
  Component::Options options(std::size_t peers) const {
    return {.group = group, .type = "test", .name = "test", .peers = {{"peer", peers}}, .names = names};
  }
  void kill(pid_t pid) {
    std::erase(running, pid);
    servers::kill_tree(pid);
  }
  /// Asks all to end, and sees that they do.
  void end_all(Component& component) {
    for (const std::string& peer : component.peers()) component.send(peer, "end").value();
    for (const pid_t pid : running) EXPECT_EQ(servers::wait_for(pid), 0);
    running.clear();
  }
  /// The two roles of the example, each told this URL.
  void expect_greeting(const std::string& url, const std::vector<std::string>& environment) const {
    const auto start_role = [&](const std::string& role) {
      std::filesystem::remove(folder.path() + "/" + role);
      return servers::start({{CADRE_HELLO, role, url}, "", folder.path() + "/" + role, SIGKILL, environment, {}});
    };
    const pid_t worker = start_role("worker");
    const pid_t greeter = start_role("greeter");
    EXPECT_EQ(servers::wait_for(worker), 0);
    EXPECT_EQ(servers::wait_for(greeter), 0);
    std::ifstream said(folder.path() + "/worker");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}), "hello worker, you are number 1\n");
  }
  ~Processes() override {
    for (const pid_t pid : running) servers::kill_tree(pid);
  }

  servers::TempDir folder;
  std::string names = "file://" + folder.path();
  std::string group = "g";
  std::vector<pid_t> running;
};

struct WithRedis : Processes {
  WithRedis() { names = redis.url(); }
  servers::TempDir redis_folder;
  servers::RedisServer redis{redis_folder.path()};
};

TEST_F(WithRedis, ABroadcastRightAfterJoiningReachesAll) {
  constexpr int peers = 4;
  for (int round = 0; round < 5; ++round) {
    group = "round-" + std::to_string(round);
    for (int i = 0; i < peers; ++i) start("p" + std::to_string(i), {"test=1", "peer=" + std::to_string(peers - 1)});
    Component component(options(peers));
    component.join().value();
    const std::vector<Reply> replies = component.broadcast("peer", "echo", "hello");
    EXPECT_THAT(replies, SizeIs(peers));
    for (const Reply& reply : replies) EXPECT_EQ(reply.outcome.value().text(), "hello");
    end_all(component);
  }
}

TEST_F(WithRedis, AnEmptyRestartedRedisDoesNotDisturbTheGroupAndRegainsAllNames) {
  start("p0");
  Told told;
  Component component(options(1));
  told.watch(component);
  component.join().value();
  redis.kill();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(component.request("p0", "echo", "x").value().text(), "x");
  redis.start_again();
  start("p1", {"test=1", "peer=1"});
  ASSERT_TRUE(told.wait("up p1")) << "who comes later finds those who were there, and is found";
  EXPECT_EQ(component.request("p1", "echo", "y").value().text(), "y");
  EXPECT_EQ(component.peers().size(), 2);
  end_all(component);
}

TEST_F(Processes, TheExampleGreets) {
  std::filesystem::create_directory(folder.path() + "/hello");
  expect_greeting(names + "/hello", {});
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
  double sum = 0;
  std::map<std::string, std::optional<bool>> facts;
};
template <class V>
void describe(V& v, Model& m) {
  v.field("sum", m.sum, "of the inputs");
  v.field("facts", m.facts, "about it");
}

/// What the peer in Python says of an array.
struct AboutArray {
  double sum = 0;
  std::vector<std::size_t> shape;
  Array<double> back;
  std::set<int> seen;
  std::map<int, std::string> names;
};
template <class V>
void describe(V& v, AboutArray& a) {
  v.required("sum", a.sum, "of its numbers");
  v.required("shape", a.shape, "of it");
  v.required("back", a.back, "twice the numbers");
  v.required("seen", a.seen, "a set");
  v.required("names", a.names, "by number");
}

#ifdef CADRE_PYTHON_PATH  // not with sanitizers: Debian's interpreter is not built for them
TEST_F(Processes, ValuesAreTheSameInCppAndInPython) {
  running.push_back(servers::start({{CADRE_PYTHON, CADRE_PEER_PY, names},
                                    "",
                                    "",
                                    SIGKILL,
                                    {"PYTHONPATH=" CADRE_PYTHON_PATH, "PYTHONDONTWRITEBYTECODE=1"},
                                    {}}));
  Component component(options(1));
  int notes = 0;
  const auto train = [](const Batch& batch) {
    Model model;
    for (const int one : batch.x) model.sum += one;
    model.facts = {{batch.name, true}, {"unknown", std::nullopt}};
    return model;
  };
  component.on("train", train).value();
  component.on("note", [&notes] { ++notes; }).value();
  component.join().value();
  std::jthread serving([&] { component.launch().value(); });

  const Model model = component.request<Model>("python", "pass on", Batch{{1, -2, 1'000'000}, "größe"}).value();
  EXPECT_EQ(model.sum, 999'999);
  EXPECT_THAT(model.facts, UnorderedElementsAre(Pair("größe", true), Pair("unknown", std::nullopt)));
  const std::map<std::string, std::vector<std::string>> texts{{"x", {"1"}}};
  const Outcome<Model> other = component.request<Model>("python", "pass on", texts);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.reason().text, HasSubstr("refused: ")) << "Python was refused by us, and says so";
  EXPECT_THAT(other.reason().text, HasSubstr(".x[0] is text \"1\", not a whole number"));
  std::vector<double> numbers(60'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const auto about = component.request<AboutArray>("python", "array", Array<double>(numbers, {200, 300})).value();
  EXPECT_EQ(about.sum, 60'000.0 * 59'999.0 / 2);
  EXPECT_EQ(about.shape, (std::vector<std::size_t>{200, 300}));
  EXPECT_EQ(about.back.shape(), about.shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(about.back[i], 2 * numbers[i]);
  EXPECT_EQ(about.seen, (std::set<int>{1, 2}));
  EXPECT_EQ(about.names, (std::map<int, std::string>{{7, "seven"}}));
  component.send("python", "note").value();
  end_all(component);
  component.stop();
  serving.join();
  EXPECT_EQ(notes, 1) << "without an argument and without a result";
}
#endif  // CADRE_PYTHON_PATH

struct WithMaster : Processes {
  WithMaster() { names = "master://:" + master.token() + "@127.0.0.1:" + std::to_string(master.port()); }
  servers::TempDir master_folder;
  servers::MasterServer master{{.program = CADRE_PROGRAM, .folder = master_folder.path()}};
};

TEST_F(WithMaster, TheExampleGreetsWithoutAUrl) {
  expect_greeting("", {"CADRE_MASTER=" + master.data(), "CADRE_TOKEN="});
  expect_greeting("",
                  {"CADRE_MASTER=http://127.0.0.1:" + std::to_string(master.port()), "CADRE_TOKEN=" + master.token()});
}

TEST_F(WithMaster, ABroadcastRightAfterJoiningReachesAll) {
  constexpr int peers = 4;
  for (int i = 0; i < peers; ++i) start("p" + std::to_string(i), {"test=1", "peer=" + std::to_string(peers - 1)});
  Component component(options(peers));
  component.join().value();
  const std::vector<Reply> replies = component.broadcast("peer", "echo", "hello");
  EXPECT_THAT(replies, SizeIs(peers));
  for (const Reply& reply : replies) EXPECT_EQ(reply.outcome.value().text(), "hello");
  end_all(component);
}

TEST_F(WithMaster, AMasterRestartDoesNotDisturbTheGroupAndRestoresAllNames) {
  start("p0");
  Told told;
  Component component(options(1));
  told.watch(component);
  component.join().value();
  master.kill();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(component.request("p0", "echo", "x").value().text(), "x");
  master.start_again();
  start("p1", {"test=1", "peer=1"});
  ASSERT_TRUE(told.wait("up p1")) << "who comes later finds those who were there, and is found";
  EXPECT_EQ(component.request("p1", "echo", "y").value().text(), "y");
  EXPECT_EQ(component.peers().size(), 2);
  EXPECT_FALSE(told.has("down p0"));
  end_all(component);
}

TEST_F(WithMaster, NamesOfAKilledProcessExpire) {
  const pid_t first = start("p0");
  Component component(options(1));
  component.join().value();
  Names seen(names);
  Names::Watch watch = seen.watch("groups/" + group + "/p0").value();
  EXPECT_EQ(watch.next(60s)->kind, Names::Change::Kind::put);
  kill(first);
  EXPECT_EQ(watch.next(60s)->kind, Names::Change::Kind::gone);
}

TEST_F(Processes, DetectsAKilledPeerAndDeliversKeptMessagesToItsSuccessor) {
  const pid_t first = start("p0");
  Component::Options patient = options(1);
  patient.rejoin = true;
  Told told;
  Component component(patient);
  told.watch(component);
  component.join().value();
  component.send("p0", "count", "old").value();
  EXPECT_EQ(component.request("p0", "counted").value().text(), "old,");
  kill(first);
  ASSERT_TRUE(told.wait("down p0"));
  std::string wanted;
  for (int i = 0; i < 50; ++i) {
    component.send("p0", "count", std::to_string(i)).value();
    wanted += std::to_string(i) + ",";
  }
  start("p0");
  ASSERT_TRUE(told.wait("up p0", 2));
  EXPECT_EQ(component.request("p0", "counted").value().text(), wanted);
  end_all(component);
}

TEST_F(Processes, DetectsASuspendedPeerAndReconnectsWhenItResumes) {
  const pid_t pid = start("p0");
  Told told;
  Component component(options(1));
  told.watch(component);
  component.join().value();
  ::kill(pid, SIGSTOP);
  const Outcome<Message> answer = component.request("p0", "echo", "are you there?", 60s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.reason().code, Reason::Code::unavailable);
  EXPECT_THAT(answer.reason().text, AnyOf(HasSubstr("no message from it for 3 s"),
                                          HasSubstr("it received nothing for 3 s")));  // whichever is noticed first
  EXPECT_THAT(told.lost(), SizeIs(1));
  ::kill(pid, SIGCONT);
  ASSERT_TRUE(told.wait("up p0", 2));
  EXPECT_EQ(component.request("p0", "echo", "now?").value().text(), "now?");
  end_all(component);
}

TEST_F(Processes, AClosedOrKilledComponentLeavesNoFiles) {
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const auto count_folders = [&] {
    const std::filesystem::directory_iterator all(folder.path() + "/cadre-" + std::to_string(geteuid()));
    return std::distance(begin(all), end(all));
  };
  for (int round = 0; round < 3; ++round) {
    const pid_t pid = start("p0");
    Component component(options(1));
    component.join().value();
    round == 0 ? end_all(component) : kill(pid);
    EXPECT_EQ(component.close().size(), 0);
  }
  {
    const pid_t pid = start("p0");
    Component component(options(1));
    component.join().value();
    EXPECT_EQ(count_folders(), 2);
    kill(pid);
    for (int i = 0; i < 600 && count_folders() > 1; ++i) std::this_thread::sleep_for(100ms);
    EXPECT_EQ(count_folders(), 1) << "its peers remove what a killed process has left";
  }
  Component last(options(0));  // sweeps what the killed have left
  last.join().value();
  EXPECT_EQ(count_folders(), 1);
}

/// The test's own component is on the first host, a peer on each of the others.
struct OnHosts : Processes {
  void start_on(int host) { start("p" + std::to_string(host), {"test=1"}, Hosts::address(host), hosts.on(host)); }
  /// Runs something on the first host with a component that has joined.
  void with_component(const std::function<void(Component&, Told&)>& body) {
    for (int host = 2; host <= hosts.count(); ++host) start_on(host);
    hosts.inside(1, [&] {
      Component::Options here = options(3);
      here.host = Hosts::address(1);
      Told told;
      Component component(here);
      told.watch(component);
      component.join(60s).value();
      body(component, told);
      return 0;
    });
  }
  Hosts hosts{4};
};

TEST_F(OnHosts, SpeakWithEachOther) {
  with_component([&](Component& component, Told&) {
    EXPECT_THAT(component.peers(), ElementsAre("p2", "p3", "p4"));
    for (const Reply& reply : component.broadcast("peer", "echo", std::string(5'000'000, 'x'))) {
      EXPECT_EQ(reply.outcome.value().text().size(), 5'000'000) << reply.peer;
    }
    end_all(component);
  });
}

TEST_F(OnHosts, FindEachOtherByTheMaster) {
  const servers::TempDir master_folder;
  servers::MasterServer master(
      {.program = CADRE_PROGRAM, .folder = master_folder.path(), .host = Hosts::address(1), .fork = hosts.on(1)});
  names = "master://:" + master.token() + "@" + Hosts::address(1) + ":" + std::to_string(master.port());
  with_component([&](Component& component, Told& told) {
    EXPECT_THAT(component.peers(), ElementsAre("p2", "p3", "p4"));
    hosts.network().cut(3);
    ASSERT_TRUE(told.wait("down p3"));
    hosts.network().heal(3);
    ASSERT_TRUE(told.wait("up p3", 2));
    for (const Reply& reply : component.broadcast("peer", "echo", "again", 60s)) {
      EXPECT_EQ(reply.outcome.value().text(), "again") << reply.peer;
    }
    end_all(component);
  });
}

TEST_F(OnHosts, DetectsAPartitionReconnectsAndDeliversReliableMessagesOnce) {
  with_component([&](Component& component, Told& told) {
    hosts.network().cut(3);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 5; ++i) {
      const std::string text = std::to_string(i);
      component.send("p3", "count", std::as_bytes(std::span(text)), {0, true, 30s}).value();
      ids.push_back(component.send("p3", "silence").value());
    }
    ASSERT_TRUE(told.wait("down p3"));
    EXPECT_EQ(told.lost(), ids) << "those that are not reliable";
    EXPECT_EQ(component.request("p2", "echo", "others are there").value().text(), "others are there");
    hosts.network().heal(3);
    ASSERT_TRUE(told.wait("up p3", 2));
    EXPECT_EQ(component.request("p3", "counted").value().text(), "0,1,2,3,4,");
    end_all(component);
  });
}

TEST_F(OnHosts, AnsweringOverAPoorNetwork) {
  with_component([&](Component& component, Told&) {
    hosts.network().loss(2, 0.05, 7);
    hosts.network().delay(3, 20ms);
    int answered = 0;
    for (int i = 0; i < 100; ++i) {
      for (const Reply& reply : component.broadcast("peer", "echo", std::to_string(i), 60s)) {
        if (reply.outcome && reply.outcome->text() == std::to_string(i)) ++answered;
      }
    }
    EXPECT_EQ(answered, 300);
    hosts.network().loss(2, 0, 7);
    end_all(component);
  });
}

TEST_F(OnHosts, AHostThatLosesItsPowerIsMissedInTime) {
  with_component([&](Component& component, Told& told) {
    hosts.kill(4);
    ASSERT_TRUE(told.wait("down p4"));
    EXPECT_THAT(component.peers(), ElementsAre("p2", "p3"));
    running.pop_back();
    end_all(component);
  });
}

}  // namespace
}  // namespace cadre::e2e
