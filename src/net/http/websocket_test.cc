// What a WebSocket of our server promises to peers that are not ours, and to peers that are no good.
#include "net/http/websocket_for_tests.h"

#include <atomic>

#include "base/seeds.h"
#include "net/http/frames.h"
#include "net/http/http_for_tests.h"

namespace cadre::net::http {
namespace {

/// What the handlers below saw.
struct Seen {
  std::atomic<int> ended = 0;
  std::atomic<int> messages = 0;
  std::string why;  ///< the last end; to be read on the loop
};

loop::Task<void> echo(std::unique_ptr<Exchange> exchange, Seen& seen, loop::Loop& loop) {
  Result<std::unique_ptr<WebSocket>> upgraded = co_await exchange->upgrade();
  exchange.reset();
  if (!upgraded) {
    seen.why = upgraded.error().message;
    ++seen.ended;
    co_return;
  }
  const std::unique_ptr<WebSocket> socket = *std::move(upgraded);
  while (true) {
    Result<std::string> message = co_await socket->receive();
    if (!message) {
      seen.why = message.error().message;
      EXPECT_EQ(message.error().code, Errc::unavailable);
      break;
    }
    ++seen.messages;
    if (message->starts_with("close ")) {
      const auto code = static_cast<std::uint16_t>(std::stoi(message->substr(6)));
      co_await socket->close(code, "as you say");
      const Result<void> late = co_await socket->send("late");
      EXPECT_EQ(late.error().code, Errc::unavailable);
      break;
    }
    if (*message == "leave") break;
    if (*message == "later") co_await loop::sleep(loop, milliseconds(1'500));
    const Result<void> sent = co_await socket->send(*std::move(message));
    if (!sent) break;
  }
  ++seen.ended;
}

struct Echoing {
  explicit Echoing(Limits limits = {}) {
    ServerOptions options;
    options.limits = limits;
    server = std::make_unique<ServerOnThread>(
        [this](std::unique_ptr<Exchange> exchange) {
          if (!exchange->request().is_websocket) return exchange->answer(text("plain"));
          server->loop().spawn(echo(std::move(exchange), seen, server->loop()));
        },
        options);
  }
  WebSocketForTests connect() { return WebSocketForTests::connect("127.0.0.1", server->port(), "/"); }
  /// When all have ended.
  std::string why() {
    server->expect([](const Counters& counters) { return counters.open == 0; });
    return server->on_loop([this](Server&) { return seen.why; });
  }

  Seen seen;
  std::unique_ptr<ServerOnThread> server;
};

int code_of_end(WebSocketForTests& peer) {
  try {
    while (true) peer.receive();
  } catch (const WebSocketForTests::Closed& closed) {
    return closed.code;
  }
}

TEST(WebSocket, EchoesMessagesOfAllSizes) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  for (const std::size_t size : {0, 1, 125, 126, 127, 4'096, 65'535, 65'536, 1 << 20}) {
    std::string message(size, 'x');
    if (size > 0) message.back() = 'y';
    peer.send(message);
    EXPECT_TRUE(peer.receive() == message) << size;
  }
  peer.send("grüße", WebSocketForTests::Kind::binary);
  EXPECT_EQ(peer.receive(), "grüße");
  peer.close();
  EXPECT_EQ(echoing.why(), "the peer has closed with 1000");
}

TEST(WebSocket, ManyMessagesKeepTheirOrder) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 300; ++i) peer.send(std::to_string(i));
    for (int i = 0; i < 300; ++i) ASSERT_EQ(peer.receive(), std::to_string(i));
  }
}

TEST(WebSocket, FragmentsAreOneMessage) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  peer.send_in_pieces({"o", "", "n", "e"});
  EXPECT_EQ(peer.receive(), "one");
  peer.send_in_pieces({"\xc3", "\xbc"});  // a character in two fragments
  EXPECT_EQ(peer.receive(), "ü");
}

TEST(WebSocket, APingIsAnswered) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  peer.ping("there?");
  peer.send("after");
  EXPECT_EQ(peer.receive(), "after");
  EXPECT_EQ(peer.heard().pongs, 1);
}

