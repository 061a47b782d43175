// What is promised when hosts, agents and the master die, run by real processes that are really killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "base/dice.h"
#include "bench/cluster_for_bench.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using cluster::JobStage;
using cluster::lease::Reason;
using testing::HasSubstr;

/// A task that reports as fast as it may, and notes what became of each report: `task epoch number accepted|refused`.
const char* const reporter = R"(
import os, sys, time, cadre
os.umask(0)  # each agent runs tasks under UIDs of its own
notes = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
task, epoch = os.environ["CADRE_TASK"], os.environ["CADRE_EPOCH"]
os.write(notes, f"{task} {epoch} 0 started {os.getpid()}\n".encode())
number = 0
while not cadre.should_stop():
    number += 1
    try:
        cadre.report({"epoch": int(epoch), "number": number}, timeout=1.0)
        fate = "accepted"
    except cadre.ReportRefused:
        fate = "refused"
    except cadre.ReportError:
        fate = "unknown"
    os.write(notes, f"{task} {epoch} {number} {fate}\n".encode())
    time.sleep(0.02)
)";

/// Writes numbered lines until it is stopped.
const char* const counter = "i=0; while true; do i=$((i+1)); echo line $i; sleep 0.05; done";

struct Note {
  std::string task;
  std::uint64_t epoch = 0;
  std::uint64_t number = 0;
  std::string fate;
};

std::vector<Note> notes_in(const std::string& path) {
  std::vector<Note> notes;
  std::istringstream text(read_text(path));
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    Note note;
    if (words >> note.task >> note.epoch >> note.number >> note.fate) notes.push_back(note);
  }
  return notes;
}

class Faults : public testing::Test {
 protected:
  Faults() {
    std::filesystem::create_directory(shared());
    std::filesystem::permissions(shared(), std::filesystem::perms::all);  // tasks run as another user
    write_text(script(), reporter);
    for (const char* name : {"a1", "a2", "a3"}) cluster_.start_agent(name);
  }

  /// A folder that tasks see as /mnt: their /tmp is their own.
  std::string shared() const { return cluster_.folder() + "/shared"; }
  std::string script() const { return shared() + "/reporter.py"; }
  std::string notes() const { return shared() + "/notes"; }

#ifdef CADRE_PYTHON_PATH
  std::vector<std::string> reporter_command(const std::string& fence) const {
    return {"--slots",
            "1",
            "--fence",
            fence,
            "--env",
            "PYTHONPATH=" CADRE_PYTHON_PATH,
            "--mount",
            shared() + ":/mnt:rw",
            "--preemptible",
            "--grace",
            "2s",
            "--",
            "/usr/bin/python3",
            "/mnt/reporter.py",
            "/mnt/notes"};
  }
#endif  // CADRE_PYTHON_PATH

  bool runs(std::uint64_t id) const {
    const auto job = cluster_.job(id);
    return !job.tasks.empty() && job.tasks[0].stage == cluster::lease::Stage::running;
  }
  std::string agent_of(std::uint64_t id) const { return cluster_.job(id).tasks[0].agent.value; }

  /// Once a report of an epoch was accepted, none of an earlier one is.
  void expect_one_voice() const {
    std::map<std::string, std::uint64_t> heard;
    std::map<std::string, std::uint64_t> accepted;
    for (const Note& note : notes_in(notes())) {
      if (note.fate != "accepted") continue;
      EXPECT_GE(note.epoch, heard[note.task]) << note.task << " report " << note.number;
      heard[note.task] = std::max(heard[note.task], note.epoch);
      ++accepted[note.task];
    }
    for (const auto& [task, count] : accepted) {
      // The answer to the last one may have been lost, or be on its way.
      const auto job = cluster_.job(std::stoull(task));
      EXPECT_GE(job.tasks[0].reports + 1, count) << task;
    }
  }

  TestCluster cluster_;
};

