#include "net/http/request_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <optional>

#include "base/check.h"

namespace cadre::net::http {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

namespace {

std::string text(string_view view) { return std::string(view.data(), view.size()); }

constexpr std::size_t headers_usual = 8;  // room for that many is made at once

/// In requests of these methods a body has no meaning, and would only take memory.
bool may_have_body(Method method) {
  return method != Method::get && method != Method::head && method != Method::remove;
}

}  // namespace

/// Beast reads the header and nothing else: its reading of chunks aborts the process on some splits of its input when
/// assertions are on, and its limit of the header does not count what came in earlier pieces.
class RequestReader::Header final : public beast::basic_parser<true> {
 public:
  Header(Request& request, ByteSize max) : request_(request) {
    header_limit(static_cast<std::uint32_t>(max.value));
    body_limit(boost::none);
    skip(true);
  }

  int version = 0;
  int hosts = 0;
  int lengths = 0;
  bool encoded = false;  // its body is encoded in a way that is not just `chunked`
  bool expects = false;
  bool expects_continue = false;
  bool asks_websocket = false;

 private:
  void on_request_impl(beast::verb, string_view method, string_view target, int its_version, error_code&) override {
    request_.method = http::parse_method({method.data(), method.size()});
    request_.target.assign(target.data(), target.size());
    version = its_version;
  }
  void on_field_impl(beast::field known, string_view name, string_view value, error_code&) override {
    const std::string_view word(value.data(), value.size());
    switch (known) {
      case beast::field::host: ++hosts; break;
      case beast::field::content_length: ++lengths; break;
      case beast::field::transfer_encoding: encoded = encoded || !equal_names(word, "chunked"); break;
      case beast::field::expect:
        expects = true;
        expects_continue = equal_names(word, "100-continue");
        break;
      case beast::field::upgrade: asks_websocket = equal_names(word, "websocket"); break;
      default: break;
    }
    if (request_.headers.empty()) request_.headers.reserve(headers_usual);
    request_.headers.emplace_back(text(name), word);
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override { return body.size(); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override { return body.size(); }
  void on_finish_impl(error_code&) override {}

  Request& request_;
};

RequestReader::RequestReader(const Rules& rules)
    : rules_(rules), header_(std::make_unique<Header>(request_, rules.header_max)) {}

RequestReader::~RequestReader() = default;

void RequestReader::next() {
  CHECK(state_ == State::whole);
  request_.headers.clear();
  request_.body.clear();
  state_ = State::header;
  expects_continue_ = false;
  header_taken_ = 0;
  std::destroy_at(header_.get());  // in its place: one allocation less for each request
  std::construct_at(header_.get(), request_, rules_.header_max);
}

void RequestReader::refuse(int status, std::string_view title) {
  state_ = State::refused;
  refusal_ = {status, title};
}

std::size_t RequestReader::take(std::string_view bytes) {
  std::size_t taken = 0;
  if (state_ == State::header) taken = take_header(bytes);
  if (state_ == State::body) taken += take_body(bytes.substr(taken));
  return taken;
}

std::size_t RequestReader::take_header(std::string_view bytes) {
  std::size_t skipped = 0;
  if (header_taken_ == 0 && !header_->got_some()) {  // an empty line before a request is to be borne
    while (bytes.substr(skipped).starts_with("\r\n")) skipped += 2;
    bytes.remove_prefix(skipped);
    if (bytes.empty() || bytes == "\r") return skipped;
  }
  error_code problem;
  const std::size_t taken = header_->put({bytes.data(), bytes.size()}, problem);
  header_taken_ += taken;
  const std::size_t left = header_->is_done() ? 0 : bytes.size() - taken;
  const bool too_large = header_taken_ + left > static_cast<std::size_t>(rules_.header_max.value);
  if (too_large || problem == beast::error::header_limit) {
    refuse(431, "the header is too large");
  } else if (problem == beast::error::bad_version) {
    refuse(400, "this is not HTTP/1.1");
  } else if (problem && problem != beast::error::need_more) {
    refuse(400, "this is not an HTTP request");
  } else if (header_->is_done()) {
    begin_body();
  }
  return skipped + taken;
}

void RequestReader::begin_body() {
  is_http_1_0_ = header_->version == 10;
  keeps_alive_ = header_->keep_alive() && !is_http_1_0_;  // who speaks 1.0 today is a tool that asks once
  is_chunked_ = header_->chunked();
  const std::uint64_t length = header_->content_length().value_or(0);
  const bool has_body = is_chunked_ || length > 0;
  // What two readers could understand in two ways is how one request hides in another.
  if (header_->hosts > 1 || (header_->hosts == 0 && !is_http_1_0_)) return refuse(400, "expected one Host");
  if (header_->lengths > 1) return refuse(400, "expected one Content-Length");
  if (header_->encoded) return refuse(501, "the only supported transfer coding is chunked");
  if (is_chunked_ && is_http_1_0_) return refuse(400, "HTTP/1.0 does not support chunked bodies");
  if (header_->expects && !header_->expects_continue)
    return refuse(417, "the only supported expectation is 100-continue");

  if (has_body && !may_have_body(request_.method)) {
    return refuse(400, "GET, HEAD and DELETE have no body; remove it");
  }

  request_.is_websocket = header_->asks_websocket && header_->upgrade() && request_.method == Method::get;
  expects_continue_ = header_->expects_continue && has_body && !is_http_1_0_;
  if (!has_body) {
    state_ = State::whole;
    return;
  }
  body_max_ =
      static_cast<std::size_t>(std::max<std::int64_t>(0, rules_.body_max(request_.method, request_.target).value));
  if (length > body_max_) return refuse(413, "the body is too large");
  body_left_ = length;
  chunks_ = ChunkReader(body_max_);
  state_ = State::body;
}

std::size_t RequestReader::take_body(std::string_view bytes) {
  if (!is_chunked_) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, bytes.size()));
    request_.body.append(bytes.substr(0, size));
    body_left_ -= size;
    if (body_left_ == 0) state_ = State::whole;
    return size;
  }
  const std::size_t taken = chunks_.take(bytes, request_.body);
  switch (chunks_.state()) {
    case ChunkReader::State::more: break;
    case ChunkReader::State::whole: state_ = State::whole; break;
    case ChunkReader::State::malformed: refuse(400, "a chunk of the body is malformed"); break;
    case ChunkReader::State::too_large: refuse(413, "the body is too large"); break;
  }
  return taken;
}

}  // namespace cadre::net::http
