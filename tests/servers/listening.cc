#include "tests/servers/listening.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace cadre::servers {

bool listens(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool connected = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return connected;
}

pid_t start_server(const Command& command, int port) {
  const pid_t pid = start(command);
  for (int waited = 0; waited < 3'000; ++waited) {
    if (waitpid(pid, nullptr, WNOHANG) == pid) return -1;
    if (listens(port)) return pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill_tree(pid);
  return -1;
}

}  // namespace cadre::servers
