// Plain ZeroMQ between two processes over a unix socket: requests of SIZE bytes with 256 in flight; requests a second.
#include <unistd.h>

#include <chrono>
#include <string>
#include <zmq.hpp>

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int main(int, char** argv) {
  const std::string at = "ipc://@zmq_window-" + std::to_string(getpid()), text(std::stoul(argv[1]), 'x');
  zmq::message_t id, message;
  if (fork() == 0) {
    zmq::context_t context;
    zmq::socket_t router(context, zmq::socket_type::router);
    router.bind(at);
    while (router.recv(id) && router.recv(message) && message.size() > 0) {
      if (router.send(id, zmq::send_flags::sndmore)) router.send(message, zmq::send_flags::none);
    }
    return 0;
  }
  zmq::context_t context;
  zmq::socket_t dealer(context, zmq::socket_type::dealer);
  dealer.connect(at);
  double count = 0, begin = now();
  for (int flying = 0; now() - begin < 1.5; ++count) {
    if (flying == 256 && dealer.recv(message)) --flying;
    if (dealer.send(zmq::buffer(text), zmq::send_flags::none)) ++flying;
  }
  dealer.send(zmq::message_t(), zmq::send_flags::none);
  std::printf("%.1f\n", count / (now() - begin));
}
