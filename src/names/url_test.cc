#include "names/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::names {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(NamesUrl, IsReadWithAllItsParts) {
  EXPECT_EQ(parse_url("memory://group 1").value(), Url(MemoryUrl{"group 1"}));
  EXPECT_EQ(parse_url("file:///mnt/a%20b").value(), Url(FileUrl{"/mnt/a b"}));
  RedisUrl url;
  url.host = "host";
  url.prefix = "cadre:names:";
  EXPECT_EQ(parse_url("redis://host").value(), Url(url));
  EXPECT_EQ(parse_url("redis://host/").value(), Url(url));
  url = {"::1", 7000, "ann", "p@ss:/?", 3, "lab:", true, "/etc/ca.pem"};
  EXPECT_EQ(parse_url("rediss://ann:p%40ss:%2f%3F@[::1]:7000/3?prefix=lab:&ca=/etc/ca.pem").value(), Url(url));
  url = {};
  url.host = "h";
  url.prefix = "cadre:names:";
  url.password = "only";
  EXPECT_EQ(parse_url("redis://:only@h").value(), Url(url));
  EXPECT_EQ(parse_url("master://").value(), Url(MasterUrl{}));
  EXPECT_EQ(parse_url("master:///vision").value(), Url(MasterUrl{"", "vision", "", "", ""}));
  EXPECT_EQ(parse_url("master://host").value(), Url(MasterUrl{"http://host:7310", "", "", "", ""}));
  EXPECT_EQ(parse_url("master://host:1/").value(), Url(MasterUrl{"http://host:1", "", "", "", ""}));
  EXPECT_EQ(parse_url("masters://:t%40k@[::1]:80/a.b?ca=/etc/ca.pem").value(),
            Url(MasterUrl{"https://[::1]:80", "a.b", "t@k", "/etc/ca.pem", ""}));
}

TEST(NamesUrl, ErrorsContainTheRemedyAndNoPassword) {
  for (const char* text : {"",
                           "host:6379",
                           "http://host",
                           "memory://",
                           "file://relative",
                           "file:///",
                           "redis://",
                           "redis://secret@host",
                           "redis://u:@host",
                           "redis://u:secret@host:port",
                           "redis://u:secret@host:0",
                           "redis://u:secret@host:65536",
                           "redis://u:secret@host/x",
                           "redis://u:secret@host?what=1",
                           "redis://u:secret@host?prefix=",
                           "redis://u:secret@host?ca=/f",
                           "redis://u:sec%ret@host",
                           "redis://u:secret%0@host",
                           "redis://u:secret%00@host",
                           "redis://u:secret@[::1",
                           "redis://u:secret@[::1]x",
                           "master://secret@host",
                           "master://:@host",
                           "master://:secret@",
                           "master://:secret@host:0",
                           "master://:secret@host?ca=/f",
                           "masters://:secret@host?prefix=x"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url.has_value()) << text;
    EXPECT_EQ(url.error().code, Errc::invalid);
    EXPECT_THAT(url.error().message, AllOf(HasSubstr("redis://"), Not(HasSubstr("secret")))) << text;
  }
}

}  // namespace
}  // namespace cadre::names