#ifdef CADRE_PYTHON_PATH
TEST_F(Faults, TasksOfALostHostRunAgainElsewhere) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(cluster_.submit(reporter_command("keep")));
  ASSERT_TRUE(TestCluster::until([&] {
    for (const std::uint64_t id : ids) {
      if (!runs(id) || cluster_.job(id).tasks[0].reports == 0) return false;
    }
    return true;
  }));
  const std::string gone = agent_of(ids[0]);
  cluster_.kill_host(gone);
  ASSERT_TRUE(TestCluster::until([&] {
    for (const std::uint64_t id : ids) {
      const auto job = cluster_.job(id);
      if (job.tasks.empty() || job.tasks[0].stage != cluster::lease::Stage::running || job.tasks[0].agent.value == gone)
        return false;
    }
    return true;
  }));
  EXPECT_EQ(cluster_.job(ids[0]).tasks[0].epoch, 2U);
  EXPECT_TRUE(TestCluster::until([&] {
    for (const Note& note : notes_in(notes())) {
      if (note.epoch == 2 && note.fate == "accepted") return true;
    }
    return false;
  }));
  expect_one_voice();
  // It comes back with nothing, and takes work again.
  cluster_.start_agent(gone);
  EXPECT_TRUE(cluster_.processes(gone).empty());
}

TEST_F(Faults, ALostAgentKillsItsProcessesBeforeItAcceptsWork) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(cluster_.submit(reporter_command("keep")));
  ASSERT_TRUE(TestCluster::until([&] {
    for (const std::uint64_t id : ids) {
      if (!runs(id) || cluster_.job(id).tasks[0].reports == 0) return false;
    }
    return true;
  }));
  const std::string silent = agent_of(ids[0]);
  ::kill(cluster_.agent(silent), SIGSTOP);  // its tasks go on
  ASSERT_TRUE(TestCluster::until([&] { return runs(ids[0]) && agent_of(ids[0]) != silent; }));
  EXPECT_FALSE(cluster_.processes(silent).empty());  // two processes of one task, of which one has a voice
  const std::uint64_t before = cluster_.job(ids[0]).tasks[0].reports;
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.job(ids[0]).tasks[0].reports > before + 5; }));
  // The first epoch of the task that was given to another agent still runs here, by its own account.
  const auto pid_of = [&](std::uint64_t id, std::uint64_t epoch) {
    std::istringstream text(read_text(notes()));
    const std::string wanted = std::to_string(id) + ".0 " + std::to_string(epoch) + " 0 started";
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with(wanted)) return true;
    }
    return false;
  };
  ASSERT_TRUE(pid_of(ids[0], 1));
  const std::vector<pid_t> stale = cluster_.task_processes(silent);
  ASSERT_FALSE(stale.empty());
  // Only there, one for each slot: each looks whether a process of before is still there.
  for (const char* agent : {"a1", "a2", "a3"}) {
    if (agent != silent) {
      EXPECT_EQ(cluster_.cadre({"agent", "drain", agent}).code, 0);
    }
  }
  std::string look = "for pid in";
  for (const pid_t pid : stale) look += " " + std::to_string(pid);
  look += "; do [ -e /proc/$pid ] && ! grep -q ') Z' /proc/$pid/stat && echo stale $pid; done; echo looked";
  std::vector<std::uint64_t> more;
  for (int i = 0; i < 4; ++i)
    more.push_back(cluster_.submit({"--slots", "1", "--isolation", "off", "--", "sh", "-c", look}));
  ::kill(cluster_.agent(silent), SIGCONT);
  for (const std::uint64_t id : more) {
    const auto job = cluster_.wait_for_end(id);
    ASSERT_EQ(job.tasks.at(0).agent.value, silent) << "else it shows nothing";
    EXPECT_TRUE(TestCluster::until([&] { return !cluster_.output(id).empty(); }));
    EXPECT_EQ(cluster_.output(id), "looked\n");
  }
  expect_one_voice();
}

