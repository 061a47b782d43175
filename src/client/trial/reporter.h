/// Reports of a trial on their way: kept in order, sent in batches by one thread, and repeated until they are stored.
/// An error shows at the next call. Safe on any thread of the process that made it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "experiment/requests/metrics.h"

namespace cadre::client {

/// Where reports go: to the master, or off the cluster into a folder. It is called on the reporter's thread. What fails
/// with `unavailable`, `timed_out` or `corrupt` is repeated as it is: it may have been stored.
class ReportSink {
 public:
  virtual ~ReportSink() = default;
  [[nodiscard]] virtual Result<experiment::requests::Reported> send(
      const experiment::requests::ReportMetrics& batch) = 0;
  [[nodiscard]] virtual Result<void> send(const experiment::requests::ReportTrial& news) = 0;
};

struct ReporterOptions {
  std::size_t reports_max = 20'000;  ///< that are not stored yet; beyond it calls wait
  std::size_t bytes_max = std::size_t{64} << 20;
  Duration linger = std::chrono::milliseconds(50);       ///< so long a report waits for others
  Duration news_every = std::chrono::milliseconds(500);  ///< between two changes of progress or status
};

class Reporter {
 public:
  using MetricReport = experiment::requests::MetricReport;

  /// The sink must outlive it.
  Reporter(experiment::TrialId trial, ReportSink& sink, const ReporterOptions& options);
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  /// Ends without waiting for what is not stored.
  ~Reporter();

  /// Queues a report; waits while the queue is full. The error may be that of an earlier report.
  [[nodiscard]] Result<void> report(MetricReport report);
  /// Queues a report if there is room, and leaves errors to report(): for what can do without some reports.
  void offer(MetricReport report);
  /// Queues progress or status; later ones replace earlier ones that were not sent.
  [[nodiscard]] Result<void> tell(std::optional<double> progress, std::optional<std::string> status);

  /// Waits until everything is stored.
  [[nodiscard]] Result<void> flush();
  /// The same for at most so long, and ends; the error says how many reports were not stored.
  [[nodiscard]] Result<void> close(Duration most);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  struct Queued {
    MetricReport report;
    std::size_t bytes = 0;
  };
  struct Batch {
    experiment::requests::ReportMetrics metrics;
    std::size_t bytes = 0;
    std::optional<experiment::requests::ReportTrial> news;
  };

  // With the lock held.
  bool has_room(std::size_t bytes) const;
  bool is_idle() const { return queue_.empty() && !news_ && !is_sending_; }
  bool is_hurried() const { return flushing_ > 0 || is_ending_; }
  bool has_work() const;
  void await_work(Lock& lock);
  Batch take();
  void note(Error error, bool is_fatal);
  void put(MetricReport report, std::size_t bytes);
  Result<void> take_error();
  bool wait_until(Lock& lock, std::optional<Clock::time_point> end, const std::function<bool()>& done);

  // Without it, on the thread.
  void serve();
  void deliver(const Batch& batch);
  void deliver_each(const experiment::requests::ReportMetrics& metrics);
  void note_faults(const experiment::requests::Reported& stored);
  template <class T, class Send>
  Result<T> insist(const std::string& what, const Send& send);

  const experiment::TrialId trial_;
  ReportSink& sink_;
  const ReporterOptions options_;

  std::mutex mutex_;
  std::condition_variable work_;   // for the thread
  std::condition_variable moved_;  // for callers
  std::deque<Queued> queue_;
  std::size_t held_ = 0;  // reports that are not stored
  std::size_t held_bytes_ = 0;
  std::optional<experiment::requests::ReportTrial> news_;
  Clock::time_point news_due_{};
  bool is_sending_ = false;
  int flushing_ = 0;
  bool is_ending_ = false;
  bool is_abandoned_ = false;
  bool is_fatal_ = false;
  std::deque<Error> errors_;
  std::set<std::string> known_faults_;
  std::thread thread_;
};

}  // namespace cadre::client
