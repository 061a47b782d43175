// What an isolated task sees, and what it does not.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Mount;
using cluster::lease::Reason;

class Isolated : public Rig {
 protected:
  Isolated() : host("/dev/shm/cadre-test-" + new_mark()) {
    std::filesystem::create_directories(host + "/data");
    std::ofstream(host + "/data/file") << "of the host\n";
  }
  ~Isolated() override {
    end_all();
    std::error_code ignored;
    std::filesystem::remove_all(host, ignored);
  }
  std::string said_by(const Launch& launch) {
    const std::string folder = begin(launch);
    const auto ending = wait_for_ending(folder);
    EXPECT_EQ(ending.code, 0) << ending.detail << output(folder, 2);
    return output(folder);
  }

  std::string host;  ///< a folder outside /tmp
};

TEST_F(Isolated, TmpIsItsOwn) {
  const std::string other = "/tmp/cadre-visible-" + new_mark();
  std::ofstream(other) << "x";
  const std::string folder =
      begin(script("ls -A /tmp | grep -v cadre-test; echo mine > /tmp/mine; cat /var/tmp/mine; pwd"));
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "mine\n" + folder + "/work\n");
  EXPECT_EQ(read_file(folder + "/tmp/mine").value_or(""), "mine\n");
  EXPECT_FALSE(std::filesystem::exists("/tmp/mine"));
  std::filesystem::remove(other);
}

TEST_F(Isolated, OtherTasksAreHiddenFromIt) {
  root = host + "/tasks";
  std::filesystem::create_directories(root + "/other");
  std::ofstream(root + "/other/secret") << "x";
  ::chmod(root.c_str(), 0700);
  const std::string folder = begin(script("ls $(dirname $(dirname $PWD)); ls ..; echo kept > ../work/kept"));
  wait_for_ending(folder);
  const std::string text = output(folder);
  EXPECT_TRUE(text.starts_with(std::filesystem::path(folder).filename().string() + "\n")) << text;
  EXPECT_EQ(text.find("other"), std::string::npos);
  EXPECT_NE(text.find("task.sock"), std::string::npos);
  EXPECT_EQ(read_file(folder + "/work/kept").value_or(""), "kept\n");
}

TEST_F(Isolated, OtherProcessesAreHiddenFromIt) {
  // init, sh, ls and grep, of which the last may be there already or not.
  EXPECT_EQ(said_by(script("test $(ls /proc | grep -c '^[0-9]') -le 5 && ls -d /proc/1")), "/proc/1\n");
}

TEST_F(Isolated, ZombiesAreReapedThere) {
  const std::string text = said_by(
      script("for i in 1 2 3 4 5; do (sleep 0.01 &) ; done; sleep 0.5; cat /proc/*/stat | grep -c ' Z ' || true"));
  EXPECT_EQ(text, "0\n");
}

TEST_F(Isolated, SignalsToTheFirstProcessDoNothing) {
  EXPECT_EQ(said_by(script("kill -TERM 1; kill -KILL 1; sleep 0.1; echo on")), "on\n");
}

TEST_F(Isolated, MountsAreThere) {
  Launch launch = script(
      "cat /tmp/a/b/file; cat ../work/here/file; echo new > /tmp/a/b/new; cat /tmp/one; "
      "echo x > here/no 2>/dev/null || echo read only");
  launch.confinement.mounts = {
      {host + "/data", "/tmp/a/b", true}, {host + "/data", "here", false}, {host + "/data/file", "/tmp/one", false}};
  EXPECT_EQ(said_by(launch), "of the host\nof the host\nof the host\nread only\n");
  EXPECT_EQ(read_file(host + "/data/new").value_or(""), "new\n");
}

TEST_F(Isolated, AMountOverAFolderOfTheHostIsSeenByTheTaskOnly) {
  std::filesystem::create_directories(host + "/point");
  Launch launch = script("cat " + host + "/point/file");
  launch.confinement.mounts = {{host + "/data", host + "/point", false}};
  EXPECT_EQ(said_by(launch), "of the host\n");
  EXPECT_FALSE(std::filesystem::exists(host + "/point/file"));
}

TEST_F(Isolated, AMountNeedsTheRightsOfTheTasksUserOnAllFoldersAboveIt) {
  if (::geteuid() != 0) return;  // only root can run tasks as others
  std::filesystem::create_directories(host + "/home/project");
  std::ofstream(host + "/home/project/file") << "of another\n";
  ASSERT_EQ(::chown((host + "/home").c_str(), 345'678, 345'678), 0);
  ASSERT_EQ(::chmod((host + "/home").c_str(), 0750), 0);
  Launch launch = script("cat /tmp/project/file");
  launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  launch.confinement.mounts = {{host + "/home/project", "/tmp/project", false}};
  const auto refused = run(launch);
  EXPECT_EQ(refused.reason, Reason::failed_to_start);
  EXPECT_EQ(refused.detail, "cannot mount '" + host +
                                "/home/project' at '/tmp/project': the user of the task has no "
                                "access to it on the host");
  Launch member = launch;
  ++member.lease.task.job.value;
  member.confinement.user->groups = {345'678};
  EXPECT_EQ(said_by(member), "of another\n");
  Launch owner = member;
  ++owner.lease.task.job.value;
  owner.confinement.user->groups.clear();
  owner.confinement.mounts_as_agent = true;
  EXPECT_EQ(said_by(owner), "of another\n");
}

TEST_F(Isolated, NoMountPointIsMadeInAMountedFolder) {
  Launch launch = program({"true"});
  std::filesystem::create_directories(host + "/all/other");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chmod((host + "/all").c_str(), 0777), 0);
    launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  }
  launch.confinement.mounts = {{host + "/all", "/tmp/all", true}, {host + "/data", "/tmp/all/new/point", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot mount '" + host + "/data' at '/tmp/all/new/point': No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(host + "/all/new"));
  Launch over = script("cat /tmp/all/other/file");
  over.confinement = launch.confinement;
  over.confinement.mounts[1].target = "/tmp/all/other";
  EXPECT_EQ(said_by(over), "of the host\n");
}

