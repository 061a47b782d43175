// Messages, packets and files that cadre processes write for each other, as checked-in bytes of each minor version: a
// change of this version's bytes shows in the golden file, and the bytes of older versions stay readable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/protocol.h"
#include "cluster/data_folder.h"
#include "cluster/ending.h"
#include "cluster/messages.h"
#include "gateway/requests_for_tests.h"
#include "remote/frame.h"
#include "tests/wire/kinds.h"

namespace cadre {
namespace {

namespace fs = std::filesystem;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using describe::Value;
using wire::example_of;

const fs::path golden = fs::path(CADRE_SOURCE_DIR) / "tests/golden/wire";

/// `0.2`: versions that differ in the last number only have the same bytes.
std::string minor_version() {
  const std::string text(version());
  return text.substr(0, text.rfind('.'));
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

TEST(WireMessages, OfThisVersionAreTheCheckedInBytes) {
  const fs::path path = golden / (minor_version() + ".txt");
  std::ostringstream text;
  for (const auto& [name, kind] : wire::all_kinds()) text << name << ' ' << to_hex(kind.example()) << '\n';
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text.str();
  std::ifstream file(path);
  const std::string checked_in(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(checked_in == text.str())
      << "what processes say to each other has changed. An added key with a default is fine: run with "
         "CADRE_UPDATE_GOLDEN=1. A changed meaning needs a new key, a removed one a new protocol number "
         "(base/protocol.h)";
}

TEST(WireMessages, OfAllVersionsAreReadWithoutLoss) {
  const wire::Kinds kinds = wire::all_kinds();
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".txt") continue;
    ++files;
    for (const auto& [name, bytes] : read_golden(entry.path())) {
      SCOPED_TRACE(entry.path().filename().string() + ": " + name);
      const auto kind = kinds.find(name);
      ASSERT_NE(kind, kinds.end()) << "a kind of message is gone; old peers still send it";
      EXPECT_TRUE(kind->second.reads(bytes));
    }
  }
  EXPECT_GE(files, 2) << "those of this version, and of the first whose peers work with it";
}

/// All places where a program reads what another process has written, as `file type`, and the kinds of which golden
/// files have examples. A kind ends with a dot when it is one of a closed list.
const std::map<std::string, std::string> readers = {
    {"agent/agent.cc messages::FromMaster", "envelope_to_agent"},
    {"agent/bulk_link.cc bulk::FromMaster", "bulk_to_agent."},
    {"agent/joining.cc joining::Answer", "join_answer."},
    {"agent/process/supervisor_link.cc supervision::FromSupervisor", "supervisor_to_agent."},
    {"agent/process/task_folder.cc supervision::Launch", "launch_file"},
    {"app/listener.cc cluster::KnownMaster", "client_file"},
    {"app/master_of_agent.cc cluster::KnownMaster", "client_file"},
    {"app/master_process.cc cluster::KnownMaster", "client_file"},
    {"cli/launch/nodes.cc LaunchNote", "launch_note"},
    {"client/actors/actor.cc ActorCard", "actor_card"},
    {"client/attachment.cc ToTask", "supervisor_to_task."},
    {"client/cluster/which_master.cc KnownMaster", "client_file"},
    {"client/cluster/which_master.cc Logins", "logins_file"},
    {"client/components/switchboard.cc remote::Card", "component_card"},
    {"client/gang/announced.cc GangCard", "gang_card"},
    {"client/gang/meeting.cc GangCard", "gang_card"},
    {"client/gang/meeting.cc MeetingNews", "meeting_news"},
    {"cluster/ending.cc TaskEnding", "ending_file"},
    {"cluster/joining.cc Ticket", "join_ticket"},
    {"master/bulk_service.cc bulk::ToMaster", "bulk_to_master."},
    {"master/cluster_shell.cc messages::FromAgent", "envelope_to_master"},
    {"master/join_service.cc joining::Join", "join"},
    {"remote/frame.cc T", "frame.hello"},
    {"rest/client.cc api::Problem", "problem"},
    {"rest/client.h T", "response."},
    {"supervisor/agent_side.cc FromAgent", "agent_to_supervisor."},
    {"supervisor/supervisor.cc Launch", "launch_file"},
    {"supervisor/task_side.cc FromTask", "task_to_supervisor."},
};
/// What need not be in golden files, and why.
const std::map<std::string, std::string> exempt_readers = {
    {"agent/joining.cc MasterContact",
     "its keys are in the tickets of the agent, too; a test of the agent has its file"},
    {"client/search/search_program.cc SearchProgram::Kept", "a test of the module has a file of each version"},
    {"client/search/search_program.cc search::Event", "a test of experiment has rows of each version"},
    {"client/trial/local_trial.cc CheckpointView", "its keys are in the golden responses"},
    {"client/trial/local_trial.cc LocalRun", "a folder off the cluster is resumed by the program that wrote it"},
    {"client/trial/trial_checkpoints.cc Done", "the ranks of a trial run one version"},
    {"client/trial/trial_inside.cc Beginning", "the ranks of a trial run one version"},
    {"cluster/control/cluster_part.cc requests::GetSnapshot", "a cursor is read by the process that wrote it"},
    {"experiment/recorded_search.cc Kept", "a test of the module has rows of each version"},
    {"experiment/recorded_search.cc search::Event", "a test of the module has rows of each version"},
    {"master/cluster_files.cc Mark", "two keys; a test of the master has its file"},
    {"records/columns.h T", "JSON columns are in the golden rows"},
    {"supervisor/forking/fork_line.cc FromForked", "a template ends with its agent, so both are of one version"},
    {"supervisor/forking/forked.cc Request", "a template ends with its agent, so both are of one version"},
};

/// The types in calls of these functions. No regular expression: g++ 12 warns about its own with a sanitizer.
std::vector<std::string> types_read_in(std::string_view text) {
  std::vector<std::string> types;
  for (const std::string_view function : {"read_msgpack<", "read_json_of_peer<", "read_of_peer<"}) {
    for (std::size_t at = text.find(function); at != std::string_view::npos; at = text.find(function, at + 1)) {
      const std::string_view rest = text.substr(at + function.size());
      const std::size_t end = rest.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:");
      if (end != 0 && rest.substr(end).starts_with(">(")) types.emplace_back(rest.substr(0, end));
    }
  }
  return types;
}

std::set<std::string> places_where_peers_are_read() {
  const fs::path source = fs::path(CADRE_SOURCE_DIR) / "src";
  std::set<std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source)) {
    const std::string file = fs::relative(entry.path(), source).string();
    const bool is_code = file.ends_with(".cc") || file.ends_with(".h");
    const bool is_test = file.find("_test.") != std::string::npos || file.find("for_tests") != std::string::npos;
    if (!is_code || is_test || file.starts_with("describe/") || file == "supervisor/rig.h") continue;
    std::ifstream stream(entry.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (const std::string& type : types_read_in(text)) found.insert(file + " " + type);
  }
  return found;
}

TEST(WireMessages, HaveExamplesOfEverythingThatProcessesRead) {
  const std::set<std::string> places = places_where_peers_are_read();
  const wire::Kinds kinds = wire::all_kinds();
  for (const std::string& place : places) {
    EXPECT_TRUE(readers.contains(place) || exempt_readers.contains(place))
        << place << ": add the type to tests/wire/kinds.cc, and the place to this list";
  }
  for (const auto& [place, kind] : readers) {
    EXPECT_TRUE(places.contains(place)) << place << " is gone; remove it from this list";
    const auto example = kinds.lower_bound(kind);
    ASSERT_NE(example, kinds.end()) << kind;
    EXPECT_TRUE(kind.ends_with('.') ? example->first.starts_with(kind) : example->first == kind) << kind;
  }
  for (const auto& [place, why] : exempt_readers) EXPECT_TRUE(places.contains(place)) << place << " is gone: " << why;
}

TEST(WireRequests, AtTheirDefaultsHaveOnlyRequiredFields) {
  gateway::for_all_requests([]<class T>(std::type_identity<T>) {
    std::set<std::string> required;
    std::set<std::string> written;
    for (const describe::FieldShape& field : describe::outline<T>().fields) {
      if (field.is_required) required.insert(field.key);
    }
    const Value sent = describe::write(T{}, describe::Defaults::omitted);
    for (const describe::Entry& field : *sent.as<Value::Map>()) written.insert(field.key);
    EXPECT_EQ(written, required) << T::type_name;
  });
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

TEST(WireMessages, RefusesUnknownKeysInUserInput) {
  const std::string text = R"({"url": "http://x", "colour": "red"})";
  EXPECT_FALSE(describe::read_json<cluster::KnownMaster>(text));
  EXPECT_TRUE(describe::read_json_of_peer<cluster::KnownMaster>(text));
}

}  // namespace
}  // namespace cadre
