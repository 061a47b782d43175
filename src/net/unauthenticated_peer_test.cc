// Whoever reaches the port may say what they like: they are refused and counted, and cost nothing that lasts.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/backends_test.h"
#include "net/raw_socket_test.h"
#include "tests/servers/process.h"

namespace cadre::net {
namespace {

using testing::Each;

/// A greeting of ZMTP 3.1 with a mechanism.
std::string greeting(const std::string& mechanism) {
  std::string text = "\xff";
  text += std::string(7, '\0') + "\x01\x7f\x03\x01" + mechanism;
  text.resize(64, '\0');
  return text;
}

std::string random_bytes(Dice& dice, std::size_t size) {
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(dice.bits());
  return text;
}

/// A long frame with this flag byte that claims a size.
std::string frame_head(char flags, std::uint64_t size) {
  std::string text(1, flags);
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift);
  return text;
}

const std::string null_ready(
    "\x04\x1c\x05READY\x0bSocket-Type\x00\x00\x00\x06"
    "DEALER",
    30);

/// What a stranger might say; `recorded` is what a link said in a session of its own.
std::string strange_words(Dice& dice, const std::string& recorded) {
  const std::string mechanism = recorded.empty() ? "NULL" : "CURVE";
  switch (dice.below(9)) {
    case 0: return random_bytes(dice, dice.below(2'000));
    case 1: return greeting(mechanism).substr(0, dice.below(64));
    case 2: return greeting(mechanism) + frame_head(dice.percent(50) ? 2 : 6, std::uint64_t{1} << 60);
    case 3: return greeting(recorded.empty() ? "CURVE" : "NULL") + null_ready;
    case 4: return greeting(mechanism) + random_bytes(dice, dice.below(500));
    case 5: return greeting("CURVE") + std::string("\x04\xc8\x05HELLO\x01\x00", 10) + random_bytes(dice, 192);
    case 6: return "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    case 7: return recorded.substr(0, dice.below(recorded.size() + 1));
    default: {
      std::string text = recorded;
      if (dice.percent(50) && !text.empty()) text[dice.below(text.size())] ^= static_cast<char>(dice.between(1, 255));
      return text;
    }
  }
}

void attack(Dice& dice, const std::string& address, const std::string& recorded) {
  const RawSocket socket = RawSocket::connect_to(address);
  socket.say(strange_words(dice, recorded));
  if (dice.percent(30)) static_cast<void>(socket.hear(2));
}

/// Two ends of a way between processes; what is said is one byte, or a text with its size before.
struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() { close(ends[0]), close(ends[1]); }
  void say(const std::string& text) const {
    const std::size_t size = text.size();
    EXPECT_EQ(write(ends[1], &size, sizeof size), static_cast<ssize_t>(sizeof size));
    EXPECT_EQ(write(ends[1], text.data(), size), static_cast<ssize_t>(size));
  }
  std::string hear() const {
    std::size_t size = 0;
    if (read(ends[0], &size, sizeof size) != sizeof size) _exit(1);
    std::string text(size, '\0');
    for (std::size_t got = 0; got < size;) {
      const ssize_t more = read(ends[0], text.data() + got, size - got);
      if (more <= 0) _exit(1);
      got += static_cast<std::size_t>(more);
    }
    return text;
  }
  bool has_news() const {
    pollfd item{ends[0], POLLIN, 0};
    return poll(&item, 1, 0) == 1;
  }
  int ends[2];
};

constexpr int attacks_in_round = 5'000;

/// Made before the network, so that no thread is there to be forked.
class Attacker {
 public:
  Attacker() : child_(servers::fork_child([this] { return run(); })) {}
  ~Attacker() { servers::kill_tree(child_); }
  void begin(const std::string& address, const std::string& recorded) const {
    orders_.say(address);
    orders_.say(recorded);
  }
  void next_round() const { orders_.say("go"); }
  bool round_is_over() const { return reports_.has_news(); }
  void take_report() const { reports_.hear(); }

 private:
  int run() const {
    Dice dice(17);
    const std::string address = orders_.hear();
    const std::string recorded = orders_.hear();
    while (true) {
      orders_.hear();
      for (int i = 0; i < attacks_in_round; ++i) attack(dice, address, recorded);
      reports_.say("done");
    }
  }
  Pipe orders_;
  Pipe reports_;
  pid_t child_;
};

/// Of what is in use: what was freed is given back first.
std::int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::int64_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measures_memory = false;  // what is freed is kept for a while
#else
constexpr bool measures_memory = true;
#endif

/// A hub with a good link that is answered all the time, whatever else is going on.
template <class Side>
struct Besieged {
  explicit Besieged(Side& s) : side(s) {
    HubOptions options{.addresses = {side.address()}, .limits = quick()};
    if (Side::has_keys) options.keys = hub_keys;
    options.admission = Admission::only({keys.open});
    hub = side.hub_side()
              .bind(options,
                    [this](const Peer& peer, const Slice& message) {
                      heard.push_back(text_of(message));
                      EXPECT_EQ(peer.key, Side::has_keys ? keys.open : PublicKey());
                      EXPECT_TRUE(hub->send(peer, message));
                    })
              .value();
    link = connect(hub->addresses().front());
    ask();
  }
  std::unique_ptr<Link> connect(const std::string& address) {
    LinkOptions options{.address = address, .limits = quick()};
    if (Side::has_keys) options.keys = keys, options.hub_key = hub_keys.open;
    return side.link_side().connect(options, [this](const Slice&) { ++answers; }).value();
  }
  void ask() {
    if (link) static_cast<void>(link->send(as_bytes("good")));
    asking = side.loop.after(milliseconds(1), [this] { ask(); });
  }
  /// Answers come in one after another.
  void expect_service() {
    const std::uint64_t before = answers;
    run_until(
        side.loop, [&] { return answers > before + 5; }, seconds(60));
  }

  Side& side;
  Dice dice{29};
  const Keys hub_keys = draw_keys(dice);
  const Keys keys = draw_keys(dice);
  std::vector<std::string> heard;
  std::uint64_t answers = 0;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<Link> link;
  loop::Timer asking;
};

template <class Side>
void endure(Attacker& attacker, Side& side, const std::string& recorded, Besieged<Side>& besieged) {
  besieged.expect_service();
  const std::int64_t files = open_files();
  attacker.begin(besieged.hub->addresses().front(), recorded);
  std::vector<std::int64_t> memory;
  for (int round = 1; round <= 2; ++round) {
    attacker.next_round();
    const std::uint64_t before = besieged.answers;
    run_until(
        side.loop, [&] { return attacker.round_is_over(); }, seconds(600));
    attacker.take_report();
    EXPECT_GT(besieged.answers, before + 10) << "it was not served meanwhile";
    const auto strangers = [&] {
      const Counters now = besieged.hub->counters();
      return now.connections - now.authenticated;
    };
    const auto all_gone = [&] { return besieged.hub->counters().disconnected >= strangers(); };
    run_until(side.loop,
              [&] { return strangers() >= static_cast<std::uint64_t>(round) * attacks_in_round && all_gone(); });
    EXPECT_GT(besieged.hub->counters().handshakes_failed, static_cast<std::uint64_t>(round) * attacks_in_round / 2);
    run_until(side.loop, [&] { return open_files() <= files; });
    memory.push_back(resident_bytes());
  }
  besieged.expect_service();
  EXPECT_THAT(besieged.heard, Each("good"));
  EXPECT_EQ(besieged.hub->counters().authenticated, 1);
  ::testing::Test::RecordProperty("resident_bytes_grown", static_cast<int>(memory[1] - memory[0]));
  std::printf("resident after %d: %.2f MiB, after %d: %.2f MiB\n", attacks_in_round, memory[0] / 1048576.0,
              2 * attacks_in_round, memory[1] / 1048576.0);
  EXPECT_TRUE(!measures_memory || memory[1] - memory[0] < 1 << 20) << memory[1] - memory[0];
}

TEST(UnauthenticatedPeer, IsRefusedOnTheEncryptedPortAndCostsNothingThatLasts) {
  Attacker attacker;
  ByTcp side;
  Besieged<ByTcp> besieged(side);
  Recorder recorder(besieged.hub->addresses().front());
  {
    const std::string first = recorder.address();
    const auto link = besieged.connect(first);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(link->send(as_bytes("good")));
    run_until(side.loop, [&] { return link->counters().received == 5; });
  }
  const std::string recorded = recorder.recorded();
  EXPECT_GT(recorded.size(), 500);
  besieged.hub.reset();
  besieged.link.reset();
  besieged.heard.clear();
  Besieged<ByTcp> again(side);  // with fresh counters, and the keys of the recorded session
  endure(attacker, side, recorded, again);
}

TEST(UnauthenticatedPeer, IsRefusedOnTheUnixSocketAndCostsNothingThatLasts) {
  Attacker attacker;
  ByUnixSocket side;
  Besieged<ByUnixSocket> besieged(side);
  endure(attacker, side, "", besieged);
}

}  // namespace
}  // namespace cadre::net
