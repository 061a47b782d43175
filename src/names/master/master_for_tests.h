/// For tests: a real master, plain or in TLS, with workspaces and users as they are needed. One thread at a time.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "describe/describe.h"
#include "net/http/certificates_for_tests.h"
#include "net/http/http_for_tests.h"
#include "tests/servers/master.h"
#include "tests/servers/scratch.h"

namespace cadre::names {

class MasterForTests {
 public:
  enum class Speech : std::uint8_t { plain, tls };

  explicit MasterForTests(Speech speech)
      : speech_(speech), server_({.program = CADRE_PROGRAM, .folder = folder_.path(), .arguments = arguments()}) {}
  servers::MasterServer& server() { return server_; }

  /// Names of this workspace; with the token of an admin unless there is another.
  std::string url(const std::string& workspace, std::string token = "") const {
    if (token.empty()) token = server_.token();
    return (speech_ == Speech::tls ? "masters://:" : "master://:") + token +
           "@127.0.0.1:" + std::to_string(server_.port()) + "/" + workspace +
           (speech_ == Speech::tls ? "?ca=" + ca() : "");
  }
  std::string ca() const { return folder_.path() + "/ca.pem"; }

  void add_workspace(const std::string& name) { ask("POST", "/workspaces", R"({"name":")" + name + "\"}"); }
  /// Creates a user with a role in a workspace; returns a token of the user.
  std::string add_user(const std::string& name, const std::string& workspace, const std::string& role) {
    ask("POST", "/users", R"({"name":")" + name + "\"}");
    set_role(name, workspace, role);
    const auto made = describe::parse_json(ask("POST", "/tokens", R"({"user":")" + name + "\"}"));
    return *made.value().find("token")->as<std::string>();
  }
  void set_role(const std::string& user, const std::string& workspace, const std::string& role) {
    ask("PUT", "/workspaces/" + workspace + "/members/" + user, R"({"role":")" + role + "\"}");
  }
  void remove_member(const std::string& user, const std::string& workspace) {
    ask("DELETE", "/workspaces/" + workspace + "/members/" + user, "");
  }

  /// As an admin of the cluster; what is refused throws.
  std::string ask(const std::string& method, const std::string& path, const std::string& body) {
    loop::RealLoop loop;
    net::http::Client client(loop, {speech_ == Speech::tls ? ca() : ""});
    net::http::Question question;
    question.method = net::http::parse_method(method);
    question.url = (speech_ == Speech::tls ? "https" : "http") + std::string("://127.0.0.1:") +
                   std::to_string(server_.port()) + "/api/v1" + path;
    question.headers.emplace_back("Authorization", "Bearer " + server_.token());
    question.body = body;
    net::http::Response response = net::http::run_task(loop, client.ask(std::move(question))).value();
    if (response.status != 200) throw std::runtime_error(method + " " + path + ": " + response.body);
    return std::move(response.body);
  }

 private:
  using Certificate = net::http::CertificateForTests;

  std::vector<std::string> arguments() const {
    if (speech_ == Speech::plain) return {};
    const Certificate root(Certificate::Kind::authority, "root");
    const Certificate server(Certificate::Kind::server, "server", &root, "IP:127.0.0.1");
    const std::string begin = folder_.path() + "/";
    root.write_to(ca());
    server.write_to(begin + "server.pem");
    server.write_key_to(begin + "key.pem");
    return {"--tls-cert", begin + "server.pem", "--tls-key", begin + "key.pem", "--tls-ca", ca()};
  }

  const Speech speech_;
  servers::TempDir folder_;
  servers::MasterServer server_;
};

/// One of each for the whole test program; they end with it.
inline MasterForTests& shared_master() {
  static MasterForTests shared(MasterForTests::Speech::plain);
  return shared;
}
inline MasterForTests& shared_master_in_tls() {
  static MasterForTests shared(MasterForTests::Speech::tls);
  return shared;
}

}  // namespace cadre::names
