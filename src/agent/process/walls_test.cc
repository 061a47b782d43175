#include "agent/process/walls.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loop/file.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
using cluster::Isolation;
using testing::Contains;
using testing::HasSubstr;

class WallsTest : public testing::Test {
 protected:
  WallsTest() {
    options_.data = folder_.path() + "/a";
    options_.is_root = true;
    options_.uid_claims = folder_.path() + "/claims";
    options_.has_namespaces = true;
    options_.hidden = {folder_.path() + "/m"};
    for (const char* name : {"a", "m", "shared", "mine"}) fs::create_directory(folder_.path() + "/" + name);
    fs::create_directory_symlink(folder_.path() + "/m", folder_.path() + "/shared/link");
  }
  static WallRequest of(const std::string& user) {
    WallRequest request;
    request.owner = user;
    return request;
  }
  WallRequest with_mount(const std::string& user, const std::string& name, bool writable = false) const {
    WallRequest request = of(user);
    request.mounts = {{folder_.path() + "/" + name, "/mnt", writable}};
    return request;
  }
  std::string refusal(const WallRequest& request) const {
    const auto confinement = Walls::open(options_)->confine(request);
    return confinement ? "" : confinement.error().message;
  }

  servers::TempDir folder_;
  WallOptions options_;
};

TEST_F(WallsTest, EachUserGetsANumberOfItsOwnWithAName) {
  auto walls = Walls::open(options_);
  ASSERT_TRUE(walls);
  const auto ann = walls->confine(of("ann@lab"));
  const auto bob = walls->confine(of("bob"));
  ASSERT_TRUE(ann && bob);
  EXPECT_NE(ann->user->uid, bob->user->uid);
  EXPECT_EQ(ann->user->gid, ann->user->uid);
  EXPECT_THAT(loop::read_file(ann->passwd).value_or(""),
              HasSubstr("\nann@lab:x:" + std::to_string(ann->user->uid) + ":"));
  EXPECT_THAT(loop::read_file(ann->group).value_or(""), HasSubstr("\nann@lab:x:"));
  EXPECT_EQ(Walls::open(options_)->confine(of("bob"))->user->uid, bob->user->uid);
  EXPECT_EQ(ann->home, "");
}

TEST_F(WallsTest, ANameThatTheHostKnowsIsNotTakenForThatAccount) {
  EXPECT_EQ(Walls::open(options_)->confine(of("root"))->user->name, "cadre-root");
}

TEST_F(WallsTest, AnAccountNamedInTheRecordIsUsedButNeverRoot) {
  WallRequest request = of("ann");
  request.rights.unix_user = "nobody";
  const auto confinement = Walls::open(options_)->confine(request);
  ASSERT_TRUE(confinement);
  EXPECT_EQ(confinement->user->name, "nobody");
  EXPECT_EQ(confinement->passwd, "");
  request.rights.unix_user = "root";
  EXPECT_THAT(refusal(request), HasSubstr("account 'root' is root"));
  request.rights.unix_user = "no-such-account";
  EXPECT_THAT(refusal(request), HasSubstr("has no account 'no-such-account'"));
}

TEST_F(WallsTest, AHomeIsSeenByItsOwnUserOnly) {
  const std::string home = fs::canonical(folder_.path() + "/mine").string();
  const std::string before = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
  ::setenv("HOME", home.c_str(), 1);
  options_.is_root = false;
  WallRequest request = of("ann");
  EXPECT_EQ(Walls::open(options_)->confine(request)->home, "");
  request.rights.owns_agent = true;
  EXPECT_EQ(Walls::open(options_)->confine(request)->home, home);
  EXPECT_THAT(Walls::open(options_)->confine(request)->emptied, Contains(home));
  options_.is_root = true;
  EXPECT_EQ(Walls::open(options_)->confine(request)->home, "") << "its tasks are not of the agent's unix user";
  request.rights = {};
  request.rights.unix_user = "daemon";
  EXPECT_EQ(Walls::open(options_)->confine(request)->home, fs::canonical("/usr/sbin").string());
  ::setenv("HOME", before.c_str(), 1);
}