TEST(WebSocket, IsPingedWhileIdleAndLivesOn) {
  Limits limits;
  limits.idle_wait = milliseconds(400);
  Echoing echoing(limits);
  WebSocketForTests peer = echoing.connect();
  peer.send("later");  // which it hears after several pings, and Beast answers them while it reads
  EXPECT_EQ(peer.receive(), "later");
  EXPECT_GE(peer.heard().pings, 2);
  EXPECT_EQ(echoing.server->counters().timed_out, 0);
}

TEST(WebSocket, ClosesAConnectionWithoutPongs) {
  Limits limits;
  limits.idle_wait = milliseconds(200);
  Echoing echoing(limits);
  WebSocketForTests peer = echoing.connect();  // and does not read
  EXPECT_EQ(echoing.why(), "the peer has disconnected");
  EXPECT_EQ(echoing.server->counters().timed_out, 1);
}

TEST(WebSocket, TheServerSaysGoodbyeWithACode) {
  for (const int code : {1000, 1008, 1011, 1012, 4000}) {
    Echoing echoing;
    WebSocketForTests peer = echoing.connect();
    peer.send("close " + std::to_string(code));
    EXPECT_EQ(code_of_end(peer), code);
    EXPECT_EQ(peer.heard().close_reason, "as you say");
    EXPECT_EQ(echoing.why(), "");
    EXPECT_EQ(echoing.seen.ended, 1);
  }
}

TEST(WebSocket, AnEndedHandlerSendsACloseFrame) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  peer.send("leave");
  EXPECT_EQ(code_of_end(peer), 1001);
  EXPECT_EQ(echoing.seen.ended, 1);
}

TEST(WebSocket, DetectsACutConnection) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  peer.send("x");
  EXPECT_EQ(peer.receive(), "x");
  peer.cut();
  EXPECT_EQ(echoing.why(), "the peer has disconnected");
}

