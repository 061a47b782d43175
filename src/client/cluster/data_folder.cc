#include "client/cluster/data_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace cadre::client {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (std::string home = variable("HOME"); home.starts_with('/')) return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(16'384);
  ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  return found != nullptr && found->pw_dir[0] == '/' ? found->pw_dir : "";
}

std::string default_data_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); data.starts_with('/')) return data + "/cadre";
  return home_folder() + "/.local/share/cadre";
}

}  // namespace cadre::client
