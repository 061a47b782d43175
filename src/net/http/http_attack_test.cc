// Whoever reaches the port may say what they like, as slowly as they like: they are refused and cost nothing that
// lasts.
#include <netinet/tcp.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>

#include "base/seeds.h"
#include "net/http/raw_http_for_tests.h"

namespace cadre::net::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

TEST(HttpAttack, MalformedRequestsAreRefusedAndTheConnectionIsClosed) {
  ServerOnThread server(hello, with({}));
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::pair<std::string, int> cases[] = {
      {"garbage\r\n\r\n", 400},
      {std::string(100, '\0'), 400},
      {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET /" + std::string(100'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(100'000, 'a') + "\r\n\r\n", 431},
      {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n",
       400},
      {post + "Content-Length: 0\r\nContent-Length: 40\r\n\r\nGET /hidden HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {post + "Content-Length: -1\r\n\r\n", 400},
      {post + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {post + "Content-Length: 1001\r\n\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n", 413},
      {post + "Transfer-Encoding: chunked\r\n\r\nx\r\n", 400},
  };
  for (const auto& [bytes, status] : cases) {
    const RawSocket socket = connect(server);
    socket.say(bytes);
    EXPECT_THAT(hear_all(socket), is_refusal(status)) << bytes.substr(0, 100);
  }
  const Counters& counters = server.counters();
  EXPECT_EQ(counters.requests, 0);
  EXPECT_EQ(counters.refused_large, 4);
  EXPECT_EQ(counters.refused_malformed, std::size(cases) - 4);
}

TEST(HttpAttack, AClientStillSendingALargeBodyReceivesTheRefusal) {
  ServerOnThread server(hello, with({}));
  const RawSocket socket = connect(server);
  socket.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'x'));
  EXPECT_THAT(hear_all(socket), is_refusal(413));
}

TEST(HttpAttack, BodiesThatAreNotWholeHaveABoundTogether) {
  Limits limits;
  limits.bodies_max = ByteSize{100'000};
  ServerOnThread server(hello, with(limits));
  const std::string head = "POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 90000\r\n\r\n";
  const std::string most(80'000, 'x');
  std::array<std::optional<RawSocket>, 2> large;
  for (auto& one : large) one.emplace(connect(server)).say(head + most);
  // The server may read from both in turn: either of them can be the one that is too much.
  std::array<pollfd, 2> answered{pollfd{large[0]->fd(), POLLIN, 0}, pollfd{large[1]->fd(), POLLIN, 0}};
  ASSERT_GT(poll(answered.data(), answered.size(), 20'000), 0);
  const std::size_t refused = answered[0].revents != 0 ? 0 : 1;
  std::optional<RawSocket>& kept = large[1 - refused];
  EXPECT_THAT(hear_all(*large[refused]), is_refusal(503));
  EXPECT_EQ(server.counters().refused_bodies, 1);
  const RawSocket small = connect(server);
  small.say("POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\n12345");
  EXPECT_THAT(hear_all(small), StartsWith("HTTP/1.1 200 ")) << "there is room for small ones";
  kept.reset();  // a closed connection frees its memory
  for (int i = 0; i < 2; ++i) {
    const RawSocket next = connect(server);
    next.say(head + most);
    next.say(std::string(10'000, 'x'));
    EXPECT_THAT(next.hear(2'000), StartsWith("HTTP/1.1 200 "));
  }
}

TEST(HttpAttack, ASlowHeaderIsGivenUp) {
  ServerOnThread server(hello, with(quick_limits()));
  const RawSocket socket = connect(server);
  std::string heard;
  for (const char c : "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(3'000, 'a')) {
    socket.say({&c, 1});
    heard = socket.hear(5);
    if (!heard.empty()) break;
  }
  EXPECT_THAT(heard + hear_all(socket), is_refusal(408));
  EXPECT_EQ(server.counters().timed_out, 1);
}

TEST(HttpAttack, ASlowBodyIsGivenUp) {
  for (const std::string kind : {"Content-Length: 10", "Transfer-Encoding: chunked"}) {
    ServerOnThread server(hello, with(quick_limits()));
    const RawSocket socket = connect(server);
    socket.say("POST / HTTP/1.1\r\nHost: x\r\n" + kind + "\r\n\r\n1\r\na");
    EXPECT_THAT(hear_all(socket), is_refusal(408));
    EXPECT_EQ(server.counters().timed_out, 1);
  }
}

TEST(HttpAttack, ABodyThatKeepsComingIsBorne) {
  Limits limits;
  limits.header_wait = limits.body_wait = seconds(1);
  ServerOnThread server(hello, with(limits));
  const RawSocket socket = connect(server);
  socket.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\n\r\n");
  for (int i = 0; i < 40; ++i) {  // in all longer than the wait
    socket.say("x");
    std::this_thread::sleep_for(milliseconds(40));
  }
  EXPECT_THAT(hear_until(socket, "hello"), HasSubstr("200 OK"));
}

TEST(HttpAttack, AnIdleConnectionIsClosedWithoutAWord) {
  ServerOnThread server(hello, with(quick_limits()));
  const RawSocket fresh = connect(server);
  const RawSocket used = connect(server);
  used.say(good);
  EXPECT_THAT(hear_until(used, hello_0), HasSubstr("200 OK"));
  EXPECT_TRUE(is_closed(fresh));
  EXPECT_TRUE(is_closed(used));
  server.expect([](const Counters& counters) { return counters.open == 0; });
  EXPECT_EQ(server.counters().timed_out, 0);
}

TEST(HttpAttack, AConnectionThatWaitsForAResponseIsNotIdle) {
  std::unique_ptr<Exchange> kept;
  ServerOnThread server([&](std::unique_ptr<Exchange> exchange) { kept = std::move(exchange); }, with(quick_limits()));
  const RawSocket socket = connect(server);
  socket.say(good);
  EXPECT_EQ(socket.hear(1'000), "");
  server.on_loop([&](Server&) {
    kept->answer(text("late"));
    return kept.reset(), 0;
  });
  EXPECT_THAT(hear_until(socket, "late"), HasSubstr("200 OK"));
}

TEST(HttpAttack, ClosesAConnectionThatNeverReads) {
  ServerOnThread server([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(std::string(32 << 20, 'x'))); },
                        with(quick_limits()));
  const RawSocket socket = connect(server);
  socket.say(good);
  server.expect([](const Counters& counters) { return counters.timed_out == 1 && counters.open == 0; });
}

TEST(HttpAttack, KeepsAConnectionThatReadsSlowly) {
  Limits limits = quick_limits();
  limits.write_wait = seconds(5);
  ServerOnThread server([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(std::string(16 << 20, 'x'))); },
                        with(limits));
  const RawSocket socket = connect(server);
  socket.say(good);
  std::size_t heard = 0;
  while (heard < 16 << 20) {  // longer than it may be idle
    const std::string more = socket.hear(20'000);
    ASSERT_FALSE(more.empty()) << heard;
    heard += more.size();
    std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_EQ(server.counters().timed_out, 0);
}

TEST(HttpAttack, RequestsThatComeTogetherAreAnsweredInOrder) {
  ServerOnThread server([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(exchange->request().target)); },
                        with({}));
  const RawSocket socket = connect(server);
  std::string all, last;
  for (int i = 0; i < 2'000; ++i) {
    last = "/" + std::to_string(i);
    all += "GET " + last + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  socket.say(all);
  const std::string heard = hear_until(socket, "\r\n\r\n" + last);
  std::size_t at = 0;
  for (int i = 0; i < 2'000; ++i) {
    const std::size_t found = heard.find("\r\n\r\n/" + std::to_string(i), at);
    ASSERT_NE(found, std::string::npos) << i;
    at = found + 1;
  }
  EXPECT_EQ(server.counters().requests, 2'000);
}

/// Answers each in a turn of its own.
TEST(HttpAttack, RequestsThatComeTogetherAreAnsweredInOrderAlsoLater) {
  std::vector<std::string> asked;
  ServerOnThread* there = nullptr;
  std::deque<std::unique_ptr<Exchange>> open;
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) {
        asked.push_back(exchange->request().target);
        open.push_back(std::move(exchange));
        EXPECT_EQ(open.size(), 1) << "one at a time";
        there->loop().post([&] {
          const std::unique_ptr<Exchange> first = std::move(open.front());
          open.pop_front();
          first->answer(text(first->request().target));
        });
      },
      with({}));
  there = &server;
  const RawSocket socket = connect(server);
  std::string all;
  for (int i = 0; i < 300; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  socket.say(all);
  const std::string heard = hear_until(socket, "\r\n\r\n/299");
  EXPECT_THAT(heard, EndsWith("/299"));
  server.on_loop([&](Server&) {
    EXPECT_EQ(asked.size(), 300);
    return 0;
  });
}

TEST(HttpAttack, AnotherRequestIsNotTakenForAnEnd) {
  std::unique_ptr<Exchange> kept;
  std::atomic<int> gone = 0;
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) {
        if (exchange->request().target == "/second") return exchange->answer(text("second"));
        exchange->on_gone([&] { ++gone; });
        kept = std::move(exchange);
      },
      with({}));
  const RawSocket socket = connect(server);
  socket.say(good);
  server.expect([](const Counters& counters) { return counters.requests == 1; });
  socket.say("GET /second HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(socket.hear(50), "");
  EXPECT_EQ(gone, 0);
  server.on_loop([&](Server&) {
    kept->answer(text("first"));
    return kept.reset(), 0;
  });
  const std::string heard = hear_until(socket, "second");
  EXPECT_LT(heard.find("first"), heard.find("second"));
}

TEST(HttpAttack, AResetDuringAResponseAffectsNoOtherConnection) {
  ServerOnThread server([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(std::string(32 << 20, 'x'))); },
                        with({}));
  for (int i = 0; i < 20; ++i) {
    const RawSocket socket = connect(server);
    socket.say(good + good);
    EXPECT_FALSE(socket.hear(20'000).empty());
    const linger now{1, 0};
    setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  server.expect([](const Counters& counters) { return counters.open == 0; });
}

TEST(HttpAttack, ManyRequestsWithoutReadingAreHeldBack) {
  std::atomic<int> asked = 0;
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) {
        ++asked;
        exchange->answer(text(std::string(100'000, 'x')));
      },
      with({}));
  const RawSocket socket = connect(server);
  for (int i = 0; i < 1'000; ++i) socket.say(good);
  int before = -1;
  while (before != asked) {
    before = asked;
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_LT(asked, 400) << "beyond what the system holds for the peer nothing is answered";
}

TEST(HttpAttack, Sends100ContinueWhenExpected) {
  ServerOnThread server(hello, with({}));
  const RawSocket socket = connect(server);
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n";
  socket.say(post + "Content-Length: 3\r\n\r\n");
  EXPECT_EQ(hear_until(socket, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  socket.say("abc");
  EXPECT_THAT(hear_until(socket, "hello 3"), StartsWith("HTTP/1.1 200 OK"));
  socket.say(post + "Content-Length: 3\r\n\r\nabc");
  EXPECT_THAT(hear_until(socket, "hello 3"), StartsWith("HTTP/1.1 200 OK"));
  socket.say(post + "Content-Length: 2000\r\n\r\n");
  EXPECT_THAT(hear_all(socket), is_refusal(413));
}

TEST(HttpAttack, AnswersAnHttp10ClientOnceAndCloses) {
  ServerOnThread server(hello, with({}));
  const RawSocket socket = connect(server);
  socket.say("GET / HTTP/1.0\r\n\r\n");
  EXPECT_THAT(hear_all(socket), AllOf(HasSubstr("Connection: close"), EndsWith(hello_0)));
}

TEST(HttpAttack, AnswersAClientThatClosedItsSendingSide) {
  ServerOnThread server(hello, with({}));
  const RawSocket socket = connect(server);
  socket.say(good);
  shutdown(socket.fd(), SHUT_WR);
  EXPECT_THAT(hear_all(socket), EndsWith(hello_0));
}

std::string random_words(Dice& dice) {
  static const std::string words[] = {"GET ",
                                      "POST ",
                                      "/",
                                      "/large",
                                      " HTTP/1.1\r\n",
                                      " HTTP/1.0\r\n",
                                      "Host: x\r\n",
                                      "Content-Length: ",
                                      "Transfer-Encoding: chunked\r\n",
                                      "\r\n",
                                      "\r",
                                      "\n",
                                      "Connection: upgrade\r\nUpgrade: websocket\r\n",
                                      "0",
                                      "5",
                                      "ffffffff",
                                      " ",
                                      ":",
                                      "Expect: 100-continue\r\n",
                                      "\r\n\r\n",
                                      "abc",
                                      std::string("\0", 1),
                                      "\xff"};
  std::string text = dice.percent(50) ? "POST / HTTP/1.1\r\nHost: x\r\n" : "";
  for (std::size_t i = dice.below(30); i > 0; --i) text += words[dice.below(std::size(words))];
  return text;
}

TEST(HttpAttack, NothingThatIsSaidKeepsOthersFromBeingServed) {
  Limits limits = quick_limits();
  limits.idle_wait = seconds(5);
  ServerOnThread server(hello, with(limits));
  FOR_SEEDS(10'000, [&](Dice& dice) {
    {
      const RawSocket socket = connect(server);
      socket.say(random_words(dice));
      if (dice.percent(20)) static_cast<void>(socket.hear(1));
    }
    if (!dice.percent(10)) return;
    const RawSocket friendly = connect(server);
    friendly.say(good);
    EXPECT_THAT(hear_until(friendly, hello_0), HasSubstr("200 OK"));
  });
  server.expect([](const Counters& counters) { return counters.open == 0; });
  EXPECT_GT(server.counters().refused_malformed, 0U);
}

}  // namespace
}  // namespace cadre::net::http
