// What the command line asks is what the gateway reads, and what the gateway answers is what the command line gets.
#include "base/seeds.h"
#include "describe/random.h"
#include "gateway/arguments.h"
#include "gateway/problem.h"
#include "gateway/requests_for_tests.h"
#include "gateway/route_table.h"
#include "net/http/http_for_tests.h"
#include "rest/client.h"

namespace cadre {
namespace {

using describe::Value;
using net::http::Exchange;

/// A gateway that reads requests of one kind and says what it is told to.
template <api::Routed T>
struct PlayedGateway {
  PlayedGateway() {
    table.add(T::route.method, "/api/v1" + std::string(T::route.path), 0);
    server = net::http::Server::listen(loop, log, options(), [this](std::unique_ptr<Exchange> exchange) {
               take(std::move(exchange));
             }).value();
    connection.emplace(loop, rest::Endpoint{"http://127.0.0.1:" + std::to_string(server->port()), "", "", ""},
                       rest::Options{});
  }
  static net::http::ServerOptions options() {
    net::http::ServerOptions made;
    made.body_max = [](net::http::Method, std::string_view) { return ByteSize{64 << 20}; };
    made.limits.header_max = ByteSize{1 << 20};
    return made;
  }
  void take(std::unique_ptr<Exchange> exchange) {
    const net::http::Request& request = exchange->request();
    const gateway::RouteTable::Outcome found = table.find(request.method, request.path());
    if (!found.match) return exchange->answer(gateway::problem(404, "there is no " + request.target));
    auto read = gateway::arguments(operation, found.match->names, request).and_then(describe::read<T>);
    if (!read) return exchange->answer(gateway::problem(read.error()));
    understood = describe::write(*read);
    bytes = request.body;
    net::http::Response response;
    response.body = answer;
    exchange->answer(std::move(response));
  }

  loop::RealLoop loop;
  SilentLog log;
  const api::Operation operation = api::operation_of<T>();
  gateway::RouteTable table;
  std::unique_ptr<net::http::Server> server;
  std::optional<rest::Client> connection;
  std::string answer;
  Value understood;
  std::string bytes;
};

/// What is empty cannot stand in a path.
template <api::Routed T>
bool can_be_asked(const T& request) {
  const net::http::Request form = gateway::http_form(request);
  return form.path().find("//") == std::string_view::npos && !form.path().ends_with('/');
}

template <api::Routed T>
void go_both_ways(PlayedGateway<T>& gateway, Dice& dice) {
  using Answer = typename T::Answer;
  const T request = describe::random_value<T>(dice);
  if (!can_be_asked(request)) return;
  const Answer answer = describe::random_value<Answer>(dice);
  gateway.answer = describe::write_json(answer);
  constexpr bool is_bytes = T::route.body == api::Body::bytes;
  const std::string bytes = is_bytes ? std::string(dice.below(100), '\xff') : "";
  const Result<Answer> got =
      net::http::run_task(gateway.loop, is_bytes ? gateway.connection->put(request, bytes, rest::answer_max)
                                                 : gateway.connection->ask(request));
  ASSERT_TRUE(got) << T::type_name << ": " << got.error().message;
  EXPECT_EQ(gateway.understood, describe::write(request)) << T::type_name;
  EXPECT_EQ(describe::write(*got), describe::write(answer)) << T::type_name;
  EXPECT_TRUE(!is_bytes || gateway.bytes == bytes);
}

TEST(RoundTrip, OfEveryRequestAndItsAnswerChangesNothing) {
  gateway::for_all_requests([]<class T>(std::type_identity<T>) {
    PlayedGateway<T> gateway;
    FOR_SEEDS(30, [&](Dice& dice) { go_both_ways(gateway, dice); });
  });
}

TEST(RoundTrip, FaultsArriveAllOfThem) {
  PlayedGateway<access::CreateUser> gateway;
  access::CreateUser request;
  request.max_slots = -5;
  const auto got = net::http::run_task(gateway.loop, gateway.connection->ask(request));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::invalid);
  EXPECT_THAT(got.error().message, testing::StartsWith("the request has 2 faults\n  name: "));
  EXPECT_THAT(got.error().message, testing::HasSubstr("\n  max_slots: must be from -1 to 1000000000, is -5"));
}

}  // namespace
}  // namespace cadre
