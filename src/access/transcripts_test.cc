#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "access/access_fixture_for_tests.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;

struct Scene {
  std::string title;
  std::function<void(AccessFixture&)> play;
};

CreateUser user_request(const std::string& name, const std::string& password = "") {
  CreateUser request;
  request.name = name;
  request.password = password;
  return request;
}

SetUser set_user(const std::string& name) {
  SetUser request;
  request.user = name;
  return request;
}

SetUser admin_or_not(const std::string& name, bool is_admin) {
  SetUser request = set_user(name);
  request.is_admin = is_admin;
  return request;
}

SetUser active_or_not(const std::string& name, bool is_active) {
  SetUser request = set_user(name);
  request.is_active = is_active;
  return request;
}

SetUser password_of(const std::string& name, const std::string& password) {
  SetUser request = set_user(name);
  request.password = password;
  return request;
}

CreateToken token_request(const std::string& id, std::optional<std::string> user = {},
                          std::optional<Duration> valid = {}) {
  return {"a script", std::move(user), valid, secret_of(id)};
}

/// The admin, and others without any role.
void with(AccessFixture& fixture, const std::vector<std::string>& names) {
  fixture.comes("admin");
  for (const std::string& name : names) fixture.comes(name);
}

/// Workspace `lab` with ann as its admin, bob as editor and cid as viewer; dan has no role.
void with_lab(AccessFixture& fixture) {
  with(fixture, {"ann", "bob", "cid", "dan"});
  fixture.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
  fixture.ask("admin", "ann is to be admin in lab", SetMember{"lab", "ann", Role::admin});
  fixture.ask("ann", "bob is to be editor in lab", SetMember{"lab", "bob", Role::editor});
  fixture.ask("ann", "cid is to be viewer in lab", SetMember{"lab", "cid", Role::viewer});
}
void with_lab_quietly(AccessFixture& fixture) {
  with_lab(fixture);
  fixture.begin_here();
}

std::vector<Scene> users() {
  return {
      {"The first start makes an admin and a workspace",
       [](AccessFixture& fixture) {
         fixture.comes("admin");
         fixture.ask("admin", "list users", ListUsers{});
         fixture.ask("admin", "list workspaces", ListWorkspaces{});
         fixture.ask("admin", "who am I", GetMe{});
       }},
      {"An admin creates, changes and deletes a user",
       [](AccessFixture& fixture) {
         with(fixture, {});
         CreateUser ann = user_request("ann", "hash");
         ann.max_slots = 8;
         fixture.ask("admin", "make user ann with 8 slots", ann);
         fixture.ask("admin", "make user ann once more", user_request("ann"));
         SetUser more = set_user("ann");
         more.max_slots = unlimited;
         fixture.ask("admin", "ann may have any number of slots", more);
         fixture.ask("admin", "the same once more", more);
         fixture.ask("admin", "ann is not active any more", active_or_not("ann", false));
         fixture.ask("admin", "show ann", GetUser{"ann"});
         fixture.ask("admin", "delete ann", DeleteUser{"ann"});
         fixture.ask("admin", "show ann", GetUser{"ann"});
       }},
      {"A user can read their own record and change their own password, nothing else",
       [](AccessFixture& fixture) {
         with(fixture, {"ann", "bob"});
         fixture.ask("ann", "who am I", GetMe{});
         fixture.ask("ann", "show ann", GetUser{"ann"});
         SetUser keeping = password_of("ann", "hash");
         keeping.keep_tokens = true;
         fixture.ask("ann", "set my password and keep my tokens", keeping);
         fixture.ask("ann", "make me admin", admin_or_not("ann", true));
         fixture.ask("ann", "list users", ListUsers{});
         fixture.ask("ann", "show bob", GetUser{"bob"});
         fixture.ask("ann", "show nobody", GetUser{"nobody"});
         fixture.ask("ann", "set bob's password", password_of("bob", "hash"));
         fixture.ask("ann", "delete bob", DeleteUser{"bob"});
         fixture.ask("ann", "delete ann", DeleteUser{"ann"});
         fixture.ask("ann", "make user cid", user_request("cid"));
         fixture.ask("ann", "set another password", password_of("ann", "another hash"));
         fixture.ask("ann", "who am I", GetMe{});
       }},
      {"What nobody may be called",
       [](AccessFixture& fixture) {
         with(fixture, {});
         for (const std::string name : {"", "an n", "ä", ".ann", "-ann", "ann/bob"}) {
           fixture.ask("admin", "make user '" + name + "'", user_request(name));
         }
         fixture.ask("admin", "make a user with a name of 65 letters", user_request(std::string(65, 'a')));
         fixture.ask("admin", "make a user with a name of 64 letters", user_request(std::string(64, 'a')));
         fixture.ask("admin", "make user Ann_1@host.org-2", user_request("Ann_1@host.org-2"));
       }},
      {"The last admin stays",
       [](AccessFixture& fixture) {
         with(fixture, {"ann"});
         fixture.ask("admin", "I am not admin any more", admin_or_not("admin", false));
         fixture.ask("admin", "I am not active any more", active_or_not("admin", false));
         fixture.ask("admin", "delete me", DeleteUser{"admin"});
         fixture.ask("admin", "ann is admin, too", admin_or_not("ann", true));
         fixture.ask("ann", "admin is not active any more", active_or_not("admin", false));
         fixture.ask("admin", "who am I", GetMe{});
         fixture.ask("ann", "delete me", DeleteUser{"ann"});
         fixture.ask("ann", "admin is active again", active_or_not("admin", true));
         fixture.ask("admin", "delete ann", DeleteUser{"ann"});
         fixture.ask("admin", "delete me", DeleteUser{"admin"});
       }},
      {"Users page by page",
       [](AccessFixture& fixture) {
         with(fixture, {"ann", "bob", "cid"});
         fixture.ask("admin", "list 3 users", ListUsers{"", 3});
         fixture.ask("admin", "list 3 users after bob", ListUsers{"bob", 3});
         fixture.ask("admin", "list users after zoe", ListUsers{"zoe", 3});
       }},
  };
}

