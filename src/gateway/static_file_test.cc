#include "gateway/static_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/seeds.h"
#include "tests/servers/scratch.h"

namespace cadre::gateway {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string in_folder_secret = "this is for nobody";

struct StaticFileTest : testing::Test {
  StaticFileTest() {
    write("index.html", "<html>");
    write("assets/app.js", "code");
    write("assets/deep/er/style.css", "style");
    write("a b%2F\xc3\xa4.txt", "odd");
    write("empty", "");
    write(".hidden", in_folder_secret);
    write(".git/config", in_folder_secret);
    write("assets/.env", in_folder_secret);
    write("../outside.txt", in_folder_secret);
    write("../website/x.txt", in_folder_secret);
    fs::create_symlink("../outside.txt", web + "/link.txt");
    fs::create_symlink("index.html", web + "/inside-link.html");
    fs::create_directory_symlink("..", web + "/up");
    fs::create_directory_symlink("/", web + "/assets/root");
    fs::create_directory_symlink("assets", web + "/same");
    fs::create_directory(web + "/folder.html");
    mkfifo((web + "/pipe.txt").c_str(), 0600);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(web + "/" + name).parent_path());
    std::ofstream(web + "/" + name, std::ios::binary) << text;
  }
  /// Its content; `nothing` when there is nothing.
  std::string read(std::string_view path) const {
    const Result<StaticFile> file = read_static(web, path);
    if (file) return file->body;
    EXPECT_EQ(file.error().code, Errc::not_found) << path;
    EXPECT_THAT(file.error().message, testing::Not(HasSubstr(scratch.path()))) << "where it lies is nobody's business";
    return "nothing";
  }
  std::string type(std::string_view path) const { return read_static(web, path)->content_type; }

  servers::TempDir scratch;
  const std::string web = scratch.path() + "/web";
};

TEST_F(StaticFileTest, IsWhatLiesThere) {
  EXPECT_EQ(read("/"), "<html>");
  EXPECT_EQ(read("/index.html"), "<html>");
  EXPECT_EQ(read("/assets/app.js"), "code");
  EXPECT_EQ(read("/assets/deep/er/style.css"), "style");
  EXPECT_EQ(read("/empty"), "");
  EXPECT_EQ(read("/a%20b%252F%C3%A4.txt"), "odd");
  EXPECT_EQ(read("/%69ndex.html"), "<html>");
  EXPECT_EQ(read("/none.html"), "nothing");
  EXPECT_EQ(read("/index.html/x"), "nothing");
  EXPECT_EQ(read("/assets/none/x"), "nothing");
}

