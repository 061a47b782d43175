#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "access/desk_for_tests.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;

struct Scene {
  std::string title;
  std::function<void(Desk&)> play;
};

CreateUser new_user(const std::string& name, const std::string& password = "") {
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

CreateToken new_token(const std::string& id, std::optional<std::string> user = {}, std::optional<Duration> valid = {}) {
  return {"a script", std::move(user), valid, secret_of(id)};
}

/// The admin, and others without any role.
void with(Desk& desk, const std::vector<std::string>& names) {
  desk.comes("admin");
  for (const std::string& name : names) desk.comes(name);
}

/// Workspace `lab` with ann as its admin, bob as editor and cid as viewer; dan has no role.
void with_lab(Desk& desk) {
  with(desk, {"ann", "bob", "cid", "dan"});
  desk.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
  desk.ask("admin", "ann is to be admin in lab", SetMember{"lab", "ann", Role::admin});
  desk.ask("ann", "bob is to be editor in lab", SetMember{"lab", "bob", Role::editor});
  desk.ask("ann", "cid is to be viewer in lab", SetMember{"lab", "cid", Role::viewer});
}
void with_lab_quietly(Desk& desk) {
  with_lab(desk);
  desk.begin_here();
}

std::vector<Scene> users() {
  return {
      {"The first start makes an admin and a workspace",
       [](Desk& desk) {
         desk.comes("admin");
         desk.ask("admin", "list users", ListUsers{});
         desk.ask("admin", "list workspaces", ListWorkspaces{});
         desk.ask("admin", "who am I", GetMe{});
       }},
      {"An admin makes a user, changes him and deletes him",
       [](Desk& desk) {
         with(desk, {});
         CreateUser ann = new_user("ann", "hash");
         ann.max_slots = 8;
         desk.ask("admin", "make user ann with 8 slots", ann);
         desk.ask("admin", "make user ann once more", new_user("ann"));
         SetUser more = set_user("ann");
         more.max_slots = unlimited;
         desk.ask("admin", "ann may have any number of slots", more);
         desk.ask("admin", "the same once more", more);
         desk.ask("admin", "ann is not active any more", active_or_not("ann", false));
         desk.ask("admin", "show ann", GetUser{"ann"});
         desk.ask("admin", "delete ann", DeleteUser{"ann"});
         desk.ask("admin", "show ann", GetUser{"ann"});
       }},
      {"A user sees himself and changes his password, and no more",
       [](Desk& desk) {
         with(desk, {"ann", "bob"});
         desk.ask("ann", "who am I", GetMe{});
         desk.ask("ann", "show ann", GetUser{"ann"});
         SetUser keeping = password_of("ann", "hash");
         keeping.keep_tokens = true;
         desk.ask("ann", "set my password and keep my tokens", keeping);
         desk.ask("ann", "make me admin", admin_or_not("ann", true));
         desk.ask("ann", "list users", ListUsers{});
         desk.ask("ann", "show bob", GetUser{"bob"});
         desk.ask("ann", "show nobody", GetUser{"nobody"});
         desk.ask("ann", "set bob's password", password_of("bob", "hash"));
         desk.ask("ann", "delete bob", DeleteUser{"bob"});
         desk.ask("ann", "delete ann", DeleteUser{"ann"});
         desk.ask("ann", "make user cid", new_user("cid"));
         desk.ask("ann", "set another password", password_of("ann", "another hash"));
         desk.ask("ann", "who am I", GetMe{});
       }},
      {"What nobody may be called",
       [](Desk& desk) {
         with(desk, {});
         for (const std::string name : {"", "an n", "ä", ".ann", "-ann", "ann/bob"}) {
           desk.ask("admin", "make user '" + name + "'", new_user(name));
         }
         desk.ask("admin", "make a user with a name of 65 letters", new_user(std::string(65, 'a')));
         desk.ask("admin", "make a user with a name of 64 letters", new_user(std::string(64, 'a')));
         desk.ask("admin", "make user Ann_1@host.org-2", new_user("Ann_1@host.org-2"));
       }},
      {"The last admin stays",
       [](Desk& desk) {
         with(desk, {"ann"});
         desk.ask("admin", "I am not admin any more", admin_or_not("admin", false));
         desk.ask("admin", "I am not active any more", active_or_not("admin", false));
         desk.ask("admin", "delete me", DeleteUser{"admin"});
         desk.ask("admin", "ann is admin, too", admin_or_not("ann", true));
         desk.ask("ann", "admin is not active any more", active_or_not("admin", false));
         desk.ask("admin", "who am I", GetMe{});
         desk.ask("ann", "delete me", DeleteUser{"ann"});
         desk.ask("ann", "admin is active again", active_or_not("admin", true));
         desk.ask("admin", "delete ann", DeleteUser{"ann"});
         desk.ask("admin", "delete me", DeleteUser{"admin"});
       }},
      {"Users page by page",
       [](Desk& desk) {
         with(desk, {"ann", "bob", "cid"});
         desk.ask("admin", "list 3 users", ListUsers{"", 3});
         desk.ask("admin", "list 3 users after bob", ListUsers{"bob", 3});
         desk.ask("admin", "list users after zoe", ListUsers{"zoe", 3});
       }},
  };
}

std::vector<Scene> tokens() {
  return {
      {"A token is made, used and revoked",
       [](Desk& desk) {
         with(desk, {"ann"});
         desk.ask("ann", "make a token", new_token("t1"));
         desk.ask_with("t1", "ann by t1", "who am I", GetMe{});
         desk.ask("ann", "list my tokens", ListTokens{});
         desk.ask("ann", "revoke t1", RevokeToken{"t1"});
         desk.ask_with("t1", "ann by t1", "who am I", GetMe{});
         desk.ask("ann", "revoke t1", RevokeToken{"t1"});
       }},
      {"A token expires",
       [](Desk& desk) {
         with(desk, {"ann"});
         desk.ask("ann", "make a token for an hour", new_token("t1", {}, 1h));
         desk.pass(59min + 59s);
         desk.ask_with("t1", "ann by t1", "who am I", GetMe{});
         desk.pass(1s);
         desk.ask_with("t1", "ann by t1", "who am I", GetMe{});
         desk.ask("ann", "list my tokens", ListTokens{});
         desk.ask("ann", "revoke t1", RevokeToken{"t1"});
         desk.tidy();
         desk.tidy();
       }},
      {"Logging out ends the token with which it is asked, and no other",
       [](Desk& desk) {
         with(desk, {"ann"});
         desk.ask("ann", "make a token", new_token("t1"));
         desk.ask_with("t1", "ann by t1", "log out", Logout{});
         desk.ask_with("t1", "ann by t1", "log out", Logout{});
         desk.ask("ann", "who am I", GetMe{});
       }},
      {"Tokens of others are an admin's affair",
       [](Desk& desk) {
         with(desk, {"ann", "bob"});
         desk.ask("bob", "make a token", new_token("t1"));
         desk.ask("ann", "list the tokens of bob", ListTokens{"bob"});
         desk.ask("ann", "list all tokens", ListTokens{std::nullopt, true});
         desk.ask("ann", "make a token for bob", new_token("t2", "bob"));
         desk.ask("ann", "revoke t1", RevokeToken{"t1"});
         desk.ask("ann", "revoke what is not there", RevokeToken{"t9"});
         desk.ask("admin", "list all tokens", ListTokens{std::nullopt, true});
         desk.ask("admin", "make a token for bob", new_token("t2", "bob", 24h));
         desk.ask("admin", "list the tokens of bob", ListTokens{"bob"});
         desk.ask("admin", "revoke t1", RevokeToken{"t1"});
         desk.ask("admin", "make a token for nobody", new_token("t3", "nobody"));
       }},
      {"The tokens of a user who is not active rest, and those of one who is deleted are gone",
       [](Desk& desk) {
         with(desk, {"ann"});
         desk.ask("admin", "ann is not active any more", active_or_not("ann", false));
         desk.ask("ann", "who am I", GetMe{});
         desk.ask("admin", "ann is active again", active_or_not("ann", true));
         desk.ask("ann", "who am I", GetMe{});
         desk.ask("admin", "delete ann", DeleteUser{"ann"});
         desk.ask("ann", "who am I", GetMe{});
         desk.ask("admin", "make user ann", new_user("ann"));
         desk.ask("ann", "who am I", GetMe{});
       }},
      {"A task asks with its own token",
       [](Desk& desk) {
         with_lab_quietly(desk);
         desk.ask_as_task("ann", "lab", "who am I", GetMe{});
         desk.ask_as_task("admin", "lab", "who am I", GetMe{});
         desk.ask_as_task("cid", "lab", "who am I", GetMe{});
         desk.ask_as_task("dan", "lab", "who am I", GetMe{});
         desk.ask_as_task("ann", "lab", "show ann", GetUser{"ann"});
         desk.ask_as_task("admin", "lab", "show ann", GetUser{"ann"});
         desk.ask_as_task("admin", "lab", "list workspaces", ListWorkspaces{});
         desk.ask_as_task("admin", "lab", "show workspace default", GetWorkspace{"default"});
         desk.ask_as_task("ann", "lab", "dan is to be editor in lab", SetMember{"lab", "dan", Role::editor});
         desk.ask_as_task("ann", "lab", "make a token", new_token("t1"));
         desk.ask_as_task("ann", "lab", "list my tokens", ListTokens{});
         desk.ask_as_task("ann", "lab", "set my password", password_of("ann", "hash"));
         desk.ask_as_task("admin", "lab", "make user eve", new_user("eve"));
       }},
  };
}

std::vector<Scene> workspaces() {
  return {
      {"A workspace, its members and what each of them may",
       [](Desk& desk) {
         with_lab(desk);
         for (const std::string name : {"ann", "bob", "cid", "dan"}) {
           desk.ask(name, "list workspaces", ListWorkspaces{});
           desk.ask(name, "dan is to be viewer in lab", SetMember{"lab", "dan", Role::viewer});
           desk.ask(name, "take dan out of lab", RemoveMember{"lab", "dan"});
           desk.ask(name, "lab may have 4 slots", SetWorkspace{"lab", 4});
         }
       }},
      {"What somebody may not see reads like what is not there",
       [](Desk& desk) {
         with_lab_quietly(desk);
         desk.ask("dan", "show workspace lab", GetWorkspace{"lab"});
         desk.ask("dan", "show workspace xyz", GetWorkspace{"xyz"});
         desk.ask("dan", "be admin in lab", SetMember{"lab", "dan", Role::admin});
         desk.ask("dan", "be admin in xyz", SetMember{"xyz", "dan", Role::admin});
         desk.ask("dan", "delete workspace lab", DeleteWorkspace{"lab"});
         desk.ask("dan", "delete workspace xyz", DeleteWorkspace{"xyz"});
         desk.ask("dan", "make workspace lab", CreateWorkspace{"lab"});
       }},
      {"An admin of a workspace gives it away, and leaves",
       [](Desk& desk) {
         with_lab_quietly(desk);
         desk.ask("ann", "bob is to be admin in lab", SetMember{"lab", "bob", Role::admin});
         desk.ask("ann", "the same once more", SetMember{"lab", "bob", Role::admin});
         desk.ask("ann", "nobody is to be viewer in lab", SetMember{"lab", "nobody", Role::viewer});
         desk.ask("bob", "take ann out of lab", RemoveMember{"lab", "ann"});
         desk.ask("ann", "show workspace lab", GetWorkspace{"lab"});
         desk.ask("bob", "take ann out of lab", RemoveMember{"lab", "ann"});
         desk.ask("cid", "take me out of lab", RemoveMember{"lab", "cid"});
         desk.ask("bob", "I am to be viewer in lab", SetMember{"lab", "bob", Role::viewer});
         desk.ask("bob", "I am to be admin in lab", SetMember{"lab", "bob", Role::admin});
       }},
      {"Admins of the cluster make workspaces and remove them",
       [](Desk& desk) {
         with_lab_quietly(desk);
         desk.ask("admin", "lab may have 4 slots", SetWorkspace{"lab", 4});
         desk.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
         desk.ask("admin", "make workspace .lab", CreateWorkspace{".lab"});
         desk.ask("ann", "delete workspace lab", DeleteWorkspace{"lab"});
         desk.ask("admin", "delete workspace lab", DeleteWorkspace{"lab"});
         desk.ask("ann", "who am I", GetMe{});
         desk.ask("admin", "delete workspace default", DeleteWorkspace{"default"});
         desk.ask("admin", "make workspace lab", CreateWorkspace{"lab"});
       }},
      {"A deleted user is a member no more",
       [](Desk& desk) {
         with_lab_quietly(desk);
         desk.ask("admin", "delete bob", DeleteUser{"bob"});
         desk.ask("ann", "show workspace lab", GetWorkspace{"lab"});
         desk.ask("admin", "make user bob", new_user("bob"));
         desk.ask("admin", "show bob", GetUser{"bob"});
       }},
  };
}

std::vector<Scene> logins() {
  const auto with_password = [](Desk& desk) {
    with(desk, {});
    desk.ask("admin", "make user ann with a password", new_user("ann", Desk::right_password));
    desk.begin_here();
  };
  const auto fails = [](Desk& desk, const std::string& user, const std::string& address, int times) {
    for (int time = 0; time < times; ++time) desk.login(user, address, "");
  };
  return {
      {"Somebody logs in",
       [=](Desk& desk) {
         with_password(desk);
         desk.login("ann", "10.0.0.1", Desk::right_password);
         desk.ask_with("login-1", "ann by login-1", "who am I", GetMe{});
         desk.pass(24h);
         desk.ask_with("login-1", "ann by login-1", "who am I", GetMe{});
         desk.login("ann", "10.0.0.1", Desk::right_password);
       }},
      {"Nobody is told why he may not log in",
       [=](Desk& desk) {
         with_password(desk);
         desk.login("ann", "10.0.0.1", "");
         desk.login("nobody", "10.0.0.1", "");
         desk.login("admin", "10.0.0.1", Desk::right_password);
         desk.ask("admin", "ann is not active any more", active_or_not("ann", false));
         desk.login("ann", "10.0.0.1", Desk::right_password);
       }},
      {"Guessing the password of a user takes longer and longer",
       [=](Desk& desk) {
         with_password(desk);
         fails(desk, "ann", "10.0.0.1", 6);
         desk.pass(999ms);
         desk.login("ann", "10.0.0.2", Desk::right_password);
         desk.pass(1ms);
         desk.login("ann", "10.0.0.3", "");
         desk.login("ann", "10.0.0.4", "");
         desk.pass(2s);
         desk.login("ann", "10.0.0.5", "");
         desk.login("ann", "10.0.0.6", "");
         desk.pass(1h);
         desk.login("ann", "10.0.0.7", "");
         desk.login("ann", "10.0.0.7", "");
       }},
      {"Guessing from one address takes longer and longer",
       [=](Desk& desk) {
         with_password(desk);
         for (int user = 1; user <= 5; ++user) fails(desk, "user" + std::to_string(user), "10.0.0.1", 1);
         desk.login("ann", "10.0.0.1", Desk::right_password);
         desk.login("ann", "10.0.0.2", Desk::right_password);
         desk.pass(1s);
         desk.login("ann", "10.0.0.1", Desk::right_password);
         desk.login("user6", "10.0.0.1", "");
         desk.login("user7", "10.0.0.1", "");
       }},
      {"Who gets it right begins anew",
       [=](Desk& desk) {
         with_password(desk);
         fails(desk, "ann", "10.0.0.1", 4);
         desk.login("ann", "10.0.0.2", Desk::right_password);
         fails(desk, "ann", "10.0.0.3", 5);
         desk.login("ann", "10.0.0.4", Desk::right_password);
       }},
  };
}

void expect_golden(const std::string& name, const std::vector<Scene>& scenes) {
  std::string text;
  for (const Scene& scene : scenes) {
    Desk desk;
    scene.play(desk);
    text += "# " + scene.title + "\n" + desk.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/access/" + name + ".txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

TEST(Access, TellsOfUsersAsItDid) { expect_golden("users", users()); }
TEST(Access, TellsOfTokensAsItDid) { expect_golden("tokens", tokens()); }
TEST(Access, TellsOfWorkspacesAndRolesAsItDid) { expect_golden("workspaces", workspaces()); }
TEST(Access, TellsOfGuessedPasswordsAsItDid) { expect_golden("logins", logins()); }

TEST(Access, SaysTheSameIfItIsRestartedAllTheTime) {
  for (const std::vector<Scene>& scenes : {users(), tokens(), workspaces()}) {
    for (const Scene& scene : scenes) {
      SCOPED_TRACE(scene.title);
      Desk plain;
      scene.play(plain);
      Desk restarted({}, Desk::Restarts::yes);
      scene.play(restarted);
      EXPECT_EQ(restarted.text(), plain.text());
      EXPECT_EQ(restarted.database(), plain.database());
    }
  }
}

}  // namespace
}  // namespace cadre::access
