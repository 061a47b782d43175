#include "gateway/arguments.h"

#include <gmock/gmock.h>

#include <array>

#include "base/seeds.h"
#include "describe/random.h"
#include "gateway/problem.h"
#include "gateway/requests_for_tests.h"
#include "gateway/route_table.h"

namespace cadre::gateway {
namespace {

using describe::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
namespace requests = cluster::requests;

/// As the gateway does it: by path, then from where the fields stand.
template <api::Routed T>
describe::Read<T> read_request(const net::http::Request& request) {
  const api::Operation operation = api::operation_of<T>();
  RouteTable table;
  table.add(T::route.method, "/api/v1" + std::string(T::route.path), 0);
  const RouteTable::Outcome found = table.find(request.method, request.path());
  if (!found.match) return tl::unexpected(describe::Faults({"", "there is no " + request.target}));
  return arguments(operation, found.match->names, request).and_then(describe::read<T>);
}

template <api::Routed T>
describe::Read<T> read_request(const std::string& target, const std::string& body = "") {
  net::http::Request request;
  request.method = net::http::parse_method(T::route.method);
  request.target = "/api/v1" + target;
  request.body = body;
  return read_request<T>(request);
}

/// All that is wrong, as `path: message`.
template <api::Routed T>
std::vector<std::string> faults(const std::string& target, const std::string& body = "") {
  const describe::Read<T> read = read_request<T>(target, body);
  std::vector<std::string> texts;
  if (read) return {"it was read"};
  for (const describe::Fault& fault : read.error()) texts.push_back(fault.path + ": " + fault.message);
  return texts;
}

TEST(Arguments, OfWhatOnlyAsksStandInPathAndQuery) {
  const auto read = read_request<requests::ReadLogs>(
      "/tasks/17.2/logs?epoch=3&offset=100&wait=true&level=warning&grep=a+b%2Bc&since=2026-01-02T03:04:05Z&tail=9");
  ASSERT_TRUE(read) << describe::to_text(read.error(), "");
  EXPECT_EQ(to_string(read->task), "17.2");
  EXPECT_EQ(read->epoch, 3U);
  EXPECT_EQ(read->offset, 100);
  EXPECT_TRUE(read->wait);
  EXPECT_EQ(read->level, Level::warning);
  EXPECT_EQ(read->grep, "a b+c");
  EXPECT_EQ(read->since, parse_utc("2026-01-02T03:04:05Z").value());
  EXPECT_EQ(read->tail, 9);
}

TEST(Arguments, OfWhatChangesStandInPathAndBody) {
  const auto read = read_request<requests::EndJob>("/jobs/17/stop", "{\"grace\": \"5s\"}");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->job.value, 17U);
  EXPECT_EQ(read->grace, Duration(std::chrono::seconds(5)));
  EXPECT_EQ(read_request<requests::EndJob>("/jobs/17/stop")->grace, std::nullopt) << "no body is an empty one";
  EXPECT_TRUE(read_request<access::Logout>("/logout", " {} "));
}

TEST(Arguments, OfBytesStandInTheQuery) {
  const std::string hash(64, 'a');
  const auto read = read_request<requests::PutCode>("/code/" + hash + "?size=5&offset=2", "{\"size\": no JSON at all");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->hash, hash);
  EXPECT_EQ(read->size, 5);
  EXPECT_EQ(read->offset, 2);
}

TEST(Arguments, AreTextWhereTextIsWanted) {
  for (const std::string text : {"true", "17", "null", "~", "", "[1]", "{a: b}", "'x'", "- x", "# x", "0x1f"}) {
    const std::string escaped = net::http::escape(text);
    EXPECT_EQ(read_request<access::ListUsers>("/users?after=" + escaped)->after, text);
    EXPECT_EQ(read_request<access::ListTokens>("/tokens?user=" + escaped)->user, text);
    EXPECT_EQ(read_request<requests::ListAgents>("/agents?after=" + escaped)->after.value, text);
    if (text.empty()) continue;
    EXPECT_EQ(read_request<access::GetUser>("/users/" + escaped)->user, text);
  }
}