TEST_F(StaticFileTest, HasItsType) {
  EXPECT_EQ(type("/"), "text/html; charset=utf-8");
  EXPECT_EQ(type("/assets/app.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(type("/assets/deep/er/style.css"), "text/css; charset=utf-8");
  EXPECT_EQ(type("/empty"), "application/octet-stream");
  for (const char* name : {"x.svg", "x.png", "x.woff2", "x.json", "x.wasm", "x.js.map"}) {
    write(name, "x");
    EXPECT_NE(type(std::string("/") + name), "application/octet-stream") << name;
  }
}

TEST_F(StaticFileTest, NeverLiesOutsideHoweverThatIsSpelled) {
  for (const char* path : {"/../outside.txt",
                           "/assets/../../outside.txt",
                           "/./../outside.txt",
                           "/..//outside.txt",
                           "/%2e%2e/outside.txt",
                           "/%2E%2E/outside.txt",
                           "/.%2e/outside.txt",
                           "/..%2foutside.txt",
                           "/%2e%2e%2foutside.txt",
                           "/..%5coutside.txt",
                           "/..\\outside.txt",
                           "/%252e%252e/outside.txt",
                           "/%252e%252e%252foutside.txt",
                           "/..%00/outside.txt",
                           "/assets/..%2f..%2foutside.txt",
                           "//outside.txt",
                           "/../website/x.txt",
                           "../outside.txt",
                           "outside.txt",
                           "/%c0%ae%c0%ae/outside.txt",
                           "/..;/outside.txt",
                           "/....//outside.txt",
                           "/.../outside.txt",
                           "/%uff0e%uff0e/outside.txt",
                           "/etc/passwd",
                           "//etc/passwd",
                           "/%2fetc/passwd",
                           "/%2Fetc%2Fpasswd",
                           "file:///etc/passwd",
                           "/assets/../index.html",
                           "/./index.html",
                           "/assets/./app.js",
                           "/.",
                           "/..",
                           "/../"}) {
    EXPECT_EQ(read(path), "nothing") << path;
  }
}

TEST_F(StaticFileTest, IsNeverReachedThroughALink) {
  for (const char* path : {"/link.txt", "/inside-link.html", "/up/outside.txt", "/up/web/index.html",
                           "/assets/root/etc/passwd", "/same/app.js", "/up", "/same"}) {
    EXPECT_EQ(read(path), "nothing") << path;
  }
}

TEST_F(StaticFileTest, IsNeverHidden) {
  for (const char* path : {"/.hidden", "/.git/config", "/assets/.env", "/%2ehidden", "/%2Egit/config"}) {
    EXPECT_EQ(read(path), "nothing") << path;
  }
}

TEST_F(StaticFileTest, IsAFileAndNothingElse) {
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (web + "/socket.txt").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const char* path : {"/assets", "/assets/", "/assets/deep", "/folder.html", "/pipe.txt", "/socket.txt",
                           "/index.html/", "//", "/assets//app.js"}) {
    EXPECT_EQ(read(path), "nothing") << path;
  }
  close(listener);
}

TEST_F(StaticFileTest, HasNoNulNorBrokenEscapesInItsPath) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view path : {"/index.html%00"sv, "/index.html%00.js"sv, "/%00"sv, "/index.html\0"sv,
                                      "/index.html%"sv, "/%zz"sv, "/%2"sv, ""sv}) {
    EXPECT_EQ(read(path), "nothing") << path;
  }
}

TEST_F(StaticFileTest, HasABound) {
  write("large", "");
  fs::resize_file(web + "/large", std::uintmax_t{64} << 20);
  EXPECT_EQ(read("/large").size(), std::size_t{64} << 20);
  fs::resize_file(web + "/large", (std::uintmax_t{64} << 20) + 1);
  EXPECT_EQ(read("/large"), "nothing");
  EXPECT_EQ(read("/" + std::string(5'000, 'x')), "nothing");
  std::string deep;
  for (int i = 0; i < 5'000; ++i) deep += "/a";
  EXPECT_EQ(read(deep), "nothing");
}

TEST_F(StaticFileTest, IsNowhereWithoutAFolder) {
  for (const std::string& folder : {scratch.path() + "/none", web + "/index.html"}) {
    const Result<StaticFile> file = read_static(folder, "/index.html");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, Errc::not_found);
    EXPECT_THAT(file.error().message, testing::Not(HasSubstr(scratch.path())));
  }
  const std::string linked = scratch.path() + "/linked";
  fs::create_directory_symlink("web", linked);
  EXPECT_TRUE(read_static(linked, "/index.html")) << "which folder it is, its owner says";
}

TEST_F(StaticFileTest, IsNeverASecretWhateverIsAsked) {
  constexpr std::array<std::string_view, 24> pieces = {
      "/",      "/",   "..",      "%2e",  "%2E%2e",      "%2f",        "%5c",  "\\",
      ".",      "%00", "assets",  "up",   "web",         "same",       "root", "etc",
      "passwd", "//",  ".hidden", ".git", "outside.txt", "index.html", "%25",  "link.txt"};
  FOR_SEEDS(5'000, [&](Dice& dice) {
    std::string path = "/";
    for (std::size_t i = dice.below(10); i > 0; --i) path += pieces[dice.below(pieces.size())];
    const std::string got = read(path);
    EXPECT_TRUE(got == "nothing" || got == "<html>" || got == "code") << path << ": " << got;
  });
}

}  // namespace
}  // namespace cadre::gateway
