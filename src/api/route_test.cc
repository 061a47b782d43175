#include "api/route.h"

#include <gtest/gtest.h>

namespace cadre::api {
namespace {

constexpr Route of(std::string_view method, Repeated repeated = Repeated::by_method) {
  return {method, "/things", "Does something.", Need::token, repeated};
}

TEST(Route, IsIdempotentAsItsMethodIs) {
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE"}) EXPECT_TRUE(of(method).is_idempotent()) << method;
  EXPECT_FALSE(of("POST").is_idempotent());
  EXPECT_TRUE(of("POST", Repeated::idempotent).is_idempotent());
}

TEST(Route, ThatCreatesIsRepeatedWithItsKeyOnly) {
  EXPECT_TRUE(of("POST", Repeated::keyed).is_keyed());
  EXPECT_FALSE(of("POST", Repeated::keyed).is_idempotent());
  for (const char* method : {"GET", "PUT", "PATCH", "DELETE", "POST"}) EXPECT_FALSE(of(method).is_keyed()) << method;
}

TEST(Route, ThatChangesSomethingIsAuditedUnlessItSaysOtherwise) {
  EXPECT_FALSE(of("GET").is_in_audit());
  EXPECT_TRUE(of("POST").is_in_audit());
  EXPECT_FALSE(of("PUT").without_audit().is_in_audit());
}

TEST(Route, KnowsWhatIsInItsPath) {
  const Route route{"GET", "/things/{thing}/parts/{part}", "Does something."};
  EXPECT_TRUE(route.has_in_path("thing"));
  EXPECT_TRUE(route.has_in_path("part"));
  for (const char* other : {"thin", "things", "parts", "", "thing}"}) EXPECT_FALSE(route.has_in_path(other)) << other;
}

TEST(Route, DistinguishesBodiesAndStreams) {
  EXPECT_TRUE(of("POST").has_fields_in_body());
  EXPECT_FALSE(of("DELETE").has_fields_in_body());
  EXPECT_FALSE(of("PUT").with_bytes().has_fields_in_body());
  EXPECT_FALSE(of("POST").streams());
  EXPECT_TRUE(of("POST").in_lines().streams());
  EXPECT_EQ(of("POST").body_max, ByteSize{4 << 20});
  EXPECT_EQ(of("POST").with_body_max({100}).body_max, ByteSize{100});
}

}  // namespace
}  // namespace cadre::api
