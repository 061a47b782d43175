#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "net/backends_test.h"
#include "net/raw_socket_test.h"

namespace cadre::net {
namespace {

using testing::HasSubstr;

struct UnixFolder : ByUnixSocket, ::testing::Test {
  Result<std::unique_ptr<Hub>> bind() {
    return network->bind({.addresses = {address()}}, [](const Peer&, const Slice&) {});
  }
};

TEST_F(UnixFolder, MustKeepOthersOut) {
  for (const mode_t mode : {0755, 0710, 0701, 0750, 0770, 01777}) {
    chmod(folder.path.c_str(), mode);
    const auto hub = bind();
    EXPECT_ERROR(Errc::denied, hub);
    EXPECT_THAT(hub.error().message, HasSubstr("chmod 700 " + folder.path));
    EXPECT_ERROR(Errc::denied, network->connect({.address = address()}, [](const Slice&) {}));
  }
  chmod(folder.path.c_str(), 0700);
  EXPECT_TRUE(bind());
}

TEST_F(UnixFolder, MustBeThere) {
  const auto hub =
      network->bind({.addresses = {"ipc://" + folder.path + "/none/hub"}}, [](const Peer&, const Slice&) {});
  EXPECT_ERROR(Errc::not_found, hub);
  EXPECT_THAT(hub.error().message, HasSubstr("mkdir -m 700 " + folder.path + "/none"));
  std::ofstream(folder.path + "/file") << "x";
  EXPECT_FALSE(network->bind({.addresses = {"ipc://" + folder.path + "/file/hub"}}, [](const Peer&, const Slice&) {}));
}

TEST_F(UnixFolder, KeepsWhatIsNoSocket) {
  const std::string path = folder.path + "/hub";
  std::ofstream(path) << "precious";
  EXPECT_ERROR(Errc::conflict, bind());
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(UnixFolder, MayHoldASocketThatAProcessLeftBehind) {
  sockaddr_un left{};
  left.sun_family = AF_UNIX;
  (folder.path + "/hub").copy(left.sun_path, sizeof left.sun_path - 1);
  const RawSocket socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&left), sizeof left), 0);
  EXPECT_TRUE(bind());
}

TEST_F(UnixFolder, IsLeftCleanByAHubThatEnds) {
  EXPECT_TRUE(bind());
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/hub"));
}

}  // namespace
}  // namespace cadre::net
