#include <cadre/value.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/seeds.h"
#include "client/components/value_forms.h"

namespace cadre {
namespace {

using testing::HasSubstr;

struct Sample {
  Array<double> numbers;
  std::map<std::int64_t, std::set<std::string>> sets;
  std::vector<std::vector<float>> rows;
  std::optional<bool> truth;
};
template <class V>
void describe(V& v, Sample& s) {
  v.field("numbers", s.numbers, "in a row");
  v.field("sets", s.sets, "by number");
  v.field("rows", s.rows, "of numbers");
  v.field("truth", s.truth, "if known");
}

std::string random_text(Dice& dice) { return std::string(dice.below(5), static_cast<char>('a' + dice.below(26))); }

Sample random_sample(Dice& dice) {
  Sample sample;
  std::vector<double> numbers(dice.below(20));
  for (double& one : numbers) one = static_cast<double>(dice.between(-1'000, 1'000)) / 8;
  sample.numbers = dice.percent(50) ? Array<double>(numbers) : Array<double>(numbers, {numbers.size(), 1});
  for (auto more = dice.below(4); more > 0; --more) {
    std::set<std::string>& set = sample.sets[dice.between(-100, 1'000'000'000'000)];
    for (auto items = dice.below(4); items > 0; --items) set.insert(random_text(dice));
  }
  for (auto more = dice.below(4); more > 0; --more) sample.rows.emplace_back(dice.below(4), 0.5F);
  if (dice.percent(50)) sample.truth = dice.percent(50);
  return sample;
}

std::string written(const Sample& sample, std::size_t lead = 0) {
  ValueWriter writer(ValueWriter::Rows::inside, lead);
  write_value(writer, sample);
  return std::string(writer.body());
}

TEST(Values, AreTheSameAfterwards) {
  FOR_SEEDS(1'000, [](Dice& dice) {
    const Sample sample = random_sample(dice);
    const std::string body = written(sample, dice.below(100));
    const ValueReader reader(as_bytes(body));
    const auto read = read_value<Sample>(reader.root());
    ASSERT_EQ(std::vector(read.numbers.begin(), read.numbers.end()),
              std::vector(sample.numbers.begin(), sample.numbers.end()));
    ASSERT_EQ(read.numbers.shape(), sample.numbers.shape());
    ASSERT_EQ(read.sets, sample.sets);
    ASSERT_EQ(read.rows, sample.rows);
    ASSERT_EQ(read.truth, sample.truth);
  });
}

TEST(Values, AreReadOrRefusedWhateverIsCutOrChanged) {
  FOR_SEEDS(5'000, [](Dice& dice) {
    std::string body = written(random_sample(dice));
    for (auto changes = dice.between(1, 4); changes > 0 && !body.empty(); --changes) {
      const std::size_t at = dice.below(body.size());
      if (dice.percent(30)) {
        body.resize(at);
      } else {
        body[at] = static_cast<char>(dice.below(256));
      }
    }
    const auto kept = std::make_shared<const std::string>(body);  // its own, so that a read beyond its end is noticed
    try {
      const ValueReader reader(as_bytes(*kept), kept);
      static_cast<void>(read_value<Sample>(reader.root()));
    } catch (const ValueError& error) {
      ASSERT_STRNE(error.what(), "");
    }
  });
}

TEST(Values, AnArrayThatPromisesMoreThanItHasIsRefused) {
  using client::read_array;
  const auto bytes = [](std::string_view dtype, const std::vector<std::uint64_t>& shape, std::size_t data) {
    Bytes made{static_cast<std::byte>(dtype.size())};
    for (const char c : dtype) made.push_back(static_cast<std::byte>(c));
    made.push_back(static_cast<std::byte>(shape.size()));
    for (const std::uint64_t size : shape) {
      for (int i = 0; i < 8; ++i) made.push_back(static_cast<std::byte>(size >> (8 * i) & 0xff));
    }
    made.resize(made.size() + data);
    return made;
  };
  EXPECT_TRUE(read_array(bytes("<f8", {2, 3}, 48)));
  EXPECT_TRUE(read_array(bytes("<f8", {2, 3}, 48 + 63))) << "zeros before the numbers";
  EXPECT_TRUE(read_array(bytes("|b1", {}, 1)));
  EXPECT_TRUE(read_array(bytes("<M8[ns]", {1}, 8)));
  EXPECT_TRUE(read_array(bytes("<f8", {1'000'000, 0, 3}, 0)));
  for (const Bytes& bad : {bytes("<f8", {2, 3}, 47), bytes("<f8", {2, 3}, 48 + 64), bytes(">f8", {1}, 8),
                           bytes("|O8", {1}, 8), bytes("<f3", {1}, 3), bytes("<V8", {1}, 8), bytes("<f16", {1}, 16),
                           bytes("f8", {1}, 8), bytes("", {1}, 8), bytes("<f8", std::vector<std::uint64_t>(33, 1), 8),
                           bytes("<f8", {1ULL << 63, 2}, 0), bytes("<f8", {1ULL << 32, 1ULL << 32}, 8),
                           bytes("|S0", {1ULL << 40}, 0), bytes("<f8", {1'000'001, 0}, 0), Bytes()}) {
    EXPECT_FALSE(read_array(bad));
  }
}

TEST(Values, OfAnotherTypeAreRefusedWithTheirPlace) {
  const auto said_of = [](std::string_view body) -> std::string {
    try {
      const ValueReader reader(as_bytes(body));
      static_cast<void>(read_value<Sample>(reader.root()));
      return "";
    } catch (const ValueError& error) {
      return error.what();
    }
  };
  EXPECT_THAT(said_of("\x81\xa4sets\x81\xa1x\x90"), HasSubstr("is text \"x\", not a whole number"));
  EXPECT_THAT(said_of("\x81\xa4sets\x81\x05\x91\x07"), HasSubstr(".sets[5][0] is the number 7, not text"));
  EXPECT_THAT(said_of("\x91\xd4\x05\x01"), HasSubstr("an extension of type 5"));
  EXPECT_THAT(said_of("\xc1"), HasSubstr("not MessagePack"));
  EXPECT_THAT(said_of(std::string(100, '\x91')), HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace cadre
