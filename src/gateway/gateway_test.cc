// The gateway over real HTTP, in front of services that the tests play.
#include "gateway/gateway.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>
#include <latch>

#include "access/part.h"
#include "base/protocol.h"
#include "gateway/problem.h"
#include "gateway/requests_for_tests.h"
#include "logs/record.h"
#include "loop/descriptor.h"
#include "loop/thread_pool.h"
#include "net/http/http_for_tests.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
using net::http::Question;
using net::http::Response;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
namespace bulk = cluster::bulk;
namespace requests = cluster::requests;

/// What was asked of a service, and who does not wait any more.
template <class Message>
struct Played {
  struct One {
    api::CallId call;
    api::Credential who;
    Message asked;
  };
  std::vector<One> heard;
  std::vector<api::CallId> forgotten;
};

/// By its own names: `token` belongs to eve, `admin` to an admin.
access::Me me_of(const std::string& token_hash) {
  access::Me me;
  const bool is_admin = token_hash == hash_of_token("admin");
  me.user.name = is_admin ? "root" : "eve";
  me.user.is_admin = is_admin;
  me.user.workspaces = {{"default", access::Role::editor}};
  return me;
}

struct GatewayTest : testing::Test, api::Service, cluster::BulkEndpoint {
  using Script = std::function<std::vector<api::Reply>(const api::Request&)>;

  void open(Options options = {}) {
    options.pass_secret = std::string(64, 's');
    options.version = "1.2.3";
    options.parts = interfaces_for_tests();
    gateway = Gateway::open({loop, log, *this, *this, pool}, std::move(options)).value();
  }
  ~GatewayTest() override { gateway.reset(); }

  // The services.
  void ask(api::CallId call, api::Credential who, api::Request asked) override {
    service_calls.heard.push_back({call, who, asked});
    std::vector<api::Reply> answers = script ? script(asked) : std::vector<api::Reply>();
    if (answers.empty() && who.token_hash == hash_of_token("unknown")) {
      answers = {api::Failed::unauthenticated("this token is not known")};
    } else if (answers.empty() && asked.as<access::GetMe>() != nullptr) {
      answers = {me_of(who.token_hash)};
    }
    for (api::Reply& told : answers) {
      loop.post([this, call, told = std::move(told)] { gateway->tell(call, told); });
    }
  }
  void ask(api::CallId call, bulk::ToMaster message) override {
    bulk_calls.heard.push_back({call, {}, message});
    if (bulk_answers.empty()) return;
    loop.post([this, call, told = std::move(bulk_answers.front())] { gateway->tell_bulk(call, told); });
    bulk_answers.pop_front();
  }
  void forget(api::CallId call) override { service_calls.forgotten.push_back(call); }

  Question question(const std::string& method, const std::string& target, const std::string& body = "",
                    const std::string& token = "token") const {
    Question asked;
    asked.method = net::http::parse_method(method);
    asked.url = "http://127.0.0.1:" + std::to_string(gateway->port()) + target;
    asked.body = body;
    if (!token.empty()) asked.headers.emplace_back("Authorization", "Bearer " + token);
    return asked;
  }
  Response say(Question asked) { return net::http::run_task(loop, client.ask(std::move(asked))).value(); }
  Response say(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& token = "token") {
    return say(question(method, target, body, token));
  }
  /// What was asked of this kind.
  template <class T>
  std::vector<T> asked() const {
    std::vector<T> found;
    for (const auto& one : service_calls.heard) {
      if (const T* request = one.asked.template as<T>()) found.push_back(*request);
    }
    return found;
  }

  loop::RealLoop loop;
  SilentLog log;
  loop::ThreadPool pool{loop, {"passwords and files", 2, 64}};
  Played<api::Request> service_calls;
  Played<bulk::ToMaster> bulk_calls;
  Script script;
  std::deque<bulk::FromMaster> bulk_answers;
  std::unique_ptr<Gateway> gateway;
  net::http::Client client{loop, {}};
};

template <class T>
std::vector<api::Reply> told(T reply) {
  return {api::Reply(std::move(reply))};
}

TEST_F(GatewayTest, TellsAnybodyThatItIsThere) {
  open();
  const Response health = say("GET", "/api/v1/health", "", "");
  EXPECT_EQ(health.status, 200);
  EXPECT_THAT(health.body, HasSubstr("\"status\":\"ok\",\"version\":\"1.2.3\""));
  EXPECT_THAT(say("GET", "/api/v1/openapi.json", "", "").body, HasSubstr("\"openapi\": \"3.1.0\""));
  EXPECT_THAT(say("GET", "/", "", "").body, HasSubstr("/api/v1/openapi.json"));
  EXPECT_EQ(say("GET", "/index.html", "", "").status, 404);
  EXPECT_THAT(service_calls.heard, IsEmpty());
}

