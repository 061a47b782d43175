#include "access/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "access/access_fixture_for_tests.h"
#include "describe/describe.h"

namespace cadre::access {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr TimePoint noon{12h};

CreateUser new_user(const std::string& name) {
  CreateUser request;
  request.name = name;
  return request;
}

CreateToken new_token(const std::string& id) { return {"", {}, {}, secret_of(id)}; }

/// The admin, ann and bob with a token each; ann is admin of workspace `lab`.
class AccessErrors : public testing::Test {
 protected:
  AccessErrors() : access_(settings(), {}) {
    access_.found(noon);
    put("admin");
    for (const char* name : {"ann", "bob"}) {
      do_(admin(), new_user(name));
      put(name);
    }
    do_(admin(), CreateWorkspace{"lab"});
    do_(admin(), SetMember{"lab", "ann", Role::admin});
  }
  static Settings settings() {
    Settings settings;
    settings.users_max = 4;
    settings.tokens_max_each = 3;
    settings.workspaces_max = 3;
    return settings;
  }

  void put(const std::string& user) {
    ASSERT_TRUE(access_.put_token({"of-" + user, "hash of of-" + user, user, "", noon, {}}).has_value());
  }
  Principal as(const std::string& user) const { return access_.who("hash of of-" + user, noon).value(); }
  Principal admin() const { return as("admin"); }

  Result<Reply> ask(const Principal& who, const Request& request) { return access_.ask(who, request, noon); }
  void do_(const Principal& who, const Request& request) {
    const auto done = ask(who, request);
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  template <class T>
  void expect(Errc code, const std::string& words, const Result<T>& answer) {
    ASSERT_FALSE(answer.has_value()) << "it was done";
    EXPECT_EQ(answer.error().code, code) << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr(words));
  }

