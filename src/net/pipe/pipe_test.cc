// Two ends of a pipe on one loop: who is believed, what arrives, and how it ends.
#include "net/pipe/pipe.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <set>
#include <thread>

#include "base/dice.h"

namespace cadre::net {
namespace {

using namespace std::chrono_literals;

/// Writes down what it is told.
struct End final : Pipe::User {
  void opened() override { is_open = true; }
  std::span<std::byte> room() override { return std::span(buffer).first(room_size); }
  void took(std::size_t bytes, std::vector<loop::Descriptor> came) override {
    heard += as_text(std::span(buffer).first(bytes));
    ++times;
    for (loop::Descriptor& file : came) files.push_back(std::move(file));
  }
  void lost(Error error) override { end = std::move(error); }

  void say(std::string_view text, std::vector<int> handed = {}, Pipe::Urgency urgency = Pipe::Urgency::now) {
    const BytesView piece = as_bytes(text);
    pipe->send(std::span(&piece, 1), handed, urgency);
  }
  void say_soon(std::string_view text) { say(text, {}, Pipe::Urgency::soon); }

  std::unique_ptr<Pipe> pipe;
  std::vector<std::byte> buffer = std::vector<std::byte>(100'000);
  std::size_t room_size = 100'000;
  bool is_open = false;
  std::string heard;
  int times = 0;  ///< something was heard
  std::vector<loop::Descriptor> files;
  std::optional<Error> end;
};

/// Blocks; by name or address.
loop::Descriptor connect_raw(const PipeAddress& to) {
  sockaddr_un by_name{};
  sockaddr_in by_port{};
  loop::Descriptor made(::socket(to.name.empty() ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  by_name.sun_family = AF_UNIX;
  to.name.copy(by_name.sun_path + 1, to.name.size());
  by_port.sin_family = AF_INET;
  by_port.sin_port = htons(to.port);
  by_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_named = !to.name.empty();
  const auto* address = is_named ? reinterpret_cast<const sockaddr*>(&by_name) : reinterpret_cast<sockaddr*>(&by_port);
  const std::size_t size = is_named ? offsetof(sockaddr_un, sun_path) + 1 + to.name.size() : sizeof by_port;
  if (::connect(made.get(), address, static_cast<socklen_t>(size)) != 0) made.close();
  return made;
}

class PipeTest : public testing::TestWithParam<Cover> {
 protected:
  PipeTest() {
    std::set<PublicKey> known{caller_keys.open};
    called =
        std::make_shared<Called>(Called{called_keys, [known](const PublicKey& key) { return known.contains(key); }});
    if (GetParam() == Cover::none) {
      address.name = "cadre-pipe-test-" + std::to_string(::getpid()) + "-" + std::to_string(++last_name);
    } else {
      address.host = "127.0.0.1";
    }
    Result<std::unique_ptr<PipeListener>> opened =
        PipeListener::open(loop, address, [this](loop::Descriptor socket, Cover cover) {
          right.pipe = std::make_unique<Pipe>(deps, called, std::move(socket), cover, right);
        });
    EXPECT_TRUE(opened) << opened.error().message;
    listener = *std::move(opened);
    if (address.name.empty()) address.port = listener->port();
  }

  void call(const Keys& as, const PublicKey& whom) {
    left.pipe = std::make_unique<Pipe>(deps, Caller{as, whom}, address, left);
  }
  void call() { call(caller_keys, called_keys.open); }
  bool until(const std::function<bool()>& holds) { return loop.run_until(loop.now() + 60s, holds); }
  void open() {
    call();
    ASSERT_TRUE(until([&] { return left.is_open && right.is_open; }));
  }

  static inline int last_name = 0;
  loop::RealLoop loop;
  PipeDependencies deps{loop, [this](loop::Call call) { loop.post(std::move(call)); },
                        [this](loop::Call call) { soon.push_back(std::move(call)); }};
  std::vector<loop::Call> soon;
  Keys caller_keys = make_keys();
  Keys called_keys = make_keys();
  std::shared_ptr<Called> called;
  PipeAddress address;
  End left;
  End right;
  std::unique_ptr<PipeListener> listener;
};

TEST_P(PipeTest, BytesArriveInBothDirections) {
  open();
  left.say("hello");
  right.say("and hello to you");
  EXPECT_TRUE(until([&] { return right.heard == "hello" && left.heard == "and hello to you"; }));
}

TEST_P(PipeTest, MuchArrivesWhole) {
  open();
  right.room_size = 777;
  std::string all;
  for (int i = 0; i < 300'000; ++i) all += std::to_string(i) + " ";
  for (int round = 0; round < 8; ++round) left.say(all);
  EXPECT_TRUE(until([&] { return right.heard.size() == 8 * all.size(); }));
  EXPECT_EQ(right.heard.substr(7 * all.size()), all);
  EXPECT_EQ(left.pipe->unsent(), 0u);
}

TEST_P(PipeTest, DelayedMessagesAreSentWithTheNextMessage) {
  open();
  left.say_soon("one ");
  left.say_soon("two ");
  EXPECT_GT(left.pipe->unsent(), 0u);
  EXPECT_EQ(soon.size(), 1u);
  left.say("three");
  ASSERT_TRUE(until([&] { return right.heard == "one two three"; }));
  EXPECT_EQ(right.times, 1);
  left.say_soon(" four");
  left.pipe->flush();
  ASSERT_TRUE(until([&] { return right.heard == "one two three four"; }));
  // By itself, when it is time for it.
  left.say_soon(" five");
  for (loop::Call& call : std::exchange(soon, {})) call();
  ASSERT_TRUE(until([&] { return right.heard == "one two three four five"; }));
  left.say_soon(" six");
  EXPECT_EQ(soon.size(), 1u);
  left.pipe.reset();
  for (loop::Call& call : std::exchange(soon, {})) call();  // too late
  EXPECT_TRUE(until([&] { return right.end.has_value(); }));
}

TEST_P(PipeTest, DelayedMessagesAreBoundedAndStayInOrder) {
  open();
  std::string all;
  Dice dice(3);
  for (int i = 0; i < 3'000; ++i) {
    const std::string one = std::to_string(i) + std::string(dice.below(i % 50 == 0 ? 20'000 : 100), '.');
    all += one;
    left.say(one, {}, dice.below(20) == 0 ? Pipe::Urgency::now : Pipe::Urgency::soon);
  }
  left.pipe->flush();
  EXPECT_LE(soon.size(), 1u);
  ASSERT_TRUE(until([&] { return right.heard.size() == all.size(); }));
  EXPECT_EQ(right.heard, all);
}

TEST_P(PipeTest, AnyThreadMaySend) {
  open();
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([this, number] {
      for (int i = 0; i < 5'000; ++i) left.say(std::string(10, static_cast<char>('a' + number)));
    });
  }
  EXPECT_TRUE(until([&] { return right.heard.size() == 200'000; }));
  for (std::thread& thread : threads) thread.join();
  for (std::size_t at = 0; at < right.heard.size(); at += 10) {
    EXPECT_EQ(right.heard.substr(at, 10), std::string(10, right.heard[at])) << "words of several got mixed";
  }
}

TEST_P(PipeTest, RefusesAnUnknownCaller) {
  call(make_keys(), called_keys.open);
  ASSERT_TRUE(until([&] { return left.end.has_value(); }));
  EXPECT_EQ(left.end->code, Errc::denied) << left.end->message;
  EXPECT_FALSE(right.is_open);
  EXPECT_TRUE(until([&] { return right.end.has_value(); }));
  EXPECT_EQ(right.end->code, Errc::denied);
}

TEST_P(PipeTest, RefusesAPeerWithAWrongKey) {
  call(caller_keys, make_keys().open);  // somebody else took the address
  ASSERT_TRUE(until([&] { return left.end.has_value(); }));
  EXPECT_EQ(left.end->code, Errc::denied) << left.end->message;
  EXPECT_FALSE(left.is_open);
  EXPECT_FALSE(right.is_open);
}

TEST_P(PipeTest, FailsWithoutAListener) {
  listener.reset();
  call();
  ASSERT_TRUE(until([&] { return left.end.has_value(); }));
  EXPECT_EQ(left.end->code, Errc::not_found) << left.end->message;
}

TEST_P(PipeTest, ClosingOneSideNotifiesTheOther) {
  open();
  right.say("last words");
  right.pipe.reset();
  ASSERT_TRUE(until([&] { return left.end.has_value(); }));
  EXPECT_EQ(left.heard, "last words");
  EXPECT_EQ(left.end->code, Errc::unavailable);
  left.say("into the void");
}

TEST_P(PipeTest, RefusesARandomHandshake) {
  Dice dice(7);
  for (int i = 0; i < 50; ++i) {
    right.end.reset();
    const loop::Descriptor socket = connect_raw(address);
    ASSERT_TRUE(socket);
    std::string noise;
    while (noise.size() < 200) noise += static_cast<char>(dice.below(256));
    ASSERT_EQ(::write(socket.get(), noise.data(), noise.size()), static_cast<ssize_t>(noise.size()));
    ASSERT_TRUE(until([&] { return right.end.has_value(); }));
    EXPECT_EQ(right.end->code, Errc::denied);
    EXPECT_FALSE(right.is_open);
    EXPECT_EQ(right.heard, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Covers, PipeTest, testing::Values(Cover::none, Cover::tls),
                         [](const auto& one) { return one.param == Cover::none ? "Unix" : "Tls"; });

class UnixPipeTest : public PipeTest {};

TEST_P(UnixPipeTest, FilesAreHandedOver) {
  open();
  ASSERT_TRUE(left.pipe->hands_over_files());
  const loop::Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::write(file.get(), "content", 7), 7);
  left.say("one", {file.get()});
  left.say("two");
  ASSERT_TRUE(until([&] { return right.heard == "onetwo"; }));
  ASSERT_EQ(right.files.size(), 1u);
  char text[8] = {};
  EXPECT_EQ(::pread(right.files[0].get(), text, 7, 0), 7);
  EXPECT_STREQ(text, "content");
}

TEST_P(UnixPipeTest, FilesArriveInOrderBehindWhatWaits) {
  open();
  const std::string much(4 << 20, 'x');
  left.say(much);
  std::vector<loop::Descriptor> files;
  for (char name = 'a'; name < 'e'; ++name) {
    files.emplace_back(::memfd_create("test", MFD_CLOEXEC));
    ASSERT_EQ(::write(files.back().get(), &name, 1), 1);
    left.say("f", {files.back().get()});
  }
  ASSERT_TRUE(until([&] { return right.heard.size() == much.size() + 4; }));
  ASSERT_EQ(right.files.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    char name = 0;
    EXPECT_EQ(::pread(right.files[i].get(), &name, 1, 0), 1);
    EXPECT_EQ(name, static_cast<char>('a' + i));
  }
}

TEST_P(UnixPipeTest, FilesArriveWithWhatGoesSoon) {
  open();
  const loop::Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  left.say_soon("one");
  left.say("two", {file.get()}, Pipe::Urgency::soon);
  left.say_soon("three");
  left.pipe->flush();
  ASSERT_TRUE(until([&] { return right.heard == "onetwothree"; }));
  EXPECT_EQ(right.files.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Unix, UnixPipeTest, testing::Values(Cover::none));

TEST(SharedSecret, IsKnownOnlyToBothSides) {
  const Keys a = make_keys();
  const Keys b = make_keys();
  const Keys c = make_keys();
  EXPECT_EQ(shared_secret(a.secret, b.open).value(), shared_secret(b.secret, a.open).value());
  EXPECT_NE(shared_secret(a.secret, b.open).value(), shared_secret(a.secret, c.open).value());
  EXPECT_FALSE(shared_secret(a.secret, PublicKey()));
  EXPECT_FALSE(shared_secret(a.secret, parse_public_key(std::string(40, '0')).value()));  // the point zero
}

}  // namespace
}  // namespace cadre::net
