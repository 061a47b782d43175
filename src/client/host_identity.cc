#include "client/host_identity.h"

#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/check.h"

namespace cadre::client {
std::string host_identity() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  struct stat network {};
  static_cast<void>(stat("/proc/thread-self/ns/net", &network));
  return boot + "." + std::to_string(network.st_ino) + "." + std::to_string(geteuid());
}

std::string random_word(std::size_t length) {
  constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  std::vector<unsigned char> bytes(length);
  CHECK(RAND_bytes(bytes.data(), static_cast<int>(length)) == 1);
  std::string word;
  for (const unsigned char byte : bytes) word += alphabet[byte % alphabet.size()];
  return word;
}

PrivateFolder::PrivateFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string pattern =
      (runtime != nullptr && access(runtime, W_OK) == 0 ? std::string(runtime) : "/tmp") + "/cadre-XXXXXX";
  CHECK(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cadre::client
