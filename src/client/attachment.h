/// One process's connection to the supervisor of its task, made anew when it is lost. May be called from any thread of
/// the process that made it.
#pragma once

#include <cadre/core.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "cluster/supervision.h"

namespace cadre::core {

class Attachment {
 public:
  /// Connects and attaches, if that can be done at once.
  explicit Attachment(std::string socket);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment();

  pid_t pid() const { return pid_; }
  /// For a child process: the connection is its parent's, and must be neither used nor kept open.
  void disown();

  std::optional<Stop> stop();
  void promise_liveness();
  void beat();
  void tally(std::uint64_t calls, std::uint64_t errors);
  /// Its number is given here.
  Reported report(cluster::supervision::Report report, std::chrono::milliseconds wait_max);
  /// Says that this process is ready, and waits for what it is told when it begins. Nothing when there is no supervisor
  /// any more.
  std::optional<std::map<std::string, std::string>> wait_until_begun();

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Deadline {
    std::string why;
    Clock::time_point time;
  };

  // All of these with the lock held.
  void connect_if_due();
  void lose(std::string why);
  bool send(const cluster::supervision::FromTask& message);
  void beat_if_due();
  void receive_all();
  void take(BytesView packet);
  void take(const cluster::supervision::StopNotice& notice);
  void take(const cluster::supervision::ReportAnswer& answer);
  void take(const cluster::supervision::Begin& begin);
  static void take(const cluster::supervision::AttachRefused& no);
  bool send_in_time(Lock& lock, const cluster::supervision::Report& report, Clock::time_point until);
  void wait_for_news(Lock& lock, short events, Clock::time_point until);

  const std::string socket_;
  const pid_t pid_;
  std::mutex mutex_;
  std::atomic<int> fd_{-1};  ///< atomic only for disown(), which may not take the lock
  std::string lost_why_ = "not connected yet";
  Clock::time_point next_connect_{};
  Clock::time_point next_beat_{};
  bool promised_ = false;
  cluster::supervision::Beat beat_;       ///< what the next one tells
  cluster::supervision::Beat told_beat_;  ///< what the last one told
  bool waits_ = false;                    ///< to begin
  std::optional<std::map<std::string, std::string>> begun_;
  std::optional<Deadline> stop_;
  std::uint64_t last_report_ = 0;
  std::set<std::uint64_t> asked_;               ///< reports that somebody waits for
  std::map<std::uint64_t, Reported> answered_;  ///< and their answers
  bool somebody_polls_ =
      false;  ///< waits at the socket without the lock; who polls also receives, and wakes the others
  std::condition_variable news_;
  std::vector<std::byte> buffer_;
};

}  // namespace cadre::core