TEST(Arguments, AreNumbersAndTruthsAsYamlSpellsThem) {
  EXPECT_EQ(read_request<requests::ListJobs>("/jobs?most=7&ended=false")->most, 7);
  EXPECT_FALSE(read_request<requests::ListJobs>("/jobs?most=7&ended=false")->ended);
  EXPECT_EQ(read_request<access::ListAudit>("/audit?before=9223372036854775807")->before, ~std::uint64_t{0} >> 1);
  EXPECT_EQ(read_request<requests::GetJob>("/jobs/9223372036854775807")->job.value, ~std::uint64_t{0} >> 1);
  EXPECT_FALSE(read_request<requests::GetJob>("/jobs/9223372036854775808")) << "no database holds it";
  EXPECT_THAT(faults<requests::ListJobs>("/jobs?most=seven&ended=yes"),
              ElementsAre("ended: expected true or false, found text \"yes\"; write true or false, without quotes",
                          "most: expected a whole number, found text \"seven\""));
  for (const char* wrong : {"",    "~",   "null",   "1.5", "1e3", "true", "%221%22",
                            "'1'", "[1]", "{a:+1}", "-",   "1+2", "--1",  "99999999999999999999",
                            "0",   "-1",  "10001",  "%00", "%FF", "1%0A2"}) {
    EXPECT_EQ(faults<requests::ListJobs>("/jobs?most=" + std::string(wrong)).size(), 1U) << wrong;
    EXPECT_THAT(faults<requests::ListJobs>("/jobs?most=" + std::string(wrong))[0], StartsWith("most: ")) << wrong;
  }
  for (const char* wrong : {"", "1", "True", "on", "'true'", "null"}) {
    EXPECT_THAT(faults<requests::ListJobs>("/jobs?ended=" + std::string(wrong))[0], StartsWith("ended: ")) << wrong;
  }
}

TEST(Arguments, SayAllFaultsAtOnce) {
  EXPECT_THAT(faults<requests::ListJobs>("/jobs?most=0&ended=maybe&befor=1&owner=a"),
              ElementsAre(StartsWith("ended: "), StartsWith("most: "), HasSubstr("did you mean 'before'?")));
  EXPECT_THAT(faults<access::CreateUser>("/users", R"({"password": "short", "max_slots": -2, "nmae": "eve"})"),
              ElementsAre(StartsWith("name: is required"), StartsWith("max_slots: "), StartsWith("nmae: ")));
  EXPECT_THAT(faults<requests::SetSlot>("/agents/blue/slots/x", R"({"state": "asleep", "slots": 1})"),
              ElementsAre(StartsWith("slot: "), StartsWith("state: "), HasSubstr("slots")));
}

TEST(Arguments, SayAllThatStandsInAWrongPlaceAtOnce) {
  EXPECT_THAT(faults<requests::EndJob>("/jobs/17/stop?grace=5s&force=1", R"({"job": 18})"),
              ElementsAre("grace: is not allowed in the query; put it into the body",
                          "force: is not allowed in the query; put it into the body",
                          "job: is already in the path; remove it here"));
  EXPECT_THAT(faults<requests::GetJob>("/jobs/17?job=18&seen=1&seen=2&seen=3"),
              ElementsAre("seen: occurs twice in the query; remove one", "seen: occurs twice in the query; remove one",
                          "job: is already in the path; remove it here"));
  EXPECT_THAT(faults<access::DeleteUser>("/users/eve?user=eve"),
              ElementsAre("user: is already in the path; remove it here"));
}

TEST(Arguments, TakeABodyThatIsAnObjectAndNothingElse) {
  for (const char* body : {"[]", "null", "17", "\"text\"", "true"}) {
    EXPECT_THAT(faults<access::Login>("/login", body), ElementsAre(StartsWith(": the body must be a JSON object, is ")))
        << body;
  }
  for (const char* body : {"{", "{}{}", "{\"user\": \"a\",}", "user=a&password=b", "\xff", " ", "{'user': 1}",
                           R"({"user": "a", "user": "b"})"}) {
    EXPECT_THAT(faults<access::Login>("/login", body), testing::SizeIs(1)) << body;
  }
  EXPECT_THAT(faults<access::Login>("/login"), ElementsAre(StartsWith("user: "), StartsWith("password: ")));
}

