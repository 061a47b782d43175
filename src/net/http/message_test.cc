#include "net/http/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "net/http/response_writer.h"

namespace cadre::net::http {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(HttpMessage, MethodsHaveNames) {
  for (const Method method : {Method::get, Method::head, Method::post, Method::put, Method::patch, Method::remove}) {
    EXPECT_EQ(parse_method(to_string(method)), method);
  }
  EXPECT_EQ(to_string(Method::remove), "DELETE");
  EXPECT_EQ(parse_method("get"), Method::other);
  EXPECT_EQ(parse_method("OPTIONS"), Method::other);
}

TEST(HttpMessage, HeadersAreFoundWhateverTheirCase) {
  const Headers headers = {{"A", "1"}, {"a", "2"}, {"Content-Type", "x"}};
  EXPECT_EQ(find(headers, "a"), "1");
  EXPECT_EQ(find(headers, "cONTENT-tYPE"), "x");
  EXPECT_EQ(find(headers, "Content-Typ"), "");
}

TEST(HttpMessage, ThePathEndsBeforeTheQuery) {
  Request request;
  request.target = "/a%2fb?c?d";
  EXPECT_EQ(request.path(), "/a%2fb");
  request.target = "/a";
  EXPECT_EQ(request.path(), "/a");
}

TEST(HttpMessage, EscapesAreTakenOff) {
  EXPECT_EQ(unescape("a%2Fb%2f+%C3%bc%00").value(), std::string("a/b/+ü\0", 8));
  for (const std::string wrong : {"%", "%4", "%4x", "%x4", "a%%41", "%-1", "% 1"}) {
    EXPECT_EQ(unescape(wrong).error().code, Errc::invalid) << wrong;
  }
}

TEST(HttpMessage, EscapedTextRoundTrips) {
  EXPECT_EQ(escape("a b/c?d&e=f+g%~._-ü"), "a%20b%2Fc%3Fd%26e%3Df%2Bg%25~._-%C3%BC");
  FOR_SEEDS(500, [](Dice& dice) {
    std::string name(dice.below(20), '\0'), value(dice.below(20), '\0');
    for (char& c : name) c = static_cast<char>(dice.bits());
    for (char& c : value) c = static_cast<char>(dice.bits());
    EXPECT_EQ(unescape(escape(name)).value(), name);
    const Query query = query_of("/?" + escape("x" + name) + "=" + escape(value)).value();
    EXPECT_THAT(query, ElementsAre(Pair("x" + name, value)));
  });
}

TEST(HttpMessage, QueriesAreNamesAndValuesInOrder) {
  EXPECT_THAT(query_of("/a?b=1&c=&d&b=2+3%26&&=e=f").value(),
              ElementsAre(Pair("b", "1"), Pair("c", ""), Pair("d", ""), Pair("b", "2 3&"), Pair("", "e=f")));
  EXPECT_TRUE(query_of("/a").value().empty());
  EXPECT_TRUE(query_of("/a?").value().empty());
  EXPECT_EQ(query_of("/a?b=%zz").error().code, Errc::invalid);
  EXPECT_EQ(query_of("/a?%=b").error().code, Errc::invalid);
}

TEST(HttpMessage, HeadsAreSpelled) {
  Response response{.status = 404, .content_type = "text/plain", .body = "abc", .headers = {{"X-Y", "z"}}};
  std::string head;
  write_head(head, response, BodyKind::sized, After::keep);
  EXPECT_EQ(head, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 3\r\nX-Y: z\r\n\r\n");
  head.clear();
  response.status = 204;
  write_head(head, response, BodyKind::sized, After::close);
  EXPECT_EQ(head, "HTTP/1.1 204 No Content\r\nX-Y: z\r\nConnection: close\r\n\r\n");
}

TEST(HttpMessage, AStatusThatHasNoWordsCanBeSent) {
  Response response;
  response.status = 299;
  EXPECT_TRUE(is_sound(response));
  EXPECT_EQ(reason_of(299), "Unknown");
  for (const int status : {0, 99, 101, 600, -1}) {
    response.status = status;
    EXPECT_FALSE(is_sound(response));
  }
}

}  // namespace
}  // namespace cadre::net::http
