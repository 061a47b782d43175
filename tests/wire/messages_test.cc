// Messages, packets and files that cadre processes write for each other, as checked-in bytes of each minor version: a
// change of this version's bytes shows in the golden file, and the bytes of older versions stay readable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "base/hash.h"
#include "base/protocol.h"
#include "client/actors/actor_card.h"
#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/ending.h"
#include "cluster/joining.h"
#include "cluster/messages.h"
#include "describe/random.h"
#include "remote/frame.h"

namespace cadre {
namespace {

namespace fs = std::filesystem;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using describe::Value;

const fs::path golden = fs::path(CADRE_SOURCE_DIR) / "tests/golden/wire";

/// `0.2`: versions that differ in the last number only have the same bytes.
std::string minor_version() {
  const std::string text(version());
  return text.substr(0, text.rfind('.'));
}

/// One kind of message: an example of it, and how its bytes are read.
struct Kind {
  std::function<Bytes()> example;
  std::function<describe::Read<Value>(BytesView)> reread;
};
using Kinds = std::map<std::string, Kind>;

template <class T>
T example_of(const std::string& name) {
  Dice dice(fnv1a(name));
  T value{};
  describe::fill_randomly(value, dice, describe::Limits{}, describe::RandomDepth{1});
  return value;
}

template <class T>
describe::Read<Value> reread(BytesView bytes) {
  return describe::read_msgpack<T>(bytes).map([](const T& value) { return describe::write(value); });
}

template <class T>
void add(Kinds& kinds, const std::string& name) {
  kinds[name] = {[name] { return describe::write_msgpack(example_of<T>(name)); }, reread<T>};
}

template <class... Ts>
void add_each(Kinds& kinds, const std::string& family, std::type_identity<std::variant<Ts...>>) {
  using Choice = std::variant<Ts...>;
  const auto add_one = [&]<class T>(std::type_identity<T>) {
    const std::string name = family + "." + std::string(T::type_name);
    kinds[name] = {[name] { return describe::write_msgpack(Choice(example_of<T>(name))); }, reread<Choice>};
  };
  (add_one(std::type_identity<Ts>{}), ...);
}

Kinds all_kinds() {
  Kinds kinds;
  add_each(kinds, "agent_to_master", std::type_identity<decltype(messages::FromAgent::body)>{});
  add_each(kinds, "master_to_agent", std::type_identity<messages::MasterMessage>{});
  add<messages::FromAgent>(kinds, "envelope_to_master");
  add<messages::FromMaster>(kinds, "envelope_to_agent");
  add_each(kinds, "bulk_to_master", std::type_identity<cluster::bulk::ToMaster>{});
  add_each(kinds, "bulk_to_agent", std::type_identity<cluster::bulk::FromMaster>{});
  add<cluster::joining::Ticket>(kinds, "join_ticket");
  add<cluster::joining::Join>(kinds, "join");
  add_each(kinds, "join_answer", std::type_identity<cluster::joining::Answer>{});
  add<supervision::Launch>(kinds, "launch_file");
  add<cluster::TaskEnding>(kinds, "ending_file");
  add_each(kinds, "agent_to_supervisor", std::type_identity<supervision::FromAgent>{});
  add_each(kinds, "supervisor_to_agent", std::type_identity<supervision::FromSupervisor>{});
  add_each(kinds, "task_to_supervisor", std::type_identity<supervision::FromTask>{});
  add_each(kinds, "supervisor_to_task", std::type_identity<supervision::ToTask>{});
  add<remote::Hello>(kinds, "component_hello");
  add<remote::Welcome>(kinds, "component_welcome");
  add<remote::Card>(kinds, "component_card");
  add<client::ActorCard>(kinds, "actor_card");
  add<cluster::KnownMaster>(kinds, "client_file");
  return kinds;
}

std::string to_hex(BytesView bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += digits[std::to_integer<unsigned>(each) >> 4];
    text += digits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

Bytes from_hex(const std::string& text) {
  Bytes bytes;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(at, 2), nullptr, 16)));
  }
  return bytes;
}

/// What a golden file holds: bytes by the name of their kind.
std::map<std::string, Bytes> read_golden(const fs::path& path) {
  std::map<std::string, Bytes> found;
  std::ifstream file(path);
  for (std::string name, hex; file >> name >> hex;) found[name] = from_hex(hex);
  return found;
}

