// Names over real HTTP, in front of a service that the test plays.
#include <gmock/gmock.h>

#include "gateway/gateway.h"
#include "loop/thread_pool.h"
#include "net/http/http_for_tests.h"

namespace cadre::gateway {
namespace {

using net::http::Response;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// `ed` edits in default, `view` only looks, `task` is one of vision; all others are not known.
struct NamesOverHttp : testing::Test, api::Service, cluster::BulkEndpoint {
  NamesOverHttp() {
    Options options;
    options.pass_secret = std::string(64, 's');
    options.open_metrics = true;
    gateway = Gateway::open({loop, log, *this, *this, pool}, std::move(options)).value();
  }
  ~NamesOverHttp() override { gateway.reset(); }

  void ask(api::CallId call, api::Credential who, api::Request) override {
    ++asked;
    access::Me me;
    const bool is_viewer = who.token_hash == hash_of_token("view");
    me.user.workspaces = {{"default", is_viewer ? access::Role::viewer : access::Role::editor}};
    if (!who.lease.empty()) {
      me.user.workspaces = {{"vision", access::Role::editor}};
      me.task = "17.0";
    }
    const bool is_known = is_viewer || !who.lease.empty() || who.token_hash == hash_of_token("ed");
    const api::Reply reply =
        is_known ? api::Reply(me) : api::Reply(api::Failed::unauthenticated("this token is not known"));
    loop.post([this, call, reply] { gateway->tell(call, reply); });
  }
  void ask(api::CallId, cluster::bulk::ToMaster) override {}
  void forget(api::CallId) override {}

  net::http::Question question(const std::string& method, const std::string& target, const std::string& body,
                               const std::string& token) const {
    net::http::Question question;
    question.method = net::http::parse_method(method);
    question.url = "http://127.0.0.1:" + std::to_string(gateway->port()) + target;
    question.body = body;
    if (!token.empty()) question.headers.emplace_back("Authorization", "Bearer " + token);
    return question;
  }
  Response say(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& token = "ed") {
    return net::http::run_task(loop, client.ask(question(method, "/api/v1/names" + target, body, token))).value();
  }
  Response put(const std::string& key, const std::string& value, const std::string& token = "ed") {
    return say("PUT", "/-/entry", R"({"session":"of-a-test","key":")" + key + R"(","value":")" + value + "\"}", token);
  }
  std::string figures() {
    return net::http::run_task(loop, client.ask(question("GET", "/metrics", "", ""))).value().body;
  }

  /// Asks until it is so.
  void expect_figure(const std::string& line) {
    const TimePoint end = loop.now() + std::chrono::minutes(1);
    while (figures().find("\ncadre_" + line + "\n") == std::string::npos) ASSERT_LT(loop.now(), end) << line;
  }

  loop::RealLoop loop;
  SilentLog log;
  loop::ThreadPool pool{loop, {"passwords and files", 2, 64}};
  int asked = 0;
  std::unique_ptr<Gateway> gateway;
  net::http::Client client{loop, {}};
};

TEST_F(NamesOverHttp, AreServedWithoutAskingTheMasterEachTime) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(put("a/" + std::to_string(i), "v").status, 200);
  EXPECT_THAT(say("GET", "/default/entry?key=a/7").body, HasSubstr(R"("key":"a/7","value":"v")"));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(say("GET", "/default?prefix=a", "", "view").status, 200);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(say("GET", "/default", "", "stranger").status, 401);
  EXPECT_EQ(say("GET", "/default", "", "stranger").status, 401);
  EXPECT_EQ(asked, 4) << "who is not known is never remembered";
}

