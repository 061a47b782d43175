#include "objects/s3/s3_store.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>
#include <vector>

#include "objects/key.h"
#include "objects/presigner.h"
#include "objects/s3/client.h"
#include "objects/s3/multipart.h"

namespace cadre::objects {

using net::http::Method;
using net::http::Response;
using s3::Client;
using s3::hash_header;
using s3::Multipart;

namespace {

constexpr std::int64_t s3_object_bytes_max = std::int64_t{5} << 40;
constexpr std::int64_t single_put_bytes_max = std::int64_t{5} << 30;
constexpr Duration unfinished_age_max = std::chrono::hours(24);
constexpr int list_rounds_max = 100;

std::string folder_in_bucket(std::string prefix) {
  if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';
  return prefix;
}

Result<Digest> digest_of(const Response& response, const std::string& key) {
  Digest digest{0, std::string(net::http::find(response.headers, hash_header))};
  const std::string_view length = net::http::find(response.headers, "Content-Length");
  const auto [end, problem] = std::from_chars(length.data(), length.data() + length.size(), digest.size);
  if (problem != std::errc() || end != length.data() + length.size() || digest.size < 0) {
    return fail(Errc::corrupt, "the server does not say how long the object " + shown_key(key) + " is");
  }
  if (!is_hash(digest.sha256)) {
    return fail(Errc::corrupt, "the object " + shown_key(key) + " has no SHA-256 as metadata (" + hash_header +
                                   "): another program has stored it");
  }
  return digest;
}

class S3Store final : public Store, public Presigner {
 public:
  S3Store(const S3StoreConfig& config, std::unique_ptr<Client> client)
      : prefix_(folder_in_bucket(config.prefix)), part_bytes_(config.part_bytes.value), client_(std::move(client)) {}

  Presigner* presigner() override { return this; }
  Result<SignedRequest> sign_get(const std::string& key, Duration valid) override;
  Result<SignedRequest> sign_put(const std::string& key, const Digest& digest, Duration valid) override;
  Result<PartedUpload> begin_parts(const std::string& key, const Digest& digest) override;
  Result<SignedRequest> sign_part(const std::string& key, const Digest& digest, const std::string& id,
                                  std::int32_t number, Duration valid) override;
  Result<void> complete(const std::string& key, const Digest& digest, const std::string& id,
                        const std::vector<std::string>& etags) override;
  Result<void> abort(const std::string& key, const std::string& id) override;

 private:
  std::int64_t object_bytes_max() const override { return s3_object_bytes_max; }
  Result<Digest> find(const std::string& key) override;
  Result<void> write(const std::string& key, CheckedSource& content) override;
  Result<void> fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) override;
  Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) override;
  Result<void> erase(const std::string& key) override;
  Result<void> clean_up() override;

  Failure not_found(const std::string& key) const {
    return fail(Errc::not_found, "there is no object " + shown_key(key));
  }
  Result<void> explain_head(const Response& head, const std::string& key);
  Result<void> write_whole(const std::string& key, CheckedSource& content);
  Result<void> write_parts(const std::string& key, CheckedSource& content);
  Result<void> settle(const std::string& key, const Digest& digest, Result<void> appeared);
  Result<s3::Listing> listing(const std::string& prefix, const std::string& after, std::size_t limit);

  const std::string prefix_;  ///< of all keys in the bucket; empty, or with a slash at its end
  const std::int64_t part_bytes_;
  const std::unique_ptr<Client> client_;
  std::atomic<bool> bucket_was_seen_ = false;
};

/// HEAD has no body that would say what is wrong: a list of the same key does.
Result<void> S3Store::explain_head(const Response& head, const std::string& key) {
  if (head.status == 404 && bucket_was_seen_) return not_found(key);
  TRY(listing(key, "", 1));
  if (head.status == 404) return not_found(key);
  return client_->explain(head, "reading " + shown_key(key));
}

Result<Digest> S3Store::find(const std::string& key) {
  TRY_ASSIGN(response, client_->ask({.method = Method::head, .key = prefix_ + key}));
  if (response.status != 200) {
    TRY(explain_head(response, key));
    return not_found(key);
  }
  bucket_was_seen_ = true;
  return digest_of(response, key);
}

Result<void> S3Store::write(const std::string& key, CheckedSource& content) {
  return content.left() <= part_bytes_ ? write_whole(key, content) : write_parts(key, content);
}

