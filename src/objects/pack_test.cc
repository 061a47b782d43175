#include "objects/pack.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>

#include "base/seeds.h"
#include "loop/file.h"
#include "objects/hash.h"
#include "objects/pack_format.h"
#include "objects/tree.h"
#include "objects/tree_for_tests.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::objects {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const PackOptions everything{PackOptions::Rules::none};

struct Pack : testing::Test {
  servers::TempDir scratch;
  const std::string folder = scratch.path() + "/tree";
  const std::string file = scratch.path() + "/packed";
  const std::string copy = scratch.path() + "/copy";

  Error unpacking(std::string_view bytes) {
    write_file(file, bytes);
    const Result<void> done = unpack(file, copy, {});
    EXPECT_FALSE(done.has_value());
    EXPECT_FALSE(std::filesystem::exists(copy));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1) << "something was left";
    return done ? Error{} : done.error();
  }
};

TEST(PackedTrees, ComeBackAsTheyWereAndTheirBytesSayNoMoreThanThat) {
  FOR_SEEDS(80, [](Dice& dice) {
    const servers::TempDir scratch;
    const std::string& at = scratch.path();
    draw_tree(dice, at + "/a");
    const auto done = pack(at + "/a", at + "/packed", everything);
    ASSERT_DONE(done);
    EXPECT_EQ(done->hash, sha256_of_file(at + "/packed"));
    EXPECT_EQ(done->size.value, std::filesystem::file_size(at + "/packed"));
    ASSERT_DONE(unpack(at + "/packed", at + "/b", {}));
    EXPECT_EQ(shown_tree(at + "/b"), shown_tree(at + "/a"));
    EXPECT_EQ(pack(at + "/b", at + "/again", everything)->hash, done->hash);
    ASSERT_DONE(copy_tree(at + "/a", at + "/c"));
    EXPECT_EQ(pack(at + "/c", at + "/again", everything)->hash, done->hash);
    const std::string change = at + "/b/" + random_name(dice);
    const auto before = shown_tree(at + "/b");
    if (!std::filesystem::is_directory(change) && !std::filesystem::is_symlink(change)) write_file(change, "changed");
    EXPECT_EQ(pack(at + "/b", at + "/again", everything)->hash == done->hash, shown_tree(at + "/b") == before);
  });
}

TEST(PackedTrees, WithAnyDamageAreRefusedOrAnotherTreeAndNothingElse) {
  FOR_SEEDS(200, [](Dice& dice) {
    const servers::TempDir scratch;
    const std::string& at = scratch.path();
    draw_tree(dice, at + "/a");
    ASSERT_DONE(pack(at + "/a", at + "/packed", everything));
    std::string bytes = read_whole(at + "/packed");
    switch (dice.below(3)) {
      case 0: bytes.resize(dice.below(bytes.size())); break;
      case 1: bytes += random_name(dice); break;
      default: bytes[dice.below(bytes.size())] ^= static_cast<char>(1 << dice.below(8));
    }
    write_file(at + "/packed", bytes);
    const auto done = unpack(at + "/packed", at + "/b", {});
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(at)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    if (!done) {
      EXPECT_THAT(done.error().code, testing::AnyOf(Errc::corrupt, Errc::invalid)) << done.error().message;
      EXPECT_THAT(names, ElementsAre("a", "packed"));
      return;
    }
    EXPECT_THAT(names, ElementsAre("a", "b", "packed"));
    ASSERT_DONE(pack(at + "/b", at + "/again", everything));
    EXPECT_EQ(read_whole(at + "/again"), bytes);
  });
}

std::string entry(EntryKind kind, std::string_view name, std::string_view content = "") {
  const auto header =
      encode(PackHeader{kind, static_cast<std::uint8_t>(name.size()), static_cast<std::int64_t>(content.size())});
  return std::string(as_text(header)) + std::string(name) + std::string(content);
}

std::string packed(std::initializer_list<std::string> entries) {
  std::string bytes(pack_magic);
  for (const std::string& one : entries) bytes += one;
  return bytes;
}

TEST_F(Pack, NothingLiesOutsideTheFolder) {
  const std::string end = entry(EntryKind::end, "");
  using namespace std::string_view_literals;
  for (const std::string_view name : {""sv, "."sv, ".."sv, "/etc/x"sv, "a/b"sv, "../x"sv, "a\0b"sv}) {
    EXPECT_EQ(unpacking(packed({entry(EntryKind::file, name, "x"), end})).code, Errc::corrupt) << name;
    EXPECT_EQ(unpacking(packed({entry(EntryKind::folder, name), end, end})).code, Errc::corrupt) << name;
  }
  const std::string link = entry(EntryKind::link, "a", scratch.path());
  EXPECT_EQ(unpacking(packed({link, entry(EntryKind::folder, "a"), entry(EntryKind::file, "x", "x"), end, end})).code,
            Errc::corrupt);
  EXPECT_EQ(unpacking(packed({link, entry(EntryKind::file, "a", "x"), end})).code, Errc::corrupt);
}

