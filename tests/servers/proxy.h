/// A TCP proxy on loopback with a thread of its own that spoils connections on demand. Its calls are safe on any
/// thread.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cadre::servers {

class Proxy {
 public:
  enum class Fault {
    cut,      ///< both sides are closed, in disorder
    silence,  ///< all stays open, nothing passes any more
  };
  enum class Moment {
    before,  ///< the server hears nothing of it
    after,   ///< the server has answered, but the client hears nothing of it
  };

  /// Of a port at 127.0.0.1.
  explicit Proxy(int target_port) : Proxy(target_port, "127.0.0.1", 0) {}
  /// At a port of its own, under another address of this host.
  Proxy(int target_port, const std::string& host, int port);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy();

  int port() const { return port_; }

  /// For all connections there are now. New ones pass, unless silence is asked for: that also meets them, until heal().
  void spoil(Fault fault);
  /// Once, when a client next says something that holds `word`.
  void spoil_when_client_says(std::string word, Moment moment, Fault fault);
  void heal();

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    bool silent = false;
    bool waits_for_answer = false;
  };

  void run();
  void accept_one();
  void move(Pair& pair, int from, int to);
  void spoil(Pair& pair, Fault fault);
  static void close(Pair& pair);

  int target_port_;
  int listener_ = -1;
  int port_ = 0;
  int wake_ = -1;

  std::mutex mutex_;
  std::vector<Pair> pairs_;
  std::string word_;
  Moment moment_ = Moment::before;
  Fault fault_ = Fault::cut;
  bool all_silent_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cadre::servers
