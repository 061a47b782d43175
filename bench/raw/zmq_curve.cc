// Plain ZeroMQ with CURVE on loopback, a DEALER and a ROUTER on a thread each: prints how many messages of SIZE bytes
// pass in a second, answered one by one (request) or without answers (oneway).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <zmq.hpp>

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

double serve(zmq::socket_t& router, bool answers) {
  zmq::message_t id, message;
  double count = 0;
  Clock::time_point begin;
  while (router.recv(id) && router.recv(message) && message.size() > 0) {
    if (count++ == 0) begin = Clock::now();
    if (!answers) continue;
    router.send(id, zmq::send_flags::sndmore);
    router.send(message, zmq::send_flags::none);
  }
  return (count - 1) / Seconds(Clock::now() - begin).count();
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool answers = std::string(argv[1]) == "request";
  const std::string text(std::strtoul(argv[2], nullptr, 10), 'x');
  char keys[4][41];
  zmq_curve_keypair(keys[0], keys[1]);
  zmq_curve_keypair(keys[2], keys[3]);
  zmq::context_t server, client;
  zmq::socket_t router(server, zmq::socket_type::router), dealer(client, zmq::socket_type::dealer);
  router.set(zmq::sockopt::curve_server, true);
  router.set(zmq::sockopt::curve_secretkey, keys[1]);
  router.bind("tcp://127.0.0.1:*");
  double rate = 0;
  std::thread thread([&] { rate = serve(router, answers); });
  dealer.set(zmq::sockopt::curve_serverkey, keys[0]);
  dealer.set(zmq::sockopt::curve_publickey, keys[2]);
  dealer.set(zmq::sockopt::curve_secretkey, keys[3]);
  dealer.connect(router.get(zmq::sockopt::last_endpoint));
  zmq::message_t answer;
  const auto begin = Clock::now();
  while (Seconds(Clock::now() - begin).count() < 1) {
    dealer.send(zmq::buffer(text), zmq::send_flags::none);
    if (answers && !dealer.recv(answer)) return 1;
  }
  dealer.send(zmq::message_t(), zmq::send_flags::none);
  thread.join();
  std::printf("%.1f\n", rate);
}
