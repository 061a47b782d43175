#include "agent/shipper.h"

#include <gmock/gmock.h>

#include <set>

#include "describe/describe.h"
#include "logs/lines_for_tests.h"
#include "logs/spool.h"
#include "loop/simulated_loop.h"
#include "net/memory_network.h"
#include "tests/servers/scratch.h"

namespace cadre::agent {
namespace {

namespace bulk = cluster::bulk;
using cluster::LeaseId;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

LeaseId lease_of(std::uint64_t number) { return {{cluster::JobId{number}, 0}, cluster::Epoch{1}}; }

/// Takes parts, and answers only when it is told to.
struct OutputMaster {
  explicit OutputMaster(net::Network& network) {
    hub = network
              .bind({{"ipc:///bulk"}, {}, net::Admission::only({}), {}},
                    [this](const net::Peer& from, BytesView bytes) {
                      peer = from;
                      parts.push_back(std::get<bulk::PutOutput>(describe::read_msgpack<bulk::ToMaster>(bytes).value()));
                    })
              .value();
  }
  void answer(const bulk::PutOutput& part) {
    ends[part.lease] = part.offset + static_cast<std::int64_t>(part.records.size());
    say({part.number, part.lease, ends[part.lease], false});
  }
  void answer_all() {
    for (const bulk::PutOutput& part : std::exchange(parts, {})) answer(part);
  }
  void say(const bulk::OutputStored& message) {
    ASSERT_TRUE(hub->send(peer, describe::write_msgpack(bulk::FromMaster(message))));
  }

  void refuse(const bulk::PutOutput& part, Errc code = Errc::corrupt) {
    const bulk::Refused refused{part.number, code, "not whole records", part.lease};
    ASSERT_TRUE(hub->send(peer, describe::write_msgpack(bulk::FromMaster(refused))));
  }

  std::unique_ptr<net::Hub> hub;
  net::Peer peer;
  std::vector<bulk::PutOutput> parts;
  std::map<LeaseId, std::int64_t> ends;
};

struct ShipperTest : testing::Test {
  void connect() { ASSERT_TRUE(link.connect({"ipc:///bulk", {}, {}, {}})); }
  void pass(Duration time) { ASSERT_TRUE(loop.run_until(loop.now() + time)); }

