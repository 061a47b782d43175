#include "objects/store_config.h"

#include <algorithm>

#include "describe/describe.h"
#include "net/redis/redis_url.h"
#include "objects/key.h"
#include "objects/stores/http_url.h"

namespace cadre::objects {

namespace {

bool is_small_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string fault_of_http_url(std::string_view url) {
  const Result<HttpUrl> parsed = parse_http_url(url);
  return parsed ? std::string() : parsed.error().message;
}

std::string fault_of_bucket(std::string_view bucket) {
  const auto is_allowed = [](char c) { return is_small_or_digit(c) || c == '-' || c == '.'; };
  if (bucket.empty() || !std::ranges::all_of(bucket, is_allowed) || !is_small_or_digit(bucket.front()) ||
      !is_small_or_digit(bucket.back()) || bucket.find("..") != std::string_view::npos) {
    return "must consist of lower-case letters, digits, - and ., and begin and end with a letter or a digit";
  }
  return {};
}

}  // namespace

std::string fault_of_redis_url(std::string_view url) {
  const auto parsed = net::redis::parse_redis_url(url);
  if (!parsed) return "is no URL of a Redis server: " + parsed.error().message;
  return parsed->prefix.empty() ? "" : "must not have ?prefix=; set `prefix` beside it";
}

S3Faults faults_of(const S3StoreConfig& config) {
  S3Faults faults;
  faults.bucket = fault_of_bucket(config.bucket);
  if (!config.endpoint.empty()) faults.endpoint = fault_of_http_url(config.endpoint);
  const auto is_of_region = [](char c) { return is_small_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-'; };
  if (config.region.empty() || !std::ranges::all_of(config.region, is_of_region)) {
    faults.region = "must consist of letters, digits and -";
  }
  if (!is_visible(config.access_key) || config.access_key.find_first_of("/,") != std::string::npos) {
    faults.access_key = "must consist of printable ASCII characters, without spaces, slashes and commas";
  }
  const std::string_view prefix =
      std::string_view(config.prefix).substr(0, config.prefix.size() - (config.prefix.ends_with('/') ? 1 : 0));
  if (!config.prefix.empty() && !check_key(prefix)) faults.prefix = "must be a path without . and .. and extra slashes";
  return faults;
}

WebhdfsFaults faults_of(const WebhdfsStoreConfig& config) {
  WebhdfsFaults faults;
  faults.url = fault_of_http_url(config.url);
  if (!config.path.starts_with('/') || !check_key(config.path.substr(1))) {
    faults.path = "must be an absolute path without . and .. and extra slashes, and not /";
  }
  if (!is_visible(config.user)) faults.user = "must consist of printable ASCII characters without spaces";
  return faults;
}

Result<void> check_config(const StoreConfig& config) {
  const auto read = describe::read<StoreConfig>(describe::write(config));
  if (read) return {};
  return Failure(describe::to_error(read.error(), "store"));
}

}  // namespace cadre::objects

namespace cadre::describe {

Result<objects::Secret> Scalar<objects::Secret>::read(const Value& value) {
  if (const auto* text = value.as<std::string>()) return objects::Secret{*text};
  return fail(Errc::invalid, "expected text; put it in quotes");
}

}  // namespace cadre::describe
