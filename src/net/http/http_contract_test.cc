// What our client and our server promise each other, over the sockets of the machine.
#include "base/dice.h"
#include "loop/tasks.h"
#include "net/http/http_for_tests.h"
#include "net/raw_socket_test.h"

namespace cadre::net::http {
namespace {

using testing::HasSubstr;

void echo(std::unique_ptr<Exchange> exchange) {
  const Request& request = exchange->request();
  Response response = text(std::string(to_string(request.method)) + " " + request.target + " " + request.body);
  response.headers.emplace_back("X-Peer", request.peer);
  response.headers.emplace_back("X-Word", std::string(find(request.headers, "x-word")));
  exchange->answer(std::move(response));
}

/// Keeps what is asked, to be answered later.
struct OpenExchanges {
  Server::Handler handler() {
    return [this](std::unique_ptr<Exchange> exchange) { open.push_back(std::move(exchange)); };
  }
  std::vector<std::unique_ptr<Exchange>> open;
};

Question question_to(std::string url) {
  Question question;
  question.url = std::move(url);
  return question;
}

TEST(Http, AsksAndAnswers) {
  HttpSides sides(echo);
  Question question = question_to(sides.url("/a/b?c=d%20e"));
  question.method = Method::post;
  question.headers = {{"X-Word", "said"}, {"Content-Type", "text/plain"}};
  question.body = "the body";
  const Response response = sides.ask(std::move(question)).value();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain");
  EXPECT_EQ(response.body, "POST /a/b?c=d%20e the body");
  EXPECT_EQ(find(response.headers, "x-peer"), "127.0.0.1");
  EXPECT_EQ(find(response.headers, "X-WORD"), "said");
}

TEST(Http, EveryMethodArrivesAsItself) {
  HttpSides sides(echo);
  for (const Method method : {Method::get, Method::post, Method::put, Method::patch, Method::remove}) {
    for (const std::string body : {"", "x"}) {
      Question question = question_to(sides.url("/m"));
      question.method = method;
      question.body = body;
      const Response response = sides.ask(question).value();
      if (!body.empty() && (method == Method::get || method == Method::remove)) {
        EXPECT_EQ(response.status, 400) << to_string(method);
      } else {
        EXPECT_EQ(response.body, std::string(to_string(method)) + " /m " + body);
      }
    }
  }
}

TEST(Http, AThousandRequestsUseOneConnection) {
  HttpSides sides(echo);
  for (int i = 0; i < 1'000; ++i) {
    const std::string target = "/n" + std::to_string(i);
    ASSERT_EQ(sides.get(target).value().body, "GET " + target + " ");
  }
  EXPECT_EQ(sides.server->counters().connections, 1);
  EXPECT_EQ(sides.server->counters().requests, 1'000);
}

loop::Task<void> ask_and_count(Client& client, std::string url, std::string expected, int& answered) {
  Question question = question_to(std::move(url));
  Result<Response> response = co_await client.ask(std::move(question));
  EXPECT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response ? response->body : "", expected);
  ++answered;
}

TEST(Http, ManyAskAtTheSameTime) {
  HttpSides sides(echo);
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::string target = "/n" + std::to_string(i);
    tasks.spawn(ask_and_count(*sides.client, sides.url(target), "GET " + target + " ", answered));
  }
  run_until(sides.loop, [&] { return answered == 1'000; });
  EXPECT_GT(sides.server->counters().connections, 1);
  EXPECT_LE(sides.server->counters().connections, 256);
}

TEST(Http, AnswersMayComeLaterAndInAnyOrder) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string target = "/n" + std::to_string(i);
    tasks.spawn(ask_and_count(*sides.client, sides.url(target), target, answered));
  }
  run_until(sides.loop, [&] { return exchanges.open.size() == 50; });
  while (!exchanges.open.empty()) {
    exchanges.open.back()->answer(text(exchanges.open.back()->request().target));
    exchanges.open.pop_back();
  }
  run_until(sides.loop, [&] { return answered == 50; });
}

TEST(Http, LargeBodiesGoBothWays) {
  ServerOptions options;
  options.body_max = [](Method, std::string_view) { return ByteSize{64 << 20}; };
  HttpSides sides([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(exchange->request().body)); },
                  options);
  std::string body(32 << 20, '\0');
  Dice dice(3);
  for (char& c : body) c = static_cast<char>(dice.bits());
  Question question = question_to(sides.url("/large"));
  question.method = Method::put;
  question.body = body;
  EXPECT_TRUE(sides.ask(std::move(question)).value().body == body);
}