  Access access_;
};

TEST_F(AccessErrors, UsersHaveABound) {
  do_(admin(), new_user("cid"));
  expect(Errc::conflict, "there are 4 users, which is the limit; delete some first", ask(admin(), new_user("dan")));
  do_(admin(), DeleteUser{"cid"});
  do_(admin(), new_user("dan"));
}

TEST_F(AccessErrors, WorkspacesHaveABound) {
  do_(admin(), CreateWorkspace{"moon"});
  expect(Errc::conflict, "there are 3 workspaces, which is the limit; delete some first",
         ask(admin(), CreateWorkspace{"sea"}));
}

TEST_F(AccessErrors, TokensOfAUserHaveABound) {
  do_(as("ann"), new_token("t1"));
  do_(as("ann"), new_token("t2"));
  const auto refused = ask(as("ann"), new_token("t3"));
  expect(Errc::conflict, "user 'ann' has 3 tokens, which is the limit; revoke some first", refused);
  do_(as("ann"), RevokeToken{"t1"});
  do_(as("ann"), new_token("t3"));
}

TEST_F(AccessErrors, ExpiredTokensDoNotCount) {
  for (const char* id : {"t1", "t2"}) do_(as("ann"), CreateToken{"", {}, 1h, secret_of(id)});
  EXPECT_FALSE(access_.ask(as("ann"), new_token("t3"), noon + 59min).has_value());
  EXPECT_TRUE(access_.ask(as("ann"), new_token("t3"), noon + 1h).has_value());
}

TEST_F(AccessErrors, TokenIdsAndHashesAreTakenOnce) {
  do_(as("ann"), new_token("t1"));
  expect(Errc::conflict, "try again", ask(as("bob"), new_token("t1")));
  expect(Errc::conflict, "try again", ask(as("bob"), CreateToken{"", {}, {}, {"t2", "hash of t1"}}));
}

TEST_F(AccessErrors, ATokenMustBeGoodForSomeTime) {
  for (const Duration valid : {0s, -1s}) {
    expect(Errc::invalid, "use 1s or more", ask(as("ann"), CreateToken{"", {}, valid, secret_of("t1")}));
  }
}

TEST_F(AccessErrors, LimitsAreNotNegative) {
  CreateUser cid = new_user("cid");
  cid.max_slots = -2;
  SetUser ann;
  ann.user = "ann";
  ann.max_slots = -7;
  expect(Errc::invalid, "max_slots is -2; use 0 or more, or -1 for no limit", ask(admin(), cid));
  expect(Errc::invalid, "max_slots is -7", ask(admin(), ann));
  expect(Errc::invalid, "max_slots is -2", ask(admin(), CreateWorkspace{"moon", -2}));
  expect(Errc::invalid, "max_slots is -2", ask(admin(), SetWorkspace{"lab", -2}));
}

TEST_F(AccessErrors, ARefusedChangeChangesNothing) {
  SetUser half;
  half.user = "admin";
  half.password = "new hash";
  half.is_admin = false;
  std::ignore = access_.take();
  expect(Errc::conflict, "last active admin", ask(admin(), half));
  EXPECT_TRUE(access_.take().empty());
}

TEST_F(AccessErrors, OneUserOrAllOfThem) {
  expect(Errc::invalid, "cannot be combined", ask(admin(), ListTokens{"ann", true}));
}

TEST_F(AccessErrors, ChecksTheRightsOfACallerOnEveryRequest) {
  const Principal ann = as("ann"), bob = as("bob");
  do_(admin(), SetMember{"lab", "ann", Role::editor});
  expect(Errc::denied, "only an admin of workspace 'lab'", ask(ann, SetMember{"lab", "bob", Role::viewer}));
  do_(admin(), RemoveMember{"lab", "ann"});
  expect(Errc::not_found, "no workspace 'lab'", ask(ann, GetWorkspace{"lab"}));
  do_(ann, Logout{});
  expect(Errc::denied, "was revoked", ask(ann, GetMe{}));
  do_(admin(), DeleteUser{"bob"});
  expect(Errc::denied, "'bob' no longer exists", ask(bob, GetMe{}));
}

TEST_F(AccessErrors, DeniesAFormerAdmin) {
  SetUser promote;
  promote.user = "ann";
  promote.is_admin = true;
  do_(admin(), promote);
  const Principal ann = as("ann");
  do_(ann, ListUsers{});
  promote.is_admin = false;
  do_(admin(), promote);
  expect(Errc::denied, "only an admin of the cluster", ask(ann, ListUsers{}));
}

TEST_F(AccessErrors, DeniesAnExpiredTokenThatWasAcceptedBefore) {
  do_(as("ann"), CreateToken{"", {}, 1h, secret_of("t1")});
  const Principal ann = access_.who("hash of t1", noon + 1h - 1ns).value();
  expect(Errc::denied, "has expired", access_.who("hash of t1", noon + 1h));
  expect(Errc::denied, "has expired", access_.ask(ann, GetMe{}, noon + 1h));
}

TEST_F(AccessErrors, DeniesTasksAfterTheOwnerLostTheirRights) {
  EXPECT_EQ(access_.who_of_task("ann", "lab", "1.0").value(),
            (Principal{"ann", false, {{"lab", Role::editor}}, "", "1.0"}));
  EXPECT_EQ(access_.who_of_task("admin", "lab", "1.0").value(),
            (Principal{"admin", false, {{"lab", Role::editor}}, "", "1.0"}));
  expect(Errc::denied, "no longer has a role in workspace 'lab'", access_.who_of_task("bob", "lab", "1.0"));
  expect(Errc::denied, "no longer has a role in workspace 'moon'", access_.who_of_task("admin", "moon", "1.0"));
  expect(Errc::denied, "'nobody', the owner of this task, no longer exists",
         access_.who_of_task("nobody", "lab", "1.0"));
  SetUser rest;
  rest.user = "ann";
  rest.is_active = false;
  do_(admin(), rest);
  expect(Errc::denied, "is not active", access_.who_of_task("ann", "lab", "1.0"));
}

TEST_F(AccessErrors, ATaskTokenAllowsOnlyTheRequestsOfATask) {
  const Principal task = access_.who_of_task("admin", "lab", "1.0").value();
  const std::vector<Request> closed{Logout{},
                                    ListUsers{},
                                    new_user("cid"),
                                    SetUser{"admin", "hash", {}, false, {}, {}, {}, {}},
                                    DeleteUser{"ann"},
                                    ListTokens{},
                                    new_token("t1"),
                                    RevokeToken{"of-admin"},
                                    CreateWorkspace{"moon"},
                                    SetWorkspace{"lab", 1},
                                    DeleteWorkspace{"lab"},
                                    SetMember{"lab", "bob", Role::viewer},
                                    RemoveMember{"lab", "ann"}};
  std::ignore = access_.take();
  for (const Request& request : closed) expect(Errc::denied, "a task token", ask(task, request));
  EXPECT_TRUE(access_.take().empty());
  for (const Request& request :
       std::vector<Request>{GetMe{}, GetUser{"admin"}, ListWorkspaces{}, GetWorkspace{"lab"}}) {
    do_(task, request);
  }
}

TEST_F(AccessErrors, ATaskIsNeverAnAdminOfTheCluster) {
  Principal task = access_.who_of_task("admin", "lab", "1.0").value();
  task.is_admin = true;
  expect(Errc::not_found, "no user 'ann' that you can see", ask(task, GetUser{"ann"}));
}

TEST_F(AccessErrors, HiddenObjectsLookLikeMissingObjects) {
  const auto words = [&](const Request& request) { return ask(as("bob"), request).error(); };
  const auto same_but_name = [](Error error, const std::string& name) {
    error.message.replace(error.message.find(name), name.size(), "NAME");
    return error;
  };
  const std::vector<std::pair<Request, Request>> of_users{
      {GetUser{"ann"}, GetUser{"zoe"}},
      {DeleteUser{"ann"}, DeleteUser{"zoe"}},
      {SetUser{"ann", "hash", {}, false, {}, {}, {}, {}}, SetUser{"zoe", "hash", {}, false, {}, {}, {}, {}}},
      {ListTokens{"ann"}, ListTokens{"zoe"}},
      {CreateToken{"", "ann", {}, secret_of("t1")}, CreateToken{"", "zoe", {}, secret_of("t1")}}};
  for (const auto& [hidden, missing] : of_users) {
    EXPECT_EQ(words(hidden).code, Errc::not_found);
    EXPECT_EQ(same_but_name(words(hidden), "ann"), same_but_name(words(missing), "zoe"));
  }
  const std::vector<std::pair<Request, Request>> of_workspaces{
      {GetWorkspace{"lab"}, GetWorkspace{"sea"}},
      {SetWorkspace{"lab", 1}, SetWorkspace{"sea", 1}},
      {DeleteWorkspace{"lab"}, DeleteWorkspace{"sea"}},
      {SetMember{"lab", "bob", Role::admin}, SetMember{"sea", "bob", Role::admin}},
      {RemoveMember{"lab", "ann"}, RemoveMember{"sea", "ann"}}};
  for (const auto& [hidden, missing] : of_workspaces) {
    EXPECT_EQ(words(hidden).code, Errc::not_found);
    EXPECT_EQ(same_but_name(words(hidden), "lab"), same_but_name(words(missing), "sea"));
  }
  EXPECT_EQ(words(RevokeToken{"of-ann"}), words(RevokeToken{"of-zoe"}));
}

TEST_F(AccessErrors, ASecretTakenForAnIdIsNotRepeated) {
  expect(Errc::not_found, "no token", ask(as("ann"), RevokeToken{"my secret"}));
  EXPECT_EQ(ask(as("ann"), RevokeToken{"my secret"}).error().message.find("my secret"), std::string::npos);
}

TEST_F(AccessErrors, LoggingOutTakesAToken) {
  Principal ann = as("ann");
  ann.token.clear();
  expect(Errc::invalid, "has no token", ask(ann, Logout{}));
}

TEST_F(AccessErrors, LoginsBeyondTheBoundEndTheOldest) {
  const auto login = [&](const std::string& id, TimePoint now) {
    EXPECT_TRUE(access_.begin_login("ann", "", now).has_value());
    return access_.end_login({"ann", "", Access::Passed::yes, 24h, secret_of(id)}, now);
  };
  EXPECT_TRUE(login("l1", noon).has_value());
  EXPECT_TRUE(login("l2", noon + 1s).has_value());
  EXPECT_TRUE(login("l3", noon + 2s).has_value());
  EXPECT_FALSE(access_.who("hash of l1", noon + 2s).has_value());
  for (const char* id : {"l2", "l3", "of-ann"}) {
    EXPECT_TRUE(access_.who(std::string("hash of ") + id, noon + 2s).has_value());
  }
}

TEST_F(AccessErrors, ALoginWithoutRoomIsRefused) {
  for (const char* id : {"t1", "t2"}) do_(as("ann"), new_token(id));
  expect(Errc::conflict, "revoke some first",
         access_.end_login({"ann", "", Access::Passed::yes, 24h, secret_of("l1")}, noon));
  expect(Errc::invalid, "use 1s or more",
         access_.end_login({"bob", "", Access::Passed::yes, 0s, secret_of("l1")}, noon));
}

TEST_F(AccessErrors, DeniesALoginOfAUserDeletedMeanwhile) {
  ASSERT_TRUE(access_.begin_login("bob", "", noon).has_value());
  do_(admin(), DeleteUser{"bob"});
  expect(Errc::denied, "wrong user name or password",
         access_.end_login({"bob", "", Access::Passed::yes, 24h, secret_of("l1")}, noon));
}

TEST_F(AccessErrors, ReturnsNoPasswordHashForUsersThatCannotLogIn) {
  SetUser change;
  change.user = "ann";
  change.password = "hash";
  do_(as("ann"), change);
  EXPECT_EQ(access_.begin_login("ann", "", noon).value().password, "hash");
  EXPECT_EQ(access_.begin_login("bob", "", noon).value().password, "");
  EXPECT_EQ(access_.begin_login("nobody", "", noon).value().password, "");
  change.password.reset();
  change.is_active = false;
  do_(admin(), change);
  EXPECT_EQ(access_.begin_login("ann", "", noon).value().password, "");
}

TEST_F(AccessErrors, APutTokenTakesThePlaceOfTheOneBefore) {
  ASSERT_TRUE(access_.put_token({"local", "hash 1", "admin", "", noon, {}}).has_value());
  ASSERT_TRUE(access_.put_token({"local", "hash 2", "admin", "", noon, {}}).has_value());
  EXPECT_FALSE(access_.who("hash 1", noon).has_value());
  EXPECT_EQ(access_.who("hash 2", noon).value().token, "local");
  std::ignore = access_.take();
  ASSERT_TRUE(access_.put_token({"local", "hash 2", "admin", "", noon, {}}).has_value());
  EXPECT_TRUE(access_.take().empty()) << "it is the same";
  ASSERT_TRUE(access_.put_token({"other", "hash 2", "ann", "", noon, {}}).has_value());
  EXPECT_EQ(access_.who("hash 2", noon).value().user, "ann") << "a hash names one token";
  EXPECT_THAT(access_.take().tokens_gone, testing::ElementsAre("local"));
  expect(Errc::not_found, "there is no user 'nobody'", access_.put_token({"x", "hash x", "nobody", "", noon, {}}));
}

TEST_F(AccessErrors, QuotasAreThoseThatWereSet) {
  CreateUser cid = new_user("cid");
  cid.max_slots = 0;
  do_(admin(), cid);
  do_(admin(), SetWorkspace{"lab", 8});
  EXPECT_EQ(access_.quota_of_user("cid"), 0);
  EXPECT_EQ(access_.quota_of_user("ann"), std::nullopt);
  EXPECT_EQ(access_.quota_of_user("nobody"), std::nullopt);
  EXPECT_EQ(access_.quota_of_workspace("lab"), 8);
  EXPECT_EQ(access_.quota_of_workspace("default"), std::nullopt);
  EXPECT_EQ(access_.quota_of_workspace("moon"), std::nullopt);
  EXPECT_TRUE(access_.has_workspace("default"));
  EXPECT_FALSE(access_.has_workspace("moon"));
}

TEST_F(AccessErrors, ANewPasswordEndsTheTokensOfItsUser) {
  put("ann");
  ASSERT_TRUE(access_.put_token({std::string(local_token_id), "hash of local", "ann", "", noon, {}}).has_value());
  SetUser request;
  request.user = "ann";
  request.password = "hash of a password";
  request.keep_tokens = true;
  do_(admin(), request);
  EXPECT_TRUE(access_.who("hash of of-ann", noon));
  request.password = "hash of another";
  request.keep_tokens = false;
  do_(admin(), request);
  expect(Errc::denied, "", access_.who("hash of of-ann", noon));
  EXPECT_TRUE(access_.who("hash of local", noon)) << "it is that of the data folder";
  EXPECT_TRUE(access_.who("hash of of-bob", noon));
}

TEST(Access, IsFoundedOnceAndNeverAgain) {
  ModelDatabase database;
  for (int start = 0; start < 2; ++start) {
    Access access({}, database.rows());
    access.found(noon + start * 1h);
    database.apply(access.take());
    EXPECT_EQ(database.users.at("admin"), (UserRow{"admin", "", true, true, {}, noon, ""}));
    EXPECT_EQ(database.workspaces.at("default"), (WorkspaceRow{"default", {}, noon}));
  }
  Rows others;
  others.users = {{"root", "hash", true, true, {}, noon, ""}};
  Access access({}, others);
  access.found(noon);
  const Writes writes = access.take();
  EXPECT_TRUE(writes.users.empty()) << "there is somebody already";
  EXPECT_EQ(writes.workspaces.size(), 1U);
}

TEST(Access, NumbersTheAuditOnFromTheLast) {
  Rows rows;
  rows.last_audit = 41;
  Access access({}, rows);
  access.audit({0, noon, "ann", "t1", "10.0.0.1", "delete_user", "user bob", false, "denied"});
  access.audit({7, noon, "", "", "10.0.0.1", "login", "user ann", true, ""});
  const std::vector<AuditRow> written = access.take().audit;
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0], (AuditRow{42, noon, "ann", "t1", "10.0.0.1", "delete_user", "user bob", false, "denied"}));
  EXPECT_EQ(written[1].number, 43U);
  EXPECT_TRUE(access.take().empty());
}

