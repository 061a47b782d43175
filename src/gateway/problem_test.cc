#include "gateway/problem.h"

#include <gmock/gmock.h>

#include "access/access.h"
#include "cluster/requests.h"
#include "gateway/bodies.h"

namespace cadre::gateway {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Pair;
namespace requests = cluster::requests;

Problem read(const net::http::Response& response) {
  EXPECT_EQ(response.content_type, "application/problem+json");
  auto problem = describe::read_json<Problem>(response.body);
  EXPECT_TRUE(problem) << response.body;
  EXPECT_EQ(problem->status, response.status);
  EXPECT_EQ(problem->title, net::http::reason_of(response.status));
  return *problem;
}

TEST(Problem, HasTheStatusOfItsError) {
  EXPECT_EQ(status_of(Errc::invalid), 400);
  EXPECT_EQ(status_of(Errc::denied), 403);
  EXPECT_EQ(status_of(Errc::not_found), 404);
  EXPECT_EQ(status_of(Errc::conflict), 409);
  EXPECT_EQ(status_of(Errc::corrupt), 500);
  EXPECT_EQ(status_of(Errc::unavailable), 503);
  EXPECT_EQ(status_of(Errc::timed_out), 504);
}

TEST(Problem, SaysWhatAndWhere) {
  const Problem plain = read(problem(404, "there is no job 17"));
  EXPECT_EQ(plain.status, 404);
  EXPECT_EQ(plain.detail, "there is no job 17");
  EXPECT_TRUE(plain.faults.empty());
  const Problem faulty = read(problem(Errc::conflict, "no", {{"a.b", "is wrong"}, {"", "is wrong as a whole"}}));
  EXPECT_EQ(faulty.status, 409);
  ASSERT_EQ(faulty.faults.size(), 2U);
  EXPECT_EQ(faulty.faults[0].path, "a.b");
  EXPECT_EQ(faulty.faults[1].message, "is wrong as a whole");
}

TEST(Problem, CountsAllFaultsAndListsThoseThatWereKept) {
  describe::Faults one({"a", "is wrong"});
  EXPECT_EQ(read(problem(one)).detail, "the request has 1 fault");
  for (int i = 0; i < 249; ++i) one.add({"b", "is wrong"});
  const Problem many = read(problem(one));
  EXPECT_EQ(many.status, 400);
  EXPECT_EQ(many.detail, "the request has 250 faults");
  EXPECT_EQ(many.faults.size(), describe::Faults::most_kept);
}

TEST(Problem, CanSayAnything) {
  for (const std::string& text : {std::string("\"quoted\"\n\\"), std::string("\xff\xfe no text"), std::string("\0", 1),
                                  std::string(100'000, 'x'), std::string("</script>")}) {
    EXPECT_FALSE(read(problem(400, text)).detail.empty());
    EXPECT_FALSE(read(problem(describe::Faults({text, text}))).faults.at(0).message.empty());
  }
}

TEST(ResponseBodies, MatchTheRepliesOfServices) {
  EXPECT_EQ(response_of(api::Reply(requests::Text{"so"})).body, "{\"text\":\"so\"}");
  EXPECT_EQ(response_of(api::Reply(requests::Text{"so"})).status, 200);
  EXPECT_EQ(response_of(api::Reply(requests::Text{"so"})).content_type, "application/json");
  EXPECT_EQ(response_of(api::Reply(access::Done{})).body, "{}");
  EXPECT_EQ(response_of(access::AuditPage{}).body, "{\"entries\":[],\"next\":0}");
  const Problem no = read(response_of(api::Reply(requests::Failed{Errc::denied, "not you", {{"a", "b"}}})));
  EXPECT_EQ(no.status, 403);
  EXPECT_EQ(no.detail, "not you");
  EXPECT_EQ(no.faults.size(), 1U);
}

TEST(ResponseBodies, SayHowToBeKnown) {
  const net::http::Response response = response_of(api::Failed::unauthenticated("this token is not known"));
  EXPECT_EQ(read(response).status, 401);
  EXPECT_THAT(response.headers, ElementsAre(Pair("WWW-Authenticate", "Bearer realm=\"cadre\"")));
}

TEST(ResponseBodies, NeverTellAPassword) {
  const net::http::Response response = response_of(access::Challenge{"scrypt$15$8$1$salt$key"});
  EXPECT_EQ(response.status, 500);
  EXPECT_THAT(response.body, testing::Not(testing::HasSubstr("salt")));
}

}  // namespace
}  // namespace cadre::gateway
