#include "client/components/group_member.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Note;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Slice text(std::string_view words) { return Slice(Bytes(as_bytes(words).begin(), as_bytes(words).end())); }

struct Members : testing::Test {
  GroupMember::Options options(const std::string& type, const std::string& name) {
    GroupMember::Options made;
    made.group = "g";
    made.type = type;
    made.name = name;
    made.names = "memory://" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name());
    return made;
  }
  GroupMember& add(GroupMember::Options made) {
    engines.push_back(std::make_unique<Engine>());
    return *members.emplace_back(std::make_unique<GroupMember>(*engines.back(), log, std::move(made)));
  }
  GroupMember& add(const std::string& type, const std::string& name, std::map<std::string, std::size_t> peers = {}) {
    GroupMember::Options made = options(type, name);
    made.peers = std::move(peers);
    return add(std::move(made));
  }
  /// Joins with all others, each on a thread of its own.
  void join_all() {
    std::vector<std::jthread> joining;
    for (const auto& member : members) {
      joining.emplace_back([&] { ASSERT_DONE(member->join(member->now() + 30s)); });
    }
  }
  ~Members() override { members.clear(); }

  SilentLog log;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<GroupMember>> members;
};

/// Answers until it is told to end.
void serve(GroupMember& member) {
  for (;;) {
    const Result<remote::Letter> letter = member.receive(member.now() + 30s);
    ASSERT_DONE(letter);
    if (letter->note.tag == "end") return;
    if (letter->note.kind != Note::Kind::request) continue;
    const bool is_bad = letter->note.tag == "bad";
    ASSERT_DONE(member.reply(*letter, {is_bad ? Note::Kind::refusal : Note::Kind::reply, letter->note.body},
                             member.now() + 30s));
  }
}

TEST_F(Members, AskAndAnswer) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  std::jthread serving([&] { serve(b); });
  for (int i = 0; i < 200; ++i) {
    const std::string words = "number " + std::to_string(i);
    const GroupMember::Outcome answer = a.request("b", {"echo", 0, false, text(words)}, a.now() + 30s);
    ASSERT_DONE(answer);
    EXPECT_EQ(answer->kind, Note::Kind::reply);
    EXPECT_EQ(as_text(answer->body.view), words);
  }
  EXPECT_EQ(a.request("b", {"bad", 0, false, text("")}, a.now() + 30s)->kind, Note::Kind::refusal);
  EXPECT_ERROR(Errc::not_found, a.request("c", {"echo", 0, false, text("")}, a.now() + 30s));
  ASSERT_DONE(a.send("b", {"end", 0, false, text("")}, a.now() + 30s));
}

TEST_F(Members, ARequestWithoutAReplyTimesOut) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  add("server", "b");
  join_all();
  EXPECT_ERROR(Errc::timed_out, a.request("b", {"x", 0, false, text("")}, a.now() + 100ms));
  EXPECT_ERROR(Errc::timed_out, a.receive(a.now() + 20ms));
}

TEST_F(Members, JoinNamesTheMissingPeers) {
  GroupMember& a = add("asker", "a", {{"server", 3}});
  add("server", "b");
  std::jthread other([&] { ASSERT_DONE(members[1]->join(members[1]->now() + 30s)); });
  const Result<void> joined = a.join(a.now() + 500ms);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, Errc::timed_out);
  EXPECT_THAT(joined.error().message, HasSubstr("2 of 3 server"));
}

TEST_F(Members, NamesThatCannotBeReachedAreNamedNotThePeers) {
  GroupMember::Options away = options("asker", "a");
  away.peers = {{"server", 3}};
  away.names = "redis://user:secret@127.0.0.1:1";
  GroupMember& a = add(std::move(away));
  const Result<void> joined = a.join(a.now() + 300ms);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, Errc::timed_out);
  EXPECT_THAT(joined.error().message, HasSubstr("the names at redis://127.0.0.1:1"));
  EXPECT_THAT(joined.error().message, Not(HasSubstr("server,")));
  EXPECT_THAT(joined.error().message, Not(HasSubstr("3 of 3")));
  EXPECT_THAT(joined.error().message, Not(HasSubstr("secret")));
}