TEST_F(WallsTest, AnInterpreterInAPrivateFolderIsShownToTheOwnerOnly) {
  fs::create_directories(folder_.path() + "/mine/venv/bin");
  std::ofstream(folder_.path() + "/mine/venv/bin/python3") << "x";
  const std::string folder = fs::canonical(folder_.path() + "/mine/venv").string();
  WallRequest request = of("ann");
  request.python = folder + "/bin/python3";
  request.program = request.python;
  EXPECT_THAT(Walls::open(options_)->confine(request)->shown, testing::Not(Contains(folder)));
  request.rights.owns_agent = true;
  EXPECT_THAT(Walls::open(options_)->confine(request)->shown, Contains(folder));
}

TEST_F(WallsTest, AnInterpreterIsShownWithTheInstallationOfItsVirtualEnvironment) {
  const std::string mine = fs::canonical(folder_.path() + "/mine").string();
  for (const char* name : {"venv", "installed", "secrets"}) fs::create_directories(mine + "/" + name + "/bin");
  std::ofstream(mine + "/installed/bin/python3.12") << "x";
  fs::create_symlink(mine + "/installed/bin/python3.12", mine + "/venv/bin/python3");
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  for (const std::string& python : {mine + "/venv/bin/python3", mine + "/venv"}) {
    request.python = python;
    const auto shown = Walls::open(options_)->confine(request)->shown;
    EXPECT_THAT(shown, Contains(mine + "/venv")) << python;
    EXPECT_THAT(shown, Contains(mine + "/installed")) << python;
    EXPECT_THAT(shown, testing::Not(Contains(mine + "/secrets")));
  }
  EXPECT_THAT(folders_of_python("/no/such/bin/python3"), testing::IsEmpty());
}

TEST_F(WallsTest, AnInterpreterThatOnlyRootMayReadIsMadeReadableForTheTask) {
  if (::geteuid() != 0) return;  // needs files of root
  const std::string venv = fs::canonical(folder_.path() + "/mine").string() + "/venv";
  fs::create_directories(venv + "/bin");
  std::ofstream(venv + "/bin/python3") << "x";
  ::chmod((venv + "/bin/python3").c_str(), 0700);
  ::chmod(venv.c_str(), 0700);
  ::chmod((folder_.path() + "/mine").c_str(), 0700);
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  request.python = venv + "/bin/python3";
  const auto confinement = Walls::open(options_)->confine(request);
  EXPECT_THAT(confinement->shown_private, Contains(venv));
  const auto covers = [&](const std::string& emptied) { return venv.starts_with(emptied + "/"); };
  EXPECT_TRUE(std::ranges::any_of(confinement->emptied, covers)) << "the task cannot pass what is closed above it";
}

TEST_F(WallsTest, AFolderOfRootWithoutAnInterpreterIsNotShown) {
  if (::geteuid() != 0) return;  // files of root need root, as which this runs once more: tools/run_tests
  const std::string secrets = fs::canonical(folder_.path() + "/mine").string() + "/secrets";
  fs::create_directories(secrets + "/bin");
  ::chmod(secrets.c_str(), 0700);
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  request.python = secrets + "/bin/python3";
  const auto confinement = Walls::open(options_)->confine(request);
  EXPECT_THAT(confinement->shown_private, testing::Not(Contains(secrets)));
  EXPECT_THAT(confinement->shown, testing::Not(Contains(secrets)));
}

TEST_F(WallsTest, AnInterpreterDoesNotShowTheWholeSystem) {
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  request.python = "/usr/python3:/python3";
  const auto confinement = Walls::open(options_)->confine(request);
  EXPECT_THAT(confinement->shown, testing::Not(Contains("/")));
  EXPECT_THAT(confinement->shown_private, testing::Not(Contains("/")));
}

TEST_F(WallsTest, AnInterpreterInAHomeFolderItselfDoesNotShowTheHome) {
  const std::string home = fs::canonical(folder_.path() + "/mine").string();
  fs::create_directory(home + "/bin");
  std::ofstream(home + "/bin/python3") << "x";
  const std::string before = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
  ::setenv("HOME", home.c_str(), 1);
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  request.python = home + "/bin/python3";
  const auto confinement = Walls::open(options_)->confine(request);
  ::setenv("HOME", before.c_str(), 1);
  EXPECT_THAT(confinement->shown, testing::Not(Contains(home)));
  EXPECT_THAT(confinement->shown_private, testing::Not(Contains(home)));
}

