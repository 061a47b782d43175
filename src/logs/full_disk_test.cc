// Fills real, small file systems.
#include <gmock/gmock.h>

#include <algorithm>

#include "logs/lines_for_tests.h"
#include "logs/spool.h"
#include "logs/store.h"
#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::logs {
namespace {

using testing::HasSubstr;

std::vector<std::string> lines_of(const std::string& folder) {
  SpoolReader reader(folder);
  std::vector<std::string> lines;
  for (std::int64_t position = 0;;) {
    const Chunk chunk = reader.read(position, 100'000).value();
    for (std::string& line : shown(chunk.bytes)) lines.push_back(std::move(line));
    if (chunk.next() == position) return lines;
    position = chunk.next();
  }
}

TEST(FullDisk, ASpoolWaitsSaysSoOnceAndLosesNothing) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  servers::SmallDisk disk(folder.path(), 1 << 20);
  SpoolWriter writer = SpoolWriter::open(folder.path() + "/output", {}).value();
  const std::string text(777, 'x');
  int count = 0;
  while (!writer.full()) writer.append(Stream::out, std::to_string(count++) + text + "\n", at(1));
  EXPECT_LT(count, 2'000);
  const std::int64_t end = writer.end();
  for (int i = 0; i < 5; ++i) writer.append(Stream::out, std::to_string(count++) + text + "\n", at(1));
  writer.retry(at(count));
  EXPECT_EQ(writer.end(), end);
  EXPECT_GE(lines_of(folder.path() + "/output").size(), count - 6);

  disk.resize(4 << 20);
  writer.retry(at(count));
  EXPECT_FALSE(writer.full());
  std::vector<std::string> lines = lines_of(folder.path() + "/output");
  const auto is_note = [](const std::string& line) { return line.starts_with("note: "); };
  EXPECT_EQ(std::ranges::count_if(lines, is_note), 1);
  EXPECT_THAT(*std::ranges::find_if(lines, is_note), HasSubstr("the disk is full"));
  std::erase_if(lines, is_note);
  ASSERT_EQ(lines.size(), count);
  for (int i = 0; i < count; ++i) ASSERT_EQ(lines[i], "out: " + std::to_string(i) + text);
}

TEST(FullDisk, ASpoolMakesRoomOfWhatIsStoredElsewhere) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  const servers::SmallDisk disk(folder.path(), 1 << 20);
  SpoolWriter writer = SpoolWriter::open(folder.path() + "/output", {}).value();  // a segment is larger than the disk
  SpoolReader reader(folder.path() + "/output");
  const std::string text(777, 'x');
  std::vector<std::string> lines;
  int count = 0;
  std::int64_t position = 0;
  for (int round = 0; round < 5; ++round) {
    while (!writer.full()) writer.append(Stream::out, std::to_string(count++) + text + "\n", at(1));
    while (position < writer.end()) {
      const Chunk chunk = reader.read(position, 100'000).value();
      for (std::string& line : shown(chunk.bytes)) lines.push_back(std::move(line));
      position = chunk.next();
    }
    writer.retry(at(1));
    EXPECT_TRUE(writer.full());  // nobody has said yet that it is stored
    writer.stored(position);
    writer.retry(at(1));
    EXPECT_FALSE(writer.full());
  }
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("note: "); });
  EXPECT_GT(lines.size(), 5'000U);
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], "out: " + std::to_string(i) + text);
}

TEST(FullDisk, ASpoolThatMayDropMakesRoom) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  const servers::SmallDisk disk(folder.path(), 1 << 20);
  const SpoolOptions options{ByteSize{1 << 30}, ByteSize{100'000}, SpoolOptions::Full::drop_oldest};
  SpoolWriter writer = SpoolWriter::open(folder.path() + "/output", options).value();
  const std::string text(777, 'x');
  for (int i = 0; i < 5'000; ++i) {
    writer.append(Stream::out, std::to_string(i) + text + "\n", at(i));
    ASSERT_FALSE(writer.full());
  }
  const std::vector<std::string> lines = lines_of(folder.path() + "/output");
  EXPECT_THAT(lines.front(), HasSubstr("bytes of output dropped here"));
  EXPECT_EQ(lines.back(), "out: 4999" + text);
}

TEST(FullDisk, AStoreRefusesKeepsAllAndGoesOnWhenThereIsSpace) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  servers::SmallDisk disk(folder.path(), 1 << 20);
  const auto store = LogStore::open(folder.path() + "/logs", {ByteSize{100'000}}).value();
  Bytes bytes;
  encode({Stream::out, false, at(1), std::string(1'000, 'x')}, bytes);
  std::vector<std::int64_t> ends(10);
  std::optional<Error> error;
  for (std::size_t i = 0; !error; i = (i + 1) % ends.size()) {
    const auto end = store->append(std::to_string(i), {ends[i], 0, bytes});
    if (!end) error = end.error();
    if (end) ends[i] = *end;
    ASSERT_TRUE(store->sync());
  }
  EXPECT_EQ(error->code, Errc::unavailable);
  EXPECT_THAT(error->message, HasSubstr("the disk is full. Free space there."));
  for (std::size_t i = 0; i < ends.size(); ++i) EXPECT_EQ(store->end(std::to_string(i)), ends[i]);

  disk.resize(4 << 20);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_EQ(store->append(std::to_string(i), {ends[i], 0, bytes}), ends[i] + 1'016);
    ASSERT_TRUE(store->sync());
    std::int64_t position = 0;
    for (; position < store->end(std::to_string(i)); position += 1'016) {
      ASSERT_EQ(store->read(std::to_string(i), position, 1)->bytes, bytes);
    }
  }
}

}  // namespace
}  // namespace cadre::logs
