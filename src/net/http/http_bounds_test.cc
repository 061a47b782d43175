// Connections and answers are bounded, and what is beyond the bounds gives way.
#include <fstream>
#include <vector>

#include "net/http/raw_http_for_tests.h"

namespace cadre::net::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// How much memory this process has, in bytes.
std::size_t resident() {
  std::size_t size = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * 4'096;
}

TEST(HttpBounds, UnreadResponsesAreBoundedTogether) {
  Limits limits;
  limits.unsent_max = ByteSize{40 << 20};
  ServerOnThread server([](auto exchange) { exchange->answer(text(std::string(16 << 20, 'x'))); }, with(limits));
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 20; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
    server.expect([&](const Counters& counters) { return counters.requests == static_cast<std::uint64_t>(i + 1); });
  }
  server.expect([](const Counters& counters) { return counters.cut_unsent >= 15; });
  server.expect([](const Counters& counters) { return counters.open <= 6; });
  const RawSocket reader = connect(server);
  reader.say(good);
  EXPECT_EQ(hear_until(reader, std::string(100, 'x')).substr(0, 15), "HTTP/1.1 200 OK") << "others are served";
}

TEST(HttpBounds, CountsABodyUntilItIsReleasedOrItsRequestEnds) {
  Limits limits;
  limits.bodies_max = ByteSize{100'000};
  std::vector<std::unique_ptr<Exchange>> kept;
  ServerOnThread server([&](std::unique_ptr<Exchange> exchange) { kept.push_back(std::move(exchange)); }, with(limits));
  const std::string request =
      "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 80000\r\n\r\n" + std::string(80'000, 'x');
  std::vector<RawSocket> sockets;
  const auto expect_served = [&](std::uint64_t requests) {
    sockets.push_back(connect(server));
    sockets.back().say(request);
    server.expect([&](const Counters& counters) { return counters.requests == requests; });
  };
  const auto expect_refused = [&] {
    const RawSocket other = connect(server);
    other.say(request);
    EXPECT_THAT(hear_all(other), is_refusal(503));
  };
  expect_served(1);
  expect_refused();
  server.on_loop([&](Server&) {
    EXPECT_EQ(kept[0]->request().body.size(), 80'000U);
    kept[0]->release_body();
    EXPECT_EQ(kept[0]->request().body, "");
    return 0;
  });
  expect_served(2);
  sockets.clear();
  server.expect([](const Counters& counters) { return counters.open == 0; });
  expect_refused();  // the second body is still there, though its peer is gone
  server.on_loop([&](Server&) { return kept.clear(), 0; });
  expect_served(3);
  server.on_loop([&](Server&) {
    kept[0]->answer(text("done"));
    return kept.clear(), 0;
  });
  EXPECT_THAT(hear_until(sockets.back(), "done"), HasSubstr("200 OK"));
  sockets.back().say(request);
  server.expect([](const Counters& counters) { return counters.requests == 4; });
  EXPECT_EQ(server.counters().refused_bodies, 2U);
}

TEST(HttpBounds, AGetWithABodyIsRefusedBeforeTheBodyComes) {
  ServerOnThread server(hello, with({}));
  for (const std::string method : {"GET", "HEAD", "DELETE"}) {
    const RawSocket socket = connect(server);
    socket.say(method + " /large HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n");
    EXPECT_THAT(hear_all(socket), AllOf(is_refusal(400), HasSubstr("GET, HEAD and DELETE have no body")));
  }
  EXPECT_EQ(server.counters().requests, 0U);
  EXPECT_EQ(server.counters().refused_malformed, 3U);
}

TEST(HttpBounds, ASharedDocumentIsNotCopiedForEachAnswer) {
  const auto document = std::make_shared<const std::string>(std::string(8 << 20, 'x'));
  ServerOnThread server([&](auto exchange) {
    Response response = text("");
    response.document = document;
    exchange->answer(std::move(response));
  });
  const std::size_t before = resident();
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 100; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
  }
  server.expect([](const Counters& counters) { return counters.requests == 100; });
  EXPECT_LT(resident(), before + (std::size_t{200} << 20)) << "100 copies would take 800 MB";
  EXPECT_EQ(server.counters().cut_unsent, 0U);
  std::string all;
  while (all.size() < (8 << 20)) {
    const std::string more = sockets.front().hear(20'000);
    if (more.empty()) break;
    all += more;
  }
  EXPECT_THAT(all, AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("Content-Length: 8388608\r\n"), EndsWith("xxxx")));
}

TEST(HttpBounds, ConnectionsBeyondTheBoundAreRefusedWhileAllAreBusy) {
  Limits limits;
  limits.connections_max = 5;
  std::vector<std::unique_ptr<Exchange>> kept;
  const auto serve = [&](std::unique_ptr<Exchange> exchange) {
    if (exchange->request().path() == "/") return hello(std::move(exchange));
    kept.push_back(std::move(exchange));
  };
  ServerOnThread server(serve, with(limits));
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 5; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  server.expect([](const Counters& counters) { return counters.requests == 5; });
  EXPECT_THAT(hear_all(connect(server)), is_refusal(503));
  EXPECT_EQ(server.counters().refused_connections, 1);
  sockets.pop_back();
  server.expect([](const Counters& counters) { return counters.open == 4; });
  const RawSocket again = connect(server);
  again.say(good);
  EXPECT_THAT(hear_until(again, hello_0), HasSubstr("200 OK"));
}

TEST(HttpBounds, ConnectionsThatWaitGiveWayToNewOnes) {
  Limits limits;
  limits.connections_max = 4;
  ServerOnThread server(hello, with(limits));
  const RawSocket idle = connect(server);
  idle.say(good);
  EXPECT_THAT(hear_until(idle, hello_0), HasSubstr("200 OK"));
  const RawSocket slow = connect(server);  // sends a body so slowly that it is never late
  slow.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\na");
  server.expect([](const Counters& counters) { return counters.open == 2; });
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 10; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
    EXPECT_THAT(hear_until(sockets.back(), hello_0), HasSubstr("200 OK")) << i;
  }
  EXPECT_TRUE(is_closed(idle));
  EXPECT_TRUE(is_closed(slow));
  EXPECT_FALSE(server.counters().refused_connections);
  EXPECT_EQ(server.counters().evicted_connections, 8U);
  EXPECT_EQ(server.counters().open, 4);
  sockets.back().say(good);
  EXPECT_THAT(hear_until(sockets.back(), hello_0), HasSubstr("200 OK")) << "the newest stay";
}

TEST(HttpBounds, OneAddressMayNotHaveThemAll) {
  Limits limits;
  limits.connections_max_each = 3;
  std::vector<std::unique_ptr<Exchange>> kept;
  ServerOnThread server([&](std::unique_ptr<Exchange> exchange) { kept.push_back(std::move(exchange)); }, with(limits));
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
  }
  server.expect([](const Counters& counters) { return counters.requests == 3; });
  EXPECT_THAT(hear_all(connect(server)), is_refusal(503));
}

}  // namespace
}  // namespace cadre::net::http