/// Of two writers at the same time one may have lost, and of a lost response nobody knows what came of it: what counts
/// is which object is there.
Result<void> S3Store::settle(const std::string& key, const Digest& digest, Result<void> appeared) {
  const Result<Digest> there = find(key);
  if (there) return check_same(key, *there, digest);
  if (!appeared) return appeared;
  return Failure(there.error());
}

Result<void> S3Store::write_whole(const std::string& key, CheckedSource& content) {
  Bytes bytes(static_cast<std::size_t>(content.left()));
  TRY(content.read(bytes));
  TRY_ASSIGN(response, ask_if_absent(*client_, {.method = Method::put,
                                                .key = prefix_ + key,
                                                .headers = {{hash_header, content.digest().sha256}},
                                                .body = bytes,
                                                .body_sha256 = content.digest().sha256}));
  if (response.status / 100 == 2) return settle(key, content.digest(), {});
  return settle(key, content.digest(), client_->explain(response, "storing " + shown_key(key)));
}

Result<void> S3Store::write_parts(const std::string& key, CheckedSource& content) {
  const Digest& digest = content.digest();
  TRY_ASSIGN(upload, Multipart::begin(*client_, prefix_ + key, digest));
  const Result<std::vector<std::string>> etags = upload.send(content, s3::part_bytes_for(digest.size, part_bytes_));
  if (!etags) {
    static_cast<void>(upload.abort());
    return Failure(etags.error());
  }
  const Result<void> completed = upload.complete(*etags);
  if (!completed) static_cast<void>(upload.abort());
  return settle(key, digest, completed);
}

Result<void> S3Store::fetch(const std::string& key, const Digest&, ByteRange range, const ByteSink& sink) {
  return client_->download(prefix_ + key, range, sink, "reading " + shown_key(key));
}

Result<s3::Listing> S3Store::listing(const std::string& prefix, const std::string& after, std::size_t limit) {
  net::http::Query query{{"list-type", "2"}, {"max-keys", std::to_string(limit)}, {"prefix", prefix_ + prefix}};
  if (!after.empty()) query.emplace_back("start-after", prefix_ + after);
  TRY_ASSIGN(response,
             client_->ask({.query = std::move(query)}, "listing the keys that begin with " + shown_key(prefix)));
  bucket_was_seen_ = true;
  TRY_ASSIGN(listing, s3::read_listing(response.body));
  if (listing.items.size() > limit) return fail(Errc::corrupt, "the server lists more keys than were asked for");
  return listing;
}

/// Keys that are none of ours are skipped, such as those of folders that some programs make.
Result<ObjectPage> S3Store::list_page(const std::string& prefix, const std::string& after, std::size_t limit) {
  ObjectPage page;
  std::string last = after;
  for (int round = 0; round < list_rounds_max; ++round) {
    TRY_ASSIGN(listed, listing(prefix, last, limit - page.objects.size()));
    for (s3::Listing::Item& item : listed.items) {
      if (!item.key.starts_with(prefix_ + prefix))
        return fail(Errc::corrupt, "the server lists a key that was not asked for");
      std::string key = item.key.substr(prefix_.size());
      if (key <= last) return fail(Errc::corrupt, "the server does not list its keys in order");
      last = key;
      if (check_key(key)) page.objects.push_back({std::move(key), item.size});
    }
    if (!listed.is_truncated) return page;
    if (page.objects.size() == limit) break;
    if (listed.items.empty()) return fail(Errc::corrupt, "the server says that its list goes on, but it does not");
  }
  page.next = last;
  return page;
}

Result<void> S3Store::erase(const std::string& key) {
  const std::string what = "removing " + shown_key(key);
  TRY_ASSIGN(response, client_->ask({.method = Method::remove, .key = prefix_ + key}));
  if (response.status / 100 == 2 || s3::read_refusal(response).code == "NoSuchKey") return {};
  return client_->explain(response, what);
}

/// Servers that cannot list unfinished uploads have other means to remove them.
Result<void> S3Store::clean_up() {
  constexpr int not_implemented = 501;
  TRY_ASSIGN(response, client_->ask({.query = {{"prefix", prefix_}, {"uploads", ""}}}));
  if (response.status == not_implemented || response.status == 405) return {};
  if (response.status != 200) return client_->explain(response, "listing unfinished uploads");
  TRY_ASSIGN(uploads, s3::read_uploads(response.body));
  const auto present = std::chrono::system_clock::now().time_since_epoch();
  for (s3::UnfinishedUpload& upload : uploads) {
    if (!upload.key.starts_with(prefix_) || present - upload.initiated.time_since_epoch() < unfinished_age_max)
      continue;
    TRY(Multipart(*client_, std::move(upload.key), std::move(upload.id)).abort());
  }
  return {};
}