  std::string spool(std::uint64_t number) const { return folder.path() + "/" + std::to_string(number); }
  std::int64_t write(std::uint64_t number, std::size_t bytes) {
    auto writer = logs::SpoolWriter::open(spool(number), {}).value();
    const std::string line = std::string(std::min<std::size_t>(bytes, 10'000) - 1, 'x') + "\n";
    for (std::size_t done = 0; done < bytes; done += line.size()) writer.append(logs::Stream::out, line, logs::at(1));
    return writer.end();
  }

  servers::TempDir folder;
  SilentLog log;
  loop::SimulatedLoop loop;
  net::MemoryNetwork network{loop};
  OutputMaster master{network.host("one")};
  BulkLink link{network.host("one"), log};
  std::map<LeaseId, std::int64_t> stored;
  std::set<LeaseId> finished;
  Shipper shipper{loop,
                  link,
                  log,
                  {[this](LeaseId lease, std::int64_t end) { stored[lease] = end; },
                   [this](LeaseId lease) { finished.insert(lease); }},
                  {.parts_max = 8, .bytes_max = ByteSize{5 << 20}}};
};

TEST_F(ShipperTest, TheFirstLineGoesAtOnceAndTheFolderWhenAllIsStored) {
  connect();
  shipper.add(lease_of(1), open_spool(spool(1)));
  pass(milliseconds(1));
  const std::int64_t end = write(1, 5);
  shipper.grown(lease_of(1), end);
  pass(milliseconds(2));
  ASSERT_EQ(master.parts.size(), 1);
  EXPECT_THAT(logs::shown(master.parts[0].records), ElementsAre("out: xxxx"));
  master.answer_all();
  pass(milliseconds(5));
  EXPECT_THAT(stored, ElementsAre(Pair(lease_of(1), end)));
  shipper.ended(lease_of(1), end);
  EXPECT_TRUE(finished.empty()) << "not inside ended()";
  pass(milliseconds(1));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
  EXPECT_EQ(shipper.leases(), 0);
  EXPECT_TRUE(master.parts.empty());
}

TEST_F(ShipperTest, DataInFlightIsBoundedAndSharedFairly) {
  connect();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    write(i, 10'000'000);
    shipper.add(lease_of(i), open_spool(spool(i)));
  }
  pass(milliseconds(10));
  EXPECT_EQ(master.parts.size(), 3) << "one each, until the master has said what it has";
  master.answer_all();
  pass(milliseconds(10));
  EXPECT_EQ(master.parts.size(), 6) << "of nearly 1 MiB each, and one may go beyond the bound";
  write(4, 5);
  shipper.add(lease_of(4), open_spool(spool(4)));
  master.answer(master.parts.front());
  pass(milliseconds(10));
  const auto is_late_one = [](const bulk::PutOutput& part) { return part.lease == lease_of(4); };
  while (std::ranges::none_of(master.parts, is_late_one)) {
    ASSERT_LT(master.parts.size(), 12);
    master.answer(master.parts[master.parts.size() - 6]);
    pass(milliseconds(10));
  }
}

TEST_F(ShipperTest, GoesBackOnceForAllPartsThatCameAfterAGap) {
  connect();
  write(1, 5'000'000);
  shipper.add(lease_of(1), open_spool(spool(1)));
  pass(milliseconds(10));
  master.answer_all();
  pass(milliseconds(10));
  ASSERT_EQ(master.parts.size(), 4);
  const auto parts = std::exchange(master.parts, {});
  for (const auto& part : parts) master.say({part.number, part.lease, parts[0].offset, true});
  pass(milliseconds(10));
  ASSERT_EQ(master.parts.size(), 4);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(master.parts[i].offset, parts[i].offset);
}

TEST_F(ShipperTest, RetriesUnacknowledgedDataWithBackoff) {
  connect();
  write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  pass(seconds(100));
  EXPECT_EQ(master.parts.size(), 6);  // at 0, 3, 9, 21, 45 and 75 s
  master.answer_all();
  pass(seconds(100));
  EXPECT_TRUE(master.parts.empty());
}

TEST_F(ShipperTest, WaitsForALink) {
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end);
  pass(seconds(60));
  connect();
  pass(seconds(2));
  ASSERT_FALSE(master.parts.empty());
  master.answer_all();
  pass(seconds(1));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
}

TEST_F(ShipperTest, DoesNotResendStoredDataAfterARestart) {
  connect();
  const std::int64_t end = write(1, 5'000'000);
  shipper.add(lease_of(1), open_spool(spool(1)));
  pass(milliseconds(10));
  ASSERT_EQ(master.parts.size(), 1);
  EXPECT_LE(master.parts[0].records.size(), 65'536);
  master.say({master.parts[0].number, lease_of(1), end, false});
  pass(seconds(10));
  EXPECT_EQ(master.parts.size(), 1);
  EXPECT_EQ(stored[lease_of(1)], end);
}

TEST_F(ShipperTest, OutputThatIsLostOnTheAgentIsNotWaitedFor) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end + 1'000);
  shipper.add(lease_of(2), open_spool(spool(2)));
  shipper.ended(lease_of(2), 1'000);
  pass(seconds(1));
  master.answer_all();  // the lines of one, and the mark of what the other lost
  pass(seconds(1));
  EXPECT_THAT(finished, ElementsAre(lease_of(2)));
  master.answer_all();  // the mark of the first
  pass(seconds(1));
  EXPECT_THAT(finished, testing::UnorderedElementsAre(lease_of(1), lease_of(2)));
}

TEST_F(ShipperTest, MarksOutputThatCouldNotBeWritten) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end, 4'321);
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 1U);
  master.answer_all();
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 1U);
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(master.parts[0].offset, end);
  const std::vector<std::string> marks = logs::shown(master.parts[0].records);
  EXPECT_THAT(marks, ElementsAre("note: 4321 bytes of output are lost here: they could not be written"));
  master.parts.clear();  // the answer is lost: it is sent again
  pass(seconds(10));
  ASSERT_FALSE(master.parts.empty());
  EXPECT_EQ(logs::shown(master.parts[0].records), marks);
  master.answer_all();
  pass(milliseconds(5));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
}

