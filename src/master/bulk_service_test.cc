#include "master/bulk_service.h"

#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "base/seeds.h"
#include "describe/describe.h"
#include "logs/lines_for_tests.h"
#include "loop/simulated_loop.h"
#include "net/memory_network.h"
#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::master {
namespace {

namespace bulk = cluster::bulk;
using cluster::LeaseId;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr LeaseId lease{{cluster::JobId{17}, 0}, cluster::Epoch{1}};

/// Lines of the log, and nothing of the rest.
struct Lines final : Log {
  void write(Level level, std::string_view message) override {
    lines.push_back(std::string(to_string(level)) + " " + std::string(message));
  }
  std::vector<std::string> lines;
};

/// What somebody was told.
struct Hearer {
  template <class T>
  T take() {
    if (heard.empty() || !std::holds_alternative<T>(heard.front())) {
      ADD_FAILURE() << (heard.empty() ? "no answer" : describe::write_json(heard.front()));
      return {};
    }
    T message = std::get<T>(std::move(heard.front()));
    heard.pop_front();
    return message;
  }
  std::deque<bulk::FromMaster> heard;
};

/// Somebody who speaks to the service over the network.
class Talker : public Hearer {
 public:
  Talker(net::Network& network, net::LinkOptions options)
      : link_(network.connect(std::move(options), [this](BytesView bytes) { hear(bytes); }).value()) {}

  void say(const bulk::ToMaster& message) { say_bytes(describe::write_msgpack(message)); }
  void say_bytes(BytesView bytes) { EXPECT_TRUE(link_->send(bytes)); }

 private:
  void hear(BytesView bytes) {
    auto message = describe::read_msgpack<bulk::FromMaster>(bytes);
    ASSERT_TRUE(message.has_value());
    heard.push_back(*std::move(message));
  }
  std::unique_ptr<net::Link> link_;
};

using Asker = api::CallId;

struct BulkServiceTest : testing::Test {
  /// A caller in this process, under one number.
  struct Guest {
    BulkServiceTest& test;
    Asker asker;
    void say(const bulk::ToMaster& message) const { test.service->ask(asker, message); }
    void leave() const { test.service->forget(asker); }
    std::deque<bulk::FromMaster>& heard() const { return test.told[asker].heard; }
    template <class T>
    T take() const {
      return test.told[asker].take<T>();
    }
  };

  void start() {
    logs = logs::LogStore::open(folder.path() + "/output", {}).value();
    blobs = objects::FileStore::open({folder.path() + "/code", ByteSize{1 << 22}, ByteSize{1 << 21}}).value();
    net::HubOptions options{{"tcp://master:1", "ipc:///bulk"}, hub_keys, net::Admission::only({}), {}};
    options.unix_proof = net::UnixProof::keys;
    service = BulkService::make(
                  {loop, network.host("master"), *logs, *blobs, calendar, log, metrics, holders}, options, limits,
                  [this](Asker asker, bulk::FromMaster message) { told[asker].heard.push_back(std::move(message)); })
                  .value();
    service->allow(agent_keys.open, cluster::AgentId("a"));
    service->allow(other_keys.open, cluster::AgentId("b"));
    holders.learn({lease, cluster::AgentId("a"), true});
    holders.learn({{{cluster::JobId{17}, 1}, cluster::Epoch{1}}, cluster::AgentId("a"), true});
  }
  Talker talk_as_other_agent() { return {network.host("other"), {"tcp://master:1", other_keys, hub_keys.open, {}}}; }
  Talker talk_as_agent() { return {network.host("agent"), {"tcp://master:1", agent_keys, hub_keys.open, {}}}; }
  Talker talk_from_this_host() {
    net::LinkOptions options{"ipc:///bulk", agent_keys, hub_keys.open, {}};
    options.unix_proof = net::UnixProof::keys;
    return {network.host("master"), options};
  }
  Guest guest() { return {*this, ++last_asker}; }
  void pass(Duration time = seconds(1)) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  static Bytes records(const std::string& text) {
    Bytes bytes;
    logs::encode({logs::Stream::out, false, logs::at(1), text}, bytes);
    return bytes;
  }
  template <class Somebody>
  void put(Somebody& somebody, std::int64_t offset, const std::string& text) {
    somebody.say(bulk::PutOutput{++number, lease, offset, false, records(text)});
  }

