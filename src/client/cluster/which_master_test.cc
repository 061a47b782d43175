#include "client/cluster/which_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "client/cluster/data_folder.h"
#include "loop/power_loss_for_tests.h"
#include "tests/servers/scratch.h"
#include "tests/servers/variable.h"

namespace cadre::client {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}
mode_t mode_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

/// A user who has done nothing yet.
struct WhichMaster : testing::Test {
  /// A data folder with what a master writes there.
  std::string data(const std::string& name, const std::string& client) const {
    const std::string folder = home.path() + "/" + name;
    std::filesystem::create_directories(folder);
    write(folder + "/client.json", client);
    return folder;
  }
  static std::string url_of(const std::string& given) {
    const Result<cluster::KnownMaster> master = find_master(given);
    return master ? master->url : "(" + std::string(to_string(master.error().code)) + ") " + master.error().message;
  }

  servers::TempDir home;
  servers::Variable config{"XDG_CONFIG_HOME", home.path() + "/config"};
  servers::Variable data_home{"XDG_DATA_HOME", home.path() + "/share"};
  servers::Variable master{"CADRE_MASTER", ""};
  servers::Variable token{"CADRE_TOKEN", ""};
  servers::Variable ca{"CADRE_CA", ""};
};

constexpr const char* here =
    R"({"url": "http://127.0.0.1:7", "user": "eve", "token": "secret", "ca": "/ca.pem", "socket": "/run/http"})";

TEST_F(WhichMaster, OfThisHostIsKnownByItsUrlToo) {
  data("share/cadre", here);
  ASSERT_EQ(default_data_folder(), home.path() + "/share/cadre");
  EXPECT_EQ(find_master("http://127.0.0.1:7").value().token, "secret");
  EXPECT_EQ(find_master("http://127.0.0.1:7").value().socket, "/run/http");
  for (const char* spelling : {"127.0.0.1:7", "localhost:7", "cadre://localhost:7/", "http://[::1]:7"}) {
    EXPECT_EQ(find_master(spelling).value().token, "secret") << spelling;
  }
  EXPECT_EQ(find_master("http://127.0.0.1:8").value().token, "");
}

TEST_F(WhichMaster, IsFoundInItsDataFolder) {
  const std::string folder = data("data", here);
  for (const std::string& given : {folder, folder + "/", folder + "/../data", folder + "//."}) {
    const Result<cluster::KnownMaster> found = find_master(given);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->url, "http://127.0.0.1:7");
    EXPECT_EQ(found->user, "eve");
    EXPECT_EQ(found->token, "secret");
    EXPECT_EQ(found->ca, "/ca.pem");
    EXPECT_EQ(found->socket, "/run/http") << "the token is not sent to whoever has the port";
  }
}

TEST_F(WhichMaster, MayBeAFolderFromHere) {
  data("data", here);
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(home.path());
  EXPECT_EQ(url_of("data"), "http://127.0.0.1:7");
  EXPECT_EQ(url_of("./data"), "http://127.0.0.1:7");
  EXPECT_THAT(url_of("none"), StartsWith("(unavailable) no master answers at " + home.path() + "/none; start one"));
  std::filesystem::current_path(before);
}

TEST_F(WhichMaster, IsNotReachedWithoutAFolderOrInAnEmptyOne) {
  const std::string nothing = home.path() + "/nothing";
  EXPECT_EQ(url_of(nothing), "(unavailable) no master answers at " + nothing +
                                 "; start one with `cadre up`, or name another with --master or CADRE_MASTER");
  EXPECT_THAT(url_of(home.path()), StartsWith("(unavailable) no master answers at " + home.path() + ";"));
  EXPECT_THAT(url_of(""), StartsWith("(unavailable) no master answers at " + home.path() + "/share/cadre;"));
}

TEST_F(WhichMaster, SaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(url_of(data("broken", "{\"url\": ")),
              testing::AllOf(StartsWith("(corrupt) "), HasSubstr("broken/client.json")));
  EXPECT_THAT(url_of(data("empty", "")), testing::AllOf(StartsWith("(corrupt) "), HasSubstr("empty/client.json")));
  EXPECT_THAT(url_of(data("other", "{\"token\": 17}")), testing::AllOf(HasSubstr("token"), HasSubstr("url")))
      << "all of it at once";
  const std::string folder = home.path() + "/folder";
  std::filesystem::create_directories(folder + "/client.json");
  EXPECT_THAT(url_of(folder), testing::AllOf(StartsWith("(corrupt) "), HasSubstr("folder/client.json")));
}

TEST_F(WhichMaster, MayBeAUrl) {
  EXPECT_EQ(url_of("http://there:7310"), "http://there:7310");
  EXPECT_EQ(url_of("https://there:7310//"), "https://there:7310");
  EXPECT_EQ(url_of("http://[::1]:7310/"), "http://[::1]:7310");
  const servers::Variable authority("CADRE_CA", "/my/ca.pem");
  const Result<cluster::KnownMaster> found = find_master("https://there");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ca, "/my/ca.pem");
  EXPECT_EQ(found->token, "");
}

TEST_F(WhichMaster, IsNoOtherKindOfAddress) {
  for (const char* given : {"ftp://there", "tcp://there:1", "ipc:///run/x", "://", "HTTP://there", "http://there:99999",
                            "http://there:abc", "http://there:"}) {
    EXPECT_THAT(url_of(given), StartsWith("(invalid) '" + std::string(given) + "'")) << given;
    EXPECT_THAT(url_of(given), HasSubstr("write an address like host:7310")) << given;
  }
}

