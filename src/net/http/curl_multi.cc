#include "net/http/curl_multi.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "base/check.h"
#include "loop/asio_context.h"
#include "net/http/transfer.h"

namespace cadre::net::http {

using boost::asio::posix::stream_descriptor;

namespace {

void init_once() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(done == CURLE_OK);
}

CURLM* make_multi() {
  init_once();
  CURLM* const multi = curl_multi_init();
  CHECK(multi != nullptr);
  return multi;
}

}  // namespace

/// A socket of libcurl's, which closes it.
struct CurlMulti::Watch : std::enable_shared_from_this<Watch> {
  Watch(CurlMulti& m, curl_socket_t s) : multi(m), socket(s), descriptor(loop::asio_context(m.loop_)) {}
  ~Watch() { end(); }

  /// The kernel watches only so many for one user.
  bool begin() {
    boost::system::error_code error;
    descriptor.assign(socket, error);
    return !error;
  }

  void want(int what) {
    wanted = what;
    arm();
  }
  void arm() {
    if (!over && (wanted & CURL_POLL_IN) != 0) wait(stream_descriptor::wait_read, CURL_CSELECT_IN, reads);
    if (!over && (wanted & CURL_POLL_OUT) != 0) wait(stream_descriptor::wait_write, CURL_CSELECT_OUT, writes);
  }
  void wait(stream_descriptor::wait_type type, int event, bool& waits) {
    if (std::exchange(waits, true)) return;
    descriptor.async_wait(type, [self = shared_from_this(), event, &waits](const boost::system::error_code& cancelled) {
      waits = false;
      const int still_wanted = event == CURL_CSELECT_IN ? CURL_POLL_IN : CURL_POLL_OUT;
      if (cancelled || self->over || (self->wanted & still_wanted) == 0) return;
      loop::Call call([&] { self->multi.act(self->socket, event); });
      call();
      self->arm();
    });
  }
  void end() {
    over = true;
    if (descriptor.is_open()) descriptor.release();
  }

  CurlMulti& multi;  // not to be used when over
  const curl_socket_t socket;
  stream_descriptor descriptor;
  int wanted = 0;
  bool reads = false;
  bool writes = false;
  bool over = false;
};

CurlMulti::CurlMulti(loop::RealLoop& loop, std::int32_t connections_max) : loop_(loop), multi_(make_multi()) {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(connections_max));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections_max));
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
}

CurlMulti::~CurlMulti() { CHECK(ended_ && transfers_.empty()); }

void CurlMulti::add(Transfer& transfer) {
  if (ended_) return transfer.finish(CURLE_ABORTED_BY_CALLBACK);
  transfers_.insert(&transfer);
  curl_multi_add_handle(multi_, transfer.easy());
}

void CurlMulti::remove(Transfer& transfer) {
  if (transfers_.erase(&transfer) == 0) return;
  curl_multi_remove_handle(multi_, transfer.easy());
}

void CurlMulti::touch(Transfer& transfer) { touched_.push_back(transfer.weak_from_this()); }

void CurlMulti::end() {
  if (std::exchange(ended_, true)) return;
  timer_.cancel();
  while (!transfers_.empty()) {
    Transfer& transfer = **transfers_.begin();
    transfer.finish(CURLE_ABORTED_BY_CALLBACK);
    remove(transfer);
    loop_.post([told = transfer.shared_from_this()] { told->tell(); });
  }
  for (const auto& [socket, watch] : watches_) watch->end();
  watches_.clear();
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
  curl_multi_cleanup(multi_);
}

int CurlMulti::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  return static_cast<CurlMulti*>(self)->watch(socket, what) ? 0 : -1;  // then all transfers fail
}

bool CurlMulti::watch(curl_socket_t socket, int what) {
  std::shared_ptr<Watch>& watch = watches_[socket];
  if (what == CURL_POLL_REMOVE) {
    if (watch) watch->end();
    watches_.erase(socket);
    return true;
  }
  if (!watch) {
    watch = std::make_shared<Watch>(*this, socket);
    if (!watch->begin()) return watches_.erase(socket), false;
  }
  watch->want(what);
  return true;
}

int CurlMulti::on_timer(CURLM*, long wait_ms, void* self) {
  auto& multi = *static_cast<CurlMulti*>(self);
  multi.timer_ = {};
  if (wait_ms >= 0) {
    multi.timer_ =
        multi.loop_.after(std::chrono::milliseconds(wait_ms), [&multi] { multi.act(CURL_SOCKET_TIMEOUT, 0); });
  }
  return 0;
}

/// Lets libcurl work, and tells of what came of it when it has returned.
void CurlMulti::act(curl_socket_t socket, int events) {
  const std::shared_ptr<CurlMulti> self = shared_from_this();
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    const CURLcode code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    transfer->finish(code);
    remove(*transfer);
    touch(*transfer);
  }
  for (const std::weak_ptr<Transfer>& touched : std::exchange(touched_, {})) {
    if (const std::shared_ptr<Transfer> transfer = touched.lock()) transfer->tell();
  }
}

}  // namespace cadre::net::http
