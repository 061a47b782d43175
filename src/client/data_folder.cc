#include "client/data_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace cadre::client {

std::string home_folder() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return home;
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(16'384);
  ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  return found != nullptr && found->pw_dir[0] == '/' ? found->pw_dir : "";
}

std::string default_data_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && data[0] == '/') return std::string(data) + "/cadre";
  return home_folder() + "/.local/share/cadre";
}

}  // namespace cadre::client