TEST(Http, AnUnansweredRequestIsAnswered500) {
  HttpSides sides([](std::unique_ptr<Exchange>) {});
  const Response response = sides.get("/").value();
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_THAT(response.body, HasSubstr("\"status\": 500"));
}

TEST(Http, AnAnswerThatCannotBeSentIs500) {
  for (const Headers& headers : {Headers{{"X", "a\r\nY: b"}}, Headers{{"X Y", "a"}}, Headers{{"content-length", "7"}},
                                 Headers{{"X", std::string("a\0b", 3)}}, Headers{{"", "a"}}}) {
    HttpSides sides([&](std::unique_ptr<Exchange> exchange) {
      Response response = text("x");
      response.headers = headers;
      exchange->answer(std::move(response));
    });
    EXPECT_EQ(sides.get("/").value().status, 500);
  }
}

TEST(Http, HeadIsAnsweredWithoutBodyAndTheConnectionGoesOn) {
  HttpSides sides(echo);
  Question question = question_to(sides.url("/h"));
  question.method = Method::head;
  const Response response = sides.ask(question).value();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(find(response.headers, "Content-Length"), std::to_string(std::string("HEAD /h ").size()));
  EXPECT_EQ(sides.get("/g").value().body, "GET /g ");
  EXPECT_EQ(sides.server->counters().connections, 1);
}

TEST(Http, SomeStatusesHaveNoBody) {
  for (const int status : {204, 304}) {
    HttpSides sides([&](std::unique_ptr<Exchange> exchange) {
      Response response = text("not to be sent");
      response.status = status;
      exchange->answer(std::move(response));
    });
    EXPECT_EQ(sides.get("/").value().body, "");
    EXPECT_EQ(sides.get("/").value().status, status);
    EXPECT_EQ(sides.server->counters().connections, 1);
  }
}

TEST(Http, ACancelledRequestIsRemoved) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  tasks.spawn(ask_and_count(*sides.client, sides.url("/"), "", answered));
  run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
  int gone = 0;
  exchanges.open.front()->on_gone([&] {
    ++gone;
    exchanges.open.clear();
  });
  run_for(sides.loop, milliseconds(20));
  EXPECT_EQ(gone, 0);
  tasks.destroy_all();
  run_until(sides.loop, [&] { return gone == 1; });
  EXPECT_EQ(sides.server->counters().open, 0);
  EXPECT_EQ(answered, 0);
}

TEST(Http, TellsThatTheClientHasGoneAlsoWhenItWentBefore) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  tasks.spawn(ask_and_count(*sides.client, sides.url("/"), "", answered));
  run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
  tasks.destroy_all();
  run_until(sides.loop, [&] { return sides.server->counters().open == 0; });
  run_for(sides.loop, milliseconds(20));
  int gone = 0;
  exchanges.open.front()->on_gone([&] { ++gone; });
  EXPECT_EQ(gone, 0) << "not inside the call";
  run_until(sides.loop, [&] { return gone == 1; });
}

TEST(Http, AResponseToAClosedConnectionIsHarmless) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  for (int i = 0; i < 3; ++i) tasks.spawn(ask_and_count(*sides.client, sides.url("/"), "", answered));
  run_until(sides.loop, [&] { return exchanges.open.size() == 3; });
  tasks.destroy_all();
  run_until(sides.loop, [&] { return sides.server->counters().open == 0; });
  exchanges.open[0]->answer(text("late"));
  const auto stream = exchanges.open[1]->stream(text(""));
  EXPECT_EQ(run_task(sides.loop, stream->write("late")).error().code, Errc::unavailable);
  EXPECT_EQ(run_task(sides.loop, stream->end()).error().code, Errc::unavailable);
  EXPECT_EQ(run_task(sides.loop, exchanges.open[2]->upgrade()).error().code, Errc::unavailable);
  exchanges.open.clear();
}

