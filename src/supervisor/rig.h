/// What the tests of this room stand on: tasks in folders of their own, started by a real nursery, and blocking clients
/// for both sockets. Waits have no meaning of their own: they end when what is awaited is there, or fail after minutes.
/// One thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/supervision.h"
#include "describe/describe.h"
#include "supervisor/descriptor.h"
#include "supervisor/forking/nursery.h"
#include "supervisor/isolation/isolation_features.h"

namespace cadre::supervisor {

/// Comes back when it holds; a failure of the test when it does not for two minutes.
bool wait_for(const std::string& what, const std::function<bool()>& holds);

/// One end of agent.sock or task.sock.
class Peer {
 public:
  /// Waits until somebody listens there; not connected when the folder has an ending instead.
  static Peer connect(const std::string& folder, const std::string& name);
  Peer() = default;
  /// Over a connection that is there.
  explicit Peer(Descriptor socket);

  explicit operator bool() const { return static_cast<bool>(socket_); }
  template <class Message>
  bool send(const Message& message) {
    return send_raw(describe::write_msgpack(message));
  }
  bool send_raw(BytesView packet);
  /// Nothing when the other side has closed.
  template <class Message>
  std::optional<Message> receive() {
    const std::optional<Bytes> packet = receive_raw();
    if (!packet) return std::nullopt;
    auto message = describe::read_msgpack<Message>(*packet);
    EXPECT_TRUE(message) << (message ? "" : describe::to_text(message.error(), "packet"));
    return message ? std::optional(*message) : std::nullopt;
  }
  std::optional<Bytes> receive_raw();
  void close() { socket_.close(); }
  int fd() const { return socket_.get(); }

 private:
  Descriptor socket_;
};

/// The agent's side of one task.
class FakeAgent {
 public:
  explicit FakeAgent(const std::string& folder) : peer_(Peer::connect(folder, "agent.sock")) {}
  /// From the beginning.
  explicit FakeAgent(Descriptor socket) : peer_(std::move(socket)) {}

  template <class Message>
  bool send(const Message& message) {
    return peer_.send(cluster::supervision::FromAgent(message));
  }
  /// The next status for which it holds; what is not a status is kept in `others`.
  std::optional<cluster::supervision::Status> status(
      const std::function<bool(const cluster::supervision::Status&)>& holds);
  /// The next message of this type.
  template <class Message>
  std::optional<Message> next() {
    while (auto message = peer_.receive<cluster::supervision::FromSupervisor>()) {
      if (const auto* wanted = std::get_if<Message>(&*message)) return *wanted;
    }
    return std::nullopt;
  }
  std::optional<cluster::supervision::Status> running();
  Peer& peer() { return peer_; }

 private:
  Peer peer_;
};

class Rig : public ::testing::Test {
 protected:
  Rig();
  ~Rig() override;

  /// Ends what still runs.
  void end_all();

  /// A nursery that uses all there is, or only this; one of each kind for the whole program.
  static Nursery& nursery(std::optional<IsolationFeatures> features = std::nullopt);

  /// Runs a shell script, without limits, with isolation as in `isolation`.
  cluster::supervision::Launch script(const std::string& text) const;
  cluster::supervision::Launch program(std::vector<std::string> argv) const;

  /// Writes the launch into a new folder and starts its supervisor.
  std::string begin(const cluster::supervision::Launch& launch);
  /// The same with an agent from the beginning.
  FakeAgent begin_with_agent(const cluster::supervision::Launch& launch);
  std::string begin_in(Nursery& nursery, const cluster::supervision::Launch& launch);
  Nursery::Born give_birth(Nursery& nursery, const cluster::supervision::Launch& launch);
  std::string make_folder(const cluster::supervision::Launch& launch);
  cluster::TaskEnding wait_for_ending(const std::string& folder) const;
  cluster::TaskEnding run(const cluster::supervision::Launch& launch) { return wait_for_ending(begin(launch)); }

  /// What the task wrote, lines as they came; stream 1 or 2.
  static std::string output(const std::string& folder, int stream = 1);

  /// Living processes, zombies left out, whose command line holds the text.
  static std::vector<pid_t> processes_with(const std::string& text);
  static bool is_alive(pid_t pid);
  /// A text that stands in no other command line.
  std::string new_mark() const;

  cluster::Isolation isolation = cluster::Isolation::on;
  std::string root;  ///< holds the folders of tasks
  std::string last_folder;
  pid_t last_supervisor = 0;

 private:
  struct Begun {
    pid_t pid = 0;
    std::string folder;
  };
  std::vector<Begun> begun_;
};

/// The version of control groups that an agent would use on this host; nothing where it may make none.
std::vector<int> live_cgroups();

/// The program that nurseries run.
extern const std::string supervisor_program;

/// Memory that a process holds.
ByteSize memory_of(pid_t pid);

}  // namespace cadre::supervisor
