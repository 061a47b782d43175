// Stores whose servers are away, say nothing, lose connections or refuse a login.
#include <functional>
#include <thread>

#include "loop/boot_clock.h"
#include "net/raw_socket_test.h"
#include "objects/store_for_tests.h"
#include "tests/servers/proxy.h"

namespace cadre::objects {
namespace {

using servers::Proxy;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

/// A store of a server at a port of this host.
StoreConfig config_at(StoreKind kind, int port, Duration timeout) {
  static int made = 0;
  const std::string name = "faults" + std::to_string(++made);
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  if (kind == StoreKind::redis) {
    RedisStoreConfig config = redis_config("redis://127.0.0.1:" + std::to_string(port), name + ":");
    config.timeout = timeout;
    return config;
  }
  if (kind == StoreKind::s3) {
    S3StoreConfig config = s3_config(servers::shared_s3(), name);
    config.endpoint = url;
    config.timeout = timeout;
    return config;
  }
  WebhdfsStoreConfig config = webhdfs_config(servers::shared_webhdfs());
  config.url = url;
  config.timeout = timeout;
  return config;
}

int port_of(StoreKind kind) {
  if (kind == StoreKind::redis) return servers::shared_redis().port();
  return kind == StoreKind::s3 ? servers::shared_s3().port() : servers::shared_webhdfs().port();
}

class EveryServer : public testing::TestWithParam<StoreKind> {
 protected:
  /// Each operation ends with an error that `check` accepts, within a few seconds.
  static void expect_errors(Store& store, const std::function<void(const Error&)>& check) {
    const TimePoint begin = loop::boot_now();
    std::string got;
    const auto expect = [&](const auto& result) {
      ASSERT_FALSE(result.has_value());
      check(result.error());
    };
    expect(put(store, "a", "x"));
    expect(store.stat("a"));
    expect(store.get("a", into(got)));
    expect(store.list(""));
    expect(store.remove("a"));
    EXPECT_LT(loop::boot_now() - begin, seconds(20));
  }
};

TEST_P(EveryServer, ThatIsAwayIsUnavailableAndNamed) {
  const int port = net::RawSocket::free_port();
  const auto store = open(config_at(GetParam(), port, milliseconds(100)), impatient()).value();
  expect_errors(*store, [&](const Error& error) {
    EXPECT_EQ(error.code, Errc::unavailable) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::to_string(port)));
    EXPECT_THAT(error.message, Not(HasSubstr(std::string(servers::S3Server::secret_key()))));
  });
}

TEST_P(EveryServer, ThatSaysNothingTimesOut) {
  const net::RawSocket silent = net::RawSocket::listen_on(0);
  const auto store = open(config_at(GetParam(), silent.port(), milliseconds(100)), impatient()).value();
  expect_errors(*store, [&](const Error& error) {
    EXPECT_THAT(error.code, AnyOf(Errc::timed_out, Errc::unavailable)) << error.message;
    EXPECT_THAT(error.message, HasSubstr(std::to_string(silent.port())));
  });
}

TEST_P(EveryServer, IsAskedAgainAfterItCameBack) {
  Proxy proxy(port_of(GetParam()));
  StoreOptions options = impatient();
  options.attempts_max = 50;
  options.backoff_max = milliseconds(50);
  const auto store = open(config_at(GetParam(), proxy.port(), milliseconds(300)), options).value();
  ASSERT_DONE(put(*store, "before", "there"));
  proxy.spoil(Proxy::Fault::silence);
  std::jthread healer([&] {
    std::this_thread::sleep_for(milliseconds(700));
    proxy.spoil(Proxy::Fault::cut);
    proxy.heal();
  });
  EXPECT_EQ(content_of(*store, "before"), "there");
  ASSERT_DONE(store->remove("before"));
}

/// What a client says in each step of an upload.
std::vector<std::string> steps_of(StoreKind kind) {
  if (kind == StoreKind::redis) return {"HSET", "PEXPIRE", "HLEN", "HMGET"};
  if (kind == StoreKind::s3)
    return {"HEAD ", "uploads", "partNumber=1", "partNumber=2", "<CompleteMultipartUpload", "POST "};
  return {"op=CREATE", "op=SETXATTR", "op=RENAME", "op=GETFILESTATUS", "op=MKDIRS"};
}

TEST_P(EveryServer, LosingAConnectionInAnyStepOfAnUploadChangesNothing) {
  Proxy proxy(port_of(GetParam()));
  const auto store = open(config_at(GetParam(), proxy.port(), seconds(10)), impatient()).value();
  Dice dice(1);
  const std::string content = random_bytes(dice, large);
  const Digest digest = digest_of(content);
  int number = 0;
  for (const std::string& step : steps_of(GetParam())) {
    for (const Proxy::Moment moment : {Proxy::Moment::before, Proxy::Moment::after}) {
      SCOPED_TRACE(step + (moment == Proxy::Moment::before ? " before" : " after"));
      const std::string key = "k" + std::to_string(++number);
      proxy.spoil_when_client_says(step, moment, Proxy::Fault::cut);
      BytesSource source(as_bytes(content));
      ASSERT_DONE(store->put(key, digest, source));
      ASSERT_EQ(store->stat(key).value(), digest);
    }
  }
  proxy.heal();
  EXPECT_TRUE(content_of(*store, "k1") == content);
  EXPECT_EQ(keys_of(*store, "k").size(), static_cast<std::size_t>(number));
  for (const std::string& key : keys_of(*store, "k")) ASSERT_DONE(store->remove(key));
}

TEST_P(EveryServer, RemovingAndListingAreRepeatedToo) {
  Proxy proxy(port_of(GetParam()));
  const auto store = open(config_at(GetParam(), proxy.port(), seconds(10)), impatient()).value();
  const std::string list = GetParam() == StoreKind::redis ? "ZRANGEBYLEX"
                           : GetParam() == StoreKind::s3  ? "list-type"
                                                          : "LISTSTATUS";
  const std::string remove = GetParam() == StoreKind::redis ? "ZREM" : "DELETE ";
  for (const Proxy::Moment moment : {Proxy::Moment::before, Proxy::Moment::after}) {
    ASSERT_DONE(put(*store, "a", "x"));
    proxy.spoil_when_client_says(list, moment, Proxy::Fault::cut);
    EXPECT_EQ(keys_of(*store), std::vector<std::string>{"a"});
    proxy.spoil_when_client_says(remove, moment, Proxy::Fault::cut);
    ASSERT_DONE(store->remove("a"));
    EXPECT_ERROR(Errc::not_found, store->stat("a"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryServer, testing::Values(StoreKind::redis, StoreKind::s3, StoreKind::webhdfs),
                         name_of_store);

}  // namespace
}  // namespace cadre::objects
