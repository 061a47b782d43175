/// Takes requests out of the bytes of one connection, one after another, and believes none of them; knows no socket and
/// no clock. A value; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "net/http/chunks.h"
#include "net/http/message.h"

namespace cadre::net::http {

class RequestReader {
 public:
  struct Rules {
    ByteSize header_max;
    /// The most that a body may have; asked when the header has been read.
    std::function<ByteSize(Method, std::string_view target)> body_max;
  };
  enum class State : std::uint8_t {
    header,   ///< its header is not whole; also before its first byte
    body,     ///< its header is there
    whole,    ///< take() goes on after next()
    refused,  ///< for good: nobody knows where the next one would begin
  };
  /// What a refused one is answered.
  struct Refusal {
    int status = 400;
    std::string_view title;
  };

  explicit RequestReader(const Rules& rules);
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;
  ~RequestReader();

  /// Takes what belongs to the present request and gives its size. What it leaves has to come again, with more behind.
  std::size_t take(std::string_view bytes);

  State state() const { return state_; }
  /// Whether it has taken some of a header.
  bool has_begun() const { return header_taken_ > 0; }
  /// What is held of a body, until next().
  std::size_t body_held() const { return request_.body.size(); }
  /// In `whole`; may be moved from.
  Request& request() { return request_; }
  const Refusal& refusal() const { return refusal_; }

  /// In `body` and `whole`: what its header says beside the request.
  bool keeps_alive() const { return keeps_alive_; }
  bool is_http_1_0() const { return is_http_1_0_; }
  /// Waits for a word of ours before it sends its body.
  bool expects_continue() const { return expects_continue_; }

  /// Begins the next request.
  void next();

 private:
  class Header;
  std::size_t take_header(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  void begin_body();
  void refuse(int status, std::string_view title);

  const Rules& rules_;
  std::unique_ptr<Header> header_;  // keeps Beast out of this header
  Request request_;
  State state_ = State::header;
  Refusal refusal_;
  bool keeps_alive_ = false;
  bool is_http_1_0_ = false;
  bool expects_continue_ = false;
  bool is_chunked_ = false;
  std::size_t header_taken_ = 0;
  std::size_t body_max_ = 0;
  std::uint64_t body_left_ = 0;  // when not chunked
  ChunkReader chunks_;
};

}  // namespace cadre::net::http