TEST_F(Faults, AStrictTaskIsNeverThereTwice) {
  const std::uint64_t id = cluster_.submit(reporter_command("strict"));
  ASSERT_TRUE(TestCluster::until([&] { return runs(id); }));
  std::atomic<bool> done = false;
  std::atomic<int> samples = 0;
  std::atomic<int> doubled = 0;
  std::thread sampler([&] {
    while (!done) {
      int there = 0;
      for (const char* agent : {"a1", "a2", "a3"}) there += cluster_.task_processes(agent).empty() ? 0 : 1;
      doubled += there > 1 ? 1 : 0;
      ++samples;
    }
  });
  for (int round = 0; round < 2; ++round) {
    const std::string silent = agent_of(id);
    ::kill(cluster_.agent(silent), SIGSTOP);  // it cannot even kill its tasks
    EXPECT_TRUE(TestCluster::until([&] { return runs(id) && agent_of(id) != silent; }));
    EXPECT_TRUE(cluster_.task_processes(silent).empty());
    ::kill(cluster_.agent(silent), SIGCONT);
  }
  cluster_.kill_agent(agent_of(id));
  const std::string dead = agent_of(id);
  EXPECT_TRUE(TestCluster::until([&] { return runs(id) && agent_of(id) != dead; }));
  done = true;
  sampler.join();
  EXPECT_EQ(doubled, 0) << "of " << samples << " samples";
  EXPECT_GT(samples, 50);
}
#endif  // CADRE_PYTHON_PATH

TEST_F(Faults, TasksGoOnWhileTheirAgentIsStartedAgain) {
  const std::uint64_t id = cluster_.submit({"--slots", "1", "--", "sh", "-c", counter});
  ASSERT_TRUE(TestCluster::until([&] { return runs(id) && !cluster_.output(id).empty(); }));
  const std::string agent = agent_of(id);
  cluster_.kill_agent(agent);
  std::this_thread::sleep_for(500ms);
  cluster_.start_agent(agent);
  const std::size_t before = cluster_.output(id).size();
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.output(id).size() > before + 100; }));
  const auto job = cluster_.job(id);
  EXPECT_EQ(job.runs, 1);
  EXPECT_EQ(job.tasks[0].epoch, 1U);
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(id)}).code, 0);
  cluster_.wait_for_end(id);
  std::istringstream lines(cluster_.output(id));
  int number = 0;
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line, "line " + std::to_string(++number));
  EXPECT_GT(number, 10);
}

/// A child of any of the agent's threads.
pid_t nursery_of(pid_t agent) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(agent) + "/task")) {
    std::istringstream pids(read_text(thread.path().string() + "/children"));
    for (pid_t pid = 0; pids >> pid;) {
      if (read_text("/proc/" + std::to_string(pid) + "/comm") == "cadre-nursery\n") return pid;
    }
  }
  return 0;
}

TEST(Agent, StartsANewNurseryWhenItsOwnWasKilled) {
  TestCluster cluster;
  cluster.start_agent("a1");
  const std::uint64_t before = cluster.submit({"--slots", "1", "--", "sh", "-c", counter});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(before).stage == JobStage::running; }));
  const pid_t agent = cluster.agent("a1");
  for (int round = 0; round < 3; ++round) {
    const pid_t nursery = nursery_of(agent);
    ASSERT_GT(nursery, 0);
    ::kill(nursery, SIGKILL);
    for (int i = 0; i < 2; ++i) {
      const auto job = cluster.wait_for_end(cluster.submit({"--slots", "1", "--", "sh", "-c", "exit 3"}));
      EXPECT_EQ(job.reason, Reason::exited) << job.detail;
      EXPECT_EQ(job.code, 3);
      EXPECT_EQ(job.runs, 1);
    }
    EXPECT_NE(nursery_of(agent), nursery);
  }
  EXPECT_EQ(cluster.agent("a1"), agent);
  EXPECT_EQ(::kill(agent, 0), 0);
  EXPECT_EQ(cluster.job(before).stage, JobStage::running);
  EXPECT_EQ(cluster.job(before).runs, 1);
}

/// The supervisors of tasks on an agent: in the folder of a task, but not in its work folder.
std::vector<pid_t> supervisors_on(const TestCluster& cluster, const std::string& agent) {
  std::vector<pid_t> supervisors;
  for (const pid_t pid : cluster.processes(agent)) {
    if (read_text("/proc/" + std::to_string(pid) + "/comm") == "cadre-task\n") supervisors.push_back(pid);
  }
  return supervisors;
}

