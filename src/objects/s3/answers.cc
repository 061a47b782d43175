#include "objects/s3/answers.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "objects/s3/xml.h"
#include "objects/stores/http_sessions.h"

namespace cadre::objects::s3 {

namespace {

Failure unexpected(const std::string& name) {
  return fail(Errc::corrupt, "the response of the server is not the " + name + " that S3 describes; check `endpoint`");
}

Result<XmlElement> parse_named(std::string_view body, const std::string& name) {
  TRY_ASSIGN(root, parse_xml(body));
  if (root.name != name) return unexpected(name);
  return root;
}

bool read_size(std::string_view text, std::int64_t& size) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), size);
  return problem == std::errc() && end == text.data() + text.size() && size >= 0;
}

struct Known {
  std::string_view code;
  Errc errc;
  std::string_view words;
};

/// Codes of errors with a remedy.
constexpr Known known[] = {
    {"SignatureDoesNotMatch", Errc::denied, "the secret key is wrong: correct `secret_key`, and check `access_key`"},
    {"InvalidAccessKeyId", Errc::denied, "the server does not know the access key: correct `access_key`"},
    {"InvalidClientTokenId", Errc::denied, "the server does not know the access key: correct `access_key`"},
    {"ExpiredToken", Errc::denied, "the access key has expired: replace `access_key` and `secret_key`"},
    {"AccessDenied", Errc::denied,
     "the access key has no permission: allow it GetObject, PutObject, DeleteObject, AbortMultipartUpload, ListBucket "
     "and ListBucketMultipartUploads for the bucket"},
    {"RequestTimeTooSkewed", Errc::denied,
     "the clocks of this host and of the server differ: set the one that is wrong"},
    {"NoSuchBucket", Errc::invalid, "the bucket does not exist: create it, or correct `bucket`"},
    {"InvalidBucketName", Errc::invalid, "the server does not allow this name: correct `bucket`"},
    {"PermanentRedirect", Errc::invalid, "the bucket is in another region: correct `region` and `endpoint`"},
    {"AuthorizationHeaderMalformed", Errc::invalid, "the region is wrong: correct `region`"},
    {"IllegalLocationConstraintException", Errc::invalid, "the region is wrong: correct `region`"},
    {"NoSuchKey", Errc::not_found, "the object does not exist"},
    {"NoSuchUpload", Errc::not_found, "the upload does not exist any more: repeat it from its beginning"},
    {"InvalidPart", Errc::corrupt, "a part of the upload is missing or damaged: repeat the upload"},
    {"BadDigest", Errc::corrupt, "the bytes changed on their way: repeat the upload"},
    {"XAmzContentSHA256Mismatch", Errc::corrupt, "the bytes changed on their way: repeat the upload"},
    {"EntityTooLarge", Errc::invalid, "the object is too large for this server"},
    {"EntityTooSmall", Errc::invalid, "the server wants larger parts: raise `part_bytes`"},
    {"QuotaExceeded", Errc::unavailable, "the quota of the bucket is exhausted: raise it, or remove objects"},
    {"XMinioStorageFull", Errc::unavailable, "the server is full: free space there"},
    {"InsufficientStorage", Errc::unavailable, "the server is full: free space there"},
    {"SlowDown", Errc::unavailable, "the server is overloaded: repeat it later"},
};

Known by_status(int status) {
  switch (status) {
    case 301:
    case 307:
    case 308: return {"", Errc::invalid, "the server is at another URL: correct `endpoint` and `region`"};
    case 401:
    case 403: return {"", Errc::denied, "the server refuses the access key: check `access_key` and `secret_key`"};
    case 404: return {"", Errc::not_found, "it does not exist"};
    case 409: return {"", Errc::conflict, "another request changes the same object: repeat it"};
    case 412: return {"", Errc::conflict, "an object with this key exists"};
    case 507: return {"", Errc::unavailable, "the server is full: free space there"};
    default: break;
  }
  if (status >= 500) return {"", Errc::unavailable, "the server has a fault: repeat it later, and look into its log"};
  return {"", Errc::invalid, "the server refuses the request: check that `endpoint` is a server of S3"};
}

}  // namespace

Refusal read_refusal(const net::http::Response& response) {
  const Result<XmlElement> root = parse_xml(response.content());
  if (!root || root->name != "Error") return {};
  return {std::string(root->text_of("Code")), std::string(root->text_of("Message"))};
}

Failure explain(const Place& place, const net::http::Response& response, const std::string& what) {
  const Refusal refusal = read_refusal(response);
  const auto* found = std::ranges::find(known, std::string_view(refusal.code), &Known::code);
  const Known cause = found == std::end(known) ? by_status(response.status) : *found;
  std::string message = what + " in bucket " + place.bucket + " at " + place.endpoint +
                        " failed: " + std::string(cause.words) + " (status " + std::to_string(response.status);
  if (!refusal.code.empty()) message += ", " + shown_text(refusal.code);
  if (!refusal.message.empty()) message += ", " + shown_text(refusal.message);
  if (const auto region = net::http::find(response.headers, "x-amz-bucket-region");
      !region.empty() && region != place.region) {
    message += ", region " + shown_text(region);
  }
  return fail(cause.errc, message + ")");
}

Result<Listing> read_listing(std::string_view body) {
  TRY_ASSIGN(root, parse_named(body, "ListBucketResult"));
  Listing listing;
  listing.is_truncated = root.text_of("IsTruncated") == "true";
  for (const XmlElement& child : root.children) {
    if (child.name != "Contents") continue;
    Listing::Item item{std::string(child.text_of("Key")), 0};
    if (item.key.empty() || !read_size(child.text_of("Size"), item.size)) return unexpected(root.name);
    listing.items.push_back(std::move(item));
  }
  return listing;
}

Result<std::vector<UnfinishedUpload>> read_uploads(std::string_view body) {
  TRY_ASSIGN(root, parse_named(body, "ListMultipartUploadsResult"));
  std::vector<UnfinishedUpload> uploads;
  for (const XmlElement& child : root.children) {
    if (child.name != "Upload") continue;
    const Result<TimePoint> initiated = parse_utc(child.text_of("Initiated"));
    if (!initiated || child.text_of("UploadId").empty()) return unexpected(root.name);
    uploads.push_back({std::string(child.text_of("Key")), std::string(child.text_of("UploadId")), *initiated});
  }
  return uploads;
}

Result<std::string> read_upload_id(std::string_view body) {
  constexpr std::size_t id_max = 4'096;
  TRY_ASSIGN(root, parse_named(body, "InitiateMultipartUploadResult"));
  std::string id(root.text_of("UploadId"));
  if (id.empty() || id.size() > id_max) return unexpected(root.name);
  return id;
}

bool is_completed(std::string_view body) {
  const Result<XmlElement> root = parse_xml(body);
  return root && root->name == "CompleteMultipartUploadResult";
}

std::string completion_of(const std::vector<std::string>& etags) {
  std::string text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < etags.size(); ++i) {
    std::string etag;
    for (const char c : etags[i]) {
      if (c == '&') {
        etag += "&amp;";
      } else if (c == '<') {
        etag += "&lt;";
      } else if (c == '>') {
        etag += "&gt;";
      } else {
        etag += c;
      }
    }
    text += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + etag + "</ETag></Part>";
  }
  return text + "</CompleteMultipartUpload>";
}

}  // namespace cadre::objects::s3
