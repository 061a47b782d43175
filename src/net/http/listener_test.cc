#include "net/http/listener.h"

#include <sys/stat.h>

#include "net/http/raw_http_for_tests.h"
#include "tests/servers/scratch.h"

namespace cadre::net::http {
namespace {

using testing::HasSubstr;

void answer_peer(std::unique_ptr<Exchange> exchange) { exchange->answer(text(exchange->request().peer)); }

TEST(HttpListener, OutlivesTheServersThatUseIt) {
  const loop::Descriptor listener = listen_at("127.0.0.1", 0).value();
  const std::uint16_t port = port_of(listener);
  ServerOptions options;
  options.listener = listener.get();
  { const ServerOnThread first(hello, options); }
  EXPECT_EQ(listen_at("127.0.0.1", port).error().code, Errc::conflict) << "nobody else gets the port";
  EXPECT_EQ(listen_at("0.0.0.0", port).error().code, Errc::conflict);
  const RawSocket socket = RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(port));
  socket.say(good);
  const ServerOnThread second(hello, options);
  EXPECT_EQ(second.port(), port);
  EXPECT_THAT(hear_until(socket, hello_0), HasSubstr("200 OK")) << "it waited for the next one";
}

TEST(HttpListener, AtAPathServesUsersWithAccessToItsFolder) {
  const servers::TempDir folder;
  ServerOptions options;
  options.path = folder.path() + "/http";
  ClientOptions client;
  client.path = options.path;
  for (int life = 0; life < 2; ++life) {
    HttpSides sides(answer_peer, options, client);
    EXPECT_EQ(sides.get("/")->body, "local") << "whatever the URL says";
    sides.client = std::make_unique<Client>(sides.loop, ClientOptions());
    EXPECT_EQ(sides.get("/")->body, "127.0.0.1");
  }
  struct stat facts {};
  EXPECT_EQ(::lstat(options.path.c_str(), &facts), 0) << "it stays, so that a client does not take another way";
  HttpSides elsewhere(answer_peer, {}, client);
  EXPECT_EQ(elsewhere.get("/").error().code, Errc::unavailable);
  EXPECT_EQ(listen_at_path(folder.path() + "/" + std::string(200, 'x')).error().code, Errc::invalid);
}

}  // namespace
}  // namespace cadre::net::http