TEST(Http, AHandlerMayEndTheServer) {
  std::unique_ptr<Server>* server = nullptr;
  HttpSides sides([&](std::unique_ptr<Exchange> exchange) {
    server->reset();
    exchange->answer(text("in vain"));
  });
  server = &sides.server;
  EXPECT_EQ(sides.get("/").error().code, Errc::timed_out);
}

TEST(Http, TheServerMayGoBeforeItsExchanges) {
  OpenExchanges exchanges;
  int gone = 0;
  {
    HttpSides sides(exchanges.handler());
    loop::Tasks tasks(sides.loop);
    int answered = 0;
    tasks.spawn(ask_and_count(*sides.client, sides.url("/"), "", answered));
    run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
    exchanges.open.front()->on_gone([&] { ++gone; });
    sides.server.reset();
    EXPECT_EQ(gone, 0);
    tasks.destroy_all();
    run_until(sides.loop, [&] { return gone == 1; });
  }
  exchanges.open.front()->answer(text("late"));  // the loop is gone too
  exchanges.open.clear();
}

loop::Task<void> send_pieces(std::unique_ptr<Exchange> exchange, int count, std::size_t size, std::size_t& written) {
  const std::unique_ptr<Stream> stream = exchange->stream(text(""));
  for (int i = 0; i < count; ++i) {
    std::string piece(size, static_cast<char>('a' + i % 26));
    const Result<void> done = co_await stream->write(std::move(piece));
    if (!done) co_return;
    written += size;
  }
  static_cast<void>(co_await stream->end());
}

struct Streaming {
  Server::Handler handler(int count, std::size_t size) {
    return [this, count, size](std::unique_ptr<Exchange> exchange) {
      sides->loop.spawn(send_pieces(std::move(exchange), count, size, written));
    };
  }
  HttpSides* sides = nullptr;
  std::size_t written = 0;
};

