#include "client/data_folder.h"

#include <cstdlib>

namespace cadre::client {

std::string default_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/') return std::string(data) + "/cadre";
  const char* home = std::getenv("HOME");
  return (home != nullptr && home[0] == '/' ? std::string(home) : "/root") + "/.local/share/cadre";
}

}  // namespace cadre::client
