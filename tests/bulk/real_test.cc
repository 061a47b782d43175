// The same over ZeroMQ, on real threads and a real disk.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "agent/shipper.h"
#include "base/seeds.h"
#include "logs/lines_for_tests.h"
#include "logs/spool.h"
#include "logs/store.h"
#include "loop/real_loop.h"
#include "master/bulk_server.h"
#include "net/zmq_network.h"
#include "objects/hash.h"
#include "tests/bulk/lease.h"
#include "tests/servers/scratch.h"

namespace cadre {
namespace {

namespace bulk = cluster::bulk;
using cluster::LeaseId;
using std::chrono::seconds;

enum class Way : std::uint8_t { tcp, unix_socket };

struct BulkOnRealDisk : testing::TestWithParam<Way> {
  BulkOnRealDisk() {
    chmod(folder.path().c_str(), 0700);
    const bool is_tcp = GetParam() == Way::tcp;
    net::HubOptions hub{
        {is_tcp ? "tcp://127.0.0.1:0" : "ipc://" + folder.path() + "/bulk"}, hub_keys, net::Admission::only({}), {}};
    hub.unix_proof = net::UnixProof::keys;
    master::BulkOptions options;
    options.hub = hub;
    options.output_folder = folder.path() + "/output";
    options.code_folder = folder.path() + "/code";
    options.tell = tell;
    for (std::uint64_t i = 1; i <= 2'000; ++i) options.leases.push_back({lease_of(i), cluster::AgentId("a"), true});
    server = master::BulkServer::start(std::move(options), log).value();
    server->allow(keys.open, cluster::AgentId("a"));
    net::LinkOptions to{server->addresses()[0], keys, hub_keys.open, {}};
    to.unix_proof = net::UnixProof::keys;
    EXPECT_TRUE(link.connect(to));
  }

  /// Runs the loop until all leases are finished; gives the seconds it took.
  double run_until_finished(std::size_t count) {
    wanted = count;
    const TimePoint begin = loop.now();
    const loop::Timer late = loop.after(seconds(100), [&] {
      ADD_FAILURE() << "not finished: " << count - finished.size();
      loop.stop();
    });
    loop.run();
    return std::chrono::duration<double>(loop.now() - begin).count();
  }

  std::string spool_of(LeaseId lease) const { return folder.path() + "/spool" + std::to_string(lease.task.job.value); }

  /// Waits for this many replies of the service, and returns them.
  std::vector<std::pair<api::CallId, bulk::FromMaster>> wait_told(std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(was_told.wait_for(lock, seconds(60), [&] { return told.size() >= count; }));
    return std::exchange(told, {});
  }

  servers::TempDir folder;
  SilentLog log;
  std::mutex mutex;
  std::condition_variable was_told;
  std::vector<std::pair<api::CallId, bulk::FromMaster>> told;
  std::function<void(api::CallId, bulk::FromMaster)> tell = [this](auto asker, auto message) {
    const std::lock_guard lock(mutex);
    told.emplace_back(asker, std::move(message));
    was_told.notify_all();
  };
  net::Keys hub_keys = net::make_keys();
  net::Keys keys = net::make_keys();
  std::unique_ptr<master::BulkServer> server;
  loop::RealLoop loop;
  std::unique_ptr<net::ZmqNetwork> network = net::ZmqNetwork::make(loop, log).value();
  agent::BulkLink link{*network, log};
  std::set<LeaseId> finished;
  std::size_t wanted = 0;
  agent::Shipper shipper{loop, link, log, {nullptr, [this](LeaseId lease) {
                                             finished.insert(lease);
                                             if (finished.size() == wanted) loop.stop();
                                           }}};
};

TEST_P(BulkOnRealDisk, ManyShortLogsAreStoredInAMoment) {
  constexpr std::uint64_t count = 2'000;
  for (std::uint64_t i = 1; i <= count; ++i) {
    auto writer = logs::SpoolWriter::open(spool_of(lease_of(i)), {}).value();
    writer.append(logs::Stream::out, "one line of " + std::to_string(i) + "\n", logs::at(1));
    loop.post([this, i, end = writer.end()] {
      shipper.add(lease_of(i), agent::open_spool(spool_of(lease_of(i))));
      shipper.ended(lease_of(i), end);
    });
  }
  const double took = run_until_finished(count);
  std::printf("%llu logs of one line stored in %.2f s, with %llu syncs\n", static_cast<unsigned long long>(count), took,
              static_cast<unsigned long long>(server->metrics().syncs));
  EXPECT_EQ(server->metrics().puts, count);
  EXPECT_LT(server->metrics().syncs, count) << "one sync is for all that comes in a turn";
  server->stop();
  server.reset();
  const auto store = logs::LogStore::open(folder.path() + "/output", {}).value();
  for (std::uint64_t i = 1; i <= count; ++i) {
    const auto chunk = store->read(to_string(lease_of(i)), 0, 1'000).value();
    EXPECT_THAT(logs::shown(chunk.bytes), testing::ElementsAre("out: one line of " + std::to_string(i)));
  }
}

TEST_P(BulkOnRealDisk, ALongLogIsStoredAsFastAsTheDiskTakesIt) {
  constexpr std::int64_t size = 200'000'000;
  auto writer = logs::SpoolWriter::open(spool_of(lease_of(1)), {}).value();
  const std::string line = std::string(100, 'x') + "\n";
  std::string lines;
  for (int i = 0; i < 1'000; ++i) lines += line;
  while (writer.end() < size) writer.append(logs::Stream::out, lines, logs::at(1));
  loop.post([&] {
    shipper.add(lease_of(1), agent::open_spool(spool_of(lease_of(1))));
    shipper.ended(lease_of(1), writer.end());
  });
  const double took = run_until_finished(1);
  std::printf("%.0f MB/s of one log, with %llu syncs of %llu parts\n", static_cast<double>(size) / 1e6 / took,
              static_cast<unsigned long long>(server->metrics().syncs),
              static_cast<unsigned long long>(server->metrics().puts));
  EXPECT_EQ(server->metrics().gaps, 0);
  server->stop();
  server.reset();
  const auto store = logs::LogStore::open(folder.path() + "/output", {}).value();
  EXPECT_EQ(store->end(to_string(lease_of(1))), writer.end());
}

TEST_P(BulkOnRealDisk, ServesOutputToTheGatewayWhileItArrives) {
  auto writer = logs::SpoolWriter::open(spool_of(lease_of(1)), {}).value();
  writer.append(logs::Stream::out, "first\n", logs::at(1));
  for (const std::uint64_t asker : {1, 2, 3}) server->ask(asker, bulk::ReadOutput{7, lease_of(1), 0, 0, true});
  server->forget(2);
  loop.post([&] {
    shipper.add(lease_of(1), agent::open_spool(spool_of(lease_of(1))));
    shipper.ended(lease_of(1), writer.end());
  });
  run_until_finished(1);
  const auto answers = wait_told(2);
  ASSERT_EQ(answers.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[i].first, i == 0 ? 1U : 3U);
    const auto& output = std::get<bulk::Output>(answers[i].second);
    EXPECT_EQ(output.number, 7U);
    EXPECT_THAT(logs::shown(output.records), testing::ElementsAre("out: first"));
  }
  const auto none_waits = [&] { return server->metrics().waiting == 0; };
  for (int i = 0; i < 60'000 && !none_waits(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(none_waits()) << "the second one was forgotten";  // on the thread of the server
  server->ask(4, bulk::ReadOutput{8, lease_of(1), writer.end(), 0, true});
  server->stop();
  server->ask(5, bulk::ReadOutput{9, lease_of(1), 0, 0, false});
  server->forget(4);
  EXPECT_TRUE(told.empty()) << "nobody is told anything after the stop";
}

TEST_P(BulkOnRealDisk, AcceptsCodeFromTheGateway) {
  const std::string content(100'000, 'x');
  const std::string hash = objects::sha256(as_bytes(content));
  const auto ask = [&](bulk::ToMaster message) {
    server->ask(1, std::move(message));
    return wait_told(1).at(0).second;
  };
  EXPECT_EQ(std::get<bulk::BlobState>(ask(bulk::AskBlob{1, hash})).have, 0);
  const BytesView bytes = as_bytes(content);
  EXPECT_TRUE(
      std::get<bulk::BlobState>(ask(bulk::PutBlob{2, hash, 100'000, 0, Bytes(bytes.begin(), bytes.end())})).complete);
  EXPECT_EQ(std::get<bulk::BlobPart>(ask(bulk::GetBlob{3, hash, 99'990})).bytes.size(), 10U);
}

INSTANTIATE_TEST_SUITE_P(Ways, BulkOnRealDisk, testing::Values(Way::tcp, Way::unix_socket),
                         [](const auto& way) { return way.param == Way::tcp ? "Tcp" : "UnixSocket"; });

}  // namespace
}  // namespace cadre
