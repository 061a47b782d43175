// All that a task writes is in its spool, whatever it writes and however it ends.
#include <fcntl.h>
#include <unistd.h>

#include "logs/spool.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;

class Output : public Rig {
 protected:
  Launch python(const std::string& text) const { return program({"/usr/bin/python3", "-c", text}); }
};

TEST_F(Output, TenMegabytesInOddPiecesWithoutANewline) {
  const std::string folder = begin(python(R"(
import os
rest = 10_000_000
step = 1
while rest > 0:
    n = min(rest, step)
    os.write(1, b'x' * n)
    rest -= n
    step = step * 7 % 9973 + 1
)"));
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  EXPECT_EQ(output(folder), std::string(10'000'000, 'x'));
}

TEST_F(Output, ALineOfFiveMegabytesBetweenShortOnes) {
  const std::string folder = begin(python("print('a'); print('y' * 5_000_000); print('b')"));
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "a\n" + std::string(5'000'000, 'y') + "\nb\n");
}

TEST_F(Output, AnyBytes) {
  const std::string folder = begin(python("import os\nfor i in range(1000): os.write(1 + i % 2, bytes(range(256)))"));
  wait_for_ending(folder);
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  std::string expected;
  for (int i = 0; i < 500; ++i) expected += all;
  EXPECT_EQ(output(folder, 1), expected);
  EXPECT_EQ(output(folder, 2), expected);
}

TEST_F(Output, StreamsThatAreClosedEarly) {
  const std::string folder = begin(script("echo one; exec >&-; echo two >&2; exec 2>&-; sleep 0.3; exit 5"));
  EXPECT_EQ(wait_for_ending(folder).code, 5);
  EXPECT_EQ(output(folder, 1), "one\n");
  EXPECT_EQ(output(folder, 2), "two\n");
}

TEST_F(Output, KeepsOutputWrittenRightBeforeTheEnd) {
  const std::string folder = begin(python("import os, signal\nos.write(1, b'z' * 60_000)\nos.kill(os.getpid(), 9)"));
  EXPECT_EQ(wait_for_ending(folder).code, 9);
  EXPECT_EQ(output(folder), std::string(60'000, 'z'));
}

TEST_F(Output, ThePartOfALineIsSeenBeforeItsEnd) {
  const std::string folder = begin(script("printf 'password: '; sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
  EXPECT_EQ(output(folder), "password: ");
}

TEST_F(Output, AChildThatHoldsThePipeDoesNotKeepTheTaskAlive) {
  for (const auto kind : {cluster::Isolation::on, cluster::Isolation::off}) {
    isolation = kind;
    const std::string mark = new_mark();
    const std::string folder = begin(script("setsid sh -c 'echo child; sleep " + mark + "' & sleep 0.2; echo leader"));
    EXPECT_EQ(wait_for_ending(folder).code, 0);
    EXPECT_TRUE(processes_with(mark).empty());
    EXPECT_EQ(output(folder), "child\nleader\n");
  }
}

TEST_F(Output, AFullSpoolBlocksTheWriterUntilSomeIsStored) {
  Launch launch = python("import os\nfor i in range(4000): os.write(1, b'%0999d\\n' % i)\n");
  launch.limits.spool = ByteSize{262'144};
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto full = [](const Status& status) { return status.output_end > 262'144; };
  auto status = agent.status(full);
  ASSERT_TRUE(status);
  logs::SpoolReader reader(folder + "/output");
  std::int64_t offset = 0;
  std::string numbers;
  while (status && !status->ending) {
    const auto chunk = reader.read(offset, 65'536);
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->dropped, 0);
    logs::Decoder decoder(chunk->bytes);
    while (const auto line = decoder.next()) numbers += line->text.substr(995);
    offset = chunk->next();
    agent.send(OutputStored{offset});
    EXPECT_LT(status->output_end - offset, 2 * 262'144 + 200'000);
    if (offset >= status->output_end) status = agent.next<Status>();
  }
  while (true) {
    const auto chunk = reader.read(offset, 65'536);
    ASSERT_TRUE(chunk);
    if (chunk->bytes.empty()) break;
    logs::Decoder decoder(chunk->bytes);
    while (const auto line = decoder.next()) numbers += line->text.substr(995);
    offset = chunk->next();
  }
  std::string expected;
  for (int i = 0; i < 4000; ++i) expected += std::string(4 - std::to_string(i).size(), '0') + std::to_string(i);
  EXPECT_EQ(numbers, expected);
  EXPECT_EQ(wait_for_ending(folder).output_end, offset);
}

TEST_F(Output, AFullSpoolThatDropsTheOldestLetsTheWriterGoOn) {
  Launch launch = python("import os\nfor i in range(4000): os.write(1, b'%0999d\\n' % i)\n");
  launch.limits.spool = ByteSize{262'144};
  launch.limits.spool_full = cluster::SpoolFull::drop_oldest;
  const std::string folder = begin(launch);
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  const std::string text = output(folder);
  EXPECT_TRUE(text.ends_with("3999\n"));
  EXPECT_LT(text.size(), 2 * 262'144U);
}

}  // namespace
}  // namespace cadre::supervisor