TEST_F(GatewayTest, RefusesClientsOfAnotherProtocolWithBothVersions) {
  open();
  const auto told = [&](const std::string& header, const std::string& target = "/api/v1/me") {
    Question asked = question("GET", target);
    if (!header.empty()) asked.headers.emplace_back("Cadre-Protocol", header);
    return say(std::move(asked));
  };
  const std::string ours = std::to_string(protocol::own().newest);
  const Response older = told("0-1 0.1.0");
  EXPECT_EQ(older.status, 426);
  EXPECT_THAT(older.body, HasSubstr("this client speaks protocol 0 to 1 (cadre 0.1.0), the master speaks protocol "));
  EXPECT_THAT(older.body, HasSubstr("(cadre " + std::string(version()) + "); upgrade this client"));
  const Response newer = told("900-901 9.0.0");
  EXPECT_EQ(newer.status, 426);
  EXPECT_THAT(newer.body, HasSubstr("this client speaks protocol 900 to 901 (cadre 9.0.0), the master speaks"));
  EXPECT_THAT(newer.body, HasSubstr("upgrade the master"));
  for (const char* target : {"/api/v1/health", "/api/v1/nothing"}) EXPECT_EQ(told("1-1 0.1.0", target).status, 426);
  EXPECT_THAT(service_calls.heard, IsEmpty());
  EXPECT_EQ(told(ours + "-" + ours + " 0.2.0").status, 200);
  EXPECT_EQ(told("1-900 9.0.0").status, 200) << "one protocol of both is enough";
  for (const char* other : {"", "curl", "2"}) EXPECT_EQ(told(other).status, 200) << "public clients need not state one";
}

TEST_F(GatewayTest, ReportsMissingRoutes) {
  open();
  EXPECT_EQ(say("GET", "/api/v1/nothing").status, 404);
  EXPECT_EQ(say("POST", "/nothing").status, 404);
  const Response other = say("DELETE", "/api/v1/jobs/17");
  EXPECT_EQ(other.status, 405);
  EXPECT_EQ(net::http::find(other.headers, "Allow"), "GET, PATCH");
  EXPECT_EQ(say("GET", "/api/v1/jobs/%zz").status, 400);
  EXPECT_EQ(say("GET", "/api/v1/changes").status, 400);
  EXPECT_THAT(service_calls.heard, IsEmpty());
}

TEST_F(GatewayTest, RefusesMissingAndForgedTokensWithoutCallingAService) {
  open();
  for_all_requests([&]<class T>(std::type_identity<T>) {
    if (T::route.need == api::Need::nothing) return;
    Question asked = question(std::string(T::route.method), "/api/v1" + std::string(T::route.path), "", "");
    const Response response = say(asked);
    EXPECT_EQ(response.status, 401) << T::type_name;
    EXPECT_EQ(net::http::find(response.headers, "WWW-Authenticate"), "Bearer realm=\"cadre\"") << T::type_name;
  });
  EXPECT_EQ(say("GET", "/api/v1/status", "", "cadre-task-17.0/3-" + std::string(64, '0')).status, 401);
  for (const char* header : {"token", "Basic dG9rZW4=", "bearer token", "Bearer"}) {
    Question asked = question("GET", "/api/v1/status", "", "");
    asked.headers.emplace_back("Authorization", header);
    EXPECT_EQ(say(asked).status, 401) << header;
  }
  EXPECT_THAT(service_calls.heard, IsEmpty());
}

TEST_F(GatewayTest, KnowsTasksByTheirPass) {
  open();
  script = [](const api::Request&) { return told(requests::Status{}); };
  const cluster::LeaseId lease{{{17}, 2}, {3}};
  EXPECT_EQ(say("GET", "/api/v1/status", "", Passes(std::string(64, 's')).make(lease)).status, 200);
  EXPECT_EQ(service_calls.heard.at(0).who.lease, to_string(lease));
  EXPECT_EQ(service_calls.heard.at(0).who.token_hash, "");
  EXPECT_EQ(service_calls.heard.at(0).who.address, "127.0.0.1");
}

TEST_F(GatewayTest, ReportsFaultsOnlyToAuthenticatedClients) {
  open();
  const Response known = say("GET", "/api/v1/jobs?most=0&ended=maybe");
  EXPECT_EQ(known.status, 400);
  EXPECT_EQ(describe::read_json<Problem>(known.body)->faults.size(), 2U);
  const Response unknown = say("GET", "/api/v1/jobs?most=0&ended=maybe", "", "unknown");
  EXPECT_EQ(unknown.status, 401);
  EXPECT_THAT(unknown.body, Not(HasSubstr("most")));
}