TEST(Agent, ThatComesBackAfterAllOfItsHostWasKilledReportsItsTasksAsLost) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1");
  std::vector<std::uint64_t> ids;
  for (const char* isolation : {"on", "off"}) {
    ids.push_back(cluster.submit({"--slots", "1", "--isolation", isolation, "--", "sh", "-c", counter}));
  }
  for (const std::uint64_t id : ids) {
    ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(id, "a1") && !cluster.output(id).empty(); }));
  }
  cluster.kill_host("a1");
  cluster.start_agent("a1");  // long before the master would give it up
  for (const std::uint64_t id : ids) {
    ASSERT_TRUE(TestCluster::until([&] {
      const auto job = cluster.job(id);
      return job.stage == JobStage::ended ||
             (!job.tasks.empty() && job.tasks[0].epoch == 2 && cluster.runs_on(id, "a1"));
    }));
    const auto job = cluster.job(id);
    EXPECT_EQ(job.stage, JobStage::running) << job.detail;
    EXPECT_EQ(job.tasks.at(0).restarts, 0);
    EXPECT_EQ(cluster.cadre({"task", "kill", std::to_string(id)}).code, 0);
    EXPECT_EQ(cluster.wait_for_end(id).reason, Reason::killed_by_user);
  }
}

TEST(Supervisor, KilledAloneEndsItsTaskAndAllOfItsProcesses) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1", {"--artificial-slots", "1"});
  const std::string tree =
      "setsid sh -c 'while true; do sleep 0.1; done' & (setsid env -i sh -c 'while true; do sleep 0.1; done' &); "
      "(cd /; setsid sh -c 'while true; do sleep 0.1; done' &); echo ready; while true; do sleep 0.1; done";
  for (const char* isolation : {"on", "off"}) {
    const std::uint64_t id = cluster.submit(
        {"--slots", "1", "--isolation", isolation, "--env", "FAULT_TEST=" + cluster.folder(), "--", "sh", "-c", tree});
    ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(id, "a1") && cluster.output(id) == "ready\n"; }));
    const std::vector<pid_t> supervisors = supervisors_on(cluster, "a1");
    ASSERT_EQ(supervisors.size(), 1U);
    std::vector<pid_t> family{supervisors[0]};
    for (std::size_t i = 0; i < family.size(); ++i) {
      const std::string pid = std::to_string(family[i]);
      std::istringstream children(read_text("/proc/" + pid + "/task/" + pid + "/children"));
      for (pid_t child = 0; children >> child;) family.push_back(child);
    }
    ASSERT_GT(family.size(), 4U);
    ::kill(supervisors[0], SIGKILL);
    const auto job = cluster.wait_for_end(id);
    EXPECT_EQ(job.reason, Reason::signalled);
    EXPECT_EQ(job.code, 9);
    EXPECT_EQ(job.detail, "its supervisor was killed");
    // From the moment on at which the slot is free.
    for (const pid_t pid : family) {
      const std::string about = "/proc/" + std::to_string(pid);
      std::error_code
          exiting;  // one that has given back its working folder runs no instruction of its program any more
      const std::filesystem::path where = std::filesystem::read_symlink(about + "/cwd", exiting);
      const std::string stat = read_text(about + "/stat");
      if (stat.find("(cadre-init)") != std::string::npos) continue;  // ours: it goes last, and nothing is left in it
      EXPECT_TRUE(exiting || stat.empty() || stat.find(") Z") != std::string::npos)
          << isolation << " in " << where << ": " << stat;
    }
  }
}