std::vector<Scene> tokens() {
  return {
      {"A token is made, used and revoked",
       [](AccessFixture& fixture) {
         with(fixture, {"ann"});
         fixture.ask("ann", "make a token", token_request("t1"));
         fixture.ask_with("t1", "ann by t1", "who am I", GetMe{});
         fixture.ask("ann", "list my tokens", ListTokens{});
         fixture.ask("ann", "revoke t1", RevokeToken{"t1"});
         fixture.ask_with("t1", "ann by t1", "who am I", GetMe{});
         fixture.ask("ann", "revoke t1", RevokeToken{"t1"});
       }},
      {"A token expires",
       [](AccessFixture& fixture) {
         with(fixture, {"ann"});
         fixture.ask("ann", "make a token for an hour", token_request("t1", {}, 1h));
         fixture.pass(59min + 59s);
         fixture.ask_with("t1", "ann by t1", "who am I", GetMe{});
         fixture.pass(1s);
         fixture.ask_with("t1", "ann by t1", "who am I", GetMe{});
         fixture.ask("ann", "list my tokens", ListTokens{});
         fixture.ask("ann", "revoke t1", RevokeToken{"t1"});
         fixture.tidy();
         fixture.tidy();
       }},
      {"Logging out ends the token with which it is asked, and no other",
       [](AccessFixture& fixture) {
         with(fixture, {"ann"});
         fixture.ask("ann", "make a token", token_request("t1"));
         fixture.ask_with("t1", "ann by t1", "log out", Logout{});
         fixture.ask_with("t1", "ann by t1", "log out", Logout{});
         fixture.ask("ann", "who am I", GetMe{});
       }},
      {"Tokens of others are an admin's affair",
       [](AccessFixture& fixture) {
         with(fixture, {"ann", "bob"});
         fixture.ask("bob", "make a token", token_request("t1"));
         fixture.ask("ann", "list the tokens of bob", ListTokens{"bob"});
         fixture.ask("ann", "list all tokens", ListTokens{std::nullopt, true});
         fixture.ask("ann", "make a token for bob", token_request("t2", "bob"));
         fixture.ask("ann", "revoke t1", RevokeToken{"t1"});
         fixture.ask("ann", "revoke what is not there", RevokeToken{"t9"});
         fixture.ask("admin", "list all tokens", ListTokens{std::nullopt, true});
         fixture.ask("admin", "make a token for bob", token_request("t2", "bob", 24h));
         fixture.ask("admin", "list the tokens of bob", ListTokens{"bob"});
         fixture.ask("admin", "revoke t1", RevokeToken{"t1"});
         fixture.ask("admin", "make a token for nobody", token_request("t3", "nobody"));
       }},
      {"The tokens of a user who is not active rest, and those of one who is deleted are gone",
       [](AccessFixture& fixture) {
         with(fixture, {"ann"});
         fixture.ask("admin", "ann is not active any more", active_or_not("ann", false));
         fixture.ask("ann", "who am I", GetMe{});
         fixture.ask("admin", "ann is active again", active_or_not("ann", true));
         fixture.ask("ann", "who am I", GetMe{});
         fixture.ask("admin", "delete ann", DeleteUser{"ann"});
         fixture.ask("ann", "who am I", GetMe{});
         fixture.ask("admin", "make user ann", user_request("ann"));
         fixture.ask("ann", "who am I", GetMe{});
       }},
      {"A task asks with its own token",
       [](AccessFixture& fixture) {
         with_lab_quietly(fixture);
         fixture.ask_as_task("ann", "lab", "who am I", GetMe{});
         fixture.ask_as_task("admin", "lab", "who am I", GetMe{});
         fixture.ask_as_task("cid", "lab", "who am I", GetMe{});
         fixture.ask_as_task("dan", "lab", "who am I", GetMe{});
         fixture.ask_as_task("ann", "lab", "show ann", GetUser{"ann"});
         fixture.ask_as_task("admin", "lab", "show ann", GetUser{"ann"});
         fixture.ask_as_task("admin", "lab", "list workspaces", ListWorkspaces{});
         fixture.ask_as_task("admin", "lab", "show workspace default", GetWorkspace{"default"});
         fixture.ask_as_task("ann", "lab", "dan is to be editor in lab", SetMember{"lab", "dan", Role::editor});
         fixture.ask_as_task("ann", "lab", "make a token", token_request("t1"));
         fixture.ask_as_task("ann", "lab", "list my tokens", ListTokens{});
         fixture.ask_as_task("ann", "lab", "set my password", password_of("ann", "hash"));
         fixture.ask_as_task("admin", "lab", "make user eve", user_request("eve"));
       }},
  };
}