Result<SignedRequest> S3Store::sign_get(const std::string& key, Duration valid) {
  TRY(check_key(key));
  return client_->presign({.key = prefix_ + key}, valid);
}

Result<SignedRequest> S3Store::sign_put(const std::string& key, const Digest& digest, Duration valid) {
  TRY(check_key(key));
  if (digest.size < 0 || digest.size > single_put_bytes_max || !is_hash(digest.sha256)) {
    return fail(Errc::invalid, "an upload in one request has a SHA-256 and at most 5GiB; use parts for more");
  }
  Bytes raw;
  for (std::size_t i = 0; i < digest.sha256.size(); i += 2) {
    raw.push_back(static_cast<std::byte>(16 * net::http::hex_digit(digest.sha256[i]) +
                                         net::http::hex_digit(digest.sha256[i + 1])));
  }
  return client_->presign({.method = Method::put,
                           .key = prefix_ + key,
                           .headers = {{"Content-Length", std::to_string(digest.size)},
                                       {"x-amz-checksum-sha256", to_base64(raw)},
                                       {hash_header, digest.sha256}}},
                          valid);
}

Result<Presigner::PartedUpload> S3Store::begin_parts(const std::string& key, const Digest& digest) {
  TRY(check_key(key));
  if (digest.size < 1 || digest.size > s3_object_bytes_max || !is_hash(digest.sha256)) {
    return fail(Errc::invalid, "an upload in parts has a SHA-256 and 1 byte to 5 TiB");
  }
  const Result<Digest> there = find(key);
  if (there) TRY(check_same(key, *there, digest));
  if (!there && there.error().code != Errc::not_found) return Failure(there.error());
  TRY_ASSIGN(upload, Multipart::begin(*client_, prefix_ + key, digest));
  const std::int64_t part_bytes = s3::part_bytes_for(digest.size, part_bytes_);
  return PartedUpload{upload.id(), part_bytes, static_cast<std::int32_t>((digest.size + part_bytes - 1) / part_bytes)};
}

Result<SignedRequest> S3Store::sign_part(const std::string& key, const Digest& digest, const std::string& id,
                                         std::int32_t number, Duration valid) {
  TRY(check_key(key));
  const std::int64_t part_bytes = s3::part_bytes_for(digest.size, part_bytes_);
  const std::int64_t offset = part_bytes * (number - 1);
  if (number < 1 || number > s3::parts_max || offset >= digest.size) {
    return fail(Errc::invalid, "the object " + shown_key(key) + " has no part " + std::to_string(number));
  }
  const std::int64_t size = std::min(part_bytes, digest.size - offset);
  return client_->presign({.method = Method::put,
                           .key = prefix_ + key,
                           .query = {{"partNumber", std::to_string(number)}, {"uploadId", id}},
                           .headers = {{"Content-Length", std::to_string(size)}}},
                          valid);
}

Result<void> S3Store::complete(const std::string& key, const Digest& digest, const std::string& id,
                               const std::vector<std::string>& etags) {
  TRY(check_key(key));
  if (etags.empty() || etags.size() > static_cast<std::size_t>(s3::parts_max)) {
    return fail(Errc::invalid, "an upload has 1 to 10000 parts");
  }
  Multipart upload(*client_, prefix_ + key, id);
  const Result<void> completed = upload.complete(etags);
  const Result<Digest> there = find(key);
  if (!there) return completed ? Failure(there.error()) : Failure(completed.error());
  if (there->sha256 == digest.sha256 && there->size != digest.size) {
    TRY(erase(key));
    return fail(Errc::corrupt, "the parts of " + shown_key(key) + " have " + std::to_string(there->size) +
                                   " bytes instead of " + std::to_string(digest.size) + "; repeat the upload");
  }
  return check_same(key, *there, digest);
}

Result<void> S3Store::abort(const std::string& key, const std::string& id) {
  TRY(check_key(key));
  return Multipart(*client_, prefix_ + key, id).abort();
}

}  // namespace

Result<std::unique_ptr<Store>> open_s3_store(const S3StoreConfig& config, const StoreOptions& options) {
  TRY_ASSIGN(client, Client::make(config, options));
  return std::make_unique<S3Store>(config, std::move(client));
}

}  // namespace cadre::objects
