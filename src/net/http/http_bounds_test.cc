// Answers that wait for their peers are bounded, and what is beyond the bounds gives way.
#include <fstream>
#include <vector>

#include "net/http/raw_http_for_tests.h"

namespace cadre::net::http {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// How much memory this process has, in bytes.
std::size_t resident() {
  std::size_t size = 0;
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> size >> pages;
  return pages * 4'096;
}

TEST(HttpBounds, AnswersThatNobodyTakesAreBoundedTogether) {
  Limits limits;
  limits.unsent_max = ByteSize{40 << 20};
  ServerOnThread server([](auto exchange) { exchange->answer(text(std::string(16 << 20, 'x'))); }, with(limits));
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 20; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
    server.expect([&](const Counters& counters) { return counters.requests == static_cast<std::uint64_t>(i + 1); });
  }
  server.expect([](const Counters& counters) { return counters.cut_unsent >= 15; });
  server.expect([](const Counters& counters) { return counters.open <= 6; });
  const RawSocket reader = connect(server);
  reader.say(good);
  EXPECT_EQ(hear_until(reader, std::string(100, 'x')).substr(0, 15), "HTTP/1.1 200 OK") << "others are served";
}

TEST(HttpBounds, ASharedDocumentIsNotCopiedForEachAnswer) {
  const auto document = std::make_shared<const std::string>(std::string(8 << 20, 'x'));
  ServerOnThread server([&](auto exchange) {
    Response response = text("");
    response.document = document;
    exchange->answer(std::move(response));
  });
  const std::size_t before = resident();
  std::vector<RawSocket> sockets;
  for (int i = 0; i < 100; ++i) {
    sockets.push_back(connect(server));
    sockets.back().say(good);
  }
  server.expect([](const Counters& counters) { return counters.requests == 100; });
  EXPECT_LT(resident(), before + (std::size_t{200} << 20)) << "100 copies would take 800 MB";
  EXPECT_EQ(server.counters().cut_unsent, 0U);
  std::string all;
  while (all.size() < (8 << 20)) {
    const std::string more = sockets.front().hear(20'000);
    if (more.empty()) break;
    all += more;
  }
  EXPECT_THAT(all, AllOf(StartsWith("HTTP/1.1 200 OK"), HasSubstr("Content-Length: 8388608\r\n"), EndsWith("xxxx")));
}

}  // namespace
}  // namespace cadre::net::http