/// What a task could do that reached the folder of its supervisor, as on a host without namespaces.
TEST(Agent, IsNotHeldUpByPipesInPlaceOfTheFilesOfATask) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1");
  for (const bool with_launch : {false, true}) {
    const std::uint64_t id = cluster.submit({"--slots", "1", "--", "sh", "-c", "echo line; sleep 1000"});
    ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(id, "a1") && cluster.output(id) == "line\n"; }));
    const std::string folder = cluster.agent_folder("a1") + "/tasks/" + std::to_string(id) + ".0-1";
    cluster.kill_agent("a1");
    std::vector<std::filesystem::path> files{folder + "/ending", folder + "/agent.sock"};
    if (with_launch) files.emplace_back(folder + "/launch");
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/output")) files.push_back(entry.path());
    for (const pid_t pid : supervisors_on(cluster, "a1")) ::kill(pid, SIGKILL);
    ASSERT_TRUE(TestCluster::until([&] { return supervisors_on(cluster, "a1").empty(); }));
    for (const std::filesystem::path& file : files) {
      std::filesystem::remove(file);
      ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0) << file;
    }
    cluster.start_agent("a1");
    EXPECT_EQ(cluster.cadre({"run", "--slots", "1", "--", "echo", "works"}).out, "works\n");
    ASSERT_TRUE(TestCluster::until([&] { return cluster.job(id).runs == 2 && cluster.runs_on(id, "a1"); }))
        << "a task that went without anybody who watched is run again";
    EXPECT_EQ(cluster.cadre({"task", "kill", std::to_string(id)}).code, 0);
    EXPECT_EQ(cluster.wait_for_end(id).reason, Reason::killed_by_user);
  }
}

TEST_F(Faults, SupervisorsOfAnAgentThatStaysAwayEndTheirTasks) {
  const std::uint64_t id = cluster_.submit({"--slots", "1", "--", "sh", "-c", counter});
  ASSERT_TRUE(TestCluster::until([&] { return runs(id); }));
  const std::string agent = agent_of(id);
  ASSERT_FALSE(cluster_.processes(agent).empty());
  cluster_.kill_agent(agent);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes(agent).empty(); }));
  EXPECT_TRUE(TestCluster::until([&] { return runs(id) && agent_of(id) != agent; }));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t running_tasks = 40;  // a sanitizer makes each program that looks start many times slower
constexpr int waiting_tasks = 100;
const char* const patience = "30s";
#else
constexpr std::size_t running_tasks = 200;
constexpr int waiting_tasks = 1'000;
const char* const patience = "3s";
#endif

TEST(Master, MayDieAtAnyTimeAmidTwoHundredTasksAndAThousandWaiting) {
  TestCluster cluster({patience, {}});
  for (const char* name : {"a1", "a2", "a3"}) cluster.start_agent(name, {"--artificial-slots", "70"});
  const auto job = [](std::string script) {
    cluster::requests::Submit submit = bench::job_of({"sh", "-c", std::move(script)});
    submit.job.members[0].slots = 1;
    return submit;
  };
  std::vector<cluster::requests::Submit> requests(running_tasks,
                                                  job("i=0; while true; do i=$((i+1)); echo line $i; sleep 1; done"));
  for (int i = 0; i < waiting_tasks; ++i)
    requests.push_back(job("echo line 1; echo line 2; exit " + std::to_string(i % 100)));
  std::map<std::uint64_t, int> codes;
  std::vector<std::uint64_t> running;
  {
    const auto client = bench::Client::connect(cluster.data()).value();
    const auto replies = client->ask(requests).value();
    for (std::size_t i = 0; i < replies.size(); ++i) {
      const std::uint64_t id = replies[i].id.value;
      if (i < running_tasks)
        running.push_back(id);
      else
        codes[id] = static_cast<int>(i - running_tasks) % 100;
    }
  }
  Dice dice(static_cast<std::uint64_t>(::getpid()));
  for (int round = 0; round < 10; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(dice.between(0, 300)));
    cluster.kill_master();
    std::this_thread::sleep_for(std::chrono::milliseconds(dice.between(0, 300)));
    cluster.start_master();
    EXPECT_EQ(cluster.jobs().size(), requests.size());
  }
  for (const auto& [id, code] : codes) cluster.wait_for_end(id);
  for (const cluster::requests::JobView& view : cluster.jobs()) {
    ASSERT_EQ(view.runs, 1) << view.id.value;
    const auto code = codes.find(view.id.value);
    if (code == codes.end()) continue;
    ASSERT_EQ(view.code, code->second) << view.id.value;
    ASSERT_EQ(cluster.output(view.id.value), "line 1\nline 2\n") << view.id.value;
  }
  for (const std::uint64_t id : running) {
    const auto view = cluster.job(id);
    ASSERT_EQ(view.stage, JobStage::running) << id;
    ASSERT_EQ(view.runs, 1) << id;
    std::istringstream lines(cluster.output(id));
    int number = 0;
    for (std::string line; std::getline(lines, line);) ASSERT_EQ(line, "line " + std::to_string(++number)) << id;
    ASSERT_GT(number, 1);
  }
}

