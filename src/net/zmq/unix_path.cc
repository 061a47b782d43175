#include "net/zmq/unix_path.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

namespace cadre::net {

Result<void> check_private_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == 0 ? "/" : path.substr(0, slash);
  struct stat about {};
  if (stat(folder.c_str(), &about) != 0) {
    const std::string why = "the folder " + folder + " of a unix socket: " + strerrordesc_np(errno);
    return fail(errno == ENOENT ? Errc::not_found : Errc::denied, why + "; make it with mkdir -m 700 " + folder);
  }
  if (!S_ISDIR(about.st_mode)) return fail(Errc::invalid, folder + " is not a folder; choose another path");
  if (about.st_uid != geteuid() && geteuid() != 0) {
    return fail(Errc::denied, "the folder " + folder +
                                  " of a unix socket belongs to another user, and that user can replace the " +
                                  "socket; choose a folder of your own");
  }
  if ((about.st_mode & 077) != 0) {
    return fail(Errc::denied, "others may use the folder " + folder +
                                  ", and a unix socket in it is kept from them by " + "nothing else; chmod 700 " +
                                  folder);
  }
  return {};
}

Result<void> check_free(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) return {};
  if (!S_ISSOCK(about.st_mode)) {
    return fail(Errc::conflict, path + " is there and is not a socket; remove it or choose another path");
  }
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return fail(Errc::unavailable, std::string("cannot make a socket: ") + strerrordesc_np(errno));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const bool refused = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                       (errno == ECONNREFUSED || errno == ENOENT);
  close(probe);
  if (refused) return {};
  return fail(Errc::conflict, "another process listens at " + path + "; stop it or choose another path");
}

}  // namespace cadre::net
