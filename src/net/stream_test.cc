#include "net/stream.h"

#include "net/http/certificates_for_tests.h"
#include "net/http/http_for_tests.h"
#include "tests/servers/postgres.h"
#include "tests/servers/scratch.h"

namespace cadre::net {
namespace {

using http::HttpSides;
using testing::HasSubstr;
using Kind = http::CertificateForTests::Kind;

/// Asks for / when it is open, and keeps what it hears.
struct Caller final : Stream::User {
  Caller(loop::RealLoop& l, const StreamOptions& options) : loop(l), stream(std::in_place, l, options, *this) {}

  void opened() override { stream->send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"); }
  void received(std::string_view bytes) override { heard += bytes; }
  void lost(Error e) override {
    error = std::move(e);
    stream.reset();
  }
  void run_until_lost() {
    http::run_until(loop, [this] { return error.has_value(); });
  }

  loop::RealLoop& loop;
  std::string heard;
  std::optional<Error> error;
  std::optional<Stream> stream;
};

StreamOptions to(std::uint16_t port, const std::string& host = "127.0.0.1") {
  StreamOptions options;
  options.host = host;
  options.port = port;
  return options;
}

void answer_much(std::unique_ptr<http::Exchange> exchange) {
  exchange->answer(http::text(std::string(3'000'000, 'x') + "end"));
}

TEST(Stream, CarriesBytesBothWaysUntilTheServerCloses) {
  HttpSides sides(answer_much);
  Caller caller(sides.loop, to(sides.server->port(), "localhost"));
  caller.run_until_lost();
  EXPECT_THAT(caller.heard, HasSubstr("200 OK"));
  EXPECT_TRUE(caller.heard.ends_with("xend"));
  EXPECT_EQ(caller.error->code, Errc::unavailable);
}

TEST(Stream, BelievesOnlyTheRightServer) {
  const servers::TempDir folder;
  const http::CertificateForTests root(Kind::authority, "root");
  const http::CertificateForTests stranger(Kind::authority, "root");
  const http::CertificateForTests server(Kind::server, "server", &root, "DNS:localhost");
  root.write_to(folder.path() + "/root.pem");
  stranger.write_to(folder.path() + "/stranger.pem");
  server.write_to(folder.path() + "/server.pem");
  server.write_key_to(folder.path() + "/key.pem");
  http::ServerOptions server_options;
  server_options.tls = http::Tls{folder.path() + "/server.pem", folder.path() + "/key.pem"};
  HttpSides sides(answer_much, server_options);
  const auto call = [&](const std::string& host, const std::string& ca_file) {
    StreamOptions options = to(sides.server->port(), host);
    options.is_tls = true;
    options.ca_file = ca_file;
    auto caller = std::make_unique<Caller>(sides.loop, options);
    caller->run_until_lost();
    return caller;
  };
  EXPECT_TRUE(call("localhost", folder.path() + "/root.pem")->heard.ends_with("xend"));
  EXPECT_EQ(call("localhost", folder.path() + "/stranger.pem")->error->code, Errc::denied);
  EXPECT_EQ(call("127.0.0.1", folder.path() + "/root.pem")->error->code, Errc::denied) << "that is not its name";
  EXPECT_EQ(call("localhost", "")->error->code, Errc::denied) << "the system does not know it";
  EXPECT_EQ(call("localhost", folder.path() + "/none.pem")->error->code, Errc::invalid);
}

TEST(Stream, NoListenerIsUnavailableWithTheAddress) {
  loop::RealLoop loop;
  const auto port = static_cast<std::uint16_t>(servers::free_port());
  Caller caller(loop, to(port));
  caller.run_until_lost();
  EXPECT_EQ(caller.error->code, Errc::unavailable);
  EXPECT_THAT(caller.error->message, HasSubstr("127.0.0.1:" + std::to_string(port)));
  Caller nowhere(loop, to(port, "no-such-host.invalid"));
  nowhere.run_until_lost();
  EXPECT_EQ(nowhere.error->code, Errc::unavailable);
}

TEST(Stream, MayEndAtAnyTime) {
  HttpSides sides(answer_much);
  for (int turns = 0; turns < 20; ++turns) {
    auto caller = std::make_unique<Caller>(sides.loop, to(sides.server->port()));
    http::run_for(sides.loop, std::chrono::microseconds(100 * turns));
    caller.reset();
  }
  http::run_for(sides.loop, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace cadre::net