/// Everything in `old` is in `now` with the same value; `now` may have more keys.
testing::AssertionResult keeps(const Value& old, const Value& now, const std::string& path) {
  const auto* map = old.as<Value::Map>();
  const auto* list = old.as<Value::List>();
  if (map != nullptr) {
    for (const describe::Entry& entry : *map) {
      const Value* value = now.find(entry.key);
      if (value == nullptr) return testing::AssertionFailure() << path << "." << entry.key << " is lost";
      if (auto inside = keeps(entry.value, *value, path + "." + entry.key); !inside) return inside;
    }
    return testing::AssertionSuccess();
  }
  if (list != nullptr) {
    const auto* items = now.as<Value::List>();
    if (items == nullptr || items->size() != list->size()) return testing::AssertionFailure() << path << " differs";
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (auto inside = keeps((*list)[i], (*items)[i], path + "[]"); !inside) return inside;
    }
    return testing::AssertionSuccess();
  }
  return old == now ? testing::AssertionSuccess() : testing::AssertionFailure() << path << " differs";
}

TEST(WireMessages, OfThisVersionAreTheCheckedInBytes) {
  const fs::path path = golden / (minor_version() + ".txt");
  std::ostringstream text;
  for (const auto& [name, kind] : all_kinds()) text << name << ' ' << to_hex(kind.example()) << '\n';
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text.str();
  std::ifstream file(path);
  const std::string checked_in(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(checked_in == text.str())
      << "what processes say to each other has changed. An added key with a default is fine: run with "
         "CADRE_UPDATE_GOLDEN=1. A changed meaning needs a new key, a removed one a new protocol number "
         "(base/protocol.h)";
}

TEST(WireMessages, OfAllVersionsAreReadWithoutLoss) {
  const Kinds kinds = all_kinds();
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    for (const auto& [name, bytes] : read_golden(entry.path())) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + name);
      const auto kind = kinds.find(name);
      ASSERT_NE(kind, kinds.end()) << "a kind of message is gone; old peers still send it";
      const auto now = kind->second.reread(bytes);
      ASSERT_TRUE(now) << describe::to_text(now.error(), name);
      EXPECT_TRUE(keeps(*describe::parse_msgpack(bytes), *now, name));
    }
  }
  EXPECT_GE(files, 1);
}

/// Records, not maps with free keys: there an added key means something.
template <class T>
void expect_unknown_key_ignored(const std::string& name) {
  const T value = example_of<T>(name);
  Value more = describe::write(value);
  more.set("added_by_a_newer_version", Value(Value::List{Value(1), Value("two")}));
  const auto read = describe::read_msgpack<T>(describe::to_msgpack(more));
  ASSERT_TRUE(read) << name << ": " << describe::to_text(read.error(), name);
  EXPECT_EQ(describe::write(*read), describe::write(value)) << name;
}

TEST(WireMessages, KeysOfNewerVersionsAreIgnored) {
  expect_unknown_key_ignored<messages::Hello>("hello");
  expect_unknown_key_ignored<messages::Start>("start");
  expect_unknown_key_ignored<supervision::Launch>("launch");
  expect_unknown_key_ignored<cluster::TaskEnding>("ending");
  expect_unknown_key_ignored<messages::FromMaster>("from_master");
  expect_unknown_key_ignored<remote::Card>("card");
}

TEST(WireMessages, KeysInsideOfOthersAreIgnoredToo) {
  messages::Hello hello = example_of<messages::Hello>("hello");
  Value more = describe::write(messages::FromAgent{7, hello});
  Value body = *more.find("body");
  Value agent = *body.find("agent");
  agent.set("added", Value(1));
  body.set("agent", std::move(agent));
  more.set("body", std::move(body));
  const auto read = describe::read_msgpack<messages::FromAgent>(describe::to_msgpack(more));
  ASSERT_TRUE(read);
  EXPECT_EQ(describe::write(std::get<messages::Hello>(read->body)), describe::write(hello));
}

TEST(WireMessages, WhatPeopleWriteStaysStrict) {
  const std::string text = R"({"url": "http://x", "colour": "red"})";
  EXPECT_FALSE(describe::read_json<cluster::KnownMaster>(text));
  EXPECT_TRUE(describe::read_json_of_peer<cluster::KnownMaster>(text));
}

}  // namespace
}  // namespace cadre
