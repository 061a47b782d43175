#include "net/zmq/context.h"

#if defined(__SANITIZE_THREAD__)
/// libzmq and its libsodium are not built for the thread sanitizer, which so does not see how their threads wait for
/// each other. What they call is left out of account, and one place where we read a string that libzmq made; and the
/// signal handler of Boost.Asio, which reads a descriptor that is set before any signal is asked for. Nothing else.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libzmq.so\n"
         "called_from_lib:libsodium.so\n"
         "race:^cadre::net::zap_text\n"
         "race:^boost_asio_signal_handler\n";
}
#endif

namespace cadre::net {

namespace {

/// Of a process; a link needs three. The limit that counts is that of open files.
constexpr int sockets_max = 60'000;

zmq::context_t make_context() {
  zmq::context_t context;
  context.set(zmq::ctxopt::max_sockets, sockets_max);
  return context;
}

}  // namespace

ZmqContext::ZmqContext(loop::RealLoop& l, Log& g) : loop(l), log(g), context(make_context()), zap(l, context) {}

}  // namespace cadre::net
