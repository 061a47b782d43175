#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/seeds.h"
#include "describe/formats.h"
#include "describe/python_for_tests.h"
#include "describe/random.h"

namespace cadre::describe {
namespace {

using testing::HasSubstr;

std::string framed(std::string_view bytes) {
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(bytes.size() >> shift & 0xff);
  return frame + std::string(bytes);
}

std::vector<std::string> frames_of(std::string_view text) {
  std::vector<std::string> frames;
  while (text.size() >= 4) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    frames.emplace_back(text.substr(4, size));
    text.remove_prefix(std::min(text.size(), 4 + size));
  }
  return frames;
}

constexpr std::string_view python_frames = R"(
import sys, struct, msgpack, json, base64, math, random
def frames():
    data = sys.stdin.buffer.read()
    at = 0
    while at < len(data):
        size, = struct.unpack_from('>I', data, at)
        yield data[at + 4:at + 4 + size]
        at += 4 + size
def write(frame):
    sys.stdout.buffer.write(struct.pack('>I', len(frame)) + frame)
def unpack(frame):
    return msgpack.unpackb(frame, raw=False)
def pack(value):
    return msgpack.packb(value, use_bin_type=True)
)";

Fault only_msgpack_fault(std::string_view bytes, const Bounds& bounds = {}) {
  const Parsed parsed = parse_msgpack(as_bytes(bytes), bounds);
  EXPECT_FALSE(parsed);
  if (parsed) return {};
  EXPECT_EQ(parsed.error().count(), 1u) << to_text(parsed.error(), "");
  return parsed.error().kept().front();
}

TEST(MessagePack, AnyTreeReadsBack) {
  FOR_SEEDS(5'000, [](Dice& dice) {
    const Value tree = random_tree(dice);
    const Parsed parsed = parse_msgpack(to_msgpack(tree));
    ASSERT_TRUE(parsed) << to_text(parsed.error(), "");
    ASSERT_EQ(*parsed, tree);
  });
}

TEST(MessagePack, PythonReadsWhatWeWriteAndWritesTheSameBytes) {
  std::string input;
  std::vector<std::string> sent;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    Dice dice(seed);
    const Value tree = random_tree(dice);
    sent.emplace_back(as_text(to_msgpack(tree)));
    input += framed(sent.back()) + framed(to_json(tree));
  }
  const std::string program = std::string(python_frames) + R"(
def plain(value):  # as our JSON spells what JSON has not
    if isinstance(value, bytes): return base64.b64encode(value).decode()
    if isinstance(value, float) and math.isnan(value): return 'NaN'
    if isinstance(value, float) and math.isinf(value): return 'Infinity' if value > 0 else '-Infinity'
    if isinstance(value, list): return [plain(item) for item in value]
    if isinstance(value, dict): return {key: plain(item) for key, item in value.items()}
    return value
every = list(frames())
for packed, text in zip(every[::2], every[1::2]):
    value = unpack(packed)
    assert repr(plain(value)) == repr(json.loads(text)), (value, text)
    write(pack(value))
)";
  const std::vector<std::string> received = frames_of(run_python(program, input));
  ASSERT_EQ(received.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(received[i], sent[i]) << "seed " << i + 1;
}

