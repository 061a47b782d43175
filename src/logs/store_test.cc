#include "logs/store.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "base/seeds.h"
#include "logs/lines_for_tests.h"
#include "logs/numbered.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::logs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr StoreOptions tiny{ByteSize{3'000}};

std::unique_ptr<LogStore> open_store(const std::string& folder, const StoreOptions& options = tiny) {
  return LogStore::open(folder, options).value();
}

Bytes records(std::initializer_list<const char*> lines, std::int64_t time_us = 1) {
  Bytes bytes;
  for (const char* line : lines) encode({Stream::out, false, at(time_us), line}, bytes);
  return bytes;
}

Bytes part_of(const Bytes& bytes, std::int64_t from, std::int64_t to) {
  return {bytes.begin() + from, bytes.begin() + to};
}

std::optional<Errc> error_of(const Result<std::int64_t>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

/// All of a log that can be read, in steps; what is missing shows as zeroes.
Bytes read_all(LogStore& store, std::string_view log, std::size_t step = 1'000) {
  Bytes all;
  while (true) {
    const Chunk chunk = store.read(log, size_of(all), step).value();
    EXPECT_EQ(chunk.offset - chunk.dropped, size_of(all));
    if (chunk.next() == size_of(all)) return all;
    all.resize(static_cast<std::size_t>(chunk.offset));
    all.insert(all.end(), chunk.bytes.begin(), chunk.bytes.end());
  }
}

TEST(Store, GivesBackWhatWasAppended) {
  const servers::TempDir folder;
  const Bytes first = records({"a", "b"}), second = records({"c"});
  {
    const auto store = open_store(folder.path() + "/deep/logs");
    EXPECT_EQ(store->end("1.0/1"), 0);
    EXPECT_EQ(store->append("1.0/1", {0, 0, first}), size_of(first));
    EXPECT_EQ(store->append("2.0/1", {0, 0, second}), size_of(second));
    EXPECT_EQ(store->append("1.0/1", {size_of(first), 0, second}), size_of(first) + size_of(second));
    EXPECT_THAT(shown(store->read("1.0/1", 0, 1'000)->bytes), ElementsAre("out: a", "out: b", "out: c"));
    EXPECT_TRUE(store->sync());
  }
  const auto store = open_store(folder.path() + "/deep/logs");
  EXPECT_THAT(shown(store->read("1.0/1", 0, 1'000)->bytes), ElementsAre("out: a", "out: b", "out: c"));
  EXPECT_THAT(shown(store->read("1.0/1", 17, 1'000)->bytes), ElementsAre("out: b", "out: c"));
  EXPECT_THAT(shown(store->read("2.0/1", 0, 1'000)->bytes), ElementsAre("out: c"));
  EXPECT_EQ(store->read("3.0/1", 5, 1'000).value(), (Chunk{5, 0, {}}));
}

TEST(Store, RefusesWhatDoesNotFit) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  const Bytes bytes = records({"a", "b"});
  ASSERT_TRUE(store->append("log", {0, 0, bytes}));
  Bytes torn = bytes, spoiled = bytes;
  torn.pop_back();
  spoiled[16] ^= std::byte{1};
  const std::int64_t end = size_of(bytes);
  EXPECT_EQ(error_of(store->append("log", {end, 0, torn})), Errc::corrupt);
  EXPECT_EQ(error_of(store->append("log", {end, 0, spoiled})), Errc::corrupt);
  EXPECT_EQ(error_of(store->append("log", {end + 17, 0, bytes})), Errc::conflict) << "a gap";
  EXPECT_EQ(error_of(store->append("log", {end + 17, 16, bytes})), Errc::conflict) << "still a gap";
  EXPECT_EQ(error_of(store->append("log", {end - 5, 0, bytes})), Errc::conflict) << "records that overlap";
  EXPECT_EQ(error_of(store->append("", {0, 0, bytes})), Errc::invalid);
  EXPECT_EQ(error_of(store->append(std::string(256, 'x'), {0, 0, bytes})), Errc::invalid);
  EXPECT_EQ(error_of(store->append("log", {-1, 0, bytes})), Errc::invalid);
  EXPECT_EQ(error_of(store->append("log", {std::numeric_limits<std::int64_t>::max(), 0, bytes})), Errc::invalid);
  EXPECT_EQ(error_of(store->append("log", {5, 6, bytes})), Errc::invalid);
  EXPECT_EQ(store->end("log"), end);
  EXPECT_EQ(read_all(*store, "log"), bytes);
}

TEST(Store, TakesWhatIsNewOfAChunkThatComesAgain) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  const Bytes bytes = records({"a", "b", "c", "d"});
  EXPECT_EQ(store->append("log", {0, 0, part_of(bytes, 0, 34)}), 34);
  EXPECT_EQ(store->append("log", {0, 0, part_of(bytes, 0, 34)}), 34);
  EXPECT_EQ(store->append("log", {17, 0, part_of(bytes, 17, 68)}), 68);
  EXPECT_EQ(store->append("log", {0, 0, bytes}), 68);
  EXPECT_EQ(read_all(*store, "log"), bytes);
}

TEST(Store, KnowsWhatIsMissing) {
  const servers::TempDir folder;
  for (int round = 0; round < 2; ++round) {
    const auto store = open_store(folder.path());
    if (round == 0) {
      EXPECT_EQ(store->append("log", {0, 0, records({"a"})}), 17);
      EXPECT_EQ(store->append("log", {100, 83, records({"b"})}), 117);
      EXPECT_EQ(store->append("log", {200, 200, {}}), 200) << "nothing is left, and that is known, too";
      EXPECT_TRUE(store->sync());
    }
    EXPECT_EQ(store->end("log"), 200);
    EXPECT_EQ(store->read("log", 0, 1'000).value(), (Chunk{0, 0, records({"a"})}));
    EXPECT_EQ(store->read("log", 17, 1'000).value(), (Chunk{100, 83, records({"b"})}));
    EXPECT_EQ(store->read("log", 117, 1'000).value(), (Chunk{200, 83, {}}));
  }
}

TEST(Store, GivesTheLastLines) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  Bytes all;
  for (int i = 0; i < 500; ++i) {
    Bytes bytes;
    if (i % 10 == 0) encode({Stream::out, true, at(i), "begin of "}, bytes);
    encode({Stream::out, false, at(i), std::to_string(i)}, bytes);
    ASSERT_TRUE(store->append("log", {size_of(all), 0, bytes}));
    ASSERT_TRUE(store->sync());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  EXPECT_THAT(shown(store->tail("log", 2, 10'000)->bytes), ElementsAre("out: 498", "out: 499"));
  const Chunk ten = store->tail("log", 10, 10'000).value();
  EXPECT_EQ(ten.next(), size_of(all));
  EXPECT_EQ(shown(ten.bytes).front(), "out: begin of …");
  EXPECT_EQ(shown(ten.bytes).size(), 11);
  EXPECT_THAT(shown(store->tail("log", 400, 40)->bytes), ElementsAre("out: 498", "out: 499")) << "no more fits";
  EXPECT_THAT(shown(store->tail("log", 400, 1)->bytes), ElementsAre("out: 499")) << "but one always does";
  EXPECT_THAT(store->tail("log", 0, 1'000)->bytes, IsEmpty());
  EXPECT_EQ(store->tail("log", 100'000, 1'000'000)->bytes, all);
  EXPECT_THAT(store->tail("no log", 5, 1'000)->bytes, IsEmpty());
  ASSERT_TRUE(store->append("log", {size_of(all) + 50, 50, records({"x"})}));
  EXPECT_THAT(shown(store->tail("log", 5, 10'000)->bytes), ElementsAre("out: x")) << "not over a gap";
}

TEST(Store, ForgetsWhatIsRemovedAndMayBeginAnew) {
  const servers::TempDir folder;
  for (const bool is_full_in_between : {false, true}) {
    const std::string path = folder.path() + (is_full_in_between ? "/a" : "/b");
    {
      const auto store = open_store(path);
      ASSERT_TRUE(store->append("log", {0, 0, records({"old"})}));
      ASSERT_TRUE(store->append("other", {0, 0, records({"other"})}));
      if (is_full_in_between) {
        Dice dice(1);
        ASSERT_TRUE(store->append("filler", {0, 0, random_records(dice, 4'000)}));
        ASSERT_TRUE(store->sync());
      }
      ASSERT_TRUE(store->remove("log"));
      ASSERT_TRUE(store->remove("never"));
      EXPECT_EQ(store->end("log"), 0);
      ASSERT_TRUE(store->append("log", {0, 0, records({"new"})}));
      ASSERT_TRUE(store->sync());
    }
    const auto store = open_store(path);
    EXPECT_THAT(shown(store->read("log", 0, 1'000)->bytes), ElementsAre("out: new"));
    EXPECT_THAT(shown(store->read("other", 0, 1'000)->bytes), ElementsAre("out: other"));
    ASSERT_TRUE(store->remove("log"));
    EXPECT_EQ(LogStore::open(path, tiny).error().code, Errc::conflict) << "two at once";
  }
  EXPECT_EQ(open_store(folder.path() + "/a")->end("log"), 0);
}

TEST(Store, PrunesByAgeAndBySize) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  for (int i = 0; i < 10; ++i) {
    const std::string log = std::to_string(i);
    for (int part = 0; part < 4; ++part) {
      Bytes bytes;
      encode({Stream::out, false, at(i * 1'000'000), std::string(1'000, 'x')}, bytes);
      ASSERT_TRUE(store->append(log, {part * 1'016, 0, bytes}));
      ASSERT_TRUE(store->sync());
    }
  }
  ASSERT_TRUE(store->prune(at(10'000'000), {}));
  EXPECT_EQ(read_all(*store, "0").size(), 4'064);
  ASSERT_TRUE(store->prune(at(10'000'000), {std::chrono::seconds(7), ByteSize{1 << 30}}));
  EXPECT_EQ(store->end("0"), 0);
  EXPECT_EQ(store->end("1"), 0);
  EXPECT_EQ(store->end("9"), 4'064);
  const std::int64_t before = store->size().value;
  ASSERT_TRUE(store->prune(at(10'000'000), {Duration::max(), ByteSize{before - 1}}));
  EXPECT_LT(store->size().value, before);
  EXPECT_GE(store->size().value, before - 5'000);
  ASSERT_TRUE(store->prune(at(1'000'000'000), {std::chrono::seconds(7), ByteSize{1 << 30}}));
  EXPECT_EQ(store->size().value, 0);
  EXPECT_EQ(store->end("9"), 0);
  EXPECT_EQ(numbered_files(folder.path(), ".segment")->size(), 0);
  EXPECT_EQ(store->append("9", {4'064, 4'064, records({"on"})}), 4'064 + 18);
}

/// Times around a day of 2026.
TimePoint day(int days) { return TimePoint(std::chrono::hours(24) * (20'000 + days)); }

Bytes records_of(TimePoint time) {
  Bytes bytes;
  encode({Stream::out, false, time, "a line"}, bytes);
  return bytes;
}

const Retention month{std::chrono::hours(24) * 30, ByteSize{1 << 30}};

TEST(Store, RemovesNothingBecauseTheClockIsWrongAtTheStart) {
  const servers::TempDir folder;
  {
    const auto store = open_store(folder.path());
    ASSERT_TRUE(store->append("log", {0, 0, records_of(day(0))}));
    ASSERT_TRUE(store->sync());
    ASSERT_TRUE(store->prune(day(0), month));
  }
  {
    const auto store = open_store(folder.path());
    ASSERT_TRUE(store->prune(day(400), month));
    for (int hour = 1; hour <= 48; ++hour) ASSERT_TRUE(store->prune(day(400) + std::chrono::hours(hour), month));
    EXPECT_GT(store->end("log"), 0) << "the clock is a year ahead";
  }
  const auto store = open_store(folder.path());
  for (int i = 1; i <= 29; ++i) ASSERT_TRUE(store->prune(day(i), month));
  EXPECT_GT(store->end("log"), 0) << "the clock is right again";
  for (int i = 30; i <= 40; ++i) ASSERT_TRUE(store->prune(day(i), month));
  EXPECT_EQ(store->end("log"), 0) << "now it is old";
}

TEST(Store, RemovesNothingBecauseTheClockGoesBackAndForth) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  ASSERT_TRUE(store->prune(day(100), month));
  ASSERT_TRUE(store->append("log", {0, 0, records_of(day(100))}));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(store->prune(day(0), month));
    ASSERT_TRUE(store->prune(day(101), month));
  }
  EXPECT_GT(store->end("log"), 0);
}

TEST(Store, KeepsWhatWasWrittenLatelyWhateverItsRecordsSay) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  ASSERT_TRUE(store->append("first", {0, 0, records_of(day(0))}));
  for (int i = 0; i <= 10; ++i) ASSERT_TRUE(store->prune(day(i), month));
  ASSERT_TRUE(store->append("log", {0, 0, records_of(TimePoint(std::chrono::hours(1)))}));  // its host has no clock
  for (int i = 11; i <= 39; ++i) ASSERT_TRUE(store->prune(day(i), month));
  EXPECT_GT(store->end("log"), 0);
  for (int i = 40; i <= 42; ++i) ASSERT_TRUE(store->prune(day(i), month));
  EXPECT_EQ(store->end("log"), 0);
}

TEST(Store, TornAtAnyByteHasItsWholeChunksAndGoesOn) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/000000000001.segment";
  std::vector<std::int64_t> sizes{0};
  Bytes all;
  {
    const auto store = open_store(folder.path());
    for (const char* line : {"a", "bb", "ccc"}) {
      ASSERT_TRUE(store->append("log", {size_of(all), 0, records({line, line})}));
      const Bytes bytes = records({line, line});
      all.insert(all.end(), bytes.begin(), bytes.end());
      sizes.push_back(store->size().value);
    }
    ASSERT_TRUE(store->sync());
  }
  std::ifstream file(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(whole.size(), sizes.back());
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    for (const bool with_noise : {false, true}) {
      std::ofstream(path, std::ios::binary) << whole.substr(0, size) << (with_noise ? std::string(50, '\0') : "");
      const auto store = open_store(folder.path());
      const auto kept = std::prev(std::ranges::upper_bound(sizes, static_cast<std::int64_t>(size))) - sizes.begin();
      EXPECT_EQ(shown(store->read("log", 0, 10'000)->bytes).size(), 2 * kept);
      EXPECT_EQ(store->append("log", {0, 0, all}), size_of(all));
      EXPECT_TRUE(store->sync());
      EXPECT_EQ(read_all(*store, "log"), all);
    }
  }
}

TEST(Store, FindsItsWayWithoutItsIndexes) {
  const servers::TempDir folder;
  Dice dice(5);
  std::map<std::string, Bytes> expected;
  {
    const auto store = open_store(folder.path());
    for (int i = 0; i < 300; ++i) {
      const std::string log = std::to_string(dice.between(1, 5));
      const Bytes bytes = random_records(dice, 100);
      Bytes& all = expected[log];
      ASSERT_TRUE(store->append(log, {size_of(all), 0, bytes}));
      ASSERT_TRUE(store->sync());
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
  }
  const auto numbers = numbered_files(folder.path(), ".index").value();
  ASSERT_GT(numbers.size(), 6);
  std::filesystem::remove(numbered_path(folder.path(), numbers[0], ".index"));
  std::ofstream(numbered_path(folder.path(), numbers[1], ".index")) << "something else";
  std::filesystem::resize_file(numbered_path(folder.path(), numbers[2], ".index"), 40);
  std::filesystem::copy_file(numbered_path(folder.path(), numbers[4], ".index"),
                             numbered_path(folder.path(), numbers[3], ".index"),
                             std::filesystem::copy_options::overwrite_existing);  // as old as the hills, but sound
  const auto store = open_store(folder.path());
  for (const auto& [log, all] : expected) EXPECT_EQ(read_all(*store, log), all);
}

TEST(Store, SkipsWhatIsSpoiledOnTheDisk) {
  const servers::TempDir folder;
  const auto store = open_store(folder.path());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->append("log", {i * 17, 0, records({"x"})}));
  ASSERT_TRUE(store->sync());
  std::fstream file(folder.path() + "/000000000001.segment", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(2 * (32 + 3 + 17) - 1);
  file << 'y';
  file.close();
  EXPECT_EQ(store->read("log", 0, 1'000).value(), (Chunk{0, 0, records({"x"})}));
  EXPECT_EQ(store->read("log", 17, 1'000).value(), (Chunk{34, 17, records({"x"})}));
}

// Against a model: chunks come in order, again, overlapping, with gaps; logs are removed; the store is opened anew.
TEST(Store, IsWhatItsModelIs) {
  FOR_SEEDS(40, [](Dice& dice) {
    const servers::TempDir folder;
    auto store = open_store(folder.path());
    std::map<std::string, Bytes> sources;  // what there is to send; zeroes are dropped
    std::map<std::string, std::int64_t> ends;
    for (int step = 0; step < 150; ++step) {
      const std::string log = std::to_string(dice.between(1, 6)) + ".0/1";
      Bytes& source = sources[log];
      std::int64_t& end = ends[log];
      if (const auto act = dice.between(0, 99); act < 60) {
        const Bytes more = random_records(dice, static_cast<std::size_t>(dice.magnitude(1, 2'000)));
        std::int64_t from = end;
        if (dice.percent(10)) {  // a gap
          from = size_of(source) + dice.between(1, 300);
          source.resize(static_cast<std::size_t>(from));
        } else if (dice.percent(20) && end > 0) {  // an overlap: from any record behind the last gap
          Chunk tail = store->tail(log, static_cast<std::size_t>(dice.between(1, 5)), 10'000).value();
          from = tail.offset;
        }
        source.insert(source.end(), more.begin(), more.end());
        const Chunk chunk{from, from - std::min(from, end), part_of(source, from, size_of(source))};
        ASSERT_EQ(store->append(log, chunk), size_of(source));
        end = size_of(source);
      } else if (act < 75) {
        ASSERT_TRUE(store->sync());
      } else if (act < 80) {
        ASSERT_TRUE(store->remove(log));
        source.clear();
        end = 0;
      } else if (act < 85) {
        ASSERT_TRUE(store->sync());
        store.reset();
        store = open_store(folder.path());
      } else {
        ASSERT_EQ(store->end(log), end);
        ASSERT_EQ(read_all(*store, log, static_cast<std::size_t>(dice.between(1, 4'000))), source);
      }
    }
  });
}

/// Appends to many logs and acknowledges through `out` what is durable: the number of the round.
int store_rounds(const std::string& folder, int out) {
  const auto store = open_store(folder, {ByteSize{200'000}});
  // One that was killed within a round has it in some logs only; those who have it already take no harm.
  std::int64_t least = store->end("0");
  for (int log = 1; log < 20; ++log) least = std::min(least, store->end(std::to_string(log)));
  for (std::int32_t round = static_cast<std::int32_t>(least / 20);; ++round) {
    for (int log = 0; log < 20; ++log) {
      Bytes bytes;
      const std::string digits = std::to_string(round % 10'000 + 10'000);
      encode({Stream::out, false, at(round), digits.substr(1)}, bytes);
      const auto end = store->append(std::to_string(log), {std::int64_t{round} * 20, 0, bytes});
      if (!end || *end < (round + 1) * 20) return 2;
    }
    if (!store->sync() || write(out, &round, sizeof(round)) != sizeof(round)) return 1;
  }
}

TEST(Store, AKilledOneHasAllThatWasAcknowledgedOnce) {
  const servers::TempDir folder;
  Dice dice(4);
  std::int32_t last = -1;
  for (int run = 0; run < 10; ++run) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = servers::fork_child([&] { return store_rounds(folder.path(), ends[1]); });
    close(ends[1]);
    const std::int64_t until = last + dice.between(1, 200);
    for (std::int32_t said = 0; read(ends[0], &said, sizeof(said)) == sizeof(said); last = said) {
      if (said == until) kill(child, SIGKILL);
    }
    close(ends[0]);
    ASSERT_EQ(servers::wait_for(child), -1);
    const auto store = open_store(folder.path(), {ByteSize{200'000}});
    for (int log = 0; log < 20; ++log) {
      const std::vector<std::string> lines = shown(read_all(*store, std::to_string(log)));
      ASSERT_GE(lines.size(), last + 1);
      ASSERT_LE(lines.size(), last + 2);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        ASSERT_EQ(lines[i].substr(5), std::to_string(i % 10'000 + 10'000).substr(1));
      }
    }
  }
}

std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(Store, HoldsManyTinyLogsInFewFiles) {
  const servers::TempDir folder;
  const std::size_t before = open_files();
  auto store = open_store(folder.path(), {ByteSize{100'000}});
  constexpr int count = 5'000;
  for (int i = 0; i < count; ++i) {
    ASSERT_TRUE(store->append(std::to_string(i) + ".0/1", {0, 0, records({"hello"})}));
    if (i % 100 == 0) {
      ASSERT_TRUE(store->sync());
    }
  }
  ASSERT_TRUE(store->sync());
  EXPECT_LE(open_files(), before + 3);
  store.reset();
  store = open_store(folder.path(), {ByteSize{100'000}});
  for (int i = 0; i < count; ++i) {
    ASSERT_THAT(shown(store->read(std::to_string(i) + ".0/1", 0, 1'000)->bytes), ElementsAre("out: hello"));
  }
  EXPECT_LE(open_files(), before + 4);
}

}  // namespace
}  // namespace cadre::logs
