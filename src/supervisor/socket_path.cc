#include "supervisor/socket_path.h"

#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

Result<void> SocketPath::make(const std::string& folder, bool private_tmp) {
  const std::string real = folder + "/task.sock";
  path_ = real;
  if (real.size() < sizeof(sockaddr_un::sun_path)) return {};
  std::string link = "tmp/.cadre.sock";
  path_ = "/tmp/.cadre.sock";
  if (!private_tmp) {
    made_ = "/tmp/cadre-XXXXXX";
    if (::mkdtemp(made_.data()) == nullptr) return system_failure(made_);
    path_ = link = made_ + "/task.sock";
  }
  if (::symlink(real.c_str(), link.c_str()) != 0 && errno != EEXIST) return system_failure(link);
  return {};
}

SocketPath::~SocketPath() {
  if (made_.empty()) return;
  ::unlink(path_.c_str());
  ::rmdir(made_.c_str());
}

}  // namespace cadre::supervisor
