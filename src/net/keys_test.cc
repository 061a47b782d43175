#include "net/keys.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/seeds.h"
#include "loop/power_loss_for_tests.h"
#include "net/backends_test.h"
#include "tests/servers/process.h"

namespace cadre::net {
namespace {

using testing::HasSubstr;
using testing::Not;

struct KeyFile : ::testing::Test {
  std::string contents() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& text) const {
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    chmod(path.c_str(), 0600);
  }
  Dice dice{3};
  const Keys keys = draw_keys(dice);
  servers::TempDir folder;
  const std::string path = folder.path() + "/keys";
};

TEST(Keys, AreNewEachTimeAndOfFortyCharacters) {
  const Keys one = make_keys();
  const Keys two = make_keys();
  EXPECT_NE(one.open, two.open);
  EXPECT_NE(one.secret.reveal(), two.secret.reveal());
  EXPECT_EQ(one.open.text().size(), 40);
  EXPECT_EQ(one.secret.reveal().size(), 40);
  EXPECT_EQ(parse_public_key(one.open.text()).value(), one.open);
}

TEST(Keys, AreTheSameForTheSameDice) {
  Dice first(5), second(5);
  EXPECT_EQ(draw_keys(first).open, draw_keys(second).open);
  const Keys next = draw_keys(first);
  EXPECT_NE(next.open, draw_keys(first).open);
}

TEST(Keys, SayWhatIsWrongWithAText) {
  EXPECT_THAT(parse_public_key("short").error().message, HasSubstr("40 characters (Z85), not 5"));
  EXPECT_THAT(parse_public_key(std::string(39, 'a') + " ").error().message, HasSubstr("character 40"));
  EXPECT_THAT(parse_public_key(std::string(40, '#')).error().message, HasSubstr("too large"));
  EXPECT_FALSE(parse_public_key(""));
  EXPECT_FALSE(parse_public_key(std::string(39, 'a') + std::string(1, '\0')));
}

TEST_F(KeyFile, SurvivesAPowerLoss) {
  EXPECT_TRUE(loop::survives_power_loss(folder.path(), "keys", [&] { ASSERT_TRUE(save_keys(keys, path)); }));
}

TEST_F(KeyFile, IsReadAsItWasWrittenAndBelongsToItsOwnerAlone) {
  const mode_t before = umask(0);
  ASSERT_DONE(save_keys(keys, path));
  umask(before);
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  const auto loaded = load_keys(path);
  ASSERT_DONE(loaded);
  EXPECT_EQ(loaded->open, keys.open);
  EXPECT_EQ(loaded->secret.reveal(), keys.secret.reveal());
}

TEST_F(KeyFile, IsNeverOverwritten) {
  ASSERT_DONE(save_keys(keys, path));
  EXPECT_ERROR(Errc::conflict, save_keys(make_keys(), path));
  EXPECT_EQ(load_keys(path).value().open, keys.open);
}

TEST_F(KeyFile, IsRefusedWhenOthersMayReadIt) {
  ASSERT_DONE(save_keys(keys, path));
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0660, 0777}) {
    chmod(path.c_str(), mode);
    const auto loaded = load_keys(path);
    EXPECT_ERROR(Errc::denied, loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("chmod 600 " + path));
  }
  for (const mode_t mode : {0600, 0400}) {
    chmod(path.c_str(), mode);
    EXPECT_TRUE(load_keys(path));
  }
}

TEST_F(KeyFile, SaysWhenItIsNotThereOrCannotBeMade) {
  EXPECT_ERROR(Errc::not_found, load_keys(path));
  EXPECT_ERROR(Errc::not_found, save_keys(keys, folder.path() + "/no/such/folder"));
  EXPECT_ERROR(Errc::invalid, load_keys(folder.path()));
}

TEST_F(KeyFile, IsRefusedWithEveryByteChangedAndItsSecretIsNeverShown) {
  ASSERT_DONE(save_keys(keys, path));
  const std::string good = contents();
  const auto refused = [&](const std::string& text) {
    write(text);
    const auto loaded = load_keys(path);
    EXPECT_ERROR(Errc::corrupt, loaded);
    EXPECT_THAT(loaded.error().message, Not(HasSubstr(keys.secret.reveal().substr(4, 8))));
  };
  FOR_SEEDS(300, [&](Dice& seeded) {
    std::string text = good;
    char& c = text[seeded.below(text.size())];
    c = static_cast<char>(c ^ seeded.between(1, 255));
    refused(text);
  });
  for (std::size_t size = 0; size < good.size(); size += 7) refused(good.substr(0, size));
  refused(good + "x");
  refused(good + good);
}

}  // namespace
}  // namespace cadre::net
