#include "objects/store_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "describe/describe.h"
#include "objects/store.h"

namespace cadre::objects {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

StoreConfig config_in(const std::string& yaml) { return describe::read_yaml<StoreConfig>(yaml).value(); }

/// All faults as one text.
std::string faults_in(const std::string& yaml) {
  const auto read = describe::read_yaml<StoreConfig>(yaml);
  return read ? "none" : describe::to_text(read.error(), "stores");
}

TEST(StoreConfig, IsReadByItsType) {
  EXPECT_EQ(config_in("{type: memory, bytes_max: 10MiB}"), StoreConfig(MemoryStoreConfig{ByteSize{10 << 20}}));
  EXPECT_EQ(config_in("{type: file, path: /mnt/shared}"), StoreConfig(FileStoreConfig{"/mnt/shared"}));
  RedisStoreConfig redis;
  redis.url = {"redis://:secret@host:1/2"};
  redis.prefix = "lab:";
  EXPECT_EQ(config_in("{type: redis, url: 'redis://:secret@host:1/2', prefix: 'lab:'}"), StoreConfig(redis));
  S3StoreConfig s3;
  s3.bucket = "models";
  s3.access_key = "AKID";
  s3.secret_key = {"secret"};
  EXPECT_EQ(config_in("{type: s3, bucket: models, access_key: AKID, secret_key: secret}"), StoreConfig(s3));
  s3.endpoint = "https://[::1]:9000/s3";
  s3.region = "eu-central-1";
  s3.prefix = "cadre/lab";
  s3.path_style = false;
  s3.part_bytes = ByteSize{64 << 20};
  s3.timeout = std::chrono::minutes(1);
  EXPECT_EQ(
      config_in("{type: s3, bucket: models, access_key: AKID, secret_key: secret, endpoint: 'https://[::1]:9000/s3', "
                "region: eu-central-1, prefix: cadre/lab, path_style: false, part_bytes: 64MiB, timeout: 1m}"),
      StoreConfig(s3));
  WebhdfsStoreConfig webhdfs{"http://namenode:9870", "/user/cadre", "cadre", "", std::chrono::seconds(30)};
  EXPECT_EQ(config_in("{type: webhdfs, url: 'http://namenode:9870', path: /user/cadre, user: cadre}"),
            StoreConfig(webhdfs));
}

TEST(StoreConfig, FaultsNameTheSettingAndTheRemedy) {
  EXPECT_THAT(faults_in("{type: disk}"), HasSubstr("memory, file, redis, s3, webhdfs"));
  EXPECT_THAT(faults_in("{type: file}"), HasSubstr("path: is required"));
  EXPECT_THAT(faults_in("{type: file, path: relative}"), HasSubstr("path: must be an absolute path"));
  EXPECT_THAT(faults_in("{type: redis, url: 'http://host'}"), HasSubstr("url: is no URL of a Redis server"));
  EXPECT_THAT(faults_in("{type: redis, url: 'redis://host?prefix=x'}"), HasSubstr("set `prefix` beside it"));
  const std::string s3 = "type: s3, access_key: AKID, secret_key: hidden";
  for (const std::string bucket : {"Upper", "a_b", "-ab", "ab-", "a..b", "a/b"}) {
    EXPECT_THAT(faults_in("{" + s3 + ", bucket: '" + bucket + "'}"), HasSubstr("bucket: must consist of")) << bucket;
  }
  EXPECT_THAT(faults_in("{" + s3 + ", bucket: ab}"), HasSubstr("bucket: "));
  for (const std::string endpoint : {"host:9000", "ftp://host", "http://", "http://user:hidden@host", "http://host:0",
                                     "http://host?x=y", "http://host/a b", "http://ho st", "http://*"}) {
    EXPECT_THAT(faults_in("{" + s3 + ", bucket: abc, endpoint: '" + endpoint + "'}"),
                AllOf(HasSubstr("endpoint: must "), Not(HasSubstr("hidden"))))
        << endpoint;
  }
  EXPECT_THAT(faults_in("{" + s3 + ", bucket: abc, region: 'a/b'}"), HasSubstr("region: must consist of"));
  EXPECT_THAT(faults_in("{" + s3 + ", bucket: abc, prefix: ../x}"), HasSubstr("prefix: must be a path"));
  EXPECT_THAT(faults_in("{" + s3 + ", bucket: abc, part_bytes: 1MiB}"), HasSubstr("part_bytes: must be from 5MiB"));
  EXPECT_THAT(faults_in("{" + s3 + ", bucket: abc, access_keys: x}"), HasSubstr("did you mean 'access_key'"));
  EXPECT_THAT(faults_in("{type: s3, bucket: abc, access_key: 'a b', secret_key: s}"), HasSubstr("access_key: must"));
  EXPECT_THAT(faults_in("{type: webhdfs, url: 'http://h', path: relative, user: u}"),
              HasSubstr("path: must be an abs"));
  EXPECT_THAT(faults_in("{type: webhdfs, url: 'http://h', path: /a/../b, user: u}"), HasSubstr("path: must be an abs"));
  EXPECT_THAT(faults_in("{type: webhdfs, url: 'http://h', path: /a, user: 'a b'}"), HasSubstr("user: must consist"));
  EXPECT_THAT(faults_in("{type: webhdfs, url: 'h', path: /a, user: u}"), HasSubstr("url: must begin"));
}

TEST(StoreConfig, FaultsNeverRepeatASecret) {
  for (const std::string& yaml : std::vector<std::string>{
           "{type: s3, bucket: abc, access_key: AKID, secret_key: 4711815}",
           "{type: s3, bucket: abc, access_key: AKID, secret_key: [hidden]}",
           "{type: s3, bucket: abc, access_key: AKID, secret_key: " + std::string(201, 'h') + "hidden}",
           "{type: redis, url: 'redis://user:hidden@host:port'}",
           "{type: redis, url: 'redis://user:hidden@host?x=hidden'}",
           "{type: redis, url: hidden}",
           "{type: redis, url: 4711815}",
       }) {
    EXPECT_THAT(faults_in(yaml), AllOf(Not(HasSubstr("hidden")), Not(HasSubstr("4711815")), Not("none"))) << yaml;
  }
}

TEST(StoreConfig, IsCheckedWhenAStoreIsOpened) {
  S3StoreConfig s3;
  s3.bucket = "Wrong";
  s3.access_key = "AKID";
  s3.secret_key = {"hidden"};
  const auto store = open(s3);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Errc::invalid);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("bucket: must"), Not(HasSubstr("hidden"))));
}

}  // namespace
}  // namespace cadre::objects