TEST_F(WallsTest, AnInterpreterShowsNoFolderOfAMasterOrAnAgent) {
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  fs::create_directory(folder_.path() + "/m/bin");
  request.python = fs::canonical(folder_.path() + "/m").string();
  EXPECT_THAT(refusal(request), HasSubstr("is in a folder of a master or an agent; choose another interpreter"));
  request.python = "";
  request.program = fs::canonical(folder_.path() + "/m").string() + "/bin/python3";
  EXPECT_THAT(refusal(request), HasSubstr("is in a folder of a master or an agent"));
}

TEST_F(WallsTest, AnAgentThatIsNotRootKeepsItsUser) {
  options_.is_root = false;
  EXPECT_FALSE(Walls::open(options_)->confine(of("ann"))->user);
}

TEST_F(WallsTest, OnlyAdminsRunAsRootAndOnlyOnAnAgentOfRoot) {
  WallRequest request = of("ann");
  request.run_as_root = true;
  EXPECT_THAT(refusal(request), HasSubstr("only jobs of admins"));
  request.rights.is_admin = true;
  EXPECT_EQ(refusal(request), "");
  EXPECT_FALSE(Walls::open(options_)->confine(request)->user);
  options_.is_root = false;
  EXPECT_THAT(refusal(request), HasSubstr("does not run as root"));
}

TEST_F(WallsTest, IsolationIsOffOnlyWithConsentAndForOwnersAndAdmins) {
  WallRequest request = of("ann");
  request.isolation = Isolation::off;
  request.rights.is_admin = request.rights.owns_agent = true;
  EXPECT_THAT(refusal(request), HasSubstr("--allow-isolation-off"));
  options_.allow_isolation_off = true;
  EXPECT_EQ(refusal(request), "");
  request.rights = {};
  EXPECT_THAT(refusal(request), HasSubstr("for the user that it runs for and for admins"));
  request.rights.owns_agent = true;
  EXPECT_EQ(refusal(request), "");
}

TEST_F(WallsTest, WithoutNamespacesOnlyTheOwnerIsServed) {
  options_.has_namespaces = false;
  WallRequest request = of("ann");
  EXPECT_THAT(refusal(request), HasSubstr("accepts only jobs of the user it runs for"));
  request.rights.is_admin = true;
  EXPECT_NE(refusal(request), "");
  request.rights.owns_agent = true;
  EXPECT_EQ(refusal(request), "");
}

TEST_F(WallsTest, OnlyAllowedFoldersAreMounted) {
  EXPECT_THAT(refusal(with_mount("ann", "shared")), HasSubstr("--allow-mount"));
  options_.mounts = {{folder_.path() + "/shared", false}};
  EXPECT_EQ(refusal(with_mount("ann", "shared")), "");
  EXPECT_THAT(refusal(with_mount("ann", "shared", true)), HasSubstr("for writing"));
  EXPECT_NE(refusal(with_mount("ann", "mine")), "");
  EXPECT_NE(refusal(with_mount("ann", "shared/../mine")), "");
  options_.mounts = {{folder_.path() + "/shared", true}};
  EXPECT_EQ(refusal(with_mount("ann", "shared", true)), "");
  WallRequest owner = with_mount("admin", "mine", true);
  owner.rights.owns_agent = true;
  EXPECT_EQ(refusal(owner), "");
}

TEST_F(WallsTest, AMountIsTheFolderThatWasCheckedWhateverItsLinkBecomes) {
  fs::create_directory(folder_.path() + "/shared/data");
  fs::create_directory_symlink(folder_.path() + "/shared/data", folder_.path() + "/shared/latest");
  options_.mounts = {{folder_.path() + "/shared", false}};
  auto confinement = Walls::open(options_)->confine(with_mount("ann", "shared/latest"));
  ASSERT_TRUE(confinement);
  const std::string real = fs::canonical(folder_.path() + "/shared/data").string();
  EXPECT_THAT(confinement->mounts, testing::ElementsAre(cluster::Mount{real, "/mnt", false}));
  EXPECT_FALSE(confinement->mounts_as_agent);
  EXPECT_EQ(refusal(with_mount("ann", "shared/none")), "") << "the supervisor says what is missing";
  EXPECT_NE(refusal(with_mount("ann", "shared/none/../../other")), "");
  WallRequest owner = with_mount("admin", "shared/latest");
  owner.rights.owns_agent = true;
  EXPECT_TRUE(Walls::open(options_)->confine(owner)->mounts_as_agent);
}

