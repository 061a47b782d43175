// Redis that goes away, says nothing, forgets everything, or does not let us in.
#include "names/backend_test.h"
#include "tests/servers/process.h"
#include "tests/servers/proxy.h"

namespace cadre::names {
namespace {

using net::redis::shared_redis_in_tls;
using servers::Proxy;
using servers::RedisServer;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Short waits: what is tested is that they end.
Options impatient() {
  Options options;
  options.op_wait = milliseconds(300);
  options.backoff_max = milliseconds(50);
  return options;
}

class NamesInRedis : public testing::Test {
 protected:
  servers::TempDir folder_;
  RedisServer server_{folder_.path()};
};

TEST_F(NamesInRedis, AServerThatWasKilledAndForgotEverythingHearsItAgain) {
  Side owner(server_.url(), impatient());
  Side watcher(server_.url(), impatient());
  std::vector<std::string> told;
  const Watch watch = watcher.names->watch("", [&](const Change& change) { told.push_back(shown(change)); }).value();
  const Epoch epoch = owner.put("a/b", "v").value();
  watcher.run_until([&] { return told.size() == 1; });
  server_.kill();
  const auto lost = owner.get("a/b");
  ASSERT_FALSE(lost.has_value());
  EXPECT_THAT(lost.error().code, AnyOf(Errc::unavailable, Errc::timed_out));
  EXPECT_THAT(lost.error().message, HasSubstr(std::to_string(server_.port())));
  EXPECT_ERROR(Errc::unavailable, owner.put("a/c", "v"));
  EXPECT_ERROR(Errc::timed_out, owner.wait("a/b", milliseconds(50)));
  server_.start_again();
  owner.run_until([&] { return watcher.get("a/b").has_value(); });
  EXPECT_EQ(watcher.get("a/b").value(), (Entry{"a/b", "v", epoch})) << "with the epoch that it had";
  EXPECT_ERROR(Errc::not_found, watcher.get("a/c"));
  ASSERT_DONE(owner.put("a/b", "w"));
  watcher.run_until([&] { return !told.empty() && told.back() == "a/b=w"; });
  Side other(server_.url());
  EXPECT_GT(other.put("a/b", "x").value(), epoch) << "epochs grow, whatever the server has forgotten";
}

TEST_F(NamesInRedis, AnEarlierOwnerDoesNotRegainANameAfterALoss) {
  Side first(server_.url(), impatient());
  Side second(server_.url(), impatient());
  std::vector<std::string> lost;
  first.names->on_lost([&](const std::string& key) { lost.push_back(key); });
  ASSERT_DONE(first.put("a", "first", {.ttl = seconds(1)}));
  ASSERT_DONE(second.put("a", "second", {.ttl = seconds(1)}));
  server_.start_again();  // before the first has noticed
  first.run_until([&] { return first.get("a").has_value(); });
  second.run_until([&] { return second.get("a").has_value() && second.get("a").value().value == "second"; });
  first.run_until([&] { return lost.size() == 1; });
  EXPECT_EQ(second.get("a").value().value, "second");
}

TEST_F(NamesInRedis, AServerThatSaysNothingIsAnErrorAndThenFoundAgain) {
  Side side(server_.url(), impatient());
  const Epoch epoch = side.put("a", "v").value();
  server_.stop();
  EXPECT_ERROR(Errc::timed_out, side.get("a"));
  for (int i = 0; i < 3; ++i) {
    const auto silent = side.put("b", "v");
    ASSERT_FALSE(silent.has_value());
    EXPECT_THAT(silent.error().code, AnyOf(Errc::unavailable, Errc::timed_out)) << silent.error().message;
  }
  server_.go_on();
  side.run_until([&] { return side.get("a").has_value(); });
  EXPECT_EQ(side.get("a").value(), (Entry{"a", "v", epoch}));
}

TEST_F(NamesInRedis, FailsUntilTheBackendIsReachable) {
  server_.kill();
  Side side(server_.url(), impatient());
  const auto nobody = side.get("a");
  EXPECT_ERROR(Errc::unavailable, nobody);
  EXPECT_THAT(nobody.error().message, HasSubstr("refused"));
  EXPECT_ERROR(Errc::unavailable, side.list(""));
  server_.start_again();
  side.run_until([&] { return side.put("a", "v").has_value(); });
}

TEST_F(NamesInRedis, RetriesLostRequestsUntilTheyAreCorrect) {
  Proxy proxy(server_.port());
  Side owner(server_.url_by(proxy.port()), impatient());
  Side watcher(server_.url_by(proxy.port()), impatient());
  Side direct(server_.url());
  std::map<std::string, std::string> told;
  const Watch watch = watcher.names
                          ->watch("",
                                  [&](const Change& change) {
                                    if (change.kind == Change::Kind::gone) {
                                      told.erase(change.entry.key);
                                    } else {
                                      told[change.entry.key] = change.entry.value;
                                    }
                                  })
                          .value();
  for (int i = 0; i < 6; ++i) {
    const std::string key = "k/" + std::to_string(i);
    const auto fault = i % 2 == 0 ? Proxy::Fault::cut : Proxy::Fault::silence;
    proxy.spoil_when_client_says(key, i % 3 == 0 ? Proxy::Moment::before : Proxy::Moment::after, fault);
    const auto spoiled = owner.put(key, "v", {.mode = PutMode::only_if_absent});
    EXPECT_FALSE(spoiled.has_value());
    ASSERT_DONE(direct.put("direct", std::to_string(i)));
    owner.run_until([&] { return owner.put(key, "v", {.mode = PutMode::only_if_absent}).has_value(); });
    if (i == 3) proxy.spoil(Proxy::Fault::cut);
  }
  watcher.run_until([&] { return told.size() == 7 && told["direct"] == "5"; });
}

TEST_F(NamesInRedis, NamesOfAKilledOwnerExpire) {
  Side side(server_.url());
  const pid_t child = servers::fork_child([&] {
    Side owner(server_.url());
    if (!owner.put("a", "v", {.ttl = milliseconds(300)})) return 1;
    owner.run_for(seconds(600));
    return 0;
  });
  ASSERT_DONE(side.wait("a", seconds(60)));
  servers::kill_tree(child);
  side.run_until([&] { return !side.get("a").has_value(); });
  EXPECT_TRUE(side.list("").value().empty());
}

TEST(NamesInRedisWithUsers, ReportsARefusedLoginAtOnceWithoutThePassword) {
  RedisServer& server = shared_redis_in_tls().server();
  const std::string good = server.url("prefix=test-users:");
  const auto with = [&](const std::string& what, const std::string& instead) {
    std::string url = good;
    return url.replace(url.find(what), what.size(), instead);
  };
  Side wrong(with(std::string(RedisServer::password()), "wrong-one"));
  const auto denied = wrong.get("a");
  EXPECT_ERROR(Errc::denied, denied);
  EXPECT_THAT(denied.error().message, AllOf(HasSubstr("WRONGPASS"), Not(HasSubstr("wrong-one"))));
  EXPECT_ERROR(Errc::denied, wrong.wait("a", seconds(60)));
  Side nobody(with("cadre:" + std::string(RedisServer::password()) + "@", ""));
  EXPECT_ERROR(Errc::denied, nobody.get("a"));
  Side elsewhere(with("prefix=test-users:", "prefix=not-ours:"));
  EXPECT_ERROR(Errc::denied, elsewhere.put("a", "v"));
  Side no_such_db(with("/0?", "/4000?"));
  EXPECT_ERROR(Errc::invalid, no_such_db.get("a"));
  Side right(good);
  EXPECT_ERROR(Errc::not_found, right.get("a"));
}

TEST(NamesInRedisWithUsers, AServerIsBelievedOnlyWithTheRightCertificate) {
  RedisServer& server = shared_redis_in_tls().server();
  const std::string good = server.url("prefix=test-tls:");
  const auto ca = [&](const std::string& file) { return good.substr(0, good.find("ca=")) + "ca=" + file; };
  Side distrusts(ca(shared_redis_in_tls().stranger()));
  const auto denied = distrusts.get("a");
  EXPECT_ERROR(Errc::denied, denied);
  EXPECT_THAT(denied.error().message, HasSubstr("certificate"));
  Side missing(ca("/nowhere.pem"));
  EXPECT_ERROR(Errc::invalid, missing.get("a"));
  std::string by_name = good;
  Side misnamed(by_name.replace(by_name.find("127.0.0.1"), 9, "localhost"));
  EXPECT_ERROR(Errc::denied, misnamed.get("a"));
  Side speaks_plainly("redis" + good.substr(6, good.find("&ca=") - 6), impatient());
  EXPECT_ERROR(Errc::unavailable, speaks_plainly.get("a"));
  Side wants_tls("rediss" + servers::shared_redis().url().substr(5), impatient());
  EXPECT_ERROR(Errc::unavailable, wants_tls.get("a"));
}

TEST_F(NamesInRedis, DatabasesAndPrefixesAreApart) {
  Side one(server_.url("prefix=one:"));
  Side two(server_.url("prefix=two:"));
  std::string url = server_.url("prefix=one:");
  Side other_db(url.replace(url.find("/0?"), 3, "/1?"));
  std::vector<std::string> told;
  const Watch watch = other_db.names->watch("", [&](const Change& change) { told.push_back(shown(change)); }).value();
  ASSERT_DONE(one.put("a", "1"));
  ASSERT_DONE(two.put("a", "2"));
  ASSERT_DONE(other_db.put("a", "3"));
  EXPECT_EQ(one.get("a").value().value, "1");
  EXPECT_EQ(two.get("a").value().value, "2");
  other_db.run_until([&] { return !told.empty(); });
  EXPECT_THAT(told, ElementsAre("a=3"));
}

}  // namespace
}  // namespace cadre::names
