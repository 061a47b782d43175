#include "net/http/transfer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/rounded.h"

namespace cadre::net::http {

namespace {

constexpr std::size_t header_max = 256 << 10;

long milliseconds_of(Duration wait) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
  return static_cast<long>(std::clamp<std::int64_t>(count, 1, std::numeric_limits<std::int32_t>::max()));
}

/// It may be asked twice when the connection was lost in between; what is a POST would be done twice.
bool may_be_repeated(const Question& question) {
  return !question.is_asked_once && question.method != Method::post && question.method != Method::patch;
}

bool carries_body(const Question& question) {
  const Method method = question.method;
  return !question.body.empty() || method == Method::post || method == Method::put || method == Method::patch;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Transfer::Transfer(std::shared_ptr<CurlMulti> multi, const ClientOptions& options, Question question, OnPiece on_piece)
    : multi_(std::move(multi)),
      options_(options),
      question_(std::move(question)),
      on_piece_(std::move(on_piece)),
      easy_(curl_easy_init()) {
  CHECK(easy_ != nullptr);
}

Transfer::~Transfer() {
  abandon();
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

void Transfer::abandon() {
  abandoned_ = true;
  silence_.cancel();
  multi_->remove(*this);
}

Result<void> Transfer::start() {
  if (question_.method == Method::other) return fail(Errc::invalid, "this method is not supported");
  CHECK(!is_upload() || question_.method == Method::put);
  response_ = {.status = 0, .content_type = "", .body = "", .headers = {}};
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, problem_);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);  // ending a question does not wait for a name to be looked up
  curl_easy_setopt(easy_, CURLOPT_URL, question_.url.c_str());
  if (!options_.path.empty()) curl_easy_setopt(easy_, CURLOPT_UNIX_SOCKET_PATH, options_.path.c_str());
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);  // something may be called `..`
  curl_easy_setopt(easy_, CURLOPT_PROXY, "");       // what stands in the environment is not meant for us
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, milliseconds_of(options_.connect_wait));
  if (!is_long()) curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, milliseconds_of(question_.wait));
  if (!options_.ca_file.empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, options_.ca_file.c_str());
    curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);  // else those that the system believes are believed too
  }
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &on_header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &on_body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, &before_request);
  curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
  TRY(set_headers());
  set_body();
  if (is_long()) {
    last_byte_ = multi_->loop().now();
    watch_silence();
  }
  multi_->add(*this);
  return {};
}

Result<void> Transfer::set_headers() {
  const auto append = [this](const std::string& line) {
    curl_slist* const longer = curl_slist_append(headers_, line.c_str());
    CHECK(longer != nullptr);
    headers_ = longer;
  };
  for (const auto& [name, value] : question_.headers) {
    if (!is_header(name, value)) return fail(Errc::invalid, "the header '" + name + "' cannot be sent");
    std::string line = name;
    value.empty() ? line += ';' : (line += ": ") += value;
    append(line);
  }
  if (carries_body(question_) && find(question_.headers, "Content-Type").empty()) append("Content-Type:");
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  return {};
}

void Transfer::set_body() {
  if (is_upload()) {
    curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(question_.upload.size));
    curl_easy_setopt(easy_, CURLOPT_READFUNCTION, &on_upload);
    curl_easy_setopt(easy_, CURLOPT_READDATA, this);
    return;
  }
  if (carries_body(question_)) {
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question_.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, question_.body.data());
  } else if (question_.method == Method::head) {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  }
  const bool is_usual = question_.method == (carries_body(question_) ? Method::post : Method::get);
  if (!is_usual && question_.method != Method::head) {
    curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, std::string(to_string(question_.method)).c_str());
  }
}

void Transfer::watch_silence() {
  const TimePoint present = multi_->loop().now();
  const Duration left = question_.wait - (present - last_byte_);
  if (left > Duration::zero()) {
    silence_ = multi_->loop().after(left, [this] { watch_silence(); });
    return;
  }
  was_silent_ = true;
  finish(CURLE_OPERATION_TIMEDOUT);
  multi_->remove(*this);
  const std::shared_ptr<Transfer> self = shared_from_this();
  tell();
}

std::size_t Transfer::on_header(const char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_header({data, size * count}) ? size * count : 0;
}

std::size_t Transfer::on_body(const char* data, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->take_body({data, size * count}) ? size * count : 0;
}

std::size_t Transfer::on_upload(char* into, std::size_t size, std::size_t count, void* self) {
  return static_cast<Transfer*>(self)->give_body({into, size * count});
}

int Transfer::before_request(void* self, char*, char*, int, int) {
  auto& transfer = *static_cast<Transfer*>(self);
  const bool again = transfer.requests_sent_++ > 0;
  return again && !may_be_repeated(transfer.question_) ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

bool Transfer::take_header(std::string_view line) {
  last_byte_ = multi_->loop().now();
  header_bytes_ += line.size();
  too_large_ = too_large_ || header_bytes_ > header_max;
  if (too_large_) return false;
  if (line.starts_with("HTTP/")) {  // also after `100 Continue`
    response_.headers.clear();
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (equal_names(name, "Content-Type")) response_.content_type = value;
  response_.headers.emplace_back(name, value);
  return true;
}

bool Transfer::take_body(std::string_view piece) {
  last_byte_ = multi_->loop().now();
  long status = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  if (on_piece_ && status / 100 == 2) {
    if (pending_.empty()) multi_->touch(*this);
    pending_ += piece;
    return true;
  }
  too_large_ = response_.body.size() + piece.size() > static_cast<std::size_t>(options_.answer_max.value);
  if (!too_large_) response_.body += piece;
  return !too_large_;
}

std::size_t Transfer::give_body(std::span<char> into) {
  last_byte_ = multi_->loop().now();
  const std::int64_t left = question_.upload.size - uploaded_;
  if (left == 0) return 0;
  if (static_cast<std::uint64_t>(left) < into.size()) into = into.first(static_cast<std::size_t>(left));
  const std::size_t size = question_.upload.read(into);
  if (size == 0 || size > into.size()) return CURL_READFUNC_ABORT;
  uploaded_ += static_cast<std::int64_t>(size);
  return size;
}

void Transfer::finish(CURLcode code) {
  code_ = code;
  silence_.cancel();
  long status = 0;
  curl_off_t before_request_us = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &before_request_us);
  response_.status = static_cast<int>(status);
  was_asked_ = before_request_us > 0 || requests_sent_ > 0;
}

void Transfer::tell() {
  const std::shared_ptr<Transfer> self = shared_from_this();
  if (!pending_.empty() && !abandoned_) on_piece_(std::exchange(pending_, {}));
  if (is_done()) done_.ring();
}

std::string Transfer::describe_failure() const {
  const std::string what = problem_[0] != '\0' ? problem_ : curl_easy_strerror(*code_);
  return std::string(to_string(question_.method)) + " " + question_.url + ": " +
         (was_silent_ ? "no data arrived for " + rounded(question_.wait) : what);
}

Result<Response> Transfer::result() {
  CHECK(is_done());
  if (too_large_) return fail(Errc::corrupt, question_.url + ": the response is too large");
  switch (*code_) {
    case CURLE_OK: return std::move(response_);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_SSL_CACERT_BADFILE: return fail(Errc::invalid, describe_failure());
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR: return fail(Errc::denied, describe_failure());
    default: return fail(was_asked_ ? Errc::timed_out : Errc::unavailable, describe_failure());
  }
}

}  // namespace cadre::net::http
