// What our client and our server promise each other, over the sockets of the machine.
#include "loop/tasks.h"
#include "net/http/http_for_tests.h"

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

TEST(Http, AsksAndAnswers) {
  HttpSides sides(echo);
  Question question;
  question.method = Method::post;
  question.url = sides.url("/a/b?c=d%20e");
  question.headers = {{"X-Word", "said"}, {"Content-Type", "text/plain"}};
  question.body = "the body";
  const Response response = sides.ask(std::move(question)).value();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain");
  EXPECT_EQ(response.body, "POST /a/b?c=d%20e the body");
  EXPECT_EQ(find(response.headers, "x-peer"), "127.0.0.1");
  EXPECT_EQ(find(response.headers, "X-WORD"), "said");
}

}  // namespace
}  // namespace cadre::net::http
