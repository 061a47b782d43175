/// The shell of a part of a master: performs the effects of its part, and brings it news from agents, the database and
/// elsewhere. For the thread of the master's loop.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "api/part.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/result.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "loop/task.h"
#include "records/records.h"

namespace cadre::master {

/// What a master and the shells of its parts stand on; all of it must outlive them.
struct Dependencies {
  loop::Loop& loop;
  loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
  records::Records& records;
  loop::Calendar& calendar;
  Log& log;
};

/// News for the part, and how much memory they take. False: there is no room, or the master is about to stop.
using PostNews = std::function<bool(std::any news, ByteSize size)>;

class PartShell {
 public:
  virtual ~PartShell() = default;

  /// Called once, before anything else.
  void start(PostNews post, std::function<void(api::CallId, api::Reply)> reply) {
    post_ = std::move(post);
    reply_ = std::move(reply);
  }
  /// The part as it is from now on: it is made again when what it decided cannot be written.
  virtual void attach(api::Part& part) { static_cast<void>(part); }
  /// Looks at news right before the part hears them. Nothing: they do not count any more.
  [[nodiscard]] virtual std::optional<std::any> admit(std::any news) { return news; }
  /// What the part wants done, now that it is written.
  virtual void perform(std::vector<std::any> effects) = 0;
  /// Logs what these changes mean to admins, as far as they are of its part.
  virtual void log(const std::vector<api::ChangeRow>& changes) { static_cast<void>(changes); }
  /// Tells the sender of news that cannot be stored so, that they are not sent again. What the part is to hear instead,
  /// if anything.
  [[nodiscard]] virtual std::optional<std::any> reject(const std::any& news) {
    static_cast<void>(news);
    return std::nullopt;
  }
  /// Called with the ticks of the master.
  virtual void tick() {}
  /// Removes what is too old, from time to time.
  [[nodiscard]] virtual loop::Task<void> tidy() { co_return; }
  /// Connections and messages that it has refused.
  [[nodiscard]] virtual std::uint64_t refused() const { return 0; }

 protected:
  [[nodiscard]] bool post(std::any news, ByteSize size = {}) { return post_ && post_(std::move(news), size); }
  /// News with which the part will reply to this call. The call fails if there is no room for them.
  void post_for(api::CallId call, std::any news) {
    if (post(std::move(news)) || !reply_) return;
    reply_(call, api::Failed{Errc::unavailable, "the master is overloaded or about to stop; try again", {}});
  }

 private:
  PostNews post_;
  std::function<void(api::CallId, api::Reply)> reply_;
};

/// Makes the shell of a part.
using MakePartShell = std::function<Result<std::unique_ptr<PartShell>>(const Dependencies&)>;

}  // namespace cadre::master