TEST_F(GatewayTest, ForwardsResponsesOfServices) {
  open();
  script = [](const api::Request&) { return told(requests::Failed{Errc::conflict, "it has ended", {}}); };
  const Response response = say("POST", "/api/v1/jobs/17/stop", "{}");
  EXPECT_EQ(response.status, 409);
  EXPECT_THAT(response.body, HasSubstr("it has ended"));
  EXPECT_EQ((asked<requests::EndJob>().at(0).job.value), 17U);
}

loop::Task<void> ask_into(net::http::Client& client, Question asked, std::optional<Response>& response) {
  Result<Response> answer = co_await client.ask(std::move(asked));
  response = *std::move(answer);
}

loop::Task<void> occupy(loop::BlockingPool& pool, std::latch& end) {
  static_cast<void>(co_await pool.run([&]() -> Result<void> {
    end.wait();
    return {};
  }));
}

TEST_F(GatewayTest, ReadsLargeBodiesWithoutHoldingUpOtherRequests) {
  open();
  script = [](const api::Request&) { return told(requests::Status{}); };
  const std::string text(100'000, 'x');
  const std::string job = R"({"members": [{"command": {"argv": ["echo", ")" + text + R"("]}}]})";
  std::latch end(1);
  std::optional<Response> response;
  {
    loop::Tasks tasks(loop);
    for (int thread = 0; thread < 2; ++thread) tasks.spawn(occupy(pool, end));
    tasks.spawn(ask_into(client, question("POST", "/api/v1/jobs", job), response));
    EXPECT_EQ(say("GET", "/api/v1/status").status, 200);
    EXPECT_FALSE(response) << "it is read on the pool, which is busy";
    end.count_down();
    net::http::run_until(loop, [&] { return response && tasks.count() == 0; });
  }
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(asked<requests::Submit>().at(0).job.members.at(0).command.argv.at(1), text);

  const Response faulty = say("POST", "/api/v1/jobs", R"({"nonsense": ")" + text + "\"}");
  EXPECT_EQ(faulty.status, 400);
  EXPECT_THAT(faulty.body, HasSubstr("nonsense"));
  EXPECT_EQ(say("POST", "/api/v1/jobs", job, "").status, 401);
}

/// Of more letters than fit into a string itself.
const std::string long_name = "somebody-with-quite-a-long-name@example.org";

struct LoginTest : GatewayTest {
  LoginTest() {
    open();
    script = [this](const api::Request& one) -> std::vector<api::Reply> {
      if (one.as<access::BeginLogin>() != nullptr) return told(access::Challenge{hash});
      const auto* request = one.as<access::EndLogin>();
      if (request == nullptr) return {};
      const access::Access::LoginEnd* end = &request->end;
      if (end->passed == access::Access::Passed::no) {
        return told(api::Failed::unauthenticated("user or password is wrong"));
      }
      return told(access::NewToken{"", {end->secret.id, end->user, "login", {}, {}}});
    };
  }
  Response login(const std::string& user, const std::string& password) {
    describe::Value body;
    body.set("user", describe::Value(user)).set("password", describe::Value(password));
    return say("POST", "/api/v1/login", describe::to_json(body), "");
  }
  const std::string hash = hash_password("right password").value();
};

TEST_F(LoginTest, GivesANewTokenForTheRightPassword) {
  const Response response = login(long_name, "right password");
  ASSERT_EQ(response.status, 200) << response.body;
  const auto made = describe::read_json<access::NewToken>(response.body).value();
  EXPECT_EQ(made.about.user, long_name);
  const auto end = asked<access::EndLogin>().at(0).end;
  EXPECT_EQ(end.secret.hash, hash_of_token(made.token));
  EXPECT_EQ(end.address, "127.0.0.1");
  EXPECT_EQ((asked<access::BeginLogin>().at(0).user), long_name);
  const Response again = login("eve", "right password");
  EXPECT_NE(describe::read_json<access::NewToken>(again.body)->token, made.token);
}

TEST_F(LoginTest, RefusesAWrongPassword) {
  const Response response = login(long_name, "wrong password");
  EXPECT_EQ(response.status, 401);
  EXPECT_THAT(response.body, HasSubstr("user or password is wrong"));
  EXPECT_THAT(response.body, Not(HasSubstr("scrypt")));
  EXPECT_EQ(say("POST", "/api/v1/login", "{}", "").status, 400);
  EXPECT_EQ(say("POST", "/api/v1/login", std::string(17 << 10, ' '), "").status, 413);
}

TEST_F(LoginTest, ReportsTheRateLimitOfLogins) {
  script = [](const api::Request&) { return told(api::Failed::rate_limited("wait a minute")); };
  const Response response = login("eve", "right password");
  EXPECT_EQ(response.status, 429);
  EXPECT_THAT(response.body, HasSubstr("wait a minute"));
}