TEST(Arguments, HaveABoundInTheBody) {
  std::string deep;
  for (int i = 0; i < 1'000; ++i) deep += "{\"a\":";
  EXPECT_THAT(faults<access::Login>("/login", deep), testing::SizeIs(1));
  std::string long_list = "{\"user\": [0";
  for (int i = 0; i < 300'000; ++i) long_list += ",0";
  EXPECT_THAT(faults<access::Login>("/login", long_list + "]}"), testing::SizeIs(1));
}

TEST(Arguments, HaveEscapesInTheQueryThatAreSome) {
  for (const char* query : {"?most=%", "?most=%1", "?%zz=1", "?a=1&b=%g0"}) {
    EXPECT_THAT(faults<requests::ListJobs>("/jobs" + std::string(query)), ElementsAre(HasSubstr("is not an escape")));
  }
  EXPECT_EQ(read_request<requests::ListJobs>("/jobs?%6Dost=%37")->most, 7);
  EXPECT_EQ(read_request<requests::ListJobs>("/jobs?&&most=7&")->most, 7);
  EXPECT_EQ(read_request<requests::ListJobs>("/jobs?")->most, 100);
  EXPECT_THAT(faults<requests::ListJobs>("/jobs?=1"), testing::SizeIs(1));
  EXPECT_THAT(faults<requests::ListJobs>("/jobs?most"), ElementsAre(StartsWith("most: ")));
}

/// A value that is spelled in a path has at least one letter.
template <api::Routed T>
bool can_be_asked(const net::http::Request& request) {
  return request.path().find("//") == std::string_view::npos && !request.path().ends_with('/');
}

TEST(Arguments, OfEveryRequestAreReadAsTheyWereMeant) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    FOR_SEEDS(50, [](Dice& dice) {
      const T request = describe::random_value<T>(dice);
      const net::http::Request asked = http_form(request);
      if (!can_be_asked<T>(asked)) return;
      const describe::Read<T> read = read_request<T>(asked);
      ASSERT_TRUE(read) << T::type_name << " " << asked.target << "\n" << describe::to_text(read.error(), asked.body);
      EXPECT_EQ(describe::write(*read), describe::write(request)) << T::type_name << " " << asked.target;
    });
  });
}

std::string hostile(Dice& dice) {
  constexpr std::array<std::string_view, 24> pieces = {
      "&",  "=", "?", "%",    "%2",   "%00", "%FF",  "+", "#",    "most", "ended", "&a [*a, *a]",
      "!!", "|", "-", "\xff", "\xc3", "\n",  "true", "'", "{a: ", "[",    "]}",    "99999999999999999999"};
  std::string text;
  for (std::size_t i = dice.below(10); i > 0; --i) text += pieces[dice.below(pieces.size())];
  return text;
}

TEST(Arguments, WhateverIsSaidIsReadOrFaultyAndTheFaultsCanBeSaid) {
  for_all_requests([]<class T>(std::type_identity<T>) {
    FOR_SEEDS(200, [](Dice& dice) {
      net::http::Request asked = http_form(describe::random_value<T>(dice));
      const std::size_t mark = asked.target.find('?');
      switch (dice.below(4)) {
        case 0: asked.target += (mark == std::string::npos ? "?" : "&") + hostile(dice); break;
        case 1: asked.target.insert(dice.below(asked.target.size() + 1), hostile(dice)); break;
        case 2: asked.body.insert(dice.below(asked.body.size() + 1), hostile(dice)); break;
        default:
          for (std::string* text : {&asked.target, &asked.body}) {
            if (!text->empty()) (*text)[dice.below(text->size())] = static_cast<char>(dice.bits());
          }
      }
      const describe::Read<T> read = read_request<T>(asked);
      if (read) return;
      EXPECT_FALSE(read.error().empty());
      const net::http::Response said = problem(read.error());
      EXPECT_EQ(said.status, 400);
      EXPECT_TRUE(describe::read_json<Problem>(said.body)) << said.body;
    });
  });
}

TEST(Arguments, AreNotBlownUpByAliases) {
  std::string bomb = "[&a [x]";  // each twice the one before
  for (char name = 'b'; name < 'z'; ++name) {
    const char before = static_cast<char>(name - 1);
    bomb += {',', '&', name, ' ', '[', '*', before, ',', '*', before, ']'};
  }
  EXPECT_THAT(faults<requests::ListJobs>("/jobs?most=" + net::http::escape(bomb + "]")), testing::SizeIs(1));
}

}  // namespace
}  // namespace cadre::gateway
