// Plain ZeroMQ between processes: ROUTERs in others, a DEALER to each here, over unix sockets or over tcp with CURVE.
// Prints the microseconds of requests of SIZE bytes (p50, p99), of one to each of eight (scatter), or a rate (oneway).
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>
#include <zmq.hpp>

using namespace zmq::sockopt;
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int serve(int to, const std::string& at, const char* secret, bool answers) {
  zmq::context_t context;
  zmq::socket_t router(context, zmq::socket_type::router);
  if (secret != nullptr) router.set(curve_server, true), router.set(curve_secretkey, secret);
  router.bind(at);
  if (write(to, router.get(last_endpoint).c_str(), router.get(last_endpoint).size() + 1) < 0) return 1;
  zmq::message_t id, message;
  double count = 0, begin = 0;
  while (router.recv(id) && router.recv(message) && message.size() > 0) {
    if (count++ == 0) begin = now();
    if (answers && router.send(id, zmq::send_flags::sndmore)) router.send(message, zmq::send_flags::none);
  }
  const double rate = (count - 1) / (now() - begin);
  return write(to, &rate, sizeof rate) < 0;
}

int main(int argc, char** argv) {
  const std::string pattern = argv[1], text(argc == 4 ? std::stoul(argv[3]) : 0, 'x');
  const bool is_tcp = std::string(argv[2]) == "tcp", answers = pattern != "oneway";
  const std::string at = is_tcp ? "tcp://127.0.0.1:*" : "ipc://@zmq_processes-" + std::to_string(getpid()) + "-";
  char key[41], secret[41], place[128];
  zmq_curve_keypair(key, secret);
  int ends[8][2], count = pattern == "scatter" ? 8 : 1;
  for (int i = 0; i < count && pipe(ends[i]) == 0; ++i) {
    if (fork() == 0) return serve(ends[i][1], is_tcp ? at : at + char('0' + i), is_tcp ? secret : nullptr, answers);
  }
  zmq::context_t context;
  std::vector<zmq::socket_t> dealers;
  for (int i = 0; i < count && read(ends[i][0], place, sizeof place) > 0; ++i) {
    zmq::socket_t& dealer = dealers.emplace_back(context, zmq::socket_type::dealer);
    if (is_tcp) dealer.set(curve_serverkey, key), dealer.set(curve_publickey, key), dealer.set(curve_secretkey, secret);
    dealer.connect(place);
  }
  std::vector<double> times;
  for (double begin = now(), sent = begin; sent - begin < 1; sent = now()) {
    zmq::message_t answer;
    for (auto& dealer : dealers) dealer.send(zmq::buffer(text), zmq::send_flags::none);
    for (auto& dealer : dealers) answers ? dealer.recv(answer) : 0;
    times.push_back((now() - sent) * 1e6);
  }
  for (auto& dealer : dealers) dealer.send(zmq::message_t(), zmq::send_flags::none);
  std::sort(times.begin(), times.end());
  double result = times[times.size() * (pattern == "p99" ? 99 : 50) / 100];
  if (!answers && read(ends[0][0], &result, sizeof result) < 0) return 1;
  std::printf("%.3f\n", result);
}