TEST_F(LoginTest, SaysThatTheMasterCanDoNothing) {
  script = [](const api::Request&) { return told(requests::Failed{Errc::unavailable, "no room", {}}); };
  EXPECT_EQ(login("eve", "right password").status, 503);
}

TEST_F(GatewayTest, NeverShowsPasswords) {
  open();
  const auto done = [](const api::Request& one) -> std::vector<api::Reply> {
    if (one.as<access::GetMe>() != nullptr) return {};
    return told(access::Done{});
  };
  script = done;
  const std::string body = "{\"name\": \"bob\", \"password\": \"a long password\"}";
  EXPECT_EQ(say("POST", "/api/v1/users", body, "admin").status, 200);
  EXPECT_EQ(say("POST", "/api/v1/users", body, "token").status, 200);
  EXPECT_EQ(say("PATCH", "/api/v1/users/bob", "{\"password\": \"a long password\"}", "admin").status, 200);
  EXPECT_EQ(say("PATCH", "/api/v1/users/eve", "{\"password\": \"a long password\"}", "token").status, 200);
  const auto made = asked<access::CreateUser>();
  ASSERT_EQ(made.size(), 2U);
  EXPECT_TRUE(is_password("a long password", made[0].password).value());
  EXPECT_EQ(made[1].password, "") << "who may not make users does not make us work, nor is it handed on";
  const auto set = asked<access::SetUser>();
  ASSERT_EQ(set.size(), 2U);
  for (const access::SetUser& one : set) EXPECT_TRUE(is_password("a long password", *one.password).value());
}

TEST_F(GatewayTest, WantsThePresentPasswordForANewOne) {
  open();
  const std::string hash = hash_password("the old password").value();
  script = [&](const api::Request& one) -> std::vector<api::Reply> {
    if (one.as<access::GetPassword>() != nullptr) return told(access::Challenge{hash});
    access::Me me = me_of("");
    me.user.has_password = true;
    if (one.as<access::GetMe>() != nullptr) return told(me);
    return told(me.user);
  };
  const std::string fresh = "\"password\": \"the new password\"";
  EXPECT_THAT(say("PATCH", "/api/v1/users/eve", "{" + fresh + "}").body,
              HasSubstr("is required to change your own password"));
  EXPECT_THAT(say("PATCH", "/api/v1/users/eve", "{" + fresh + ", \"old_password\": \"wrong\"}").body,
              HasSubstr("is not your current password"));
  EXPECT_THAT(asked<access::SetUser>(), IsEmpty());
  EXPECT_EQ(say("PATCH", "/api/v1/users/eve", "{" + fresh + ", \"old_password\": \"the old password\"}").status, 200);
  ASSERT_EQ(asked<access::SetUser>().size(), 1U);
  EXPECT_TRUE(is_password("the new password", *asked<access::SetUser>()[0].password).value());
  EXPECT_EQ(asked<access::SetUser>()[0].old_password, std::nullopt);
}

TEST_F(GatewayTest, TellsTheSecretOfANewTokenOnce) {
  open();
  script = [](const api::Request& one) {
    const auto& request = *one.as<access::CreateToken>();
    return told(access::NewToken{"", {request.secret.id, "eve", request.name, {}, {}}});
  };
  const Response response = say("POST", "/api/v1/tokens", "{\"name\": \"for the nightly runs of the whole team\"}");
  const auto made = describe::read_json<access::NewToken>(response.body).value();
  const auto request = asked<access::CreateToken>().at(0);
  EXPECT_EQ(request.secret.hash, hash_of_token(made.token));
  EXPECT_EQ(request.name, "for the nightly runs of the whole team");
  EXPECT_EQ(request.secret.hash.find(made.token), std::string::npos);
}

TEST_F(GatewayTest, CancelsRequestsOfDisconnectedClients) {
  open();
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> never;
  for (const char* target : {"/api/v1/status", "/api/v1/jobs/17?seen=3"}) {
    tasks.spawn(net::http::keep_result(client.ask(question("GET", target)), never));
  }
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 2; });
  EXPECT_THAT(service_calls.forgotten, IsEmpty());
  tasks.destroy_all();
  net::http::run_until(loop, [&] { return service_calls.forgotten.size() == 2; });
  EXPECT_THAT(service_calls.forgotten,
              testing::UnorderedElementsAre(service_calls.heard[0].call, service_calls.heard[1].call));
  EXPECT_FALSE(never);
}

TEST_F(GatewayTest, CanBeDestroyedWhileAClientWaits) {
  open();
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> cut;
  tasks.spawn(net::http::keep_result(client.ask(question("GET", "/api/v1/jobs/17?seen=3")), cut));
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 1; });
  gateway.reset();
  net::http::run_until(loop, [&] { return cut.has_value(); });  // what was posted by then must not find it
  EXPECT_FALSE(cut->has_value());
}

