#include "logs/spool.h"

#include <gmock/gmock.h>

#include "tests/servers/scratch.h"

namespace cadre::logs {
namespace {

TimePoint at(std::int64_t us) { return TimePoint(std::chrono::microseconds(us)); }

TEST(Spool, GivesLinesBack) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/a/output";
  SpoolWriter writer = SpoolWriter::open(path, {}).value();
  SpoolReader reader(path);
  EXPECT_EQ(reader.read(0, 1).value(), Chunk{});
  writer.append(Stream::out, "one\ntw", at(1));
  writer.append(Stream::err, "bad\n", at(2));
  writer.append(Stream::out, "o\n", at(3));
  const Chunk chunk = reader.read(0, 1'000).value();
  Decoder decoder(chunk.bytes);
  EXPECT_EQ(decoder.next(), (Line{Stream::out, false, at(1), "one"}));
  EXPECT_EQ(decoder.next(), (Line{Stream::err, false, at(2), "bad"}));
  EXPECT_EQ(decoder.next(), (Line{Stream::out, false, at(3), "two"}));
  EXPECT_EQ(decoder.next(), std::nullopt);
  EXPECT_EQ(chunk.next(), writer.end());
}

}  // namespace
}  // namespace cadre::logs
