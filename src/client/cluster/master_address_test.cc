#include "client/cluster/master_address.h"

#include <gmock/gmock.h>

namespace cadre::client {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string url_of(std::string_view text) {
  const Result<MasterAddress> address = parse_master_address(text);
  if (!address) return "refused: " + address.error().message;
  return address->url.empty() ? "folder " + address->folder : address->url;
}

TEST(MasterAddress, HasOneSpellingEverywhere) {
  EXPECT_EQ(url_of("node7:7310"), "http://node7:7310");
  EXPECT_EQ(url_of("node7.example:7310/"), "http://node7.example:7310");
  EXPECT_EQ(url_of("127.0.0.1:80"), "http://127.0.0.1:80");
  EXPECT_EQ(url_of("[::1]:7310"), "http://[::1]:7310");
  EXPECT_EQ(url_of("cadre://node7:7310/"), "http://node7:7310");
  EXPECT_EQ(url_of("cadre://node7"), "http://node7:7310");
  EXPECT_EQ(url_of("http://node7:7310//"), "http://node7:7310");
  EXPECT_EQ(url_of("https://node7"), "https://node7");
  EXPECT_EQ(url_of("https://node7:7310/prefix/"), "https://node7:7310/prefix");
}

TEST(MasterAddress, IsElseADataFolder) {
  for (const char* folder : {"/srv/cadre", "./node7:7310", "data", "data/node7:7310", "a b:1", "node7:port", "~/x"}) {
    EXPECT_EQ(url_of(folder), std::string("folder ") + folder);
  }
}

TEST(MasterAddress, RefusesWhatIsNeitherWithWhatToWrite) {
  for (const char* text :
       {"ftp://node7", "http://", "http://:7310", "cadre://", "://", "http://node7?x=1", "http://node7#x"}) {
    EXPECT_THAT(url_of(text),
                AllOf(HasSubstr("is not an address of a master"), HasSubstr("; write an address like host:7310")))
        << text;
  }
  EXPECT_THAT(url_of("http://:7310"), HasSubstr("it has no host"));
  EXPECT_THAT(url_of("node7:0"), HasSubstr("its port is 0"));
  for (const char* text : {"node7:65536", "node7:99999999999", "http://node7:", "http://node7:x"}) {
    EXPECT_THAT(url_of(text), HasSubstr("its port is not a number from 0 to 65535")) << text;
  }
}

TEST(MasterAddress, HasAHostAndAPort) {
  EXPECT_EQ(host_port_of("http://node7:7310"), "node7:7310");
  EXPECT_EQ(host_port_of("https://ann@[::1]:7310/prefix"), "[::1]:7310");
  EXPECT_EQ(host_port_of("https://node7"), "node7");
}

TEST(MasterAddress, IsTheSameHoweverThisHostIsCalled) {
  EXPECT_TRUE(is_same_master("http://localhost:7310", "http://127.0.0.1:7310"));
  EXPECT_TRUE(is_same_master("http://LOCALHOST:7310/", "http://[::1]:7310"));
  EXPECT_TRUE(is_same_master("http://node7", "http://Node7:80/"));
  EXPECT_TRUE(is_same_master("https://node7", "https://node7:443"));
  EXPECT_FALSE(is_same_master("http://localhost:7310", "http://127.0.0.1:7311"));
  EXPECT_FALSE(is_same_master("http://localhost:7310", "https://localhost:7310"));
  EXPECT_FALSE(is_same_master("http://localhost:7310", "http://node7:7310"));
}

}  // namespace
}  // namespace cadre::client
