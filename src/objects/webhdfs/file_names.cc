#include "objects/webhdfs/file_names.h"

#include "net/http/message.h"

namespace cadre::objects::webhdfs {

std::string path_of_key(std::string_view key) {
  std::string path;
  for (const char c : key) {
    const bool is_first = path.empty() || path.back() == '/';
    if (c == '%') {
      path += "%25";
    } else if (c == ':') {
      path += "%3A";
    } else if (c == '.' && is_first) {
      path += "%2E";
    } else {
      path += c;
    }
  }
  return path;
}

Result<std::string> part_of_name(std::string_view name) {
  TRY_ASSIGN(part, net::http::unescape(name));
  if (path_of_key(part) != name) return fail(Errc::invalid, "a name of a file that is not an object");
  return part;
}

}  // namespace cadre::objects::webhdfs