TEST_F(Members, ReportsAnInvalidUrlOfNames) {
  GroupMember::Options bad = options("asker", "a");
  bad.names = "carrier-pigeon://home";
  EXPECT_ERROR(Errc::invalid, add(std::move(bad)).join(engines.back()->loop().now() + 30s));
  EXPECT_ERROR(Errc::conflict, add("asker", "b").send("a", {"x", 0, false, text("")}, TimePoint::max()));
}

TEST_F(Members, ReportsAnInvalidNameOfAMember) {
  for (const auto& [type, name] : {std::pair("*", "a"), {"a", "b/c"}, {"a", ".."}, {"two words", "a"}, {"", "a"}}) {
    GroupMember& one = add(type, name);
    const Result<void> joined = one.join(one.now() + 30s);
    ASSERT_FALSE(joined) << type << " " << name;
    EXPECT_EQ(joined.error().code, Errc::invalid);
    EXPECT_THAT(joined.error().message, HasSubstr("is invalid"));
  }
}

TEST_F(Members, ABroadcastRightAfterJoiningReachesAll) {
  for (int i = 0; i < 6; ++i) add("worker", "w" + std::to_string(i), {{"worker", 5}});
  join_all();
  std::vector<std::jthread> serving;
  for (std::size_t i = 1; i < members.size(); ++i) serving.emplace_back([&, i] { serve(*members[i]); });
  GroupMember& first = *members[0];
  std::vector<std::pair<std::string, GroupMember::Wish>> wishes;
  for (const std::string& peer : first.live("worker")) wishes.push_back({peer, {"hello", 0, false, text(peer)}});
  EXPECT_THAT(wishes, SizeIs(5));
  for (const GroupMember::Outcome& outcome : first.scatter(wishes, first.now() + 30s)) ASSERT_DONE(outcome);
  for (const std::string& peer : first.live()) ASSERT_DONE(first.send(peer, {"end", 0, false, {}}, first.now() + 30s));
}

TEST_F(Members, MessagesOfManyThreadsArriveOnceEach) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  constexpr int threads = 4;
  constexpr int count = 5'000;
  std::vector<std::jthread> sending;
  for (int thread = 0; thread < threads; ++thread) {
    sending.emplace_back([&, thread] {
      for (int i = 0; i < count; ++i) {
        ASSERT_DONE(
            a.send("b", {std::to_string(thread), static_cast<std::uint64_t>(i), false, text("x")}, a.now() + 60s));
      }
    });
  }
  std::map<std::string, std::uint64_t> next;
  for (int i = 0; i < threads * count; ++i) {
    const Result<remote::Letter> letter = b.receive(b.now() + 30s);
    ASSERT_DONE(letter);
    EXPECT_EQ(letter->note.session, next[letter->note.tag]++) << "those of one thread stay in order";
  }
}

TEST_F(Members, ConcurrentRequestsGetTheirOwnReplies) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  std::jthread serving([&] { serve(b); });
  {
    std::vector<std::jthread> asking;
    for (int thread = 0; thread < 4; ++thread) {
      asking.emplace_back([&, thread] {
        for (int i = 0; i < 200; ++i) {
          const std::string words = std::to_string(thread) + "/" + std::to_string(i);
          const GroupMember::Outcome answer = a.request("b", {"echo", 0, false, text(words)}, a.now() + 30s);
          ASSERT_DONE(answer);
          EXPECT_EQ(as_text(answer->body.view), words);
        }
      });
    }
  }
  ASSERT_DONE(a.send("b", {"end", 0, false, {}}, a.now() + 30s));
}

TEST_F(Members, CloseReturnsUndeliveredMessages) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  ASSERT_DONE(a.send("b", {"x", 0, false, text("x")}, a.now() + 30s));
  EXPECT_EQ(a.close(30s).size(), 0) << "it was acknowledged";
  EXPECT_ERROR(Errc::conflict, a.send("b", {"x", 0, false, text("x")}, TimePoint::max()));
  while (!b.live().empty()) std::this_thread::sleep_for(1ms);
  EXPECT_ERROR(Errc::unavailable, b.send("a", {"x", 0, false, text("x")}, b.now() + 1s));
}