#ifdef CADRE_PYTHON_PATH
TEST_F(Faults, APreemptedLoopGetsItsGraceEvenIfTheMasterDiesAndComesBack) {
  write_text(shared() + "/loop.py", R"(
import os, sys, time, cadre
print("begun", os.environ["CADRE_EPOCH"], flush=True)
while not cadre.should_stop():
    time.sleep(0.02)
time.sleep(1.5)  # as if it wrote a checkpoint
print("saved", os.environ["CADRE_EPOCH"], flush=True)
)");
  for (const char* agent : {"a2", "a3"}) EXPECT_EQ(cluster_.cadre({"agent", "drain", agent}).code, 0);
  const std::uint64_t low =
      cluster_.submit({"--slots", "4", "--preemptible", "--priority", "90", "--env", "PYTHONPATH=" CADRE_PYTHON_PATH,
                       "--mount", shared() + ":/mnt", "--", "/usr/bin/python3", "/mnt/loop.py"});
  ASSERT_TRUE(TestCluster::until([&] { return runs(low) && cluster_.output(low) == "begun 1\n"; }));
  const std::uint64_t high = cluster_.submit({"--slots", "4", "--priority", "10", "--", "sh", "-c", "sleep 1; exit 0"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.job(low).stage == JobStage::stopping; }));
  cluster_.kill_master();
  std::this_thread::sleep_for(300ms);
  cluster_.start_master();
  EXPECT_EQ(cluster_.wait_for_end(high).code, 0);
  ASSERT_TRUE(TestCluster::until([&] { return runs(low) && cluster_.job(low).tasks[0].epoch == 2; }));
  EXPECT_THAT(cluster_.cadre({"task", "logs", std::to_string(low), "--epoch", "1"}).out,
              HasSubstr("begun 1\nsaved 1\n"));
  EXPECT_EQ(cluster_.cadre({"task", "stop", std::to_string(low)}).code, 0);
  EXPECT_EQ(cluster_.wait_for_end(low).reason, Reason::killed_by_user);
}
#endif  // CADRE_PYTHON_PATH

TEST_F(Faults, UnattachedTasksGetSigtermAndTheirWholeTreeIsKilled) {
  const std::string tree =
      "trap '' TERM; "
      "setsid sh -c 'trap \"\" TERM INT HUP; while true; do sleep 0.1; done' & "
      "(setsid sh -c 'trap \"\" TERM; sleep 1000 & wait' &) ; "
      "echo ready; while true; do sleep 0.1; done";
  for (const char* isolation : {"on", "off"}) {
    const std::uint64_t id =
        cluster_.submit({"--slots", "1", "--isolation", isolation, "--grace", "500ms", "--", "sh", "-c", tree});
    ASSERT_TRUE(TestCluster::until([&] { return runs(id) && cluster_.output(id) == "ready\n"; }));
    const std::string agent = agent_of(id);
    EXPECT_EQ(cluster_.cadre({"task", "stop", std::to_string(id)}).code, 0);
    EXPECT_EQ(cluster_.wait_for_end(id).reason, Reason::killed_by_user);
    EXPECT_TRUE(cluster_.task_processes(agent).empty()) << isolation;
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes(agent).empty(); }));  // its supervisor, too
  }
}

}  // namespace
}  // namespace cadre::e2e
