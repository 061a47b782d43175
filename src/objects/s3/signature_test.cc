// Signatures that AWS has published: examples of its documentation, and its test suite for version 4.
#include "objects/s3/signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "objects/hash.h"

namespace cadre::objects::s3 {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

const SigningKey example{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3"};
const SigningKey suite{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service"};

TimePoint utc(const std::string& text) { return parse_utc(text).value(); }
const TimePoint of_example = utc("2013-05-24T00:00:00Z");
const TimePoint of_suite = utc("2015-08-30T12:36:00Z");

/// A request of the documentation of S3.
SignedParts parts_of_example(std::string_view method, const std::string& path, net::http::Headers more,
                             std::string_view body = "") {
  SignedParts parts;
  parts.method = method;
  parts.path = escape_path(path);
  parts.payload_sha256 = sha256(as_bytes(body));
  parts.headers = std::move(more);
  parts.headers.insert(parts.headers.end(), {{"Host", "examplebucket.s3.amazonaws.com"},
                                             {"x-amz-content-sha256", parts.payload_sha256},
                                             {"x-amz-date", date_of(of_example)}});
  return parts;
}

TEST(S3Signature, MatchesTheExamplesOfTheDocumentation) {
  EXPECT_EQ(authorization(example, parts_of_example("GET", "/test.txt", {{"Range", "bytes=0-9"}}), of_example),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  const SignedParts put =
      parts_of_example("PUT", "/test$file.text",
                       {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                       "Welcome to Amazon S3.");
  EXPECT_EQ(put.payload_sha256, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_THAT(authorization(example, put, of_example),
              EndsWith("98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
  SignedParts lifecycle = parts_of_example("GET", "/", {});
  lifecycle.query = {{"lifecycle", ""}};
  EXPECT_THAT(authorization(example, lifecycle, of_example),
              EndsWith("fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
  SignedParts list = parts_of_example("GET", "/", {});
  list.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_THAT(authorization(example, list, of_example),
              EndsWith("34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(S3Signature, InAUrlMatchesTheExampleOfTheDocumentation) {
  SignedParts parts;
  parts.method = "GET";
  parts.path = "/test.txt";
  parts.headers = {{"Host", "examplebucket.s3.amazonaws.com"}};
  parts.payload_sha256 = unsigned_payload;
  EXPECT_EQ(presigned_query(example, parts, of_example, std::chrono::hours(24)),
            "X-Amz-Algorithm=AWS4-HMAC-SHA256"
            "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
            "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
            "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

struct Vector {
  std::string_view name;
  std::string_view method;
  std::string path;
  net::http::Query query;
  net::http::Headers more;
  std::string_view signature;
};

TEST(S3Signature, MatchesTheTestSuite) {
  const std::vector<Vector> vectors{
      {"get-vanilla", "GET", "/", {}, {}, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
      {"post-vanilla", "POST", "/", {}, {}, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
      {"get-vanilla-query-order-key-case",
       "GET",
       "/",
       {{"Param2", "value2"}, {"Param1", "value1"}},
       {},
       "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
      {"get-vanilla-empty-query-key",
       "GET",
       "/",
       {{"Param1", "value1"}},
       {},
       "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
      {"get-header-value-trim",
       "GET",
       "/",
       {},
       {{"My-Header1", "  value1"}, {"My-Header2", "\"a   b   c\"  "}},
       "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
  };
  for (const Vector& vector : vectors) {
    SignedParts parts;
    parts.method = vector.method;
    parts.path = vector.path;
    parts.query = vector.query;
    parts.headers = vector.more;
    parts.headers.insert(parts.headers.end(), {{"Host", "example.amazonaws.com"}, {"X-Amz-Date", date_of(of_suite)}});
    parts.payload_sha256 = sha256({});
    EXPECT_THAT(authorization(suite, parts, of_suite), EndsWith("Signature=" + std::string(vector.signature)))
        << vector.name << ":\n"
        << canonical_request(parts);
  }
}

TEST(S3Signature, TheCanonicalRequestIsThatOfTheTestSuite) {
  SignedParts parts;
  parts.method = "GET";
  parts.path = "/";
  parts.headers = {{"X-Amz-Date", date_of(of_suite)}, {"Host", "example.amazonaws.com"}};
  parts.payload_sha256 = sha256({});
  EXPECT_EQ(canonical_request(parts),
            "GET\n/\n\nhost:example.amazonaws.com\nx-amz-date:20150830T123600Z\n\nhost;x-amz-date\n"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(S3Signature, EscapesAllButUnreservedCharacters) {
  EXPECT_EQ(escape_path("/a b/c+d/~-_.x/%/é!'()*"), "/a%20b/c%2Bd/~-_.x/%25/%C3%A9%21%27%28%29%2A");
  EXPECT_EQ(canonical_query({{"b", "/ +"}, {"a", "="}, {"a", ""}, {"B", "x"}}), "B=x&a=&a=%3D&b=%2F%20%2B");
  EXPECT_EQ(canonical_query({}), "");
}

TEST(S3Signature, ChangesWithEverythingThatIsSigned) {
  const auto signature_with = [](const SigningKey& key, const std::string& path, const std::string& hash,
                                 TimePoint when) {
    SignedParts parts;
    parts.method = "PUT";
    parts.path = path;
    parts.headers = {{"Host", "h"}, {"X-Amz-Date", date_of(when)}};
    parts.payload_sha256 = hash;
    const std::string all = authorization(key, parts, when);
    return all.substr(all.find("Signature="));
  };
  SigningKey other_region = example;
  other_region.region = "eu-west-1";
  SigningKey other_secret = example;
  other_secret.secret_key += "x";
  const std::string first = signature_with(example, "/a", "1", of_example);
  EXPECT_EQ(signature_with(example, "/a", "1", of_example), first);
  EXPECT_NE(signature_with(other_region, "/a", "1", of_example), first);
  EXPECT_NE(signature_with(other_secret, "/a", "1", of_example), first);
  EXPECT_NE(signature_with(example, "/b", "1", of_example), first);
  EXPECT_NE(signature_with(example, "/a", "2", of_example), first);
  EXPECT_NE(signature_with(example, "/a", "1", of_suite), first);
}

}  // namespace
}  // namespace cadre::objects::s3
