/// The name registry of the master, and the requests that wait for changes of names. Callers must be authorized. Names
/// live as long as their owners keep them alive, and are not stored: after a restart the owners put them again. For the
/// thread of its loop.
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

class NameService {
 public:
  /// Viewers do not see the values of names below names::groups_folder.
  enum class Shown { all, to_viewers };

  /// Epochs start at `begin`, which is larger than any earlier epoch of this cluster.
  NameService(loop::Loop& loop, std::uint64_t begin);

  /// Responds at once, or when there are changes.
  void serve(const std::string& workspace, const names::requests::Request& request, Shown shown,
             const std::shared_ptr<net::http::Exchange>& exchange);

  const names::Registries::Counters& counters() const { return registries_.counters(); }

 private:
  struct Waiting {
    std::shared_ptr<net::http::Exchange> exchange;  // shared with the gateway
    Shown shown = Shown::all;
  };

  net::http::Response answer(const std::string& workspace, const names::requests::ListNames& request, Shown shown);
  net::http::Response answer(const std::string& workspace, const names::requests::RemoveNames& request);
  net::http::Response answer(const std::string& workspace, const names::requests::GetName& request, Shown shown);
  net::http::Response answer(const std::string& workspace, const names::requests::PutName& request);
  net::http::Response answer(const std::string& workspace, const names::requests::RemoveName& request);
  net::http::Response answer(const std::string& workspace, const names::requests::KeepNames& request);
  net::http::Response answer(const std::string& workspace, const names::requests::ReleaseNames& request);
  void watch(const std::string& workspace, const names::requests::WatchNames& request, Shown shown,
             const std::shared_ptr<net::http::Exchange>& exchange);
  void settle();
  /// The time that this process was awake: while it was stopped or suspended nobody could keep a name alive.
  TimePoint now();
  void tick_later();

  loop::Loop& loop_;
  AwakeClock awake_;
  loop::Timer ticking_;
  names::Registries registries_;
  std::map<names::WatcherId, Waiting> waiting_;
  loop::Timer timer_;
  TimePoint timer_at_ = TimePoint::max();
};

}  // namespace cadre::gateway