TEST_F(ShipperTest, MarksOutputThatAPowerLossTook) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end + 1'000);
  pass(milliseconds(5));
  master.answer_all();
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 1U);
  EXPECT_THAT(logs::shown(master.parts[0].records),
              ElementsAre("note: 1000 bytes of output are lost here: they could not be written"));
  master.answer_all();
  pass(milliseconds(5));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
}

TEST_F(ShipperTest, EndsOutputThatTheMasterRefusesWithAMark) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.grown(lease_of(1), end);
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 1U);
  master.refuse(std::exchange(master.parts, {}).front());
  pass(seconds(100));
  EXPECT_TRUE(master.parts.empty()) << "it is not sent again";
  EXPECT_THAT(stored, ElementsAre(Pair(lease_of(1), end))) << "the spool must not fill and hold up the task";
  shipper.grown(lease_of(1), end + 10);
  pass(seconds(1));
  EXPECT_EQ(stored[lease_of(1)], end + 10);
  EXPECT_TRUE(finished.empty());
  shipper.ended(lease_of(1), end + 10);
  pass(seconds(1));
  ASSERT_EQ(master.parts.size(), 1U);
  EXPECT_EQ(master.parts[0].offset, 0);
  EXPECT_THAT(logs::shown(master.parts[0].records), ElementsAre("note: " + std::to_string(end + 10) +
                                                                " bytes of output are lost here: the master refused "
                                                                "them"));
  master.answer_all();
  pass(seconds(1));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
}

TEST_F(ShipperTest, RefusedOutputConcernsOnlyItsLease) {
  connect();
  for (std::uint64_t number : {1, 2, 3}) {
    const std::int64_t end = write(number, 5);
    shipper.add(lease_of(number), open_spool(spool(number)));
    shipper.ended(lease_of(number), end);
  }
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 3U);
  const auto parts = std::exchange(master.parts, {});
  master.refuse(parts[0]);
  master.refuse(parts[1], Errc::denied);
  master.answer(parts[2]);
  pass(milliseconds(5));
  EXPECT_THAT(finished, ElementsAre(lease_of(2), lease_of(3)));
  ASSERT_EQ(master.parts.size(), 1U) << "the mark";
  EXPECT_EQ(master.parts[0].lease, lease_of(1));
}

TEST_F(ShipperTest, SendsAgainWhatTheMasterCannotStoreForNow) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end);
  pass(milliseconds(5));
  ASSERT_EQ(master.parts.size(), 1U);
  master.refuse(std::exchange(master.parts, {}).front(), Errc::unavailable);
  pass(seconds(100));
  ASSERT_FALSE(master.parts.empty());
  EXPECT_THAT(logs::shown(master.parts[0].records), ElementsAre("out: xxxx"));
}

TEST_F(ShipperTest, DropsOutputOfWhichTheMasterRefusesEvenTheMark) {
  connect();
  const std::int64_t end = write(1, 5);
  shipper.add(lease_of(1), open_spool(spool(1)));
  shipper.ended(lease_of(1), end);
  for (int refusal = 0; refusal < 2; ++refusal) {
    pass(milliseconds(5));
    ASSERT_EQ(master.parts.size(), 1U);
    master.refuse(std::exchange(master.parts, {}).front());
  }
  pass(seconds(1));
  EXPECT_THAT(finished, ElementsAre(lease_of(1)));
  EXPECT_TRUE(master.parts.empty());
}

}  // namespace
}  // namespace cadre::agent