api::Reply exec_output(std::string_view text) {
  const BytesView bytes = as_bytes(text);
  return cluster::messages::ExecNews{1, cluster::supervision::ExecOutput{1, 1, {bytes.begin(), bytes.end()}}};
}

TEST_F(GatewayTest, AnswersAnExecLineByLine) {
  open();
  script = [](const api::Request&) -> std::vector<api::Reply> {
    return {exec_output("one"), exec_output("two"),
            cluster::messages::ExecNews{1, cluster::supervision::ExecEnded{1, 7, ""}}};
  };
  const Response response = say("POST", "/api/v1/tasks/17.0/exec", "{\"argv\": [\"ls\"]}");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "application/x-ndjson");
  EXPECT_EQ(std::count(response.body.begin(), response.body.end(), '\n'), 3);
  EXPECT_THAT(response.body, HasSubstr("\"code\":7"));
  script = [](const api::Request&) { return told(requests::Failed{Errc::conflict, "it does not run", {}}); };
  EXPECT_EQ(say("POST", "/api/v1/tasks/17.0/exec", "{\"argv\": [\"ls\"]}").status, 409);
}

TEST_F(GatewayTest, EndsAnExecWhenTheClientDisconnects) {
  open();
  script = [](const api::Request&) { return told(exec_output("one")); };
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> never;
  std::string got;
  tasks.spawn(net::http::keep_result(
      client.ask(question("POST", "/api/v1/tasks/17.0/exec", "{\"argv\": [\"sleep\", \"1000\"]}"),
                 [&](std::string_view piece) { got += piece; }),
      never));
  net::http::run_until(loop, [&] { return !got.empty(); });
  EXPECT_THAT(service_calls.forgotten, IsEmpty());
  tasks.destroy_all();
  net::http::run_until(loop, [&] { return service_calls.forgotten.size() == 1; });
  EXPECT_EQ(service_calls.forgotten.at(0), service_calls.heard.at(0).call);
}

/// Says nothing more once it has asked: what is answered waits in its socket and behind it.
struct SilentReader {
  SilentReader(std::uint16_t port, const std::string& body) : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4'096;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string text = "POST /api/v1/tasks/17.0/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\n" +
                             std::string("Content-Length: ") + std::to_string(body.size()) + "\r\n\r\n" + body;
    EXPECT_EQ(::send(socket.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  loop::Descriptor socket;
};

TEST_F(GatewayTest, EndsAnExecWithUnreadOutput) {
  open();
  const SilentReader reader(gateway->port(), "{\"argv\": [\"cat\", \"/dev/zero\"], \"window\": 1000000000}");
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 1; });
  const api::CallId call = service_calls.heard.at(0).call;
  const api::Reply piece = exec_output(std::string(32'768, 'x'));
  // The connection takes some of it; the writer hangs in the rest, and nobody wakes it.
  for (int i = 0; i < 2'000 && service_calls.forgotten.empty(); ++i) {
    gateway->tell(call, piece);
    if (i % 16 == 0) net::http::run_for(loop, 1ms);
  }
  EXPECT_THAT(service_calls.forgotten, ElementsAre(call)) << "after 64 MB the command goes on";
  gateway->tell(call, piece);  // it may be on its way
  EXPECT_EQ(service_calls.heard.size(), 1U) << "the client has a window and acknowledges by itself";
}

TEST_F(GatewayTest, BoundsAnExecWithOutputInTinyPieces) {
  open();
  const SilentReader reader(gateway->port(), "{\"argv\": [\"yes\"], \"window\": 1000000000}");
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 1; });
  const api::CallId call = service_calls.heard.at(0).call;
  for (int i = 0; i < 200'000 && service_calls.forgotten.empty(); ++i) {
    cluster::messages::ExecNews news{1, cluster::supervision::ExecOutput{1, i % 2 + 1, {std::byte{'x'}}}};
    gateway->tell(call, news);
  }
  EXPECT_THAT(service_calls.forgotten, ElementsAre(call)) << "each costs more than its byte";
}