TEST(MessagePack, WeReadWhatPythonWritesAndWriteTheSameBytes) {
  const std::string program = std::string(python_frames) + R"(
random.seed(7)
def make(depth):
    kind = random.randrange(10 if depth > 0 else 7)
    if kind == 0: return random.choice([None, True, False])
    if kind == 1: return random.randrange(-2**63, 2**64)
    if kind == 2: return random.choice([1, -1]) * random.randrange(2**random.randrange(1, 63))
    if kind == 3: return random.uniform(-1e9, 1e9)
    if kind == 4: return random.choice([float('nan'), float('inf'), -0.0, 5e-324])
    if kind == 5: return ''.join(random.choice('aé€😀\n"') for _ in range(random.choice([0, 3, 40, 300])))
    if kind == 6: return random.randbytes(random.choice([0, 3, 40, 300]))
    if kind == 7: return {str(i): make(depth - 1) for i in range(random.choice([0, 2, 5, 20]))}
    return [make(depth - 1) for _ in range(random.choice([0, 2, 5, 20]))]
edges = ['x' * 65535, 'x' * 65536, b'y' * 65535, b'y' * 65536, [None] * 65535, [None] * 65536,
         {str(i): i for i in range(65535)}, {str(i): i for i in range(65536)}]
for bits in (5, 7, 8, 15, 16, 31, 32, 63, 64):
    for near in (-1, 0, 1):
        for number in (2**bits + near, -2**bits + near):
            if -2**63 <= number < 2**64: edges.append(number)
for value in edges + [make(3) for _ in range(3000)]:
    packed = msgpack.packb(value, use_bin_type=True, use_single_float=random.random() < 0.3)
    write(packed)
    write(pack(unpack(packed)))
)";
  const std::vector<std::string> received = frames_of(run_python(program, ""));
  ASSERT_GT(received.size(), 6'000u);
  for (std::size_t i = 0; i < received.size(); i += 2) {
    const Parsed parsed = parse_msgpack(as_bytes(received[i]));
    ASSERT_TRUE(parsed) << to_text(parsed.error(), "");
    ASSERT_EQ(as_text(to_msgpack(*parsed)), received[i + 1]) << i;
  }
}

TEST(MessagePack, RefusesMalformedInput) {
  EXPECT_THAT(only_msgpack_fault("").message, HasSubstr("ends too early"));
  EXPECT_THAT(only_msgpack_fault("\xdd\xff\xff\xff\xff").message, HasSubstr("ends too early"));
  EXPECT_THAT(only_msgpack_fault("\xdf\xff\xff\xff\xff").message, HasSubstr("ends too early"));
  EXPECT_THAT(only_msgpack_fault("\xdb\xff\xff\xff\xff").message, HasSubstr("ends too early"));
  EXPECT_THAT(only_msgpack_fault("\xc6\xff\xff\xff\xff").message, HasSubstr("ends too early"));
  EXPECT_THAT(only_msgpack_fault("\xc1").message, HasSubstr("0xc1 is not valid"));
  EXPECT_THAT(only_msgpack_fault("\xd4\x01\x02").message, HasSubstr("ext format"));
  EXPECT_THAT(only_msgpack_fault(std::string("\xc7\x00\x01", 3)).message, HasSubstr("ext format"));
  EXPECT_THAT(only_msgpack_fault("\xc0\xc0").message, HasSubstr("after its end"));
  EXPECT_THAT(only_msgpack_fault("\x81\x01\x02").message, HasSubstr("keys are str"));
  EXPECT_THAT(only_msgpack_fault("\x81\xc4\x01\x61\x02").message, HasSubstr("keys are str"));
  EXPECT_THAT(only_msgpack_fault("\xa1\xff").message, HasSubstr("not UTF-8"));
  EXPECT_EQ(only_msgpack_fault("\x82\xa1\x61\x01\xa1\x61\x02"), (Fault{"a", "is given twice; remove one", {}}));
}

TEST(MessagePack, HasBounds) {
  EXPECT_TRUE(parse_msgpack(as_bytes(std::string(64, '\x91') + "\x01")));
  EXPECT_THAT(only_msgpack_fault(std::string(65, '\x91') + "\x01").message, HasSubstr("deeper than 64"));
  EXPECT_THAT(only_msgpack_fault(std::string(1'000'000, '\x91')).message, HasSubstr("deeper than 64"));
  EXPECT_THAT(only_msgpack_fault("\x93\x01\x02\x03", {.nodes = 3}).message, HasSubstr("more than 3 values"));
  EXPECT_THAT(only_msgpack_fault("\x93\x01\x02\x03", {.size_bytes = 3}).message, HasSubstr("at most 3"));
}

}  // namespace
}  // namespace cadre::describe
