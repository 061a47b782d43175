/// Puts the transfers of libcurl on a loop. For the loop's thread; for the files of this folder only.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/time.h"
#include "loop/real_loop.h"

namespace cadre::net::http {

class Transfer;

class CurlMulti : public std::enable_shared_from_this<CurlMulti> {
 public:
  CurlMulti(loop::RealLoop& loop, std::int32_t connections_max);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;
  ~CurlMulti();

  /// From now on until remove() it goes on, and is told.
  void add(Transfer& transfer);
  void remove(Transfer& transfer);
  /// To be told once libcurl has returned: nobody is called from inside it.
  void touch(Transfer& transfer);
  /// Ends all that is under way and takes no more.
  void end();

  loop::RealLoop& loop() { return loop_; }

 private:
  struct Watch;
  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* unused);
  static int on_timer(CURLM* multi, long wait_ms, void* self);
  /// Whether it could be begun.
  bool watch(curl_socket_t socket, int what);
  void act(curl_socket_t socket, int events);

  loop::RealLoop& loop_;
  CURLM* const multi_;
  bool ended_ = false;
  std::map<curl_socket_t, std::shared_ptr<Watch>> watches_;
  std::set<Transfer*> transfers_;
  std::vector<std::weak_ptr<Transfer>> touched_;
  loop::Timer timer_;
};

}  // namespace cadre::net::http
