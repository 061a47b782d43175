#include "gateway/route_table.h"

#include <gmock/gmock.h>

#include <array>
#include <set>

#include "base/seeds.h"
#include "gateway/requests_for_tests.h"

namespace cadre::gateway {
namespace {

using net::http::Method;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct RouteTableTest : testing::Test {
  RouteTableTest() {
    table.add("GET", "/jobs", 1);
    table.add("POST", "/jobs", 2);
    table.add("GET", "/jobs/{job}", 3);
    table.add("GET", "/jobs/newest", 4);
    table.add("DELETE", "/jobs/{job}", 5);
    table.add("PUT", "/spaces/{space}/members/{user}", 6);
    table.add("GET", "/", 7);
  }
  /// What is meant; 0: nothing.
  std::size_t meaning(Method method, std::string_view path) const {
    const RouteTable::Outcome found = table.find(method, path);
    return found.match ? found.match->meaning : 0;
  }
  RouteTable table;
};

TEST_F(RouteTableTest, FindsByMethodAndPath) {
  EXPECT_EQ(meaning(Method::get, "/jobs"), 1);
  EXPECT_EQ(meaning(Method::post, "/jobs"), 2);
  EXPECT_EQ(meaning(Method::get, "/jobs/17"), 3);
  EXPECT_EQ(meaning(Method::remove, "/jobs/17"), 5);
  EXPECT_EQ(meaning(Method::get, "/"), 7);
  EXPECT_EQ(meaning(Method::head, "/jobs/17"), 3) << "HEAD asks as GET does";
  EXPECT_EQ(meaning(Method::other, "/jobs"), 0);
}

TEST_F(RouteTableTest, AWordCountsBeforeAName) {
  EXPECT_EQ(meaning(Method::get, "/jobs/newest"), 4);
  EXPECT_EQ(meaning(Method::remove, "/jobs/newest"), 5) << "where the word has no such method";
  RouteTable other;
  other.add("GET", "/jobs/newest", 4);
  other.add("GET", "/jobs/{job}", 3);
  EXPECT_EQ(other.find(Method::get, "/jobs/newest").match->meaning, 4) << "in whatever order they were added";
  EXPECT_EQ(other.find(Method::get, "/jobs/newer").match->meaning, 3);
}

TEST_F(RouteTableTest, GivesNamesWithoutTheirEscapes) {
  const RouteTable::Outcome found = table.find(Method::put, "/spaces/a%20b%2Fc/members/%C3%A4%25%00+");
  ASSERT_TRUE(found.match);
  EXPECT_THAT(found.match->names, ElementsAre(Pair("space", "a b/c"), Pair("user", std::string("\xc3\xa4%\0+", 5))));
  EXPECT_THAT(table.find(Method::get, "/jobs").match->names, IsEmpty());
}

TEST_F(RouteTableTest, AnEscapeDoesNotMakeAnotherPath) {
  EXPECT_EQ(meaning(Method::get, "/%6Aobs"), 0) << "words are written as they are";
  EXPECT_EQ(meaning(Method::get, "/jobs%2F17"), 0);
  EXPECT_THAT(table.find(Method::get, "/jobs/%2e%2e").match->names, ElementsAre(Pair("job", "..")));
}

TEST_F(RouteTableTest, SaysThatAnEscapeIsNone) {
  for (const char* path : {"/jobs/%", "/jobs/%4", "/jobs/%zz", "/jobs/a%2", "/jobs/%%20"}) {
    const RouteTable::Outcome found = table.find(Method::get, path);
    EXPECT_TRUE(found.is_faulty) << path;
    EXPECT_FALSE(found.match) << path;
  }
  EXPECT_FALSE(table.find(Method::get, "/none/%zz").is_faulty) << "there is nothing anyway";
}

TEST_F(RouteTableTest, SaysWhichOtherMethodsThereAre) {
  EXPECT_EQ(table.find(Method::put, "/jobs").allowed, "GET, POST");
  EXPECT_EQ(table.find(Method::post, "/jobs/17").allowed, "GET, DELETE");
  EXPECT_EQ(table.find(Method::get, "/spaces/a/members/b").allowed, "PUT");
  EXPECT_EQ(table.find(Method::get, "/none").allowed, "");
}

TEST_F(RouteTableTest, NamesEachOtherMethodOnce) {
  EXPECT_EQ(table.find(Method::post, "/jobs/newest").allowed, "GET, DELETE");
}

TEST_F(RouteTableTest, KnowsNoOtherPaths) {
  for (const char* path : {"//", "/jobs/", "//jobs", "/jobs//", "/Jobs", "/jobs/1/2", "/spaces//members/b",
                           "/spaces/a/members/", "/a/b/c/d/e/f/g/h", "/jobs/{job}/"}) {
    EXPECT_EQ(meaning(Method::get, path), 0) << path;
    EXPECT_EQ(table.find(Method::get, path).allowed, "") << path;
  }
}

TEST_F(RouteTableTest, FindsEveryRequestByItsOwnRoute) {
  RouteTable all;
  std::vector<api::Route> routes;
  for_all_requests([&]<class T>(std::type_identity<T>) {
    all.add(T::route.method, T::route.path, routes.size());
    routes.push_back(T::route);
  });
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    EXPECT_TRUE(known.emplace(routes[i].method, routes[i].path).second) << routes[i].path << " stands twice";
    const RouteTable::Outcome found = all.find(net::http::parse_method(routes[i].method), routes[i].path);
    ASSERT_TRUE(found.match) << routes[i].path;
    EXPECT_EQ(found.match->meaning, i) << routes[i].path;
  }
}

TEST_F(RouteTableTest, BearsWhateverIsAsked) {
  constexpr std::array<std::string_view, 14> pieces = {"/",   "//",  "jobs",  "spaces", "members", "%", "%2",
                                                       "%2F", "%00", "{job}", "..",     "\xff",    " ", "newest"};
  FOR_SEEDS(5'000, [&](Dice& dice) {
    std::string path;
    for (std::size_t i = dice.below(12); i > 0; --i) path += pieces[dice.below(pieces.size())];
    const auto method = static_cast<Method>(dice.below(7));
    const RouteTable::Outcome found = table.find(method, path);
    if (found.match) {
      EXPECT_FALSE(found.is_faulty);
      for (const auto& [name, text] : found.match->names) EXPECT_FALSE(text.empty()) << path;
    }
  });
}

}  // namespace
}  // namespace cadre::gateway