  servers::TempDir folder;
  Dice dice{1};
  net::Keys hub_keys = net::draw_keys(dice);
  net::Keys agent_keys = net::draw_keys(dice);
  net::Keys other_keys = net::draw_keys(dice);
  loop::SimulatedLoop loop;
  net::MemoryNetwork network{loop};
  loop::Calendar calendar = loop::Calendar::of_simulation(loop);
  Lines log;
  BulkMetrics metrics;
  LeaseHolders holders;
  BulkLimits limits;
  std::unique_ptr<logs::LogStore> logs;
  std::unique_ptr<objects::FileStore> blobs;
  std::map<Asker, Hearer> told;
  std::unique_ptr<BulkService> service;
  Asker last_asker = 0;
  std::uint64_t number = 0;
};

constexpr std::int64_t short_record = logs::header_bytes + 1;

TEST_F(BulkServiceTest, TakesOutputOnlyFromTheAgentThatHoldsTheLease) {
  start();
  Talker thief = talk_as_other_agent();
  put(thief, 0, "forged");
  pass();
  const auto refused = thief.take<bulk::Refused>();
  EXPECT_EQ(refused.code, Errc::denied);
  EXPECT_EQ(refused.lease, lease);
  EXPECT_EQ(logs->end(to_string(lease)), 0);
  EXPECT_EQ(metrics.refused_denied, 1);
  EXPECT_THAT(log.lines, Contains(HasSubstr("does not hold")));

  Talker agent = talk_as_agent();
  put(agent, 0, "a");
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, short_record);
  put(thief, short_record, "forged");
  pass();
  EXPECT_EQ(thief.take<bulk::Refused>().code, Errc::denied);
  EXPECT_EQ(logs->end(to_string(lease)), short_record);
}

TEST_F(BulkServiceTest, ARevokedAgentIsHeardNoMore) {
  start();
  Talker agent = talk_as_agent();
  put(agent, 0, "a");
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, short_record);
  service->revoke(agent_keys.open);
  put(agent, short_record, "b");
  pass();
  EXPECT_TRUE(agent.heard.empty());
  EXPECT_EQ(logs->end(to_string(lease)), short_record);
}

TEST_F(BulkServiceTest, AcknowledgesKnowsWhatCameTwiceAndTellsOfGaps) {
  start();
  Talker agent = talk_as_agent();
  put(agent, 0, "a");
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, short_record);
  put(agent, 0, "a");
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, short_record);
  put(agent, 2 * short_record, "c");
  pass();
  const auto gap = agent.take<bulk::OutputStored>();
  EXPECT_TRUE(gap.gap);
  EXPECT_EQ(gap.number, 3);
  EXPECT_EQ(gap.end, short_record);
  agent.say(bulk::PutOutput{4, lease, 2 * short_record, true, records("c")});
  pass();
  const auto after = agent.take<bulk::OutputStored>();
  EXPECT_FALSE(after.gap);
  EXPECT_EQ(after.end, 3 * short_record);
  Bytes spoiled = records("d");
  spoiled.back() ^= std::byte{1};
  agent.say(bulk::PutOutput{5, lease, 3 * short_record, false, spoiled});
  pass();
  const auto refused = agent.take<bulk::Refused>();
  EXPECT_EQ(refused.code, Errc::corrupt);
  EXPECT_EQ(refused.lease, lease) << "so that the agent can tell which output it is";
  EXPECT_EQ(metrics.gaps, 1);
}

TEST_F(BulkServiceTest, AcknowledgesWhatCameBeforeARefusedPart) {
  start();
  Talker agent = talk_as_agent();
  Bytes spoiled = records("b");
  spoiled.back() ^= std::byte{1};
  agent.say(bulk::PutOutput{1, lease, 0, false, records("a")});
  agent.say(bulk::PutOutput{2, lease, short_record, false, spoiled});
  pass();
  ASSERT_EQ(agent.heard.size(), 2U);
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, short_record);
  EXPECT_EQ(agent.take<bulk::Refused>().number, 2U);
}

