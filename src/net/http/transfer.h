/// One question of a client, as libcurl asks it. For the loop's thread; for the files of this folder only.
#pragma once

#include <curl/curl.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/bell.h"
#include "net/http/client.h"
#include "net/http/curl_multi.h"
#include "net/http/message.h"

namespace cadre::net::http {

class Transfer : public std::enable_shared_from_this<Transfer> {
 public:
  using OnPiece = std::function<void(std::string_view)>;

  Transfer(std::shared_ptr<CurlMulti> multi, const ClientOptions& options, Question question, OnPiece on_piece);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();

  /// Begins; `invalid` when the question cannot be asked.
  [[nodiscard]] Result<void> start();
  /// Ends the question, whatever has become of it, and tells nobody any more.
  void abandon();

  bool is_done() const { return code_.has_value(); }
  Bell& done() { return done_; }
  /// When done.
  [[nodiscard]] Result<Response> result();

  // For CurlMulti.
  CURL* easy() { return easy_; }
  void finish(CURLcode code);
  /// Hands on what has come.
  void tell();

 private:
  static std::size_t on_header(const char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(const char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_upload(char* into, std::size_t size, std::size_t count, void* self);
  static int before_request(void* self, char*, char*, int, int);
  bool take_header(std::string_view line);
  bool take_body(std::string_view piece);
  std::size_t give_body(std::span<char> into);
  Result<void> set_headers();
  void set_body();
  bool is_upload() const { return question_.upload.read != nullptr; }
  /// It may take long: only silence ends it.
  bool is_long() const { return on_piece_ != nullptr || is_upload(); }
  void watch_silence();
  std::string describe_failure() const;

  const std::shared_ptr<CurlMulti> multi_;
  const ClientOptions& options_;
  const Question question_;
  const OnPiece on_piece_;
  CURL* const easy_;
  curl_slist* headers_ = nullptr;
  char problem_[CURL_ERROR_SIZE] = "";

  Response response_;
  std::string pending_;  // pieces that are not handed on yet
  std::size_t header_bytes_ = 0;
  std::int64_t uploaded_ = 0;
  int requests_sent_ = 0;
  bool too_large_ = false;
  bool was_silent_ = false;
  bool abandoned_ = false;
  TimePoint last_byte_;
  loop::Timer silence_;
  std::optional<CURLcode> code_;
  bool was_asked_ = false;
  Bell done_;
};

}  // namespace cadre::net::http
