// HTTP under TLS: who is believed, and what is refused.
#include "net/http/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/http/certificates_for_tests.h"
#include "net/http/frames.h"
#include "net/http/http_for_tests.h"
#include "net/raw_socket_test.h"
#include "tests/servers/scratch.h"

namespace cadre::net::http {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Kind = CertificateForTests::Kind;

/// A root, one between, and the server's; in files.
struct Certificates {
  Certificates() {
    root.write_to(path("root.pem"));
    stranger.write_to(path("stranger.pem"));
    server.write_to(path("chain.pem"), {&between});
    server.write_to(path("alone.pem"));
    expired.write_to(path("expired.pem"), {&between});
    server.write_key_to(path("key.pem"));
    expired.write_key_to(path("expired_key.pem"));
  }
  std::string path(const std::string& name) const { return folder.path() + "/" + name; }
  ServerOptions options(const std::string& certificates = "chain.pem", const std::string& key = "key.pem") const {
    ServerOptions options;
    options.tls = Tls{path(certificates), path(key)};
    options.body_max = [](Method, std::string_view) { return ByteSize{64 << 20}; };
    return options;
  }
  ClientOptions believing(const std::string& name) const {
    ClientOptions options;
    options.ca_file = path(name);
    return options;
  }

  servers::TempDir folder;
  CertificateForTests root{Kind::authority, "root"};
  CertificateForTests stranger{Kind::authority, "root"};
  CertificateForTests between{Kind::authority, "between", &root};
  CertificateForTests server{Kind::server, "server", &between, "DNS:localhost"};
  CertificateForTests expired{Kind::expired_server, "server", &between, "DNS:localhost"};
};

void echo_over_tls(std::unique_ptr<Exchange> exchange) { exchange->answer(text(exchange->request().body + "!")); }

Question tls_question_to(const HttpSides& sides, const std::string& host = "localhost") {
  Question question;
  question.url = "https://" + host + ":" + std::to_string(sides.server->port()) + "/";
  return question;
}

TEST(Tls, TheClientBelievesTheRootThatItKnows) {
  const Certificates certificates;
  HttpSides sides(echo_over_tls, certificates.options(), certificates.believing("root.pem"));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(sides.ask(tls_question_to(sides)).value().body, "!");
  EXPECT_EQ(sides.server->counters().connections, 1);
  EXPECT_EQ(sides.server->counters().handshakes_failed, 0);
}

TEST(Tls, OthersAreNotBelieved) {
  const Certificates certificates;
  {
    HttpSides sides(echo_over_tls, certificates.options(), certificates.believing("root.pem"));
    EXPECT_EQ(sides.ask(tls_question_to(sides, "127.0.0.1")).error().code, Errc::denied) << "another name";
  }
  {
    HttpSides sides(echo_over_tls, certificates.options(), certificates.believing("stranger.pem"));
    EXPECT_EQ(sides.ask(tls_question_to(sides)).error().code, Errc::denied) << "another root of the same name";
  }
  {
    HttpSides sides(echo_over_tls, certificates.options());
    EXPECT_EQ(sides.ask(tls_question_to(sides)).error().code, Errc::denied) << "a root that the system does not know";
  }
  {
    HttpSides sides(echo_over_tls, certificates.options("alone.pem"), certificates.believing("root.pem"));
    EXPECT_EQ(sides.ask(tls_question_to(sides)).error().code, Errc::denied) << "nothing leads to the root";
  }
  {
    HttpSides sides(echo_over_tls, certificates.options("expired.pem", "expired_key.pem"),
                    certificates.believing("root.pem"));
    EXPECT_EQ(sides.ask(tls_question_to(sides)).error().code, Errc::denied) << "its time is over";
    run_until(sides.loop, [&] { return sides.server->counters().open == 0; });
    EXPECT_EQ(sides.server->counters().requests, 0);
  }
}

TEST(Tls, FilesThatAreNoGoodAreInvalid) {
  const Certificates certificates;
  loop::RealLoop loop;
  SilentLog log;
  for (const auto& [certificate, key] : {std::pair{"none.pem", "key.pem"}, std::pair{"chain.pem", "none.pem"},
                                         std::pair{"key.pem", "key.pem"}, std::pair{"chain.pem", "expired_key.pem"}}) {
    const auto made = Server::listen(loop, log, certificates.options(certificate, key), echo_over_tls);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, Errc::invalid);
    EXPECT_THAT(made.error().message, HasSubstr(certificates.folder.path()));
  }
}

TEST(Tls, LargeBodiesGoBothWays) {
  const Certificates certificates;
  HttpSides sides(echo_over_tls, certificates.options(), certificates.believing("root.pem"));
  Question question = tls_question_to(sides);
  question.method = Method::post;
  question.body = std::string(16 << 20, 'x');
  EXPECT_TRUE(sides.ask(question).value().body == question.body + "!");
}

