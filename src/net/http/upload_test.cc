// Bodies that a client reads piece by piece while it sends them.
#include <algorithm>
#include <cstring>

#include "base/dice.h"
#include "net/http/raw_http_for_tests.h"
#include "net/raw_socket_test.h"

namespace cadre::net::http {
namespace {

using testing::HasSubstr;

ServerOptions with_large_bodies() {
  ServerOptions options;
  options.body_max = [](Method, std::string_view) { return ByteSize{64 << 20}; };
  return options;
}

/// Bytes of a text, at most so many at a time; ends before the text does when it is `cut`.
Upload upload_of(const std::string& text, std::size_t piece_max, std::size_t cut = std::string::npos) {
  const std::size_t end = std::min(cut, text.size());
  return {static_cast<std::int64_t>(text.size()), [&text, piece_max, end, at = std::size_t{0}](auto into) mutable {
            const std::size_t size = std::min({piece_max, into.size(), end - at});
            std::memcpy(into.data(), text.data() + at, size);
            at += size;
            return size;
          }};
}

Question question_to(std::string url, Upload upload) {
  Question question;
  question.method = Method::put;
  question.url = std::move(url);
  question.upload = std::move(upload);
  return question;
}

std::string some_text(std::size_t size) {
  std::string bytes(size, ' ');
  Dice dice(size);
  for (char& c : bytes) c = static_cast<char>(dice.below(256));
  return bytes;
}

TEST(HttpUpload, ArrivesWholeWhateverItsPieces) {
  std::string arrived;
  HttpSides sides(
      [&](std::unique_ptr<Exchange> exchange) {
        arrived = exchange->request().body;
        exchange->answer(text(std::string(find(exchange->request().headers, "Content-Length"))));
      },
      with_large_bodies());
  for (const auto& [size, piece] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 1}, {1, 1}, {70'000, 7}, {70'000, 70'000}, {5 << 20, 100'000}}) {
    const std::string body = some_text(size);
    const auto response = sides.ask(question_to(sides.url("/"), upload_of(body, piece)));
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_EQ(response->body, std::to_string(size));
    EXPECT_TRUE(arrived == body) << size;
  }
  EXPECT_EQ(sides.server->counters().connections, 1U) << "the connection goes on";
}

TEST(HttpUpload, ThatEndsTooEarlyIsBrokenOffAndNeverServed) {
  int served = 0;
  HttpSides sides(
      [&](std::unique_ptr<Exchange> exchange) {
        ++served;
        hello(std::move(exchange));
      },
      with_large_bodies());
  const std::string body = some_text(300'000);
  const auto response = sides.ask(question_to(sides.url("/"), upload_of(body, 1'000, 200'000)));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::timed_out) << response.error().message;
  run_until(sides.loop, [&] { return sides.server->counters().open == 0; });
  EXPECT_EQ(served, 0);
}

TEST(HttpUpload, IsAnsweredBeforeItsEndWhenTheServerRefusesIt) {
  HttpSides sides([](std::unique_ptr<Exchange> exchange) { hello(std::move(exchange)); });
  const std::string body = some_text(8 << 20);
  const auto response = sides.ask(question_to(sides.url("/"), upload_of(body, 100'000)));
  ASSERT_TRUE(response.has_value()) << response.error().message;
  EXPECT_EQ(response->status, 413);
}

TEST(HttpUpload, OnlySilenceCountsAgainstItsWait) {
  const std::string body = some_text(1 << 20);
  {
    HttpSides sides(hello, with_large_bodies());
    Question question = question_to(sides.url("/"), upload_of(body, 20'000));
    const auto read = std::move(question.upload.read);
    question.upload.read = [&](auto into) {
      std::this_thread::sleep_for(milliseconds(10));
      return read(into);
    };
    question.wait = milliseconds(300);
    const TimePoint begin = sides.loop.now();
    const auto response = sides.ask(std::move(question));
    ASSERT_TRUE(response.has_value()) << response.error().message;
    EXPECT_GT(sides.loop.now() - begin, milliseconds(300)) << "else this test could find nothing";
  }
  HttpSides sides([](auto) {});
  const RawSocket silent = RawSocket::listen_on(0);
  Question question = question_to("http://127.0.0.1:" + std::to_string(silent.port()) + "/", upload_of(body, 20'000));
  question.wait = milliseconds(200);
  const auto response = sides.ask(std::move(question));
  ASSERT_FALSE(response.has_value());
  EXPECT_EQ(response.error().code, Errc::timed_out);
  EXPECT_THAT(response.error().message, HasSubstr("no data arrived"));
}

}  // namespace
}  // namespace cadre::net::http