TEST_F(WallsTest, DataFoldersAreNeverMounted) {
  options_.mounts = {{"/", true}};
  for (const char* name : {"m", "a", "shared/link", "a/tasks"}) {
    fs::create_directories(folder_.path() + "/a/tasks");
    WallRequest request = with_mount("admin", name);
    request.rights = {"", true, true};
    EXPECT_THAT(refusal(request), HasSubstr("belongs to a master or an agent")) << name;
  }
}

TEST_F(WallsTest, AllowedFoldersAreAbsoluteAndThere) {
  EXPECT_TRUE(parse_allowed_mount("/data:rw")->writable);
  EXPECT_EQ(parse_allowed_mount("/data/")->prefix, "/data");
  EXPECT_FALSE(parse_allowed_mount("data"));
  EXPECT_FALSE(parse_allowed_mount("/data:ro"));
  options_.mounts = {{"/no/such/folder", false}};
  EXPECT_FALSE(Walls::open(options_));
}

TEST_F(WallsTest, DataFoldersAreHiddenAndProgramsAreShown) {
  const std::string program = folder_.path() + "/mine/program";
  std::ofstream(program) << "x";
  options_.shown = {program};
  ::chmod(program.c_str(), 0755);
  auto confinement = Walls::open(options_)->confine(of("ann"));
  EXPECT_THAT(confinement->hidden, Contains(fs::canonical(folder_.path() + "/m").string()));
  EXPECT_THAT(confinement->hidden, Contains(fs::canonical(folder_.path() + "/a").string()));
  EXPECT_THAT(confinement->shown, Contains(fs::canonical(program).string()));
  ::chmod(program.c_str(), 0700);  // as umask 077 leaves it
  confinement = Walls::open(options_)->confine(of("ann"));
  EXPECT_THAT(confinement->shown_private, Contains(fs::canonical(program).string()));
}

TEST_F(WallsTest, DataFoldersOfOtherProcessesOfTheAccountAreReadForEachTask) {
  std::vector<std::string> others;
  options_.others = [&] { return others; };
  auto walls = Walls::open(options_);
  WallRequest request = with_mount("ann", "mine");
  request.rights.owns_agent = true;
  const auto before = walls->confine(request);
  ASSERT_TRUE(before) << before.error().message;
  others.push_back(fs::canonical(folder_.path() + "/mine").string());
  EXPECT_THAT(walls->confine(of("ann"))->hidden, Contains(others.front()));
  const auto after = walls->confine(request);
  ASSERT_FALSE(after);
  EXPECT_THAT(after.error().message, HasSubstr("belongs to a master or an agent"));
}

TEST_F(WallsTest, WithoutRootADamagedListOfDataFoldersLeavesOnlyJobsOfTheAgentsOwner) {
  options_.others = [] { return Result<std::vector<std::string>>(fail(Errc::not_found, "x is not in it")); };
  EXPECT_EQ(refusal(of("ann")), "") << "as root its tasks are of other unix users";
  options_.is_root = false;
  EXPECT_THAT(refusal(of("ann")), HasSubstr("data folders to hide from tasks is damaged (x is not in it)"));
  WallRequest request = of("ann");
  request.rights.owns_agent = true;
  EXPECT_EQ(refusal(request), "");
}

TEST_F(WallsTest, AsRootAProcessNeedsNoFurtherFoldersHiddenToBecomeATask) {
  options_.others = [] { return std::vector<std::string>{"/srv/other"}; };
  options_.is_root = false;
  auto walls = Walls::open(options_);
  EXPECT_THAT(walls->must_hide(*walls->confine(of("ann"))), Contains("/srv/other"));
  options_.is_root = true;
  walls = Walls::open(options_);
  EXPECT_THAT(walls->must_hide(*walls->confine(of("ann"))), testing::IsEmpty());
}

TEST_F(WallsTest, ATaskSeesTheDevicesOfItsSlotsOnly) {
  options_.device_nodes = {"/dev/nvidia0", "/dev/nvidia1"};
  options_.shared_nodes = {"/dev/nvidiactl"};
  WallRequest request = of("ann");
  EXPECT_TRUE(Walls::open(options_)->confine(request)->devices.empty());
  request.slots = {1, 7};
  EXPECT_THAT(Walls::open(options_)->confine(request)->devices, testing::ElementsAre("/dev/nvidia1", "/dev/nvidiactl"));
}

}  // namespace
}  // namespace cadre::agent
