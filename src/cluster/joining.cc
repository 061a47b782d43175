#include "cluster/joining.h"

#include <algorithm>

#include "base/bytes.h"

namespace cadre::cluster::joining {

std::string to_token(const Ticket& ticket) {
  std::string text = to_base64(describe::write_msgpack(ticket));
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

Result<Ticket> parse_token(std::string_view token) {
  std::string text(token);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0) text += '=';
  const Result<Bytes> bytes = from_base64(text);
  if (bytes) {
    if (auto ticket = describe::read_msgpack<Ticket>(*bytes)) return *std::move(ticket);
  }
  return fail(Errc::invalid,
              "this is not a join token (--join); create one with cadre agent token on the host of the master");
}

}  // namespace cadre::cluster::joining