std::vector<Scene> workspaces() {
  return {
      {"A workspace, its members and what each of them may",
       [](AccessFixture& fixture) {
         with_lab(fixture);
         for (const std::string name : {"ann", "bob", "cid", "dan"}) {
           fixture.ask(name, "list workspaces", ListWorkspaces{});
           fixture.ask(name, "dan is to be viewer in lab", SetMember{"lab", "dan", Role::viewer});
           fixture.ask(name, "take dan out of lab", RemoveMember{"lab", "dan"});
           fixture.ask(name, "lab may have 4 slots", SetWorkspace{"lab", 4});
         }
       }},
      {"What somebody may not see reads like what is not there",
       [](AccessFixture& fixture) {
         with_lab_quietly(fixture);
         fixture.ask("dan", "show workspace lab", GetWorkspace{"lab"});
         fixture.ask("dan", "show workspace xyz", GetWorkspace{"xyz"});
         fixture.ask("dan", "be admin in lab", SetMember{"lab", "dan", Role::admin});
         fixture.ask("dan", "be admin in xyz", SetMember{"xyz", "dan", Role::admin});
         fixture.ask("dan", "delete workspace lab", DeleteWorkspace{"lab"});
         fixture.ask("dan", "delete workspace xyz", DeleteWorkspace{"xyz"});
         fixture.ask("dan", "make workspace lab", CreateWorkspace{"lab"});
       }},
      {"An admin of a workspace gives it away, and leaves",
       [](AccessFixture& fixture) {
         with_lab_quietly(fixture);
         fixture.ask("ann", "bob is to be admin in lab", SetMember{"lab", "bob", Role::admin});
         fixture.ask("ann", "the same once more", SetMember{"lab", "bob", Role::admin});
         fixture.ask("ann", "nobody is to be viewer in lab", SetMember{"lab", "nobody", Role::viewer});
         fixture.ask("bob", "take ann out of lab", RemoveMember{"lab", "ann"});
         fixture.ask("ann", "show workspace lab", GetWorkspace{"lab"});
         fixture.ask("bob", "take ann out of lab", RemoveMember{"lab", "ann"});
         fixture.ask("cid", "take me out of lab", RemoveMember{"lab", "cid"});
         fixture.ask("bob", "I am to be viewer in lab", SetMember{"lab", "bob", Role::viewer});
         fixture.ask("bob", "I am to be admin in lab", SetMember{"lab", "bob", Role::admin});
       }},
      {"Admins of the cluster make workspaces and remove them",
       [](AccessFixture& fixture) {
         with_lab_quietly(fixture);
         fixture.ask("admin", "lab may have 4 slots", SetWorkspace{"lab", 4});
         fixture.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
         fixture.ask("admin", "make workspace .lab", CreateWorkspace{".lab"});
         fixture.ask("ann", "delete workspace lab", DeleteWorkspace{"lab"});
         fixture.ask("admin", "delete workspace lab", DeleteWorkspace{"lab"});
         fixture.ask("ann", "who am I", GetMe{});
         fixture.ask("admin", "delete workspace default", DeleteWorkspace{"default"});
         fixture.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
       }},
      {"A deleted user is a member no more",
       [](AccessFixture& fixture) {
         with_lab_quietly(fixture);
         fixture.ask("admin", "delete bob", DeleteUser{"bob"});
         fixture.ask("ann", "show workspace lab", GetWorkspace{"lab"});
         fixture.ask("admin", "make user bob", user_request("bob"));
         fixture.ask("admin", "show bob", GetUser{"bob"});
       }},
  };
}