TEST_F(BulkServiceTest, ReadsFromAnywhereAndTheLastLines) {
  start();
  const Guest client = guest();
  for (int i = 0; i < 9; ++i) put(client, i * short_record, std::to_string(i));
  pass();
  client.heard().clear();
  client.say(bulk::ReadOutput{50, lease, 7 * short_record, 0, false});
  pass();
  const auto output = client.take<bulk::Output>();
  EXPECT_EQ(output.number, 50);
  EXPECT_THAT(logs::shown(output.records), ElementsAre("out: 7", "out: 8"));
  EXPECT_EQ(output.next, 9 * short_record);
  client.say(bulk::ReadOutput{51, lease, 0, 3, true});
  pass();
  EXPECT_THAT(logs::shown(client.take<bulk::Output>().records), ElementsAre("out: 6", "out: 7", "out: 8"));
  client.say(bulk::ReadOutput{52, lease, 9 * short_record, 0, false});
  pass();
  EXPECT_EQ(client.take<bulk::Output>().next, 9 * short_record);
  service->remove(lease);
  client.say(bulk::ReadOutput{53, lease, 0, 0, false});
  pass();
  EXPECT_EQ(client.take<bulk::Output>().next, 0);
}

TEST_F(BulkServiceTest, MoreLinesThanFitIntoAMessageComeOneAfterAnother) {
  start();
  const Guest client = guest();
  std::int64_t end = 0;
  for (int i = 0; i < 40; ++i) {
    Bytes many;
    for (int line = 0; line < 60; ++line)
      logs::encode({logs::Stream::out, false, logs::at(1), std::string(999, 'x')}, many);
    client.say(bulk::PutOutput{1, lease, end, false, many});
    end += static_cast<std::int64_t>(many.size());
  }
  pass();
  client.heard().clear();
  client.say(bulk::ReadOutput{2, lease, 0, 2'000, false});
  pass();
  auto output = client.take<bulk::Output>();
  EXPECT_EQ(output.offset, 400 * (logs::header_bytes + 999));
  std::size_t lines = logs::shown(output.records).size();
  EXPECT_GT(lines, 1'000);
  while (output.next < end) {
    client.say(bulk::ReadOutput{3, lease, output.next, 0, true});
    pass();
    output = client.take<bulk::Output>();
    lines += logs::shown(output.records).size();
  }
  EXPECT_EQ(lines, 2'000);
}

TEST_F(BulkServiceTest, AnswersAWaitingReaderOnNewOutputOrAtItsTimeout) {
  start();
  const Guest client = guest();
  Talker agent = talk_as_agent();
  client.say(bulk::ReadOutput{1, lease, 0, 0, true});
  client.say(bulk::ReadOutput{2, lease, 0, 5, true});
  client.say(bulk::ReadOutput{3, {{cluster::JobId{18}, 0}, {}}, 0, 0, true});
  pass();
  EXPECT_TRUE(client.heard().empty());
  EXPECT_EQ(metrics.waiting, 3);
  put(agent, 0, "a");
  pass();
  for (const std::uint64_t question : {1, 2}) {
    const auto output = client.take<bulk::Output>();
    EXPECT_EQ(output.number, question);
    EXPECT_THAT(logs::shown(output.records), ElementsAre("out: a"));
  }
  pass(limits.wait_max);
  const auto nothing = client.take<bulk::Output>();
  EXPECT_EQ(nothing.number, 3);
  EXPECT_TRUE(nothing.records.empty());
  EXPECT_EQ(nothing.next, 0);
  EXPECT_EQ(metrics.waiting, 0);
}

TEST_F(BulkServiceTest, SendsAWaitingReaderOneBoundedPagePerRequest) {
  start();
  const Guest client = guest();
  Talker agent = talk_as_agent();
  client.say(bulk::ReadOutput{1, lease, 0, 0, true});
  pass();
  std::int64_t end = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string line(1'000, 'x');
    put(agent, end, line);
    end += static_cast<std::int64_t>(records(line).size());
  }
  pass();
  client.say(bulk::ReadOutput{2, lease, 0, 0, true});
  pass();
  for (const std::uint64_t question : {1, 2}) {
    const auto output = client.take<bulk::Output>();
    EXPECT_EQ(output.number, question);
    EXPECT_GT(output.records.size(), 1'000U);
    EXPECT_LE(output.records.size(), 16U << 10);
  }
  client.say(bulk::ReadOutput{3, lease, 0});
  pass();
  EXPECT_EQ(client.take<bulk::Output>().next, end);
}

TEST_F(BulkServiceTest, BoundsWaitingReadersAndDropsThemAtTheirDeadline) {
  limits.waiting_max = 10;
  limits.waiting_max_each = 4;
  start();
  const std::vector<Guest> guests = {guest(), guest(), guest()};
  for (const Guest& one : guests) {
    for (std::uint64_t question = 1; question <= 5; ++question) one.say(bulk::ReadOutput{question, lease, 0, 0, true});
  }
  const auto refused = guests[0].take<bulk::Refused>();
  EXPECT_EQ(refused.number, 5);
  EXPECT_EQ(refused.code, Errc::unavailable);
  EXPECT_EQ(guests[2].heard().size(), 3) << "two of them are as many as all may be";
  EXPECT_EQ(metrics.waiting, 10);
  EXPECT_EQ(metrics.refused_full, 5);
  guests[2].heard().clear();
  guests[2].say(bulk::ReadOutput{6, lease, 0, 0, false});
  EXPECT_EQ(guests[2].take<bulk::Output>().number, 6) << "who does not wait needs no room";
  pass(limits.wait_max);
  EXPECT_EQ(metrics.waiting, 0);
  EXPECT_EQ(guests[0].heard().size(), 4);
  guests[2].say(bulk::ReadOutput{7, lease, 0, 0, true});
  EXPECT_EQ(metrics.waiting, 1);
}

TEST_F(BulkServiceTest, ADisconnectedReaderGetsNothingAndFreesItsPlaces) {
  limits.waiting_max = 6;
  limits.waiting_max_each = 3;
  start();
  Talker agent = talk_as_agent();
  const Guest leaving = guest();
  const Guest staying = guest();
  for (std::uint64_t question = 1; question <= 3; ++question) {
    leaving.say(bulk::ReadOutput{question, lease, 0, 0, true});
    staying.say(bulk::ReadOutput{question, lease, 0, 0, true});
  }
  EXPECT_EQ(metrics.waiting, 6);
  leaving.leave();
  EXPECT_EQ(metrics.waiting, 3);
  leaving.leave();
  guest().leave();  // who never asked
  EXPECT_EQ(metrics.waiting, 3);
  put(agent, 0, "a");
  pass();
  EXPECT_TRUE(leaving.heard().empty());
  EXPECT_EQ(staying.heard().size(), 3);
  EXPECT_EQ(metrics.waiting, 0);
  staying.leave();  // after the answer
  pass(2 * limits.wait_max);
  EXPECT_TRUE(leaving.heard().empty());
  EXPECT_EQ(staying.heard().size(), 3);
  for (std::uint64_t question = 1; question <= 3; ++question) {
    leaving.say(bulk::ReadOutput{question, lease, short_record, 0, true});
    staying.say(bulk::ReadOutput{question, lease, short_record, 0, true});
  }
  EXPECT_EQ(metrics.waiting, 6) << "there is as much room as before";
  EXPECT_EQ(metrics.refused_full, 0);
}

TEST_F(BulkServiceTest, OthersAreAnsweredInTimeWhenTheFirstIsForgotten) {
  start();
  const Guest early = guest();
  const Guest late = guest();
  early.say(bulk::ReadOutput{1, lease, 0, 0, true});
  pass(seconds(5));
  late.say(bulk::ReadOutput{2, lease, 0, 0, true});
  early.leave();
  pass(limits.wait_max - seconds(1));
  EXPECT_TRUE(late.heard().empty());
  pass(seconds(2));
  EXPECT_EQ(late.take<bulk::Output>().number, 2);
  EXPECT_TRUE(early.heard().empty());
  early.say(bulk::ReadOutput{3, lease, 0, 0, true});
  pass(limits.wait_max);
  EXPECT_EQ(early.take<bulk::Output>().number, 3) << "the clock goes on after nobody has waited";
}

TEST_F(BulkServiceTest, RepliesOnlyToWaitingReadersWhileOthersComeAndGo) {
  limits.waiting_max = 40;
  limits.waiting_max_each = 5;
  start();
  Talker agent = talk_as_agent();
  const std::vector<LeaseId> leases = {lease, {{cluster::JobId{17}, 1}, cluster::Epoch{1}}};
  FOR_SEEDS(100, [&](Dice& drawn) {
    std::map<LeaseId, std::int64_t> ends;
    for (const LeaseId& one : leases) ends[one] = logs->end(to_string(one));
    std::map<Asker, std::map<std::uint64_t, LeaseId>> waiting;
    const auto count = [&] {
      std::size_t all = 0;
      for (const auto& [asker, questions] : waiting) all += questions.size();
      return all;
    };
    for (int step = 0; step < 60; ++step) {
      const Guest one{*this, last_asker + 1 + drawn.below(10)};
      const LeaseId about = leases[drawn.below(leases.size())];
      if (drawn.percent(60)) {
        const bool is_full = count() >= 40 || waiting[one.asker].size() >= 5;
        one.say(bulk::ReadOutput{++number, about, ends[about], 0, true});
        if (is_full) {
          EXPECT_EQ(one.take<bulk::Refused>().number, number);
        } else {
          waiting[one.asker].emplace(number, about);
        }
      } else if (drawn.percent(50)) {
        one.leave();
        waiting.erase(one.asker);
      } else {
        agent.say(bulk::PutOutput{1, about, ends[about], false, records("x")});
        pass(std::chrono::milliseconds(10));
        for (auto& [asker, questions] : waiting) {
          const std::size_t before = questions.size();
          std::erase_if(questions, [&](const auto& question) { return question.second == about; });
          EXPECT_EQ(told[asker].heard.size(), before - questions.size());
          for (const bulk::FromMaster& output : told[asker].heard) {
            EXPECT_EQ(std::get<bulk::Output>(output).offset, ends[about]);
          }
          told[asker].heard.clear();
        }
        ends[about] += short_record;
      }
      ASSERT_EQ(metrics.waiting, count());
      for (const auto& [asker, hearer] : told) ASSERT_TRUE(hearer.heard.empty()) << asker;
    }
    for (Asker asker = last_asker + 1; asker <= last_asker + 10; ++asker) service->forget(asker);
    last_asker += 10;
    ASSERT_EQ(metrics.waiting, 0);
  });
}

TEST_F(BulkServiceTest, CountsMalformedMessagesAndDoesNotFillTheLog) {
  start();
  Talker agent = talk_as_agent();
  FOR_SEEDS(300, [&](Dice& drawn) {
    Bytes bytes = drawn.percent(50) ? describe::write_msgpack(bulk::ToMaster(bulk::PutOutput{1, lease, 0, false, {}}))
                                    : logs::random_records(drawn, 50);
    for (std::size_t i = 1 + drawn.below(3); i > 0; --i) bytes[drawn.below(bytes.size())] = std::byte(drawn.below(256));
    agent.say_bytes(bytes);
    pass();
  });
  EXPECT_GT(metrics.refused_malformed, 100);
  EXPECT_LT(log.lines.size(), 50);
  EXPECT_THAT(log.lines.at(0), HasSubstr("refused: a message that cannot be read"));
  agent.heard.clear();
  put(agent, logs->end(to_string(lease)), "a");
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, logs->end(to_string(lease)));
}

TEST_F(BulkServiceTest, RefusesReadersAndCodeOverTheNetwork) {
  start();
  Talker agent = talk_as_agent();
  Talker local = talk_from_this_host();
  for (Talker* one : {&agent, &local}) {
    one->say(bulk::ReadOutput{1, lease, 0, 0, false});
    one->say(bulk::ReadOutput{2, lease, 0, 0, true});
    one->say(bulk::PutBlob{3, objects::sha256({}), 0, 0, {}});
    pass();
    for (const std::uint64_t question : {1, 2, 3}) {
      const auto no = one->take<bulk::Refused>();
      EXPECT_EQ(no.code, Errc::denied);
      EXPECT_EQ(no.number, question);
    }
    one->say(bulk::GetBlob{4, objects::sha256({}), 0});
    pass();
    EXPECT_EQ(one->take<bulk::Refused>().code, Errc::not_found);
  }
  EXPECT_EQ(metrics.refused_denied, 6);
  EXPECT_EQ(metrics.waiting, 0);
  EXPECT_EQ(metrics.blobs_bytes, 0);
}

TEST_F(BulkServiceTest, RepliesGoToTheirCaller) {
  start();
  Talker agent = talk_as_agent();
  constexpr Asker largest = (Asker{1} << 63) - 1;
  const std::vector<Guest> guests = {{*this, 1}, {*this, 2}, {*this, largest}};
  for (const Guest& one : guests) one.say(bulk::ReadOutput{one.asker, lease, 0, 0, one.asker == largest});
  EXPECT_EQ(guests[0].take<bulk::Output>().number, 1);
  EXPECT_EQ(guests[1].take<bulk::Output>().number, 2);
  put(agent, 0, "a");
  pass();
  EXPECT_EQ(guests[2].take<bulk::Output>().number, largest);
  EXPECT_EQ(agent.heard.size(), 1) << "only its own messages, none for a caller in this process";
  EXPECT_EQ(told.size(), 3);
}

TEST_F(BulkServiceTest, NoHashLeadsOutOfTheFolder) {
  start();
  const Guest client = guest();
  std::string climbing;
  while (climbing.size() + 3 <= 64) climbing += "../";
  for (const std::string& hash : {climbing + "x", std::string(64, '.'), std::string(64, '/'), std::string(64, '\0'),
                                  std::string(64, 'G'), std::string(64, 'A'), std::string()}) {
    client.say(bulk::AskBlob{1, hash});
    const auto state = client.take<bulk::BlobState>();
    EXPECT_EQ(state.have, 0);
    EXPECT_FALSE(state.complete);
    client.say(bulk::PutBlob{2, hash, 1, 0, Bytes(1)});
    EXPECT_EQ(client.take<bulk::Refused>().code, Errc::invalid) << hash;
    client.say(bulk::GetBlob{3, hash, 0});
    EXPECT_EQ(client.take<bulk::Refused>().code, Errc::not_found) << hash;
  }
  EXPECT_EQ(metrics.blobs_bytes, 0);
}

TEST_F(BulkServiceTest, AnUploadThatMadeRoomForOthersBeginsAgain) {
  start();
  const Guest client = guest();
  const std::string hash = objects::sha256(as_bytes("abc"));
  const auto say_part = [&](std::int64_t offset, std::string_view text, const std::string& user) {
    const BytesView part = as_bytes(text);
    client.say(bulk::PutBlob{++number, hash, 3, offset, Bytes(part.begin(), part.end()), user});
    return client.take<bulk::BlobState>();
  };
  const auto begin_another = [&](int i, const std::string& user) {
    client.say(bulk::PutBlob{++number, objects::sha256(as_bytes(std::to_string(i))), 3, 0, Bytes(1), user});
    EXPECT_EQ(client.take<bulk::BlobState>().have, 1);
  };
  EXPECT_EQ(say_part(0, "a", "ann").have, 1);
  for (int i = 0; i < 300; ++i) begin_another(i, "bob");
  EXPECT_EQ(say_part(1, "b", "ann").have, 2) << "bob made room for bob";
  for (int i = 0; i < 300; ++i) begin_another(i, std::to_string(i));
  const auto gone = say_part(2, "c", "ann");
  EXPECT_EQ(gone.have, 0);
  EXPECT_FALSE(gone.complete);
  EXPECT_TRUE(say_part(0, "abc", "ann").complete);
}

TEST_F(BulkServiceTest, CodeComesInPartsAndIsGivenOnOnceItIsWhole) {
  start();
  const Guest client = guest();
  Talker agent = talk_as_agent();
  const std::string content(1'500'000, 'x');
  const std::string hash = objects::sha256(as_bytes(content));
  const auto say_part = [&](std::int64_t offset, std::int64_t size) {
    const BytesView part = as_bytes(content).subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    client.say(bulk::PutBlob{++number, hash, 1'500'000, offset, Bytes(part.begin(), part.end())});
    pass();
  };
  client.say(bulk::AskBlob{++number, hash});
  pass();
  EXPECT_EQ(client.take<bulk::BlobState>().have, 0);
  say_part(0, 1'000'000);
  EXPECT_EQ(client.take<bulk::BlobState>().have, 1'000'000);
  say_part(500'000, 1'000'000);
  EXPECT_EQ(client.take<bulk::BlobState>().have, 1'000'000);
  agent.say(bulk::GetBlob{1, hash, 0});
  pass();
  EXPECT_EQ(agent.take<bulk::Refused>().code, Errc::not_found);
  say_part(1'000'000, 500'000);
  EXPECT_TRUE(client.take<bulk::BlobState>().complete);
  std::string got;
  while (got.size() < content.size()) {
    agent.say(bulk::GetBlob{1, hash, static_cast<std::int64_t>(got.size())});
    pass();
    const auto part = agent.take<bulk::BlobPart>();
    ASSERT_FALSE(part.bytes.empty());
    EXPECT_EQ(part.size, 1'500'000);
    got += as_text(part.bytes);
  }
  EXPECT_EQ(got, content);
}

TEST_F(BulkServiceTest, BeyondItsBoundALogGoesOnWithoutTheOutput) {
  limits.log_bytes_max = ByteSize{1'000};
  start();
  const Guest client = guest();
  Talker agent = talk_as_agent();
  std::int64_t end = 0;
  for (int i = 0; i < 50; ++i) {
    put(agent, end, std::string(84, 'x'));
    pass();
    end += 100;
    ASSERT_EQ(agent.take<bulk::OutputStored>().end, end);
    if (i == 30) {  // the same after a restart
      service.reset();
      logs.reset();
      blobs.reset();
      start();
      pass(seconds(20));
    }
  }
  std::vector<std::string> lines;
  std::int64_t next = 0;
  while (next < end) {
    client.say(bulk::ReadOutput{1, lease, next, 0, true});
    pass();
    const auto output = client.take<bulk::Output>();
    ASSERT_GT(output.next, next);
    next = output.next;
    for (std::string& line : logs::shown(output.records)) lines.push_back(std::move(line));
  }
  EXPECT_EQ(lines.size(), 12);  // two marks, one of each life
  EXPECT_EQ(lines[10], "note: output beyond 1KB is not kept");
  EXPECT_EQ(metrics.dropped_bytes, 4'000);
}

TEST_F(BulkServiceTest, AFullDiskMakesAgentsWaitAndIsSaidOnce) {
  WITH_OWN_MOUNTS();
  servers::SmallDisk disk(folder.path(), 1 << 20);
  start();
  Talker agent = talk_as_agent();
  std::int64_t end = 0;
  const std::string text(9'984, 'x');
  for (int i = 0; i < 200; ++i) {
    put(agent, end, text);
    pass();
    if (agent.heard.empty()) continue;
    end = agent.take<bulk::OutputStored>().end;
  }
  EXPECT_LT(end, 1 << 20);
  EXPECT_GT(metrics.failures, 50);
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("the disk is full")));
  disk.resize(4 << 20);
  put(agent, end, text);
  pass();
  EXPECT_EQ(agent.take<bulk::OutputStored>().end, end + 10'000);
  EXPECT_THAT(log.lines, ElementsAre(HasSubstr("the disk is full"), "info output is stored again"));
}

}  // namespace
}  // namespace cadre::master
