#include "net/http/request_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"

namespace cadre::net::http {
namespace {

using testing::ElementsAre;

const RequestReader::Rules rules{ByteSize{1'000}, [](Method, std::string_view) { return ByteSize{100}; }};

/// What came of bytes that came in pieces: what was read, and the status of the refusal if there was one.
struct Outcome {
  std::vector<std::string> requests;
  int refused = 0;
  std::string left;
  bool operator==(const Outcome&) const = default;
};

/// `next` gives the size of the next piece.
template <class Next>
Outcome read(std::string_view bytes, Next next) {
  RequestReader reader(rules);
  Outcome outcome;
  std::string buffer;
  for (std::size_t at = 0; at < bytes.size() && reader.state() != RequestReader::State::refused;) {
    const std::size_t size = std::min(next(), bytes.size() - at);
    buffer += bytes.substr(at, size);
    at += size;
    while (true) {
      buffer.erase(0, reader.take(buffer));
      if (reader.state() != RequestReader::State::whole) break;
      const Request& request = reader.request();
      std::string text = std::string(to_string(request.method)) + " " + request.target + " ";
      for (const auto& [name, value] : request.headers) (((text += name) += "=") += value) += ";";
      outcome.requests.push_back(text + " " + request.body);
      reader.next();
    }
  }
  if (reader.state() == RequestReader::State::refused) {
    outcome.refused = reader.refusal().status;
  } else {
    outcome.left = buffer;
  }
  return outcome;
}

Outcome read(std::string_view bytes) {
  return read(bytes, [&] { return bytes.size(); });
}

const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";

TEST(HttpRequestReader, ReadsOneRequestAfterAnother) {
  const Outcome outcome = read(
      "\r\nGET /a?b HTTP/1.1\r\nHost: x\r\nA:\t 1 \r\n\r\n"
      "POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "PUT /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;e=f\r\nde\r\n0A\r\n0123456789\r\n0\r\nT: "
      "u\r\n\r\n"
      "DELETE /e HTTP/1.0\r\n\r\n");
  EXPECT_THAT(outcome.requests, ElementsAre("GET /a?b Host=x;A=1; ", "POST /c Host=x;Content-Length=3; abc",
                                            "PUT /d Host=x;Transfer-Encoding=chunked; de0123456789", "DELETE /e  "));
  EXPECT_EQ(outcome.refused, 0);
}

struct Case {
  std::string bytes;
  int status;
};

const Case refused[] = {
    {"\x16\x03\x01\x02\x01garbage\r\n\r\n", 400},
    {"GET\r\n\r\n", 400},
    {"GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: x\n\n", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400},
    {std::string("GET / HTTP/1.1\r\nHost: x\0\r\n\r\n", 28), 400},
    {std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 28), 400},
    {std::string("\0\0\0\0", 4), 400},
    {"GET /" + std::string(2'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
    {"GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(2'000, 'a') + "\r\n\r\n", 431},
    // How one request hides in another.
    {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400},
    {post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
    {post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
    {post + "Content-Length: 5, 6\r\n\r\n", 400},
    {post + "Content-Length: -1\r\n\r\n", 400},
    {post + "Content-Length: +1\r\n\r\n", 400},
    {post + "Content-Length: 1 1\r\n\r\n", 400},
    {post + "Content-Length: 0x10\r\n\r\n", 400},
    {post + "Content-Length:\r\n\r\n", 400},
    {post + "Content-Length: 18446744073709551616\r\n\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {post + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
    {post + "Transfer-Encoding: chunked, identity\r\n\r\n", 501},
    {post + "Transfer-Encoding: xchunked\r\n\r\n", 501},
    {post + "Transfer-Encoding:\r\n\r\n", 501},
    {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
    {post + "Expect: the-best\r\n\r\n", 417},
    // Bodies.
    {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", 400},
    {"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 400},
    {"DELETE / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n", 400},
    {"DELETE / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
    {post + "Content-Length: 101\r\n\r\n", 413},
    {post + "Content-Length: 18446744073709551615\r\n\r\n", 413},
    {post + "Transfer-Encoding: chunked\r\n\r\n65\r\n", 413},
    {post + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n64\r\n", 413},
    {post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 413},
    {post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", 413},
    {post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n1\na\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n1\r\na\n0\r\n\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(10'000, 'e') + "\r\na\r\n0\r\n\r\n", 400},
    {post + "Transfer-Encoding: chunked\r\n\r\n0\r\nT: " + std::string(10'000, 't') + "\r\n\r\n", 400},
};

TEST(HttpRequestReader, RefusesWhatIsMalformedOrTooLarge) {
  for (const auto& [bytes, status] : refused) {
    const Outcome outcome = read(bytes);
    EXPECT_EQ(outcome.refused, status) << bytes.substr(0, 200);
    EXPECT_TRUE(outcome.requests.empty()) << bytes.substr(0, 200);
  }
}

TEST(HttpRequestReader, IsNotMisledByWhereTheBytesAreSplit) {
  std::vector<std::string> texts;
  // A header may be refused as late as at its end.
  for (const auto& [bytes, status] : refused) {
    std::string text = post + "Content-Length: 2\r\n\r\nab";
    (text += bytes) += "\r\n\r\n";
    texts.push_back(std::move(text));
  }
  texts.push_back("\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\nA: 1\r\nB: 2\r\n\r\n" + post +
                  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + post +
                  "Transfer-Encoding: chunked\r\n\r\n3 ;e=\"f\"\r\nabc\r\n0\r\nT: u\r\nV: w\r\n\r\nGET /b "
                  "HTTP/1.1\r\nHost: x\r\n\r\n");
  for (const std::string& text : texts) {
    const Outcome whole = read(text);
    EXPECT_EQ(read(text, [] { return std::size_t{1}; }), whole) << text.substr(0, 200);
    FOR_SEEDS(50, [&](Dice& dice) {
      EXPECT_EQ(read(text, [&] { return 1 + dice.below(40); }), whole) << text.substr(0, 200);
    });
  }
}

TEST(HttpRequestReader, TheLimitOfTheHeaderCountsAllOfIt) {
  // One line after another, none of them long: what was taken already counts too.
  RequestReader reader(rules);
  std::string buffer = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::size_t given = buffer.size();
  while (reader.state() == RequestReader::State::header && given < 100'000) {
    buffer.erase(0, reader.take(buffer));
    buffer += "A: 12345\r\n";
    given += 10;
  }
  EXPECT_EQ(reader.refusal().status, 431);
  EXPECT_LT(given, 1'100);
}

TEST(HttpRequestReader, DetectsWebSocketRequests) {
  const auto asks = [](const std::string& bytes) {
    RequestReader reader(rules);
    reader.take(bytes);
    EXPECT_EQ(reader.state(), RequestReader::State::whole) << bytes;
    return reader.request().is_websocket;
  };
  const std::string get = " / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_TRUE(asks("GET" + get + "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n"));
  EXPECT_FALSE(asks("GET" + get + "Connection: keep-alive\r\nUpgrade: websocket\r\n\r\n"));
  EXPECT_FALSE(asks("GET" + get + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"));
  EXPECT_FALSE(asks("GET" + get + "Connection: Upgrade\r\n\r\n"));
  EXPECT_FALSE(asks("POST" + get + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  EXPECT_TRUE(asks("GET" + get + "Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n"));
}

TEST(HttpRequestReader, AsksTheRulesForEachBody) {
  const RequestReader::Rules own{ByteSize{1'000}, [](Method method, std::string_view target) {
                                   return ByteSize{method == Method::put && target == "/large?x" ? 10 : 1};
                                 }};
  const auto status = [&](const std::string& line) {
    RequestReader reader(own);
    reader.take(line + " HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789");
    return reader.state() == RequestReader::State::whole ? 200 : reader.refusal().status;
  };
  EXPECT_EQ(status("PUT /large?x"), 200);
  EXPECT_EQ(status("POST /large?x"), 413);
  EXPECT_EQ(status("PUT /large"), 413);
}

}  // namespace
}  // namespace cadre::net::http
