#include "net/zmq/context.h"

#if defined(__SANITIZE_THREAD__)
/// libzmq and its libsodium are not built for the thread sanitizer, which so does not see how their threads wait for
/// each other. What they call is left out of account, and one place where we read a string that libzmq made; nothing
/// else.
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libzmq.so\n"
         "called_from_lib:libsodium.so\n"
         "race:^cadre::net::zap_user\n";
}
#endif

namespace cadre::net {

ZmqContext::ZmqContext(loop::RealLoop& l, Log& g) : loop(l), log(g), zap(l, context) {}

}  // namespace cadre::net