TEST(WebSocket, ATooLargeMessageIsRefused) {
  Limits limits;
  limits.message_max = ByteSize{1'000};
  Echoing echoing(limits);
  {
    WebSocketForTests peer = echoing.connect();
    peer.send(std::string(1'000, 'x'));
    EXPECT_EQ(peer.receive().size(), 1'000);
    peer.send(std::string(1'001, 'x'));
    EXPECT_EQ(code_of_end(peer), 1009);
  }
  {
    WebSocketForTests peer = echoing.connect();
    peer.send_in_pieces({std::string(600, 'x'), std::string(600, 'x')});
    EXPECT_EQ(code_of_end(peer), 1009);
  }
  EXPECT_EQ(echoing.server->counters().refused_large, 2);
}

TEST(WebSocket, RefusesMalformedFrames) {
  const std::pair<std::string, int> cases[] = {
      {frame_head(Opcode::text, 3) + "abc", 1002},  // not masked
      {"\xff\xff\xff\xff\xff\xff\xff\xff", 1002},     {"GET / HTTP/1.1\r\n\r\n", 1002},
      {std::string("\x81\x81\0\0\0\0\xff", 7), 1007}, {std::string("\x88\x81\0\0\0\0\x03", 7), 1002},
  };
  Echoing echoing;
  for (const auto& [bytes, code] : cases) {
    WebSocketForTests peer = echoing.connect();
    peer.say_raw(bytes);
    EXPECT_EQ(code_of_end(peer), code) << testing::PrintToString(bytes);
  }
  EXPECT_EQ(echoing.server->counters().refused_malformed, std::size(cases));
}

TEST(WebSocket, ANormalRequestIsServedBesideIt) {
  Echoing echoing;
  WebSocketForTests peer = echoing.connect();
  EXPECT_THROW(WebSocketForTests::connect("127.0.0.1", echoing.server->port(), "/", {{"Upgrade", "h2c"}}),
               std::runtime_error);
  peer.send("x");
  EXPECT_EQ(peer.receive(), "x");
}

TEST(WebSocket, AWrongHandshakeIsAnswered) {
  Echoing echoing;
  const auto status = [&](const std::string& name, const std::string& value) {
    try {
      WebSocketForTests::connect("127.0.0.1", echoing.server->port(), "/", {{name, value}});
      return std::string("101");
    } catch (const std::runtime_error& problem) {
      return std::string(problem.what()).substr(0, 3);
    }
  };
  EXPECT_EQ(status("X-Other", "fine"), "101");
  EXPECT_EQ(status("Sec-WebSocket-Version", "8"), "426");
  EXPECT_EQ(status("Sec-WebSocket-Key", "short"), "400");
}

loop::Task<void> flood(std::unique_ptr<Exchange> exchange, std::atomic<int>& sent, std::atomic<int>& ended) {
  const Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
  while (true) {
    const Result<void> done = co_await (*socket)->send(std::string(100'000, 'x'));
    if (!done) break;
    ++sent;
  }
  ++ended;
}

TEST(WebSocket, ASlowReaderBlocksTheSenderAndIsClosedAtTheTimeout) {
  std::atomic<int> sent = 0, ended = 0;
  ServerOnThread* there = nullptr;
  ServerOptions options;
  options.limits.write_wait = milliseconds(500);
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) { there->loop().spawn(flood(std::move(exchange), sent, ended)); },
      options);
  there = &server;
  WebSocketForTests peer = WebSocketForTests::connect("127.0.0.1", server.port(), "/");
  server.expect([&](const Counters& counters) { return counters.timed_out == 1 && ended == 1; });
  EXPECT_LT(sent, 400) << "what the system holds, and nobody else holds more";
}

TEST(WebSocket, UnreadMessagesBlockThePeer) {
  std::unique_ptr<WebSocket> kept;
  struct Keep {
    static loop::Task<void> keep(std::unique_ptr<Exchange> exchange, std::unique_ptr<WebSocket>& into) {
      Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
      into = *std::move(socket);
    }
  };
  ServerOnThread* there = nullptr;
  ServerOptions options;
  options.limits.idle_wait = milliseconds(200);
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) { there->loop().spawn(Keep::keep(std::move(exchange), kept)); }, options);
  there = &server;
  WebSocketForTests peer = WebSocketForTests::connect("127.0.0.1", server.port(), "/");
  peer.send("one");
  peer.send("two");
  std::this_thread::sleep_for(milliseconds(600));
  EXPECT_EQ(server.counters().open, 1) << "who waits for us is not idle";
  struct Take {
    static loop::Task<void> take(WebSocket& socket, std::promise<std::string>& heard) {
      const Result<std::string> first = co_await socket.receive();
      const Result<std::string> second = co_await socket.receive();
      heard.set_value(*first + " " + *second);
    }
  };
  std::promise<std::string> heard;
  server.on_loop([&](Server&) {
    server.loop().spawn(Take::take(*kept, heard));
    return 0;
  });
  EXPECT_EQ(heard.get_future().get(), "one two");
  server.on_loop([&](Server&) { return kept.reset(), 0; });
}

TEST(WebSocket, SurvivesGarbage) {
  Limits limits;
  limits.message_max = ByteSize{10'000};
  Echoing echoing(limits);
  WebSocketForTests friendly = echoing.connect();
  FOR_SEEDS(10'000, [&](Dice& dice) {
    {
      WebSocketForTests peer = echoing.connect();
      std::string bytes(dice.below(200), '\0');
      for (char& c : bytes) c = static_cast<char>(dice.bits());
      if (dice.percent(50) && bytes.size() > 2) bytes[0] = '\x81', bytes[1] = static_cast<char>(bytes[1] | 0x80);
      peer.say_raw(bytes);
      if (dice.percent(50)) peer.cut();
    }
    friendly.send("still there");
    EXPECT_EQ(friendly.receive(), "still there");
  });
  friendly.close();
  echoing.server->expect([](const Counters& counters) { return counters.open == 0; });
  EXPECT_GT(echoing.server->counters().refused_malformed, 0U);
}

}  // namespace
}  // namespace cadre::net::http
