/// The names that the master serves: registries on the door's loop, and those whose questions wait for news of them.
/// Who asks must have been let in. What is here lives as long as its owners keep it alive, and is not written down:
/// after a restart they put it again. For the thread of its loop.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/awake_clock.h"
#include "loop/loop.h"
#include "names/master/requests.h"
#include "names/registries.h"
#include "net/http/server.h"

namespace cadre::gateway {

class NameDesk {
 public:
  /// Epochs count on from `begin`, which is more than any desk of this cluster has counted to.
  NameDesk(loop::Loop& loop, std::uint64_t begin);

  /// Answers it, if only when there is news.
  void serve(const std::string& workspace, const names::requests::Request& request,
             const std::shared_ptr<net::http::Exchange>& exchange);

  names::Registries::Counters counters() const { return registries_.counters(); }

 private:
  net::http::Response answer(const std::string& workspace, const names::requests::ListNames& request);
  net::http::Response answer(const std::string& workspace, const names::requests::RemoveNames& request);
  net::http::Response answer(const std::string& workspace, const names::requests::GetName& request);
  net::http::Response answer(const std::string& workspace, const names::requests::PutName& request);
  net::http::Response answer(const std::string& workspace, const names::requests::RemoveName& request);
  net::http::Response answer(const std::string& workspace, const names::requests::KeepNames& request);
  net::http::Response answer(const std::string& workspace, const names::requests::ReleaseNames& request);
  void watch(const std::string& workspace, const names::requests::WatchNames& request,
             const std::shared_ptr<net::http::Exchange>& exchange);
  void settle();
  /// The time that this process was awake: while it was stopped or suspended nobody could keep a name alive.
  TimePoint now();
  void tick_later();

  loop::Loop& loop_;
  AwakeClock awake_;
  loop::Timer ticking_;
  names::Registries registries_;
  std::map<names::WatcherId, std::shared_ptr<net::http::Exchange>> waiting_;  // shared with who let them in
  loop::Timer timer_;
  TimePoint timer_at_ = TimePoint::max();
};

}  // namespace cadre::gateway
