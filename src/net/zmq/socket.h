/// ZeroMQ sockets with our bounds, and their errors as values. For the thread that uses the socket.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "base/bytes.h"
#include "base/result.h"
#include "base/slice.h"
#include "net/counters.h"
#include "net/limits.h"

namespace cadre::net {

/// What was to be done, why it was not (errno), and the remedy.
[[nodiscard]] Failure zmq_failure(const std::string& what, int number);

/// A function of cppzmq that throws, as a Result. `what` is what was to be done, for the message.
template <class Act>
[[nodiscard]] auto attempt(const std::string& what, Act act) -> Result<decltype(act())> {
  try {
    if constexpr (std::is_void_v<decltype(act())>) {
      act();
      return {};
    } else {
      return act();
    }
  } catch (const zmq::error_t& error) {
    return zmq_failure(what, error.num());
  }
}

/// Sets what all sockets to other processes have in common.
void set_limits(zmq::socket_t& socket, const Limits& limits);

/// All parts of one message that has arrived; nothing when there is none. Past `parts_max` parts the rest is dropped.
[[nodiscard]] std::vector<zmq::message_t> receive_parts(zmq::socket_ref socket, std::size_t parts_max);

/// Without waiting, the parts as one message: 0, or why not (errno).
[[nodiscard]] int send_parts(zmq::socket_ref socket, std::initializer_list<BytesView> parts);

/// The same of one part that is large, without copying it.
[[nodiscard]] int send_whole(zmq::socket_ref socket, Bytes message);

/// A part that came, to be kept as long as anybody likes.
[[nodiscard]] Slice slice_of(zmq::message_t part, Counters& counters);

/// What is noted on a message of its connection: `User-Id` by ZAP, `Peer-Address`. Nothing when it is not noted.
[[nodiscard]] std::optional<std::string> zap_text(zmq::message_t& message, const char* property);

inline BytesView bytes_of(const zmq::message_t& part) {
  return {static_cast<const std::byte*>(part.data()), part.size()};
}

}  // namespace cadre::net