TEST_F(Members, AMessageMayBeTheLastThingThatIsDone) {
  for (const char* url : {"memory://last-words", "file://"}) {
    const servers::TempDir folder;
    for (int round = 0; round < 10; ++round) {
      GroupMember::Options a = options("a", "a");
      GroupMember::Options b = options("b", "b");
      a.names = b.names = std::string(url) == "file://" ? "file://" + folder.path() : url;
      a.peers = {{"b", 1}};
      b.peers = {{"a", 1}};
      add(a);
      add(b);
      join_all();
      EXPECT_ERROR(Errc::timed_out, members[0]->request("b", {"x", 0, false, {}}, members[0]->now() + 1ms));
      ASSERT_DONE(members[0]->send("b", {"x", 0, false, {}}, members[0]->now() + 1s));
      members.clear();
      engines.clear();
    }
  }
}

TEST_F(Members, WakesASenderThatWaitsForQueueSpaceWhileAnotherThreadReceives) {
  GroupMember::Options small = options("asker", "a");
  small.peers = {{"server", 1}};
  small.rules.limits.queue = 10;
  GroupMember& a = add(small);
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  std::jthread listening([&] { EXPECT_ERROR(Errc::conflict, a.receive(TimePoint::max())); });
  std::jthread sending([&] {
    for (int i = 0; i < 2'000; ++i) ASSERT_DONE(a.send("b", {"x", 0, false, {}}, TimePoint::max()));
    static_cast<void>(a.close(30s));
  });
  for (int i = 0; i < 2'000; ++i) ASSERT_DONE(b.receive(b.now() + 30s));
}

TEST_F(Members, CloseEndsWaitingCalls) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  add("server", "b", {{"asker", 1}});
  join_all();
  std::vector<std::jthread> waiting;
  waiting.emplace_back([&] { EXPECT_ERROR(Errc::conflict, a.request("b", {"x", 0, false, {}}, TimePoint::max())); });
  waiting.emplace_back([&] { EXPECT_ERROR(Errc::conflict, a.receive(TimePoint::max())); });
  std::this_thread::sleep_for(20ms);
  for (int i = 0; i < 3; ++i) waiting.emplace_back([&] { static_cast<void>(a.close(10ms)); });
}

TEST_F(Members, ACallbackMaySendAndIsNeverStuck) {
  GroupMember::Options small = options("asker", "a");
  small.peers = {{"server", 1}};
  small.rules.limits.queue = 5;
  small.rules.limits.window = 1;
  GroupMember& a = add(small);
  add("server", "b", {{"asker", 1}});
  std::size_t refused = 0;
  a.on_peer_up([&](const remote::PeerUp& up) {
    for (int i = 0; i < 10; ++i) {
      if (!a.send(up.peer, {"x", 0, false, {}}, TimePoint::max())) ++refused;
    }
  });
  join_all();
  EXPECT_EQ(refused, 5U) << "there it cannot wait for room";
}

TEST_F(Members, RefusesATooLongTag) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  add("server", "b", {{"asker", 1}});
  join_all();
  EXPECT_ERROR(Errc::invalid, a.send("b", {std::string(70'000, 't'), 0, false, {}}, a.now() + 1s));
}

TEST_F(Members, MayTryAgainToJoin) {
  const servers::TempDir folder;
  GroupMember::Options made = options("asker", "a");
  made.names = "file://" + folder.path() + "/later";
  std::ofstream(folder.path() + "/later") << "no folder";
  GroupMember& a = add(made);
  EXPECT_FALSE(a.join(a.now() + 30s));
  std::filesystem::remove(folder.path() + "/later");
  ASSERT_DONE(a.join(a.now() + 30s));
}

TEST_F(Members, LargeMessagesPass) {
  GroupMember& a = add("asker", "a", {{"server", 1}});
  GroupMember& b = add("server", "b", {{"asker", 1}});
  join_all();
  std::jthread serving([&] { serve(b); });
  for (const std::size_t size : {0U, 1U, 100'000U, 40'000'000U}) {
    const GroupMember::Outcome answer =
        a.request("b", {"echo", 0, false, Slice(Bytes(size, std::byte{7}))}, a.now() + 60s);
    ASSERT_DONE(answer);
    EXPECT_EQ(answer->body.size(), size);
  }
  ASSERT_DONE(a.send("b", {"end", 0, false, {}}, a.now() + 30s));
}

}  // namespace
}  // namespace cadre::client