TEST_F(Isolated, AMountThroughALinkIsRefused) {
  std::filesystem::create_directory_symlink(host + "/data", host + "/link");
  Launch launch = program({"true"});
  launch.confinement.mounts = {{host + "/link", "/tmp/data", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot mount '" + host + "/link' at '/tmp/data': Too many levels of symbolic links");
}

TEST_F(Isolated, AMissingSourceIsNamed) {
  Launch launch = program({"true"});
  launch.confinement.mounts = {{"/no/such/data", "/tmp/data", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail,
            "cannot mount '/no/such/data', which does not exist on this agent: No such file or directory");
}

TEST_F(Isolated, AMissingTargetIsNamedAndNotMade) {
  Launch launch = program({"true"});
  launch.confinement.mounts = {{host + "/data", "/usr/cadre-nowhere", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot mount '" + host + "/data' at '/usr/cadre-nowhere': No such file or directory");
  EXPECT_FALSE(std::filesystem::exists("/usr/cadre-nowhere"));
}

TEST_F(Isolated, MountsWithoutIsolationAreRefusedInWords) {
  isolation = cluster::Isolation::off;
  Launch launch = program({"true"});
  launch.confinement.mounts = {{host + "/data", "/tmp/data", false}};
  EXPECT_EQ(run(launch).detail, "mounts need isolation, which is off for this task");
  launch.policy.isolation = cluster::Isolation::on;
  launch.lease.task.job.value += 1'000'000;
  EXPECT_EQ(wait_for_ending(begin_in(nursery(IsolationFeatures{}), launch)).detail,
            "mounts need a mount namespace, which this agent cannot make");
}

TEST_F(Isolated, RunsAsTheUserOfItsAgent) {
  EXPECT_EQ(said_by(script("id -u; touch owned; stat -c %u owned")),
            std::to_string(::geteuid()) + "\n" + std::to_string(::geteuid()) + "\n");
}

TEST_F(Isolated, RunsAsTheUserOfItsLaunchWithoutRights) {
  if (::geteuid() != 0) return;  // only root can run tasks as others
  Launch launch = script(
      "id -u; id -g; id -G; touch owned; stat -c %u owned; grep -E 'Cap(Eff|Bnd)|NoNewPrivs' "
      "/proc/self/status | tr -d '\\t'; echo $USER $LOGNAME; test -w $HOME && echo home; "
      "umount /run 2>/dev/null || echo walled; cat /etc/shadow 2>/dev/null || echo closed");
  launch.confinement.user = UnixUser{234'567, 234'568, {234'569}, "ann"};
  EXPECT_EQ(said_by(launch),
            "234567\n234568\n234568 234569\n234567\nCapEff:0000000000000000\nCapBnd:0000000000000000\nNoNewPrivs:1\n"
            "ann ann\nhome\nwalled\nclosed\n");
}

TEST_F(Isolated, AnotherUserWithoutIsolationReachesItsFolderOnly) {
  if (::geteuid() != 0) return;
  isolation = cluster::Isolation::off;
  Launch launch = script(
      "id -u; touch new && echo writes; test -S $CADRE_SOCKET && echo socket; test -w $TMPDIR && "
      "echo tmp; ls -A " +
      root);
  launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  launch.confinement.hidden = {root};
  const std::string folder = begin(launch);
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "234567\nwrites\nsocket\ntmp\n" + std::filesystem::path(folder).filename().string() + "\n");
}

TEST_F(Isolated, SeesNeitherItsLaunchNorItsOutput) {
  EXPECT_EQ(said_by(script("ls ..; ls -A /home /run /root | grep -v '^/\\|^$\\|user' || true")), "task.sock\nwork\n");
}

TEST_F(Isolated, TheSystemIsReadOnly) {
  EXPECT_EQ(said_by(script("for path in /usr/x /etc/x /var/x /x; do touch $path 2>/dev/null && echo $path; done; "
                           "echo none")),
            "none\n");
}

TEST_F(Isolated, SeesOnlyHarmlessDevices) {
  EXPECT_EQ(said_by(script("ls /dev | tr '\\n' ' '")),
            "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ");
}

TEST_F(Isolated, HiddenFoldersAreNotThereAndCannotBeMounted) {
  Launch launch = script("ls -A " + host + "; ls -A /tmp/all/data; cat /tmp/all/more");
  std::ofstream(host + "/more") << "more\n";
  launch.confinement.hidden = {host + "/data"};
  launch.confinement.mounts = {{host, "/tmp/all", false}};
  std::filesystem::create_directories(host + "/data");
  const std::string folder = begin(launch);
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "more\n");
  Launch direct = program({"true"});
  direct.confinement.hidden = {host + "/data"};
  direct.confinement.mounts = {{host + "/data", "/tmp/d", false}};
  EXPECT_NE(run(direct).detail.find("belongs to a master or an agent"), std::string::npos);
}

TEST_F(Isolated, VisiblePathsAreReadableEvenIfOnlyRootCanReadThemOnTheHost) {
  if (::geteuid() != 0) return;
  ::chmod((host + "/data").c_str(), 0700);
  ::chmod((host + "/data/file").c_str(), 0600);
  const std::string elsewhere = "/var/tmp/cadre-test-" + new_mark();  // memory cannot be shown to others in this way
  std::filesystem::copy(host + "/data", elsewhere);
  ::chmod(elsewhere.c_str(), 0700);
  Launch launch = script("cat " + elsewhere + "/file; touch " + elsewhere + "/x 2>/dev/null || echo read-only");
  launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  launch.confinement.shown_private = {elsewhere};
  EXPECT_EQ(said_by(launch), "of the host\nread-only\n");
  std::filesystem::remove_all(elsewhere);
}

/// What a command writes that runs beside the task.
std::string said_beside(FakeAgent& agent, std::vector<std::string> argv) {
  agent.send(Exec{1, std::move(argv)});
  std::string text;
  for (;;) {
    const auto next = agent.peer().receive<FromSupervisor>();
    if (!next) return text + " (it is gone)";
    if (const auto* piece = std::get_if<ExecOutput>(&*next)) text += as_text(piece->bytes);
    if (std::holds_alternative<ExecEnded>(*next)) return text;
  }
}

TEST_F(Isolated, TasksOfRootsAgentShareAUserNamespaceWithoutRightsInIt) {
  if (::geteuid() != 0) return;
  Launch launch = script("sleep 1000");
  launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  FakeAgent one = begin_with_agent(launch);
  ++launch.lease.task.job.value;
  FakeAgent other = begin_with_agent(launch);
  ASSERT_TRUE(one.running() && other.running());
  const std::vector<std::string> users{"readlink", "/proc/self/ns/user"};
  const std::vector<std::string> mounts{"readlink", "/proc/self/ns/mnt"};
  EXPECT_EQ(said_beside(one, users), said_beside(other, users));
  EXPECT_NE(said_beside(one, mounts), said_beside(other, mounts));
  EXPECT_NE(said_beside(one, users), std::filesystem::read_symlink("/proc/self/ns/user").string() + "\n");
  EXPECT_EQ(said_beside(one, {"grep", "CapEff", "/proc/self/status"}), "CapEff:\t0000000000000000\n");
}

TEST_F(Isolated, HiddenPathsStayHiddenInsideVisibleFolders) {
  std::ofstream(host + "/seen") << "seen\n";
  Launch launch = script("cat " + host + "/seen; ls " + host + "/data");
  launch.confinement.shown = {host};
  launch.confinement.hidden = {host + "/data"};
  EXPECT_EQ(said_by(launch), "seen\n");
  Launch inside = script("cat " + host + "/data/file");
  inside.confinement.shown = {host + "/data/file"};  // the agent's own choice: code, for instance
  inside.confinement.hidden = {host + "/data"};
  EXPECT_EQ(said_by(inside), "of the host\n");
}

TEST_F(Isolated, CommandsBesideItAreBehindTheSameWalls) {
  Launch launch = script("echo up; sleep 1000");
  if (::geteuid() == 0) launch.confinement.user = UnixUser{234'567, 234'567, {}, "ann"};
  FakeAgent agent = begin_with_agent(launch);
  ASSERT_TRUE(agent.running());
  const std::string text = said_beside(agent, {"/bin/sh", "-c", "grep CapEff /proc/self/status | tr -d '\\t'; ls .."});
  EXPECT_EQ(text, "CapEff:0000000000000000\ntask.sock\nwork\n");
}

TEST_F(Isolated, ReportsActiveFeatures) {
  const IsolationFeatures features = nursery().features();
  EXPECT_TRUE(features.mount_namespace && features.pid_namespace);
  EXPECT_EQ(features.user_namespace, ::geteuid() != 0);
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  std::vector<std::string> words = {"a session of its own"};
  if (features.user_namespace) words.emplace_back("a user namespace");
  words.emplace_back("a mount namespace: system read-only, private /tmp, others hidden");
  words.emplace_back("a pid namespace");
  EXPECT_EQ(agent.running()->isolation, words);
  EXPECT_EQ(in_words(features, {}).back().substr(0, 9), "processes");
}

}  // namespace
}  // namespace cadre::supervisor
