#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "remote/event_table.h"

namespace cadre::remote {
namespace {

/// Writes down what comes to a table and what it does. The type of `worker-1` is `worker`.
class Teller {
 public:
  explicit Teller(std::size_t waiting_most) : table_(waiting_most) {}

  void add(const std::string& event) {
    const auto number = table_.add(event);
    text_ += "handler " + (number ? std::to_string(*number) : "?") + " when " + event + "\n";
    if (!number) text_ += "  error: " + number.error().message + "\n";
    handlers_ += number ? 1 : 0;
  }

  void peers(const std::vector<std::string>& names) {
    std::vector<Peer> peers;
    text_ += "peers:";
    for (const std::string& name : names) {
      peers.push_back({name, type_of(name)});
      text_ += " " + name;
    }
    text_ += "\n";
    tell(table_.set_peers(peers));
  }

  void send(const std::string& source, const std::string& tag, int times = 1) {
    for (; times > 0; --times) {
      text_ += "m" + std::to_string(++last_) + ": " + source + " " + tag + "\n";
      const auto pushed = table_.push({{last_}, source, type_of(source), tag});
      if (!pushed) {
        text_ += "  error: " + pushed.error().message + "\n";
        continue;
      }
      if (pushed->events == 0) text_ += "  nobody waits for it\n";
      tell(pushed->firings);
    }
  }

  std::string text() const {
    std::string end = "waiting:";
    for (std::size_t handler = 0; handler < handlers_; ++handler) end += " " + std::to_string(table_.waiting(handler));
    return text_ + end + "\n";
  }

 private:
  static std::string type_of(const std::string& name) { return name.substr(0, name.find('-')); }

  void tell(const std::vector<Firing>& firings) {
    for (const Firing& firing : firings) {
      text_ += "  -> handler " + std::to_string(firing.handler) + ":";
      for (const MessageHandle message : firing.messages) text_ += " m" + std::to_string(message.value);
      text_ += "\n";
    }
  }

  EventTable table_;
  std::string text_;
  std::uint64_t last_ = 0;
  std::size_t handlers_ = 0;
};

struct Scene {
  std::string title;
  std::function<void(Teller&)> play;
  std::size_t waiting_most = 100;
};

const std::vector<Scene> scenes = {
    {"A learner waits for most of its workers",
     [](Teller& teller) {
       teller.add("worker:update:60%");
       teller.add("*:stop:1");
       teller.peers({"worker-1", "worker-2", "worker-3", "worker-4", "worker-5", "tester-1"});
       teller.send("worker-1", "update");
       teller.send("worker-1", "update");
       teller.send("worker-2", "hello");
       teller.send("worker-2", "update");
       teller.send("tester-1", "stop");
     }},
    {"The same, but each of them must have spoken",
     [](Teller& teller) {
       teller.add("worker:update:60%:distinct");
       teller.peers({"worker-1", "worker-2", "worker-3", "worker-4", "worker-5"});
       teller.send("worker-1", "update", 3);
       teller.send("worker-2", "update", 2);
       teller.send("worker-3", "update", 2);
     }},
    {"Workers go, and what waits becomes enough; they come back, and it takes more again",
     [](Teller& teller) {
       teller.add("worker:update:100%");
       teller.peers({"worker-1", "worker-2", "worker-3", "worker-4"});
       teller.send("worker-1", "update");
       teller.send("worker-2", "update");
       teller.peers({"worker-1", "worker-2", "worker-3"});
       teller.send("worker-1", "update");
       teller.peers({"worker-1", "worker-2"});
       teller.send("worker-1", "update", 3);
       teller.peers({"worker-1", "worker-2", "worker-3", "worker-4"});
       teller.send("worker-1", "update");
       teller.peers({});
     }},
    {"An AND with an OR inside",
     [](Teller& teller) {
       teller.add("worker:update:2 AND (tester:done:1 OR *:stop:1)");
       teller.send("driver-1", "stop");
       teller.send("worker-1", "update");
       teller.send("tester-1", "done");
       teller.send("worker-1", "update");
       teller.send("worker-1", "update", 2);
       teller.send("tester-1", "done");
     }},
    {"An OR leaves queued what it does not take",
     [](Teller& teller) {
       teller.add("worker:update:2 OR tester:done:2");
       teller.send("tester-1", "done");
       teller.send("worker-1", "update", 2);
       teller.send("worker-1", "update");
       teller.send("tester-1", "done");
     }},
    {"One message for several handlers",
     [](Teller& teller) {
       teller.add("worker-1:update:1");
       teller.add("worker:update:2");
       teller.add("*:*:3");
       teller.send("worker-1", "update");
       teller.send("worker-2", "update");
       teller.send("tester-1", "done");
     }},
    {"Terms that match the same messages",
     [](Teller& teller) {
       teller.add("*:update:2 AND worker:*:1");
       teller.send("worker-1", "update", 3);
       teller.send("tester-1", "update", 2);
       teller.send("worker-1", "done");
     }},
    {"Too much of one thing",
     [](Teller& teller) {
       teller.add("worker:update:1 AND tester:done:2");
       teller.add("worker:update:4");
       teller.send("worker-1", "update", 5);
       teller.send("tester-1", "done", 2);
       teller.send("worker-1", "update", 2);
     },
     3},
    {"What cannot be an event",
     [](Teller& teller) {
       teller.add("worker:update");
       teller.add("worker:update:60% and tester:done:1");
       teller.add("(worker:update:1 OR tester:done:1");
       teller.add("worker:update:0");
       teller.add("worker:update:1");
     }},
};

TEST(EventTable, MatchesTheGoldenTranscript) {
  std::string text;
  for (const Scene& scene : scenes) {
    Teller teller(scene.waiting_most);
    scene.play(teller);
    text += "# " + scene.title + "\n" + teller.text() + "\n";
  }
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/remote/events.txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text) << "if it should change: CADRE_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace cadre::remote