loop::Task<void> send_pieces_over_tls(std::unique_ptr<Exchange> exchange) {
  const std::unique_ptr<Stream> stream = exchange->stream(text(""));
  for (int i = 0; i < 500; ++i) {
    const Result<void> done = co_await stream->write(std::string(20'000, 'x'));
    if (!done) co_return;
  }
  static_cast<void>(co_await stream->end());
}

TEST(Tls, PiecesArrive) {
  const Certificates certificates;
  HttpSides* there = nullptr;
  HttpSides sides(
      [&](std::unique_ptr<Exchange> exchange) { there->loop.spawn(send_pieces_over_tls(std::move(exchange))); },
      certificates.options(), certificates.believing("root.pem"));
  there = &sides;
  std::size_t heard = 0;
  const auto hear = [&](std::string_view piece) { heard += piece.size(); };
  EXPECT_EQ(run_task(sides.loop, sides.client->ask(tls_question_to(sides), hear)).value().status, 200);
  EXPECT_EQ(heard, 500 * 20'000);
}

RawSocket connect_to_tls(const ServerOnThread& server) {
  return RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(server.port()));
}

TEST(Tls, APlainHttpRequestGetsAnErrorThatNamesHttps) {
  const Certificates certificates;
  ServerOnThread server(echo_over_tls, certificates.options());
  const RawSocket socket = connect_to_tls(server);
  socket.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(socket.hear(20'000), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("this port speaks HTTPS")));
  EXPECT_EQ(server.counters().requests, 0);
  EXPECT_EQ(server.counters().handshakes_failed, 1);
}

TEST(Tls, GarbageFailsTheHandshake) {
  const Certificates certificates;
  ServerOnThread server(echo_over_tls, certificates.options());
  for (const std::string& garbage :
       {std::string(100, '\0'), std::string("\x16\x03\x01\x00\x05hello", 10), std::string("x")}) {
    const RawSocket socket = connect_to_tls(server);
    socket.say(garbage);
    shutdown(socket.fd(), SHUT_WR);
    while (!socket.hear(20'000).empty()) {
    }
  }
  server.expect([](const Counters& counters) { return counters.handshakes_failed == 3 && counters.open == 0; });
}

TEST(Tls, AHandshakeThatDoesNotComeIsGivenUp) {
  const Certificates certificates;
  ServerOptions options = certificates.options();
  options.limits.handshake_wait = milliseconds(100);
  ServerOnThread server(echo_over_tls, options);
  const RawSocket silent = connect_to_tls(server);
  const RawSocket slow = connect_to_tls(server);
  slow.say("\x16\x03\x01");
  server.expect([](const Counters& counters) { return counters.timed_out == 2 && counters.open == 0; });
}

/// A client that says what curl does not say. Blocks.
class TlsPeer {
 public:
  TlsPeer(const ServerOnThread& server, const std::string& root, int version_max = TLS1_3_VERSION)
      : socket_(connect_to_tls(server)),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(nullptr, SSL_free) {
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_max_proto_version(context_.get(), version_max);
    SSL_CTX_load_verify_locations(context_.get(), root.c_str(), nullptr);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.fd());
    SSL_set1_host(ssl_.get(), "localhost");
    is_open_ = SSL_connect(ssl_.get()) == 1;
  }
  bool is_open() const { return is_open_; }
  int version() const { return SSL_version(ssl_.get()); }
  void say(const std::string& text) { SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())); }
  std::string hear_until(std::string_view end) {
    std::string all;
    char piece[4096];
    while (all.find(end) == std::string::npos) {
      const int size = SSL_read(ssl_.get(), piece, sizeof piece);
      if (size <= 0) break;
      all.append(piece, static_cast<std::size_t>(size));
    }
    return all;
  }
  const RawSocket& socket() const { return socket_; }

 private:
  RawSocket socket_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  bool is_open_ = false;
};

TEST(Tls, OldVersionsAreRefused) {
  const Certificates certificates;
  ServerOnThread server(echo_over_tls, certificates.options());
  EXPECT_FALSE(TlsPeer(server, certificates.path("root.pem"), TLS1_1_VERSION).is_open());
  EXPECT_EQ(TlsPeer(server, certificates.path("root.pem"), TLS1_2_VERSION).version(), TLS1_2_VERSION);
  EXPECT_EQ(TlsPeer(server, certificates.path("root.pem")).version(), TLS1_3_VERSION);
}

TEST(Tls, ManyRequestsAtOnceAreHeldBackAndAnswered) {
  const Certificates certificates;
  std::unique_ptr<Exchange> kept;
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) {
        if (exchange->request().target != "/first") return exchange->answer(text(exchange->request().target));
        kept = std::move(exchange);
      },
      certificates.options());
  TlsPeer peer(server, certificates.path("root.pem"));
  peer.say("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string all;
  for (int i = 0; i < 3'000; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  peer.say(all);
  server.expect([](const Counters& counters) { return counters.requests == 1; });
  server.on_loop([&](Server&) {
    kept->answer(text("/first"));
    return kept.reset(), 0;
  });
  const std::string heard = peer.hear_until("\r\n\r\n/2999");
  EXPECT_LT(heard.find("/first"), heard.find("\r\n\r\n/0"));
  EXPECT_THAT(heard, testing::EndsWith("\r\n\r\n/2999"));
}

loop::Task<void> answer_one(std::unique_ptr<Exchange> exchange) {
  Result<std::unique_ptr<WebSocket>> socket = co_await exchange->upgrade();
  Result<std::string> message = co_await (*socket)->receive();
  static_cast<void>(co_await (*socket)->send(*message + "!"));
  co_await (*socket)->close(1000, "");
}

TEST(Tls, AWebSocketGoesOverItToo) {
  const Certificates certificates;
  ServerOnThread* there = nullptr;
  ServerOnThread server(
      [&](std::unique_ptr<Exchange> exchange) { there->loop().spawn(answer_one(std::move(exchange))); },
      certificates.options());
  there = &server;
  TlsPeer peer(server, certificates.path("root.pem"));
  // The message comes with the request: it must not be lost on the way from one to the other.
  peer.say(std::string(
               "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n") +
           "\x81\x82" + "abcd" + static_cast<char>('h' ^ 'a') + static_cast<char>('i' ^ 'b'));
  const std::string heard = peer.hear_until(frame_head(Opcode::text, 3) + "hi!");
  EXPECT_THAT(heard, AllOf(StartsWith("HTTP/1.1 101 "), HasSubstr("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")));
  EXPECT_THAT(heard, HasSubstr("\x81\x03hi!"));
}

}  // namespace
}  // namespace cadre::net::http