TEST_F(WhichMaster, HasAHostInItsUrl) {
  // Else the first word of a path would be taken for one, and be shown the token.
  for (const char* given :
       {"http://", "http:///", "https://", "http:////there", "http://?x", "http://#", "http://:80"}) {
    EXPECT_THAT(url_of(given), StartsWith("(invalid) ")) << given;
  }
}

TEST_F(WhichMaster, IsTheOneGivenThenThatOfTheEnvironmentThenThatOfTheLoginThenTheUsualFolder) {
  data("share/cadre", R"({"url": "http://usual"})");
  EXPECT_EQ(url_of(""), "http://usual");
  ASSERT_TRUE(write_logins({"http://login", {{"http://login", "eve", "a", ""}}}));
  EXPECT_EQ(url_of(""), "http://login");
  const servers::Variable named("CADRE_MASTER", "http://environment");
  EXPECT_EQ(url_of(""), "http://environment");
  EXPECT_EQ(url_of("http://given"), "http://given");
  const servers::Variable folder("CADRE_MASTER", data("data", here));
  EXPECT_EQ(url_of(""), "http://127.0.0.1:7");
}

TEST_F(WhichMaster, IsAskedWithTheTokenOfTheEnvironmentElseOfTheLogin) {
  ASSERT_TRUE(write_logins({"", {{"http://one:1", "eve", "first", ""}, {"http://two:2", "bob", "second", "/ca"}}}));
  EXPECT_EQ(find_master("http://two:2/")->token, "second");
  EXPECT_EQ(find_master("http://two:2")->user, "bob");
  EXPECT_EQ(find_master("http://two:2")->ca, "/ca");
  EXPECT_EQ(find_master("http://three:3")->token, "");
  const servers::Variable given("CADRE_TOKEN", "mine");
  for (const std::string& one : {std::string("http://two:2"), std::string("http://three:3"), data("data", here)}) {
    const Result<cluster::KnownMaster> found = find_master(one);
    EXPECT_EQ(found->token, "mine");
    EXPECT_EQ(found->user, "") << "whose token that is nobody knows";
  }
}

TEST_F(WhichMaster, PrefersTheEnvironmentToTheLogin) {
  ASSERT_TRUE(write_logins({"", {{"https://one:1", "eve", "first", "/old"}}}));
  EXPECT_EQ(find_master("https://one:1")->ca, "/old");
  const servers::Variable authority("CADRE_CA", "/new");
  EXPECT_EQ(find_master("https://one:1")->ca, "/new");
}

TEST_F(WhichMaster, LoginsAreForTheirUserOnly) {
  const mode_t before = umask(0);
  const Logins logins{"http://one:1", {{"http://one:1", "eve", "first", ""}}};
  ASSERT_TRUE(write_logins(logins));
  EXPECT_EQ(logins_file(), home.path() + "/config/cadre/logins.json");
  EXPECT_EQ(mode_of(logins_file()), 0600U);
  EXPECT_EQ(mode_of(home.path() + "/config/cadre"), 0700U);
  write(logins_file() + ".new", "of one that was killed, for everybody to read");
  chmod((logins_file() + ".new").c_str(), 0644);
  ASSERT_TRUE(write_logins(logins));
  EXPECT_EQ(mode_of(logins_file()), 0600U);
  const Result<Logins> read = read_logins();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->current, "http://one:1");
  EXPECT_EQ(read->masters.at(0).token, "first");
  umask(before);
}

TEST_F(WhichMaster, LoginsSurviveAPowerLoss) {
  ASSERT_TRUE(write_logins({}));
  const Logins logins{"http://one:1", {{"http://one:1", "eve", "first", ""}}};
  EXPECT_TRUE(loop::survives_power_loss(home.path() + "/config/cadre", "logins.json",
                                        [&] { ASSERT_TRUE(write_logins(logins)); }));
}

TEST_F(WhichMaster, NoLoginsAreNoFaultButBrokenOnesAre) {
  EXPECT_TRUE(read_logins()->masters.empty());
  ASSERT_TRUE(write_logins({}));
  write(logins_file(), "{\"masters\": [{\"url\": 5}]}");
  for (const std::string& said : {url_of(""), url_of("http://there")}) {
    EXPECT_THAT(said, testing::AllOf(StartsWith("(corrupt) " + logins_file()), HasSubstr("; correct or remove it")));
  }
  EXPECT_EQ(text_of(logins_file()), "{\"masters\": [{\"url\": 5}]}") << "it is not thrown away";
}

TEST_F(WhichMaster, LoginsAreInTheHomeFolderWithoutAConfigFolder) {
  const servers::Variable home_folder("HOME", "/home/eve");
  for (const char* config_home : {"", "relative"}) {
    const servers::Variable no_config("XDG_CONFIG_HOME", config_home);
    EXPECT_EQ(logins_file(), "/home/eve/.config/cadre/logins.json");
  }
}

TEST_F(WhichMaster, TakesTheHomeOfThePasswordDatabaseWithoutTheVariable) {
  const servers::Variable no_home("HOME", "");
  const servers::Variable no_config("XDG_CONFIG_HOME", "");
  const servers::Variable no_data("XDG_DATA_HOME", "");
  const std::string own = ::getpwuid(::geteuid())->pw_dir;
  EXPECT_EQ(logins_file(), own + "/.config/cadre/logins.json");
  EXPECT_EQ(default_data_folder(), own + "/.local/share/cadre");
}

}  // namespace
}  // namespace cadre::client