TEST_F(GatewayTest, AcknowledgesTheOutputOfAnExecWithoutAWindow) {
  open();
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> response;
  Question asking = question("POST", "/api/v1/tasks/17.0/exec", "{\"argv\": [\"cat\"]}");
  asking.headers.emplace_back("Idempotency-Key", "once");
  std::size_t got = 0;
  tasks.spawn(
      net::http::keep_result(client.ask(asking, [&](std::string_view piece) { got += piece.size(); }), response));
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 1; });
  const api::CallId call = service_calls.heard.at(0).call;
  const auto exec = asked<requests::RunExec>().at(0);
  ASSERT_GT(exec.window, 0);
  const auto acknowledged = [&] {
    const auto sent = asked<requests::SendInput>();
    return sent.empty() ? 0 : sent.back().seen;
  };
  std::int64_t told_bytes = 0;
  for (int i = 0; i < 80; ++i) {  // as much at once as the window lets through
    while (told_bytes - acknowledged() < exec.window) {
      gateway->tell(call, exec_output(std::string(32'768, 'x')));
      told_bytes += 32'768;
    }
    net::http::run_until(loop, [&] { return told_bytes - acknowledged() < exec.window; });
  }
  EXPECT_GT(told_bytes, std::int64_t{16} << 20) << "twice what may wait for a client";
  EXPECT_THAT(service_calls.forgotten, IsEmpty());
  const requests::SendInput last = asked<requests::SendInput>().back();
  EXPECT_EQ(last.exec, 1U);
  EXPECT_EQ(last.task, exec.task);
  EXPECT_TRUE(last.bytes.empty());
  EXPECT_FALSE(last.end);
  EXPECT_TRUE(service_calls.heard.back().who.idempotency.key.empty()) << "it is another request";
  gateway->tell(call, cluster::messages::ExecNews{1, cluster::supervision::ExecEnded{1, 0, ""}});
  net::http::run_until(loop, [&] { return response.has_value(); });
  EXPECT_TRUE(response->has_value());
}

TEST_F(GatewayTest, DoesNotAcknowledgeWhatAClientDoesNotRead) {
  open();
  const SilentReader reader(gateway->port(), "{\"argv\": [\"cat\", \"/dev/zero\"]}");
  net::http::run_until(loop, [&] { return service_calls.heard.size() == 1; });
  const api::CallId call = service_calls.heard.at(0).call;
  const auto exec = asked<requests::RunExec>().at(0);
  const auto acknowledged = [&] {
    const auto sent = asked<requests::SendInput>();
    return sent.empty() ? 0 : sent.back().seen;
  };
  std::int64_t told_bytes = 0;
  for (int i = 0; i < 300; ++i) {
    for (; told_bytes - acknowledged() < exec.window; told_bytes += 32'768) {
      gateway->tell(call, exec_output(std::string(32'768, 'x')));
    }
    net::http::run_for(loop, 1ms);
  }
  EXPECT_LT(told_bytes, std::int64_t{16} << 20) << "the command is held back";
  EXPECT_THAT(service_calls.forgotten, IsEmpty()) << "and goes on when its client reads on";
}

struct LogsTest : GatewayTest {
  LogsTest() {
    open();
    script = [](const api::Request&) {
      requests::TaskView task;
      task.id = {{17}, 2};
      task.rank = 2;
      task.epoch = 3;
      return told(task);
    };
  }
  /// Output of some lines, a second apart.
  static bulk::Output output(std::int64_t offset, const std::vector<std::string>& lines) {
    bulk::Output made{0, offset, 0, {}};
    for (std::size_t i = 0; i < lines.size(); ++i) {
      logs::encode({logs::Stream::err, false, TimePoint(std::chrono::seconds(i)), lines[i]}, made.records);
    }
    made.next = offset + static_cast<std::int64_t>(made.records.size());
    return made;
  }
  requests::LogPage page(const std::string& query) {
    return describe::read_json<requests::LogPage>(say("GET", "/api/v1/tasks/17.2/logs" + query).body).value();
  }
  static std::vector<std::string> texts(const requests::LogPage& page) {
    std::vector<std::string> found;
    for (const requests::LogLine& line : page.lines) found.push_back(line.text.value_or("(bytes)"));
    return found;
  }
  bulk::ReadOutput read(std::size_t which) const {
    return std::get<bulk::ReadOutput>(bulk_calls.heard.at(which).asked);
  }
};

TEST_F(LogsTest, ComeInPages) {
  bulk_answers = {output(100, {"one", "\xff"})};
  const requests::LogPage got = page("?offset=50");
  EXPECT_EQ(read(0).offset, 50);
  EXPECT_EQ(to_string(read(0).lease), "17.2/3") << "the last";
  EXPECT_FALSE(read(0).wait);
  EXPECT_EQ(to_string(got.task), "17.2");
  EXPECT_EQ(got.rank, 2);
  EXPECT_EQ(got.epoch, 3U);
  EXPECT_EQ(got.offset, 100);
  EXPECT_EQ(got.next, 100 + 2 * logs::header_bytes + 4);
  EXPECT_THAT(texts(got), ElementsAre("one", "(bytes)"));
  EXPECT_EQ(got.lines[0].stream, requests::OutputStream::err);
  EXPECT_EQ(got.lines[1].bytes, (Bytes{std::byte{0xff}}));
}

TEST_F(LogsTest, HaveOnlyTheLinesThatAreWanted) {
  const std::vector<std::string> lines = {"INFO loss 5", "WARNING loss 7", "ERROR gain", "plain loss"};
  bulk_answers = {output(0, lines), output(0, lines), output(0, lines), output(0, lines)};
  EXPECT_THAT(texts(page("?grep=loss")), ElementsAre("INFO loss 5", "WARNING loss 7", "plain loss"));
  EXPECT_THAT(texts(page("?level=warning")), ElementsAre("WARNING loss 7", "ERROR gain"));
  EXPECT_THAT(texts(page("?since=1970-01-01T00:00:02Z")), ElementsAre("ERROR gain", "plain loss"));
  EXPECT_THAT(texts(page("?since=1970-01-01T00:00:01Z&level=warning&grep=loss")), ElementsAre("WARNING loss 7"));
}

TEST_F(LogsTest, AreSearchedFurtherUntilThereIsALine) {
  bulk_answers = {output(0, {"no"}), output(logs::header_bytes + 2, {"nor", "yes"})};
  const requests::LogPage got = page("?grep=yes");
  EXPECT_THAT(texts(got), ElementsAre("yes"));
  EXPECT_EQ(read(1).offset, logs::header_bytes + 2);
  bulk_answers = {output(0, {"no"}), output(logs::header_bytes + 2, {})};
  const requests::LogPage none = page("?grep=yes");
  EXPECT_THAT(none.lines, IsEmpty());
  EXPECT_EQ(none.next, logs::header_bytes + 2) << "what was looked at need not be looked at again";
}

TEST_F(LogsTest, StopWaitingWhenTheClientDisconnects) {
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> never;
  tasks.spawn(net::http::keep_result(client.ask(question("GET", "/api/v1/tasks/17.2/logs?wait=true")), never));
  bulk_answers = {output(0, {})};
  net::http::run_until(loop, [&] { return bulk_calls.heard.size() == 2; });
  tasks.destroy_all();
  net::http::run_until(loop, [&] { return service_calls.forgotten.size() == 1; });
  EXPECT_EQ(service_calls.forgotten[0], bulk_calls.heard[1].call);
  EXPECT_EQ(say("GET", "/api/v1/health").status, 200);
}

TEST_F(LogsTest, PassARefusalOn) {
  bulk_answers = {output(0, {}), bulk::Refused{0, Errc::unavailable, "too many wait"}};
  EXPECT_EQ(say("GET", "/api/v1/tasks/17.2/logs?wait=true").status, 503);
  EXPECT_FALSE(read(0).wait);
  EXPECT_TRUE(read(1).wait);
}

TEST_F(LogsTest, AreReadByAFewAtATimeWhileAnyNumberMayWait) {
  constexpr std::size_t readers = 100;
  constexpr std::size_t at_a_time = 32;
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> answers[readers];
  for (auto& answer : answers) {
    tasks.spawn(net::http::keep_result(client.ask(question("GET", "/api/v1/tasks/17.2/logs?wait=true")), answer));
  }
  const auto waiting = [&] {
    std::size_t found = 0;
    for (std::size_t i = 0; i < bulk_calls.heard.size(); ++i) found += read(i).wait ? 1 : 0;
    return found;
  };
  net::http::run_until(loop, [&] { return service_calls.heard.size() == readers; });
  std::size_t answered = 0;
  for (std::size_t seen = 0; waiting() < readers; ++seen) {
    net::http::run_until(loop, [&] { return bulk_calls.heard.size() > seen; });
    EXPECT_LE(bulk_calls.heard.size() - waiting() - answered, at_a_time);
    if (read(seen).wait) continue;
    ++answered;
    gateway->tell_bulk(bulk_calls.heard[seen].call, output(0, {}));
  }
  for (const auto& one : bulk_calls.heard) gateway->tell_bulk(one.call, output(0, {"line"}));
  net::http::run_until(loop,
                       [&] { return std::ranges::all_of(answers, [](const auto& one) { return one.has_value(); }); });
  for (const auto& answer : answers) EXPECT_THAT(answer->value().body, HasSubstr("line"));
}

TEST_F(GatewayTest, AcceptsCodeOnlyFromEditors) {
  open();
  const std::string target = "/api/v1/code/" + std::string(64, 'a') + "?size=3&offset=0";
  bulk_answers = {bulk::BlobState{0, 3, true}};
  EXPECT_EQ(say("PUT", target, "abc").body, "{\"have\":3,\"complete\":true}");
  const auto put = std::get<bulk::PutBlob>(bulk_calls.heard.at(0).asked);
  EXPECT_EQ(as_text(put.bytes), "abc");
  EXPECT_EQ(put.size, 3);
  EXPECT_EQ(put.user, me_of("").user.name);
  EXPECT_EQ(say("PUT", target, std::string((1 << 20) + 1, 'x')).status, 413);
  script = [](const api::Request&) {
    access::Me me = me_of("");
    me.user.workspaces = {{"default", access::Role::viewer}};
    return told(me);
  };
  EXPECT_EQ(say("PUT", target, "abc").status, 403);
  EXPECT_EQ(bulk_calls.heard.size(), 1U);
}

TEST_F(GatewayTest, TakesBodiesAsLongAsTheirRouteDeclares) {
  open();
  for_all_requests([&]<class T>(std::type_identity<T>) {
    if constexpr (T::route.has_fields_in_body()) {
      std::string path = "/api/v1" + std::string(T::route.path);
      for (char& c : path) c = c == '{' || c == '}' ? 'x' : c;
      const std::string body(17 << 10, ' ');
      const bool is_too_large = T::route.body_max < ByteSize{17 << 10};
      EXPECT_EQ(say(std::string(T::route.method), path, body, "").status == 413, is_too_large) << T::type_name;
    }
  });
  EXPECT_LT(access::Login::route.body_max, ByteSize{17 << 10}) << "anybody may send it";
  EXPECT_EQ(say("POST", "/api/v1/loginless", std::string(17 << 10, ' ')).status, 404) << "only the route counts";
}

TEST_F(GatewayTest, HoldsNoBodyOfARequestThatWaits) {
  Options options;
  options.server.limits.bodies_max = ByteSize{10'000};
  open(std::move(options));
  const std::string body = "{" + std::string(8'000, ' ') + "}";
  loop::Tasks tasks(loop);
  std::optional<Result<Response>> answers[4];
  for (std::size_t i = 0; i < 4; ++i) {
    tasks.spawn(net::http::keep_result(client.ask(question("POST", "/api/v1/jobs/17/stop", body)), answers[i]));
    net::http::run_until(loop, [&] { return service_calls.heard.size() == i + 1 || answers[i]; });
    ASSERT_FALSE(answers[i]) << (*answers[i])->body;
  }
  EXPECT_EQ(say("GET", "/api/v1/jobs/17?seen=1", "{}").status, 400);
  EXPECT_EQ(say("DELETE", "/api/v1/sessions/a", "{}").status, 400);
  EXPECT_EQ(service_calls.heard.size(), 4U);
  tasks.destroy_all();
}

TEST_F(GatewayTest, ServesMetricsWithATokenOrPubliclyIfConfigured) {
  open();
  EXPECT_EQ(say("GET", "/metrics", "", "").status, 401);
  script = [](const api::Request&) { return told(api::Metrics{{metric("slots", "Slots.", 8)}}); };
  const Response known = say("GET", "/metrics");
  EXPECT_THAT(known.body, HasSubstr("\ncadre_slots 8\n"));
  EXPECT_THAT(known.body, HasSubstr("\ncadre_http_requests_total "));
  gateway.reset();
  Options options;
  options.open_metrics = true;
  options.metrics = [] { return std::vector{metric("output_bytes", "Output kept.", 17)}; };
  open(std::move(options));
  const Response anybody = say("GET", "/metrics", "", "");
  EXPECT_EQ(anybody.status, 200);
  EXPECT_THAT(anybody.body, HasSubstr("\ncadre_output_bytes 17\n"));
  EXPECT_THAT(anybody.body, Not(HasSubstr("cadre_slots")));
}

TEST_F(GatewayTest, TimesRequestsByRouteAndNeverByPath) {
  Options options;
  options.open_metrics = true;
  open(std::move(options));
  script = [](const api::Request&) { return told(requests::JobView{}); };
  for (const char* path : {"/api/v1/jobs/17", "/api/v1/jobs/18"}) EXPECT_EQ(say("GET", path).status, 200);
  EXPECT_EQ(say("GET", "/api/v1/jobs/17", "", "").status, 401);
  for (const char* path : {"/api/v1/secret/1", "/api/v1/secret/2"}) EXPECT_EQ(say("GET", path).status, 404);
  const std::string text = say("GET", "/metrics", "", "").body;
  for (const char* line :
       {R"(cadre_http_request_seconds_count{method="GET",route="/api/v1/jobs/{job}",status="2xx"} 2)",
        R"(cadre_http_request_seconds_count{method="GET",route="/api/v1/jobs/{job}",status="4xx"} 1)",
        R"(cadre_http_request_seconds_count{method="GET",route="other",status="4xx"} 2)"}) {
    EXPECT_THAT(text, HasSubstr(std::string("\n") + line + "\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace cadre::gateway
