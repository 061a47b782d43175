#include "gateway/secrets.h"

#include <gmock/gmock.h>

#include <ctime>
#include <limits>
#include <set>

#include "base/seeds.h"

namespace cadre::gateway {
namespace {

bool is_hexadecimal(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

using cluster::LeaseId;

const std::string secret(64, 's');

LeaseId random_lease(Dice& dice) {
  return {{cluster::JobId{dice.percent(20) ? dice.bits() >> 1 : dice.below(1'000)},
           static_cast<std::uint32_t>(dice.bits())},
          cluster::Epoch{dice.percent(20) ? dice.bits() >> 1 : dice.below(10)}};
}

TEST(Secrets, AreNewEachTimeAndNotKept) {
  std::set<std::string> texts;
  std::set<std::string> ids;
  for (int i = 0; i < 1'000; ++i) {
    const NewSecret made = make_secret();
    EXPECT_TRUE(made.text.starts_with("cadre-") && is_hexadecimal(made.text.substr(6), 48)) << made.text;
    EXPECT_TRUE(texts.insert(made.text).second);
    EXPECT_TRUE(ids.insert(made.kept.id).second);
    EXPECT_EQ(made.kept.hash, hash_of_token(made.text));
    EXPECT_EQ(made.kept.hash.find(made.text.substr(6, 16)), std::string::npos);
    EXPECT_EQ(made.text.find(made.kept.id), std::string::npos) << "the id may be shown to others";
    EXPECT_FALSE(Passes::is_pass(made.text));
  }
}

TEST(Secrets, HashesDifferWithEveryByte) {
  EXPECT_EQ(hash_of_token("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(hash_of_token("abc"), hash_of_token("abc "));
  EXPECT_NE(hash_of_token("abc"), hash_of_token(std::string_view("abc\0", 4)));
}

TEST(Secrets, RandomTextIsAsLongAsWanted) {
  EXPECT_EQ(random_text(0), "");
  EXPECT_TRUE(is_hexadecimal(random_text(16), 32));
  EXPECT_NE(random_text(16), random_text(16));
}

TEST(Passes, SayForWhichLeaseTheyAreGood) {
  const Passes passes(secret);
  const Passes same(secret);
  FOR_SEEDS(500, [&](Dice& dice) {
    const LeaseId lease = random_lease(dice);
    const std::string pass = passes.make(lease);
    EXPECT_TRUE(Passes::is_pass(pass));
    EXPECT_EQ(same.check(pass), lease) << "also after a restart";
  });
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();  // what databases hold
  constexpr LeaseId largest{{{most}, std::numeric_limits<std::uint32_t>::max()}, {most}};
  EXPECT_EQ(passes.check(passes.make(largest)), largest);
}

TEST(Passes, OfAnotherMasterAreNotBelieved) {
  const Passes passes(secret);
  const LeaseId lease{{{17}, 0}, {3}};
  for (const std::string& other : {std::string(64, 't'), secret + "s", secret.substr(1), std::string(63, 's') + '\0'}) {
    EXPECT_EQ(passes.check(Passes(other).make(lease)), std::nullopt);
  }
}

TEST(Passes, CannotBeAltered) {
  const Passes passes(secret);
  FOR_SEEDS(2'000, [&](Dice& dice) {
    const std::string pass = passes.make(random_lease(dice));
    std::string altered = pass;
    for (std::size_t i = 1 + dice.below(3); i > 0; --i) {
      const std::size_t at = dice.below(altered.size() + 1);
      constexpr std::string_view letters = "0123456789abcdef./-ABCDEF\0 \xff";
      const char letter = letters[dice.below(letters.size())];
      if (dice.percent(30) || at == altered.size()) {
        altered.insert(at, 1, letter);
      } else if (dice.percent(30)) {
        altered.erase(at, 1);
      } else {
        altered[at] = letter;
      }
    }
    EXPECT_EQ(passes.check(altered).has_value(), altered == pass) << altered;
  });
}

TEST(Passes, OfOneLeaseAreNotGoodForAnother) {
  const Passes passes(secret);
  const std::string mine = passes.make({{{17}, 0}, {3}});
  const std::string other = passes.make({{{18}, 0}, {3}});
  const std::string mine_signed = mine.substr(mine.rfind('-'));
  const std::string other_signed = other.substr(other.rfind('-'));
  EXPECT_NE(mine_signed, other_signed);
  for (const std::string& text :
       {"cadre-task-18.0/3" + mine_signed, "cadre-task-17.0/3" + other_signed, "cadre-task-17.0/4" + mine_signed,
        "cadre-task-17.1/3" + mine_signed, "cadre-task-017.0/3" + mine_signed, "cadre-task-17.0/3-" + mine_signed,
        "cadre-task-17/3" + mine_signed, mine + mine_signed, mine + "-", mine + "\n"}) {
    EXPECT_EQ(passes.check(text), std::nullopt) << text;
  }
  std::string large = mine;
  for (std::size_t i = large.rfind('-'); i < large.size(); ++i) large[i] = static_cast<char>(std::toupper(large[i]));
  ASSERT_NE(large, mine);
  EXPECT_EQ(passes.check(large), std::nullopt);
}

TEST(Passes, AreNothingElse) {
  const Passes passes(secret);
  for (const std::string& text :
       {std::string(), std::string("-"), std::string("cadre-task"), std::string("cadre-task-"),
        std::string("cadre-task--"), std::string("cadre-task-17.0/3"), std::string("cadre-task-17.0/3-"),
        std::string("cadre-task-17.0/3-0"), "cadre-task-17.0/3-" + std::string(64, '0'), std::string(100'000, '-'),
        "cadre-task-" + std::string(100'000, 'x'), make_secret().text, std::string(64, '\0')}) {
    EXPECT_EQ(passes.check(text), std::nullopt) << text.substr(0, 100);
  }
}

TEST(Passes, OfAMasterWithoutASecretAreNotBelieved) {
  for (const std::string& none : {std::string(), std::string("short"), std::string(31, 's')}) {
    const Passes passes(none);
    EXPECT_EQ(passes.check(passes.make({{{17}, 0}, {3}})), std::nullopt) << "everybody could make them";
  }
}

TEST(Passwords, AreKnownByTheirHash) {
  for (const std::string& password : {std::string("correct horse"), std::string(), std::string("a\0b", 3),
                                      std::string("p\xc3\xa4ss\xff"), std::string(1'024, 'x')}) {
    const std::string hash = hash_password(password).value();
    EXPECT_TRUE(hash.starts_with("scrypt$15$8$1$")) << hash;
    EXPECT_TRUE(is_hexadecimal(hash.substr(14, 32), 32) && hash[46] == '$' && is_hexadecimal(hash.substr(47), 64))
        << hash;
    EXPECT_TRUE(is_password(password, hash).value());
    EXPECT_FALSE(is_password(password + "x", hash).value());
  }
}

TEST(Passwords, HaveASaltEach) {
  const std::string one = hash_password("the same").value();
  const std::string other = hash_password("the same").value();
  EXPECT_NE(one, other);
  EXPECT_NE(one.substr(one.rfind('$')), other.substr(other.rfind('$')));
}

TEST(Passwords, AreWrongForWhatIsNoHash) {
  const std::string hash = hash_password("right").value();
  const std::string key = hash.substr(hash.rfind('$') + 1);
  const std::string salt = hash.substr(14, 32);
  ASSERT_EQ("scrypt$15$8$1$" + salt + "$" + key, hash);
  const std::vector<std::string> none = {std::string(),
                                         std::string("right"),
                                         std::string("scrypt$15$8$1$"),
                                         "scrypt$15$8$1$" + salt,
                                         "scrypt$15$8$1$" + salt + "$",
                                         "scrypt$14$8$1$" + salt + "$" + key,
                                         "scrypt$15$8$1$" + key + "$" + salt,
                                         "scrypt$15$8$1$" + salt + "$" + key + "$",
                                         "scrypt$15$8$1$" + salt + "$" + key.substr(1),
                                         "scrypt$15$8$1$$" + key,
                                         " " + hash,
                                         hash + "\n",
                                         std::string("$6$salt$hash")};
  for (const std::string& wrong : none) {
    EXPECT_FALSE(is_password("right", wrong).value()) << wrong;
  }
  EXPECT_TRUE(is_password("right", hash).value());
}

double seconds_of_work() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

TEST(Passwords, TakeAsLongWhenThereIsNone) {
  const std::string hash = hash_password("right").value();
  const double begun = seconds_of_work();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_password("wrong", hash).value());
  const double with_hash = seconds_of_work() - begun;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_password("wrong", "").value());
  const double without = seconds_of_work() - begun - with_hash;
  EXPECT_GT(without, with_hash / 3) << "otherwise the response time shows which users exist";
  EXPECT_LT(without, with_hash * 3);
}

}  // namespace
}  // namespace cadre::gateway
