#include "master/join_server.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "describe/describe.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"
#include "objects/hash.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;

/// It is stopped while its thread is held up for so long that all it does from time to time is due as well.
TEST(JoinServer, StopsCleanlyThoughOtherWorkIsDue) {
  const std::string token(40, 't');
  SilentLog log;
  std::promise<void> is_asked;
  JoinOptions options;
  const net::Keys keys = net::make_keys();
  options.hub = {{"tcp://127.0.0.1:0"}, keys, net::Admission::anyone(), {}};
  options.tokens = {{objects::sha256(as_bytes(token)), TimePoint::max(), ""}};
  options.admit = [&](const JoinOptions::Wanted&, const auto&) {
    is_asked.set_value();
    std::this_thread::sleep_for(1s);
  };
  const auto server = JoinServer::start(std::move(options), log).value();

  loop::RealLoop loop;
  const auto network = net::ZmqNetwork::make(loop, log).value();
  const auto link =
      network->connect({server->addresses().front(), net::make_keys(), keys.open, {}}, [](BytesView) {}).value();
  ASSERT_TRUE(link->send(describe::write_msgpack(cluster::joining::Join{cluster::AgentId("a"), token})));
  std::future<void> asked = is_asked.get_future();
  ASSERT_TRUE(loop.run_until(loop.now() + 30s, [&] { return asked.wait_for(1ms) == std::future_status::ready; }));
  server->stop();
  EXPECT_EQ(std::get<double>(server->metrics().at(0).samples.at(0).value), 0);
}

}  // namespace
}  // namespace cadre::master