TEST_F(NamesOverHttp, WithManyControlCharactersAreListedInBase64) {
  std::string controls;
  for (int i = 0; i < 30'000; ++i) controls += "\\u0001";
  EXPECT_EQ(put("a/controls", controls).status, 200);
  EXPECT_EQ(put("a/text", "line\\nline\\n").status, 200);
  const Response listed = say("GET", "/default?prefix=a");
  EXPECT_LT(listed.body.size(), 41'000U) << "four thirds of the value, not six times";
  EXPECT_THAT(listed.body, HasSubstr(R"("value":"line\nline\n")"));
  const auto list = describe::read_json<names::requests::NameList>(listed.body).value();
  EXPECT_EQ(names::requests::value_of(list.names.front().content), std::string(30'000, '\1'));
}

TEST_F(NamesOverHttp, TellWhatIsMissingWithItsPlace) {
  const Response key = say("GET", "/default/entry?key=a/nobody");
  EXPECT_EQ(key.status, 404);
  EXPECT_THAT(key.body, testing::Not(HasSubstr("workspace")));
  const Response workspace = say("GET", "/elsewhere/entry?key=a/nobody");
  EXPECT_EQ(workspace.status, 404);
  EXPECT_THAT(workspace.body, HasSubstr(R"("path":"workspace")"));
  EXPECT_EQ(put("a", "v", "view").status, 403);
  const Response faults =
      say("PUT", "/default/entry", R"({"session":"x","key":"a//b","ttl":"1ms","value":"v","no":1})");
  EXPECT_EQ(faults.status, 400);
  for (const char* path : {"session", "key", "ttl", "no"}) {
    EXPECT_THAT(faults.body, HasSubstr("\"path\":\"" + std::string(path) + "\""));
  }
}

TEST_F(NamesOverHttp, OfATaskAreThoseOfItsWorkspace) {
  const std::string pass = Passes(std::string(64, 's')).make({{{17}, 0}, {1}});
  EXPECT_EQ(put("a", "of the task", pass).status, 200);
  EXPECT_EQ(say("GET", "/vision/entry?key=a", "", pass).status, 200);
  EXPECT_EQ(say("GET", "/default/entry?key=a", "", pass).status, 404);
  EXPECT_EQ(say("GET", "/-/entry?key=a").status, 404) << "of others it is the default one";
}

TEST_F(NamesOverHttp, OfGroupsAreShownToViewersWithoutValues) {
  EXPECT_EQ(put("groups/g/m", "a ticket").status, 200);
  EXPECT_EQ(put("groupsize", "8").status, 200);
  for (const char* target : {"/default", "/default/entry?key=groups/g/m", "/default/news"}) {
    EXPECT_THAT(say("GET", target).body, HasSubstr("a ticket")) << target;
    const std::string seen = say("GET", target, "", "view").body;
    EXPECT_THAT(seen, AllOf(HasSubstr("groups/g/m"), Not(HasSubstr("a ticket")))) << target;
  }
  EXPECT_THAT(say("GET", "/default", "", "view").body, HasSubstr(R"("key":"groupsize","value":"8")"));
  const auto all = describe::read_json<names::requests::NameNews>(say("GET", "/default/news").body).value();
  const std::string target = "/api/v1/names/default/news?seen=" + std::to_string(all.version);
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> news;
  tasks.spawn(net::http::keep_result(client.ask(question("GET", target, "", "view")), news));
  expect_figure("names_watchers 1");
  EXPECT_EQ(put("groups/g/m", "another ticket").status, 200);
  net::http::run_until(loop, [&] { return news.has_value(); });
  EXPECT_THAT(news->value().body, AllOf(HasSubstr("groups/g/m"), Not(HasSubstr("ticket"))));
}

TEST_F(NamesOverHttp, AWatchIsAnsweredOnNewsAndForgottenWhenItsClientLeaves) {
  const auto first = describe::read_json<names::requests::NameNews>(say("GET", "/default/news?prefix=a").body).value();
  EXPECT_TRUE(first.is_all);
  const std::string target = "/api/v1/names/default/news?prefix=a&seen=" + std::to_string(first.version);
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> leaves;
  std::optional<Result<Response>> stays;
  tasks.spawn(net::http::keep_result(client.ask(question("GET", target, "", "view")), leaves));
  expect_figure("names_watchers 1");
  tasks.destroy_all();
  expect_figure("names_watchers 0");
  tasks.spawn(net::http::keep_result(client.ask(question("GET", target, "", "view")), stays));
  expect_figure("names_watchers 1");
  EXPECT_EQ(put("b", "not asked for").status, 200);
  EXPECT_FALSE(stays.has_value());
  EXPECT_EQ(put("a/b", "v").status, 200);
  net::http::run_until(loop, [&] { return stays.has_value(); });
  const auto news = describe::read_json<names::requests::NameNews>(stays->value().body).value();
  ASSERT_EQ(news.put.size(), 1U);
  EXPECT_EQ(news.put[0].key.value, "a/b");
  expect_figure("names 2");
}

TEST(Rights, ExpireSoonAndStayWhileTheMasterIsUnreachable) {
  Rights rights;
  const api::Credential token{"hash", "", "127.0.0.1"};
  const api::Credential task{"", "17.0/1", "127.0.0.1"};
  const TimePoint now{std::chrono::hours(1)};
  EXPECT_EQ(rights.fresh(token, now), nullptr);
  access::Me me;
  me.user.name = "eve";
  rights.learn(token, me, now);
  EXPECT_EQ(rights.fresh(token, now)->user, "eve");
  EXPECT_EQ(rights.fresh(task, now), nullptr);
  EXPECT_EQ(rights.fresh(token, now + Rights::fresh_for), nullptr);
  EXPECT_EQ(rights.last(token)->user, "eve");
  rights.add_workspace(token, "vision");
  EXPECT_TRUE(rights.last(token)->roles.contains("vision"));
  rights.learn(token, me, now);
  EXPECT_FALSE(rights.last(token)->roles.contains("vision")) << "it may be gone by now";
  rights.forget(token);
  EXPECT_EQ(rights.last(token), nullptr);
}

}  // namespace
}  // namespace cadre::gateway