TEST(Http, PiecesArriveInOrderAndTheConnectionGoesOn) {
  Streaming streaming;
  HttpSides sides(streaming.handler(1'000, 777));
  streaming.sides = &sides;
  for (int i = 0; i < 2; ++i) {
    std::string heard;
    const auto hear = [&](std::string_view piece) { heard += piece; };
    const Result<Response> response = run_task(sides.loop, sides.client->ask(question_to(sides.url("/")), hear));
    EXPECT_EQ(response.value().status, 200);
    EXPECT_EQ(response->body, "");
    std::string expected;
    for (int k = 0; k < 1'000; ++k) expected += std::string(777, static_cast<char>('a' + k % 26));
    EXPECT_TRUE(heard == expected) << heard.size();
  }
  EXPECT_EQ(sides.server->counters().connections, 1);
}

TEST(Http, ErrorResponsesAreNotStreamed) {
  HttpSides sides([](std::unique_ptr<Exchange> exchange) {
    Response response = text("why");
    response.status = 403;
    exchange->answer(std::move(response));
  });
  const auto never = [](std::string_view) { ADD_FAILURE(); };
  const Result<Response> response = run_task(sides.loop, sides.client->ask(question_to(sides.url("/")), never));
  EXPECT_EQ(response.value().status, 403);
  EXPECT_EQ(response->body, "why");
}

TEST(Http, ASlowReaderHoldsUpTheWriter) {
  constexpr std::size_t piece = 256 << 10;
  constexpr int count = 400;  // 100 MiB
  Streaming streaming;
  HttpSides sides(streaming.handler(count, piece));
  streaming.sides = &sides;
  const RawSocket reader = RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(sides.server->port()));
  reader.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  std::size_t before = 1;
  while (streaming.written != before) {  // until it stands still
    before = streaming.written;
    run_for(sides.loop, milliseconds(200));
  }
  EXPECT_GT(streaming.written, 0);
  EXPECT_LT(streaming.written, 32 << 20) << "the system holds a few MiB, and nobody else holds more";
  std::size_t read = 0;
  run_until(sides.loop, [&] {
    read += reader.hear(0).size();
    EXPECT_LT(streaming.written, read + (32 << 20));
    return streaming.written == piece * count;
  });
}

TEST(Http, AnUnfinishedStreamIsReportedAsIncomplete) {
  HttpSides sides([](std::unique_ptr<Exchange> exchange) {
    const auto stream = exchange->stream(text(""));
    static_cast<void>(stream);
  });
  std::string heard;
  const auto hear = [&](std::string_view piece) { heard += piece; };
  const Result<Response> response = run_task(sides.loop, sides.client->ask(question_to(sides.url("/")), hear));
  EXPECT_EQ(response.error().code, Errc::timed_out);
}

loop::Task<void> wait_in_stream(std::unique_ptr<Exchange> exchange, HttpSides& sides, int& gone, bool& failed) {
  exchange->on_gone([&gone] { ++gone; });
  const std::unique_ptr<Stream> stream = exchange->stream(text(""));
  static_cast<void>(co_await stream->write("begun"));
  while (gone == 0) co_await loop::sleep(sides.loop, milliseconds(1));
  const Result<void> done = co_await stream->write("more");
  failed = !done;
}

TEST(Http, AStreamDetectsADisconnectedPeer) {
  HttpSides* there = nullptr;
  int gone = 0;
  bool failed = false;
  HttpSides sides([&](std::unique_ptr<Exchange> exchange) {
    there->loop.spawn(wait_in_stream(std::move(exchange), *there, gone, failed));
  });
  there = &sides;
  std::optional<RawSocket> reader(RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(sides.server->port())));
  reader->say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string heard;
  run_until(sides.loop, [&] { return (heard += reader->hear(0)).ends_with("begun\r\n"); });
  reader.reset();
  run_until(sides.loop, [&] { return failed; });
  EXPECT_EQ(gone, 1);
}

TEST(Http, ACalledPieceMayEndItsQuestion) {
  Streaming streaming;
  HttpSides sides(streaming.handler(100'000, 1'000));
  streaming.sides = &sides;
  loop::Tasks tasks(sides.loop);
  std::optional<Result<Response>> result;
  int pieces = 0;
  const auto hear = [&](std::string_view) {
    ++pieces;
    sides.loop.post([&] { tasks.destroy_all(); });
  };
  tasks.spawn(keep_result(sides.client->ask(question_to(sides.url("/")), hear), result));
  run_until(sides.loop, [&] { return pieces > 0 && tasks.count() == 0 && sides.server->counters().open == 0; });
  EXPECT_FALSE(result);
}

TEST(Http, ACalledPieceMayEndTheClient) {
  Streaming streaming;
  HttpSides sides(streaming.handler(1'000'000, 1'000));  // more than comes before it is called
  streaming.sides = &sides;
  const auto hear = [&](std::string_view) { sides.client.reset(); };
  std::optional<Result<Response>> result;
  sides.loop.spawn(keep_result(sides.client->ask(question_to(sides.url("/")), hear), result));
  run_until(sides.loop, [&] { return result.has_value(); });
  EXPECT_EQ(result->error().code, Errc::timed_out);
}

TEST(Http, TheClientMayGoBeforeItsAnswers) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  std::optional<Result<Response>> result;
  sides.loop.spawn(keep_result(sides.client->ask(question_to(sides.url("/"))), result));
  run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
  sides.client.reset();
  run_until(sides.loop, [&] { return result.has_value(); });
  EXPECT_EQ(result->error().code, Errc::timed_out);
}

TEST(Http, ErrorsSayWhetherItMayHaveBeenDone) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  EXPECT_EQ(sides.ask(question_to("http://127.0.0.1:1/")).error().code, Errc::unavailable);
  EXPECT_EQ(sides.ask(question_to("http://there.is.none.invalid/")).error().code, Errc::unavailable);
  EXPECT_EQ(sides.ask(question_to("ftp://127.0.0.1/")).error().code, Errc::invalid);
  EXPECT_EQ(sides.ask(question_to("file:///etc/passwd")).error().code, Errc::invalid);
  EXPECT_EQ(sides.ask(question_to("http://")).error().code, Errc::invalid);
  Question injecting = question_to(sides.url("/"));
  injecting.headers = {{"X", "a\r\nY: b"}};
  EXPECT_EQ(sides.ask(injecting).error().code, Errc::invalid);
  Question hasty = question_to(sides.url("/"));
  hasty.wait = milliseconds(50);
  EXPECT_EQ(sides.ask(hasty).error().code, Errc::timed_out);
  const auto hear = [](std::string_view) {};
  EXPECT_EQ(run_task(sides.loop, sides.client->ask(hasty, hear)).error().code, Errc::timed_out);
}

TEST(Http, AnAnswerBeyondTheBoundIsRefused) {
  HttpSides sides([](std::unique_ptr<Exchange> exchange) { exchange->answer(text(std::string(100'000, 'x'))); }, {},
                  {.ca_file = "", .connect_wait = seconds(5), .answer_max = ByteSize{99'999}, .connections_max = 8});
  EXPECT_EQ(sides.get("/").error().code, Errc::corrupt);
}

TEST(Http, RedirectionsAreNotFollowed) {
  HttpSides sides([](std::unique_ptr<Exchange> exchange) {
    Response response{.status = 302, .content_type = "", .body = "", .headers = {{"Location", "/elsewhere"}}};
    exchange->answer(std::move(response));
  });
  EXPECT_EQ(sides.get("/").value().status, 302);
  EXPECT_EQ(sides.server->counters().requests, 1);
}

TEST(Http, APortInUseIsAConflictAndAWrongHostInvalid) {
  HttpSides sides(echo);
  ServerOptions options;
  options.port = sides.server->port();
  EXPECT_EQ(Server::listen(sides.loop, sides.log, options, echo).error().code, Errc::conflict);
  options.host = "there.is.none.invalid";
  EXPECT_EQ(Server::listen(sides.loop, sides.log, options, echo).error().code, Errc::invalid);
}

loop::Task<void> drain_and_tell(Server& server, Duration most, bool& drained) {
  co_await server.drain(most);
  drained = true;
}

TEST(Http, DrainingLetsWhatIsUnderWayEnd) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  loop::Tasks tasks(sides.loop);
  int answered = 0;
  tasks.spawn(ask_and_count(*sides.client, sides.url("/"), "done", answered));
  run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
  const RawSocket idle = RawSocket::connect_to("tcp://127.0.0.1:" + std::to_string(sides.server->port()));
  run_until(sides.loop, [&] { return sides.server->counters().connections == 2; });
  bool drained = false;
  tasks.spawn(drain_and_tell(*sides.server, seconds(60), drained));
  run_for(sides.loop, milliseconds(30));
  EXPECT_FALSE(drained);
  EXPECT_EQ(sides.get("/").error().code, Errc::unavailable);
  exchanges.open.front()->answer(text("done"));
  run_until(sides.loop, [&] { return answered == 1 && drained; });
  EXPECT_EQ(sides.server->counters().timed_out, 0);
}

TEST(Http, DrainingEndsAfterItsTime) {
  OpenExchanges exchanges;
  HttpSides sides(exchanges.handler());
  std::optional<Result<Response>> result;
  sides.loop.spawn(keep_result(sides.client->ask(question_to(sides.url("/"))), result));
  run_until(sides.loop, [&] { return exchanges.open.size() == 1; });
  bool drained = false;
  sides.loop.spawn(drain_and_tell(*sides.server, milliseconds(50), drained));
  run_until(sides.loop, [&] { return drained && result.has_value(); });
  EXPECT_EQ(result->error().code, Errc::timed_out);
}

}  // namespace
}  // namespace cadre::net::http
