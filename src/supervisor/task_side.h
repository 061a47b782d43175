/// The supervisor's end of task.sock: the processes of the task that use the client library, and their reports until
/// these are answered. For the supervisor's only thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"
#include "supervisor/packet.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

class TaskSide {
 public:
  static constexpr std::size_t connections_max = 256;
  static constexpr std::size_t reports_max = 256;
  static constexpr std::size_t report_bytes_max = std::size_t{1} << 20;  ///< of all reports that wait

  struct Calls {
    std::function<void()> heard;     ///< any message
    std::function<void()> promised;  ///< a beat
    /// What a process that has just attached must know at once, if anything.
    std::function<std::optional<cluster::supervision::StopNotice>()> attached;
    /// With what a process that waits may begin at once, if it may.
    std::function<std::optional<cluster::supervision::Begin>()> ready;
  };

  [[nodiscard]] Result<void> open();
  void watch(Watch& watch, const Calls& calls);

  /// Whether any process has ever attached.
  [[nodiscard]] bool ever_attached() const { return ever_attached_; }
  /// To all processes that are attached now; says how many there are.
  std::size_t notify(const cluster::supervision::StopNotice& notice);

  /// Whether a process waits to begin.
  [[nodiscard]] bool has_ready() const;
  /// To all that do; says how many there are.
  std::size_t begin(const cluster::supervision::Begin& begin);
  /// The highest counts that any process has told.
  [[nodiscard]] const cluster::supervision::Beat& tally() const { return tally_; }

  /// The next report that the agent has not got, numbered anew: processes of one task do not agree on numbers.
  [[nodiscard]] std::optional<cluster::supervision::Report> next_report();
  /// Another agent: all that is not answered has to be sent again, under the same numbers.
  void send_again() { sent_up_to_ = 0; }
  /// Passes an answer on to who reported.
  void answer(const cluster::supervision::ReportAnswer& answer);

  [[nodiscard]] std::int64_t refused() const { return refused_; }

 private:
  struct Connection {
    Descriptor socket;
    bool attached = false;
    std::string refused_why;  ///< not empty: its client library does not work with this supervisor
    bool ready = false;
  };
  struct Waiting {
    std::uint64_t connection = 0;
    cluster::supervision::Report report;  ///< with the number it came with
  };
  using Connections = std::map<std::uint64_t, Connection>;

  void accept_all();
  void receive(std::uint64_t id, const Calls& calls);
  void take(std::uint64_t id, const cluster::supervision::FromTask& message, const Calls& calls);
  void take_report(std::uint64_t id, const cluster::supervision::Report& report);
  /// Whether it is still there: who does not read loses the connection.
  bool tell(std::uint64_t id, const cluster::supervision::ToTask& message);

  Descriptor listener_;
  Connections connections_;
  std::uint64_t last_connection_ = 0;
  bool ever_attached_ = false;
  cluster::supervision::Beat tally_;
  std::map<std::uint64_t, Waiting> reports_;  ///< by our own number
  std::size_t report_bytes_ = 0;
  std::uint64_t last_report_ = 0;
  std::uint64_t sent_up_to_ = 0;
  std::int64_t refused_ = 0;
};

}  // namespace cadre::supervisor