std::vector<Scene> logins() {
  const auto with_password = [](AccessFixture& fixture) {
    with(fixture, {});
    fixture.ask("admin", "make user ann with a password", user_request("ann", AccessFixture::right_password));
    fixture.begin_here();
  };
  const auto fails = [](AccessFixture& fixture, const std::string& user, const std::string& address, int times) {
    for (int time = 0; time < times; ++time) fixture.login(user, address, "");
  };
  return {
      {"Somebody logs in",
       [=](AccessFixture& fixture) {
         with_password(fixture);
         fixture.login("ann", "10.0.0.1", AccessFixture::right_password);
         fixture.ask_with("login-1", "ann by login-1", "who am I", GetMe{});
         fixture.pass(24h);
         fixture.ask_with("login-1", "ann by login-1", "who am I", GetMe{});
         fixture.login("ann", "10.0.0.1", AccessFixture::right_password);
       }},
      {"A failed login gives no reason",
       [=](AccessFixture& fixture) {
         with_password(fixture);
         fixture.login("ann", "10.0.0.1", "");
         fixture.login("nobody", "10.0.0.1", "");
         fixture.login("admin", "10.0.0.1", AccessFixture::right_password);
         fixture.ask("admin", "ann is not active any more", active_or_not("ann", false));
         fixture.login("ann", "10.0.0.1", AccessFixture::right_password);
       }},
      {"Guessing the password of a user takes longer and longer",
       [=](AccessFixture& fixture) {
         with_password(fixture);
         fails(fixture, "ann", "10.0.0.1", 6);
         fixture.pass(999ms);
         fixture.login("ann", "10.0.0.2", AccessFixture::right_password);
         fixture.pass(1ms);
         fixture.login("ann", "10.0.0.3", "");
         fixture.login("ann", "10.0.0.4", "");
         fixture.pass(2s);
         fixture.login("ann", "10.0.0.5", "");
         fixture.login("ann", "10.0.0.6", "");
         fixture.pass(1h);
         fixture.login("ann", "10.0.0.7", "");
         fixture.login("ann", "10.0.0.7", "");
       }},
      {"Guessing from one address takes longer and longer",
       [=](AccessFixture& fixture) {
         with_password(fixture);
         for (int user = 1; user <= 5; ++user) fails(fixture, "user" + std::to_string(user), "10.0.0.1", 1);
         fixture.login("ann", "10.0.0.1", AccessFixture::right_password);
         fixture.login("ann", "10.0.0.2", AccessFixture::right_password);
         fixture.pass(1s);
         fixture.login("ann", "10.0.0.1", AccessFixture::right_password);
         fixture.login("user6", "10.0.0.1", "");
         fixture.login("user7", "10.0.0.1", "");
       }},
      {"Who gets it right begins anew",
       [=](AccessFixture& fixture) {
         with_password(fixture);
         fails(fixture, "ann", "10.0.0.1", 4);
         fixture.login("ann", "10.0.0.2", AccessFixture::right_password);
         fails(fixture, "ann", "10.0.0.3", 5);
         fixture.login("ann", "10.0.0.4", AccessFixture::right_password);
       }},
  };
}

void expect_golden(const std::string& name, const std::vector<Scene>& scenes) {
  std::string text;
  for (const Scene& scene : scenes) {
    AccessFixture fixture;
    scene.play(fixture);
    text += "# " + scene.title + "\n" + fixture.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/access/" + name + ".txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

TEST(Access, MatchesTheGoldenFileOfUsers) { expect_golden("users", users()); }
TEST(Access, MatchesTheGoldenFileOfTokens) { expect_golden("tokens", tokens()); }
TEST(Access, MatchesTheGoldenFileOfWorkspacesAndRoles) { expect_golden("workspaces", workspaces()); }
TEST(Access, MatchesTheGoldenFileOfFailedLogins) { expect_golden("logins", logins()); }

TEST(Access, SaysTheSameIfItIsRestartedAllTheTime) {
  for (const std::vector<Scene>& scenes : {users(), tokens(), workspaces()}) {
    for (const Scene& scene : scenes) {
      SCOPED_TRACE(scene.title);
      AccessFixture plain;
      scene.play(plain);
      AccessFixture restarted({}, AccessFixture::Restarts::yes);
      scene.play(restarted);
      EXPECT_EQ(restarted.text(), plain.text());
      EXPECT_EQ(restarted.database(), plain.database());
    }
  }
}

}  // namespace
}  // namespace cadre::access