TEST(Access, ShortensWhatAClientHasSentInTheAuditLog) {
  Access access({}, {});
  const std::string large(4'000'000, 'u');
  access.audit({0, noon, "bob", "t1", "10.0.0.1", "create_token", "user " + large, false, "there is no user " + large});
  const std::vector<AuditRow> written = access.take().audit;
  ASSERT_EQ(written.size(), 1U);
  EXPECT_LT(written[0].object.size(), audit_text_most + 10);
  EXPECT_LT(written[0].detail.size(), audit_text_most + 10);
  EXPECT_TRUE(written[0].detail.starts_with("there is no user uuu"));
}

TEST(Access, RejectsSecretsChosenByClients) {
  EXPECT_FALSE(describe::read_json<CreateToken>(R"({"name": "x", "secret": {"id": "t1", "hash": "h"}})").has_value());
  EXPECT_TRUE(describe::read_json<CreateToken>(R"({"name": "x", "valid": "1h"})").has_value());
}

TEST(Access, RefusesShortPasswordsBeforeTheyAreHashed) {
  EXPECT_FALSE(describe::read_json<CreateUser>(R"({"name": "ann", "password": "short"})").has_value());
  EXPECT_TRUE(describe::read_json<CreateUser>(R"({"name": "ann", "password": "long enough"})").has_value());
  EXPECT_TRUE(describe::read_json<CreateUser>(R"({"name": "ann"})").has_value());
  EXPECT_FALSE(describe::read_json<SetUser>(R"({"user": "ann", "password": "short"})").has_value());
  EXPECT_TRUE(describe::read_json<SetUser>(R"({"user": "ann", "password": ""})").has_value());
}

}  // namespace
}  // namespace cadre::access
