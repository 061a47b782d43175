/// The loop's side of a member: says where it is, opens a line to each of the others and does what the group's core
/// wants done. For the loop, but for what says otherwise.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/components/membership.h"
#include "client/engine.h"
#include "loop/task.h"
#include "net/hub.h"

namespace cadre::client {

class Switchboard {
 public:
  /// All outlive it.
  Switchboard(Engine& engine, Log& log, Membership& shared);
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;
  ~Switchboard();

  /// The first time, or again after a failure.
  void start();
  /// Does what the core wants done, and tells what it has to tell.
  void settle();
  /// Takes its name out of the group, so that others need not wait until its entry runs out.
  void leave();
  void end();
  void count_copies();

  // On any thread.
  /// As a call that does nothing once this has ended.
  std::function<void()> guarded(void (Switchboard::*what)());
  void settle_soon();

  /// Are called on the loop. Set before start().
  std::function<void(const remote::PeerUp&)> on_peer_up;
  std::function<void(const remote::PeerDown&)> on_peer_down;

 private:
  struct Inside;  // what belongs to the loop

  loop::Task<void> begin();
  Result<void> bind();
  void watch();
  void hear(const net::Peer& peer, Slice frame);
  bool perform_all();
  [[nodiscard]] Result<void> perform(remote::Effect& effect);
  [[nodiscard]] Result<void> open_line(const remote::Open& one);
  void tell(std::vector<remote::News> news);
  void sweep_soon();
  loop::Task<void> remove_name();
  void fail_with(Error error);
  TimePoint now() { return engine_.loop().now(); }

  Engine& engine_;
  Log& log_;
  Membership& shared_;
  const std::string identity_;                                           // of the host, for those on the same
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);  // shared with calls that may come too late
  std::atomic<bool> settle_posted_ = false;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::client