TEST_F(Pack, BoundsHoldWhenUnpacking) {
  const std::string end = entry(EntryKind::end, "");
  std::string deep = packed({});
  for (int i = 0; i < 200; ++i) deep += entry(EntryKind::folder, "a");
  EXPECT_EQ(unpacking(deep).code, Errc::corrupt);
  write_file(file, packed({entry(EntryKind::file, "a", "12345"), entry(EntryKind::file, "b", "12345"), end}));
  EXPECT_EQ(unpack(file, copy, {ByteSize{9}, 10}).error().code, Errc::invalid);
  EXPECT_EQ(unpack(file, copy, {ByteSize{10}, 1}).error().code, Errc::invalid);
  ASSERT_DONE(unpack(file, copy, {ByteSize{10}, 2}));
  EXPECT_EQ(unpack(file, copy, {}).error().code, Errc::conflict);
}

TEST_F(Pack, LeavesOutWhatCadreignoreSaysAndGit) {
  write_file(folder + "/.cadreignore", "*.o\n/data/\n!keep.o\n!.git\n");
  for (const char* path : {".git/config", "a.o", "keep.o", "b/data/x", "data/x", "b/.git/x", "c/d.o", "main.cc"}) {
    write_file(folder + "/" + path, "x");
  }
  ASSERT_DONE(pack(folder, file, {}));
  ASSERT_DONE(unpack(file, copy, {}));
  EXPECT_THAT(shown_tree(copy), ElementsAre(Pair(".cadreignore", testing::_), Pair("b", "folder"),
                                            Pair("b/data", "folder"), Pair("b/data/x", "file x"), Pair("c", "folder"),
                                            Pair("keep.o", "file x"), Pair("main.cc", "file x")));
}

TEST_F(Pack, LeavesOutWhatProgramsLeaveBehind) {
  write_file(folder + "/train.py", "x");
  write_file(folder + "/lib/net.py", "x");
  ASSERT_DONE(pack(folder, file, {}));
  const auto bytes_of = [](const std::string& path) { return loop::read_file(path).value(); };
  const std::string before = bytes_of(file);
  for (const char* path :
       {"cadre-runs/20260131-120000-00/run.json", "lib/__pycache__/net.cpython-311.pyc", ".git/config"}) {
    write_file(folder + "/" + path, "x");
  }
  ASSERT_DONE(pack(folder, file, {}));
  EXPECT_EQ(bytes_of(file), before) << "the same code has the same hash after a run on the laptop";
  write_file(folder + "/.cadreignore", "!cadre-runs\n!.git\n");
  ASSERT_DONE(pack(folder, file, {}));
  ASSERT_DONE(unpack(file, copy, {}));
  EXPECT_THAT(shown_tree(copy),
              ElementsAre(Pair(".cadreignore", testing::_), Pair("cadre-runs", "folder"),
                          Pair("cadre-runs/20260131-120000-00", "folder"),
                          Pair("cadre-runs/20260131-120000-00/run.json", "file x"), Pair("lib", "folder"),
                          Pair("lib/net.py", "file x"), Pair("train.py", "file x")));
}

TEST_F(Pack, SaysWhatIsTooLargeAndWhatHelps) {
  write_file(folder + "/data/big", std::string(50'001, 'x'));
  write_file(folder + "/model", std::string(20'001, 'x'));
  for (int i = 0; i < 8; ++i) write_file(folder + "/src" + std::to_string(i), "x");
  const auto done = pack(folder, file, {{}, ByteSize{60'000}, 100});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Errc::invalid);
  EXPECT_THAT(done.error().message,
              HasSubstr("68KiB, and 60KB are allowed. The largest in it: data (48KiB), model (19KiB), src7 (1), "));
  EXPECT_THAT(done.error().message, HasSubstr("tree/.cadreignore"));
  EXPECT_THAT(done.error().message, Not(HasSubstr("src0")));
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto many = pack(folder, file, {{}, ByteSize{1'000'000}, 5});
  ASSERT_FALSE(many.has_value());
  EXPECT_THAT(many.error().message, HasSubstr("11 files and folders, and 5 are allowed. The largest in it: data (2)"));
}

TEST_F(Pack, SkipsWhatIsNoFileAndComplainsAboutWhatCannotBeRead) {
  write_file(folder + "/a", "x");
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string socket_path = folder + "/socket";
  socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  ASSERT_EQ(mkfifo((folder + "/pipe").c_str(), 0600), 0);
  const auto done = pack(folder, file, {});
  ASSERT_DONE(done);
  EXPECT_THAT(done->skipped, ElementsAre("pipe", "socket"));
  EXPECT_EQ(pack(folder + "/a", file, {}).error().code, Errc::invalid);
  EXPECT_EQ(pack(folder + "/b", file, {}).error().code, Errc::not_found);
  chmod((folder + "/a").c_str(), 0);
  const uid_t self = geteuid();
  ASSERT_EQ(chmod(scratch.path().c_str(), 0777), 0);
  ASSERT_EQ(seteuid(self == 0 ? 65534 : self), 0);  // root reads everything
  const auto refused = pack(folder, file + "2", {});
  ASSERT_EQ(seteuid(self), 0);
  EXPECT_THAT(refused.error().message, HasSubstr("Make it readable, or name it in"));
}

}  // namespace
}  // namespace cadre::objects
