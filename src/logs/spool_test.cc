#include "logs/spool.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/seeds.h"
#include "logs/lines_for_tests.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::logs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Full = SpoolOptions::Full;

constexpr SpoolOptions tiny_spool{ByteSize{4'096}, ByteSize{1'024}, Full::block};
constexpr SpoolOptions tiny_that_drops{ByteSize{4'096}, ByteSize{1'024}, Full::drop_oldest};

Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return {as_bytes(text).begin(), as_bytes(text).end()};
}

void write_file(const std::string& path, BytesView bytes) { std::ofstream(path, std::ios::binary) << as_text(bytes); }

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// All that can be read from `offset`, without what was dropped.
Chunk read_all(SpoolReader& reader, std::int64_t offset, std::size_t step = 2'000) {
  Chunk all = reader.read(offset, step).value();
  while (true) {
    const Chunk more = reader.read(all.next(), step).value();
    EXPECT_EQ(more.offset, all.next());
    if (more.bytes.empty()) return all;
    all.bytes.insert(all.bytes.end(), more.bytes.begin(), more.bytes.end());
  }
}

TEST(Spool, GivesLinesBack) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/a/output";
  SpoolWriter writer = SpoolWriter::open(path, {}).value();
  SpoolReader reader(path);
  EXPECT_EQ(reader.read(0, 1).value(), Chunk{});
  writer.append(Stream::out, "one\ntw", at(1));
  writer.append(Stream::err, "bad\n", at(2));
  writer.append(Stream::out, "o\n", at(3));
  writer.note("that was it", at(4));
  const Chunk chunk = reader.read(0, 1'000).value();
  EXPECT_THAT(shown(chunk.bytes), ElementsAre("out: one", "err: bad", "out: two", "note: that was it"));
  EXPECT_EQ(chunk.next(), writer.end());
  EXPECT_EQ(reader.read(writer.end(), 1'000).value(), (Chunk{writer.end(), 0, {}}));
}

TEST(Spool, OfAProgramThatSaysNothingIsNoFile) {
  const servers::TempDir folder;
  {
    SpoolWriter writer = SpoolWriter::open(folder.path() + "/output", {}).value();
    writer.flush(at(1));
    writer.append(Stream::out, "no newline yet", at(1));
    writer.stored(0);
    EXPECT_EQ(writer.end(), 0);
  }
  EXPECT_EQ(files_in(folder.path()), 0);
}

TEST(Spool, TornAtAnyByteHasItsWholeRecordsAndGoesOn) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/000000000000.log";
  {
    SpoolWriter writer = SpoolWriter::open(folder.path(), {}).value();
    for (int i = 0; i < 5; ++i) writer.append(Stream::out, "line " + std::string(i, 'x') + "\n", at(i));
  }
  const Bytes whole = bytes_of(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    write_file(path, BytesView(whole).first(size));
    const std::size_t kept = whole_records(BytesView(whole).first(size));
    SpoolReader reader(folder.path());
    EXPECT_EQ(reader.read(0, 10'000)->bytes.size(), kept);
    SpoolWriter writer = SpoolWriter::open(folder.path(), {}).value();
    EXPECT_EQ(writer.end(), kept);
    writer.append(Stream::err, "more\n", at(9));
    EXPECT_EQ(shown(reader.read(0, 10'000)->bytes).back(), "err: more");
    EXPECT_EQ(reader.read(0, 10'000)->next(), writer.end());
  }
}

TEST(Spool, BlocksWhenItIsFullAndGoesOnWhenSomeIsStored) {
  const servers::TempDir folder;
  SpoolWriter writer = SpoolWriter::open(folder.path(), tiny_spool).value();
  SpoolReader reader(folder.path());
  int lines = 0;
  while (!writer.full()) writer.append(Stream::out, "line " + std::to_string(lines++) + "\n", at(1));
  EXPECT_GE(writer.end(), 4'096);
  EXPECT_LE(writer.end(), 4'200);
  EXPECT_EQ(shown(read_all(reader, 0).bytes).size(), lines);
  writer.stored(1'000);
  EXPECT_TRUE(writer.full()) << "no file is wholly stored yet";
  EXPECT_EQ(reader.begin(), 0);
  writer.stored(writer.end());
  EXPECT_FALSE(writer.full());
  EXPECT_EQ(files_in(folder.path()), 1) << "the last one tells where to go on";
  const std::int64_t end = writer.end();
  writer.append(Stream::out, "more\n", at(1));
  EXPECT_THAT(shown(read_all(reader, end).bytes), ElementsAre("out: more"));
  EXPECT_EQ(SpoolWriter::open(folder.path(), tiny_spool)->end(), writer.end());
}

TEST(Spool, ThatDropsNeverBlocksAndSaysWhatIsMissing) {
  const servers::TempDir folder;
  SpoolWriter writer = SpoolWriter::open(folder.path(), tiny_that_drops).value();
  SpoolReader reader(folder.path());
  for (int i = 0; i < 1'000; ++i) {
    writer.append(Stream::out, "line " + std::to_string(i) + "\n", at(i));
    ASSERT_FALSE(writer.full());
  }
  const std::int64_t begin = reader.begin().value();
  EXPECT_GT(begin, writer.end() - 4'200);
  const Chunk chunk = read_all(reader, 0);
  const std::vector<std::string> lines = shown(chunk.bytes);
  EXPECT_EQ(lines.front(), "note: " + std::to_string(begin) + " bytes of output dropped here");
  EXPECT_EQ(lines.back(), "out: line 999");
  EXPECT_EQ(chunk.dropped, chunk.offset) << "all before the note is missing";
  EXPECT_EQ(chunk.next(), writer.end());
  EXPECT_EQ(reader.read(begin, 100)->dropped, 0);

  // Too little is missing for a note to have room in it.
  const Chunk close = reader.read(begin - 20, 100).value();
  EXPECT_EQ(close.offset, begin);
  EXPECT_EQ(close.dropped, 20);
}

TEST(Spool, SkipsWhatIsSpoiledUpToTheNextSegment) {
  const servers::TempDir folder;
  SpoolWriter writer = SpoolWriter::open(folder.path(), tiny_spool).value();
  while (!writer.full()) writer.append(Stream::out, "some line\n", at(1));
  Bytes bytes = bytes_of(folder.path() + "/000000000000.log");
  const std::int64_t next = static_cast<std::int64_t>(bytes.size());
  bytes[260] ^= std::byte{1};
  write_file(folder.path() + "/000000000000.log", bytes);
  SpoolReader reader(folder.path());
  const Chunk before = reader.read(0, 100'000).value();
  EXPECT_EQ(before.next(), 260 / 25 * 25);
  const Chunk after = reader.read(before.next(), 100'000).value();
  EXPECT_EQ(after.dropped, after.offset - before.next());
  EXPECT_EQ(shown(after.bytes).front(), "note: " + std::to_string(next - 250) + " bytes of output dropped here");
  EXPECT_EQ(shown(after.bytes)[1], "out: some line");
}

// A task without isolation can reach the folder of its spool.
TEST(Spool, SkipsWhatATaskPutInPlaceOfASegment) {
  const servers::TempDir folder;
  SpoolWriter writer = SpoolWriter::open(folder.path(), tiny_spool).value();
  while (!writer.full()) writer.append(Stream::out, "some line\n", at(1));
  const std::string first = folder.path() + "/000000000000.log";
  const std::string precious = folder.path() + "/precious";
  write_file(precious, as_bytes("precious"));
  const auto plant = [&](const std::function<void()>& put) {
    ASSERT_EQ(unlink(first.c_str()), 0);
    put();
    SpoolReader reader(folder.path());
    const Chunk chunk = reader.read(0, 100'000).value();  // and does not wait for a writer
    EXPECT_GT(chunk.offset + chunk.dropped, 0);
    EXPECT_THAT(shown(chunk.bytes).front(), HasSubstr("bytes of output dropped here"));
    EXPECT_EQ(shown(chunk.bytes).back(), "out: some line");
  };
  plant([&] { ASSERT_EQ(mkfifo(first.c_str(), 0600), 0); });
  plant([&] { std::filesystem::create_symlink(precious, first); });
  plant([&] { std::filesystem::create_symlink("/dev/zero", first); });
  plant([&] { std::filesystem::create_symlink(precious, first); });
  writer.stored(writer.end());  // removes segments, and what stands in their place
  EXPECT_EQ(std::filesystem::file_size(precious), 8U);
  std::string last;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".log") last = entry.path();
  }
  ASSERT_EQ(unlink(last.c_str()), 0);
  ASSERT_EQ(mkfifo(last.c_str(), 0600), 0);
  EXPECT_FALSE(SpoolWriter::open(folder.path(), tiny_spool)) << "and does not wait for a reader";
}

TEST(Spool, GivesUpWhatCannotBeWrittenAndCountsIt) {
  const servers::TempDir folder;
  write_file(folder.path() + "/output", {});  // a file where the folder should be
  SpoolWriter writer = SpoolWriter::open(folder.path() + "/later", {}).value();
  std::filesystem::create_symlink(folder.path() + "/output", folder.path() + "/later");
  writer.append(Stream::out, "one\n", at(1));
  writer.flush(at(1));
  const auto waiting = static_cast<std::int64_t>(writer.waiting_bytes());
  EXPECT_GT(waiting, 4);
  EXPECT_EQ(writer.give_up(), waiting);
  EXPECT_EQ(writer.waiting_bytes(), 0U);
  EXPECT_FALSE(writer.full());
  EXPECT_EQ(writer.end(), 0);
}

// Whatever is written, stored, dropped, read and opened anew, in whatever order: bytes that a reader gets are those
// that were written at that offset, in order, and what is missing is said.
TEST(Spool, KeepsOffsetsWhateverHappens) {
  FOR_SEEDS(300, [](Dice& dice) {
    const servers::TempDir folder;
    const SpoolOptions options = dice.percent(50) ? tiny_spool : tiny_that_drops;
    SpoolWriter writer = SpoolWriter::open(folder.path(), options).value();
    SpoolReader reader(folder.path());
    Cutter cutter;
    Bytes all;  // what must have been written
    std::int64_t position = 0, stored = 0;
    for (int step = 0; step < 200; ++step) {
      const TimePoint now = at(step);
      if (const auto act = dice.between(0, 99); act < 60) {
        if (writer.full()) continue;
        const auto stream = static_cast<Stream>(dice.between(1, 2));
        std::string piece = random_text(dice, dice.magnitude(1, 600));
        if (dice.percent(70)) piece += '\n';
        writer.append(stream, piece, now);
        cutter.take(stream, piece, now, all);
      } else if (act < 65) {
        writer.flush(now);
        cutter.flush(now, all);
      } else if (act < 70) {
        writer = SpoolWriter::open(folder.path(), options).value();  // as after a kill
        cutter = {};
      } else if (act < 75) {
        reader = SpoolReader(folder.path());
      } else if (act < 80) {
        stored = dice.between(stored, position);
        writer.stored(stored);
      } else {
        const Chunk chunk = reader.read(position, static_cast<std::size_t>(dice.between(1, 3'000))).value();
        ASSERT_EQ(chunk.offset - chunk.dropped, position);
        BytesView bytes = chunk.bytes;
        std::int64_t from = chunk.offset;
        if (chunk.dropped > 0) {
          ASSERT_EQ(options.full, Full::drop_oldest);
          if (const auto first = Decoder(bytes).next(); first && first->stream == Stream::note) {
            from += static_cast<std::int64_t>(record_bytes(*first));
            bytes = bytes.subspan(record_bytes(*first));
            EXPECT_EQ(first->text, std::to_string(from - position) + " bytes of output dropped here");
          }
        }
        ASSERT_LE(from + static_cast<std::int64_t>(bytes.size()), all.size());
        EXPECT_TRUE(std::ranges::equal(bytes, BytesView(all).subspan(static_cast<std::size_t>(from), bytes.size())));
        position = chunk.next();
      }
      ASSERT_EQ(writer.end(), all.size());
    }
    if (options.full == Full::block) {
      const Chunk rest = read_all(reader, position);
      EXPECT_TRUE(std::ranges::equal(rest.bytes, BytesView(all).subspan(static_cast<std::size_t>(position))));
    }
  });
}

/// Writes numbered lines, and says each on `out` once it is written.
int write_lines(const std::string& folder, int out) {
  SpoolWriter writer = SpoolWriter::open(folder, {ByteSize{1 << 30}, ByteSize{100'000}, Full::block}).value();
  SpoolReader reader(folder);
  std::int32_t number = static_cast<std::int32_t>(shown(read_all(reader, 0).bytes).size());
  for (;; ++number) {
    writer.append(Stream::out, std::to_string(number) + " " + std::string(number % 3'000, 'x') + "\n", at(number));
    if (write(out, &number, sizeof(number)) != sizeof(number)) return 1;
  }
}

TEST(Spool, AKilledWriterLosesNothingItHasWritten) {
  const servers::TempDir folder;
  Dice dice(3);
  std::int32_t last = -1;
  for (int round = 0; round < 10; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = servers::fork_child([&] { return write_lines(folder.path(), ends[1]); });
    close(ends[1]);
    const std::int64_t until = last + dice.between(1, 500);
    for (std::int32_t said = 0; read(ends[0], &said, sizeof(said)) == sizeof(said); last = said) {
      if (said == until) kill(child, SIGKILL);
    }
    close(ends[0]);
    EXPECT_EQ(servers::wait_for(child), -1);
    SpoolReader reader(folder.path());
    const std::vector<std::string> lines = shown(read_all(reader, 0).bytes);
    EXPECT_GE(lines.size(), last + 1);
    EXPECT_LE(lines.size(), last + 2);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ASSERT_EQ(lines[i], "out: " + std::to_string(i) + " " + std::string(i % 3'000, 'x'));
    }
    last = static_cast<std::int32_t>(lines.size()) - 1;
  }
}

TEST(Spool, AReaderInAnotherProcessSeesEveryLineWhileItIsWritten) {
  const servers::TempDir folder;
  constexpr int count = 20'000;
  const pid_t child = servers::fork_child([&] {
    SpoolWriter writer = SpoolWriter::open(folder.path(), {ByteSize{1 << 30}, ByteSize{50'000}, Full::block}).value();
    for (int i = 0; i < count; ++i) writer.append(Stream::out, "line " + std::to_string(i) + "\n", at(i));
    return 0;
  });
  SpoolReader reader(folder.path());
  std::int64_t position = 0;
  int seen = 0;
  while (seen < count) {
    const Chunk chunk = reader.read(position, 10'000).value();
    ASSERT_EQ(chunk.dropped, 0);
    for (const std::string& line : shown(chunk.bytes)) ASSERT_EQ(line, "out: line " + std::to_string(seen++));
    position = chunk.next();
  }
  EXPECT_EQ(servers::wait_for(child), 0);
}

TEST(Spool, AFolderThatCannotBeWrittenIsWaitedFor) {
  const servers::TempDir folder;
  write_file(folder.path() + "/output", {});  // a file where the folder should be
  SpoolWriter writer = SpoolWriter::open(folder.path() + "/later", {}).value();
  std::filesystem::create_symlink(folder.path() + "/output", folder.path() + "/later");
  writer.append(Stream::out, "one\n", at(1));
  writer.append(Stream::out, "two\n", at(2));
  EXPECT_TRUE(writer.full());
  EXPECT_GT(writer.waiting_bytes(), 0);
  EXPECT_EQ(writer.end(), 0);
  std::filesystem::remove(folder.path() + "/later");
  writer.retry(at(3));
  EXPECT_FALSE(writer.full());
  SpoolReader reader(folder.path() + "/later");
  const auto lines = shown(read_all(reader, 0).bytes);
  ASSERT_EQ(lines.size(), 3);
  EXPECT_THAT(lines[1], HasSubstr("note: output had to wait: "));
  EXPECT_EQ(lines[2], "out: two");
}

}  // namespace
}  // namespace cadre::logs
