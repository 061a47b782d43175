/// Members of a group in a world of their own: connections with delays that break, processes that die and come back,
/// names that are told late. The same run for the same seed.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/dice.h"
#include "base/overloaded.h"
#include "remote/group_core.h"

namespace cadre::remote {

class GroupWorld {
 public:
  struct Member {
    explicit Member(GroupCore::Options options) : group(std::move(options)) {}
    GroupCore group;
    std::map<std::string, Connection> out;                 ///< by peer: what was opened last
    std::vector<std::pair<std::string, Note>> sent;        ///< to whom
    std::map<std::uint64_t, std::uint64_t> sent_to_epoch;  ///< by id
    std::vector<Letter> received;
    std::set<std::uint64_t> lost;
    std::map<std::uint64_t, int> completed;  ///< requests, how often
    std::set<std::uint64_t> answered;        ///< requests that have a reply
    std::set<std::uint64_t> requests;
    std::vector<std::string> events;
  };

  GroupWorld(Dice& dice, GroupCore::Options options) : dice_(dice), options_(std::move(options)) {}

  Member& start(const std::string& name, const std::string& type = "worker") {
    GroupCore::Options options = options_;
    const std::uint64_t epoch = ++epochs_;
    options.group = "g";
    options.self = {type, name, epoch, "ticket-" + std::to_string(epoch), "key", {name}};
    Member& member = *(members_[name] = std::make_unique<Member>(options));
    for (auto& [other, one] : members_) {
      if (other == name) continue;
      tell(other, options.self);
      tell(name, one->group.self());
    }
    return member;
  }
  Member& operator[](const std::string& name) { return *members_.at(name); }
  bool lives(const std::string& name) const { return members_.contains(name); }

  /// As by kill -9. Its connections close; the names tell it some time later.
  std::unique_ptr<Member> kill(const std::string& name) {
    std::unique_ptr<Member> member = std::move(members_.at(name));
    const std::uint64_t epoch = member->group.self().epoch;
    members_.erase(name);
    for (auto& [id, wire] : wires_) {
      if (wire.from == name || wire.to == name) cut(id);
    }
    for (auto& [other, one] : members_) {
      later(std::chrono::seconds(2), other, one->group.self().epoch,
            [name, epoch](Member& to, TimePoint then) { to.group.parted(name, epoch, then); });
    }
    return member;
  }
  /// It stands still, and nobody is told. What comes to it waits until it goes on.
  void freeze(const std::string& name) { frozen_[name]; }
  void thaw(const std::string& name) {
    const auto waited = std::move(frozen_.at(name));
    frozen_.erase(name);
    for (const auto& act : waited) events_[{now, ++made_}] = act;
  }
  /// What comes over the present connection from the other is not heard any more.
  void deafen(const std::string& name, const std::string& other) { deaf_.insert(members_.at(other)->out.at(name)); }
  /// A connection between the two breaks; they may open another.
  void break_line(const std::string& from, const std::string& to) {
    const auto at = members_.at(from)->out.find(to);
    if (at != members_.at(from)->out.end()) cut(at->second);
  }

  /// Takes out what came.
  void read_all(const std::string& name) {
    while (auto letter = members_.at(name)->group.take()) members_.at(name)->received.push_back(*std::move(letter));
    settle(name);
  }
  /// Performs what a member wants done.
  void settle(const std::string& name) {
    Member& member = *members_.at(name);
    member.group.flush(now);
    for (Effect& effect : member.group.effects()) {
      std::visit(overloaded{
                     [&](Open& one) { open(name, one); },
                     [&](const Close& one) {
                       const auto out = member.out.find(one.peer);
                       if (out != member.out.end()) wires_.at(out->second).is_cut = true;
                     },
                     [&](Transmit& one) { carry(member.out.at(one.peer), Way::there, std::move(one.frame)); },
                     [&](Answer& one) { carry(one.to, Way::back, std::move(one.frame)); },
                 },
                 effect);
    }
    for (const News& one : member.group.news()) {
      std::visit(overloaded{
                     [&](const PeerUp& up) { member.events.push_back("up " + up.peer); },
                     [&](const PeerDown& down) {
                       member.events.push_back("down " + down.peer);
                       member.lost.insert(down.lost.begin(), down.lost.end());
                     },
                     [&](const Completed& done) {
                       ++member.completed[done.request];
                       if (done.outcome) member.answered.insert(done.request);
                     },
                 },
                 one);
    }
    const TimePoint next = member.group.next_tick();
    if (next == TimePoint::max()) return;
    const std::uint64_t epoch = member.group.self().epoch;
    at(std::max(next, now), name, epoch, [](Member& one, TimePoint then) {
      if (one.group.next_tick() <= then) one.group.tick(then);
    });
  }
  void run_for(Duration time) {
    const TimePoint end = now + time;
    while (!events_.empty() && events_.begin()->first.first <= end) {
      auto event = events_.extract(events_.begin());
      now = event.key().first;
      event.mapped()();
    }
    now = end;
  }

  TimePoint now{std::chrono::hours(1)};

 private:
  enum class Way : bool { there, back };
  struct Wire {
    std::string from;
    std::uint64_t from_epoch = 0;
    std::uint64_t line = 0;
    std::string to;
    bool is_cut = false;
    TimePoint last_there;
    TimePoint last_back;
  };
  using Act = std::function<void(Member&, TimePoint)>;

  void at(TimePoint time, const std::string& name, std::uint64_t epoch, Act act) {
    events_[{time, ++made_}] = [this, name, epoch, act = std::move(act)] {
      const auto found = members_.find(name);
      if (found == members_.end() || found->second->group.self().epoch != epoch) return;
      if (const auto frozen = frozen_.find(name); frozen != frozen_.end()) {
        return frozen->second.push_back([this, name, epoch, act] { at(now, name, epoch, act); });
      }
      act(*found->second, now);
      settle(name);
    };
  }
  void later(Duration most, const std::string& name, std::uint64_t epoch, Act act) {
    at(now + Duration(dice_.between(1, most.count())), name, epoch, std::move(act));
  }
  void tell(const std::string& name, const Card& card) {
    later(std::chrono::milliseconds(50), name, members_.at(name)->group.self().epoch,
          [card](Member& to, TimePoint then) { to.group.met(card, then); });
  }
  void open(const std::string& name, const Open& wish) {
    Member& member = *members_.at(name);
    const Connection id = ++connections_;
    member.out[wish.peer] = id;
    wires_[id] = {name, member.group.self().epoch, wish.line, wish.peer, false, now, now};
    if (!members_.contains(wish.peer)) return cut(id);
    carry(id, Way::there, wish.hello);
  }
  void cut(Connection id) {
    Wire& wire = wires_.at(id);
    if (std::exchange(wire.is_cut, true)) return;
    later(std::chrono::milliseconds(5), wire.from, wire.from_epoch,
          [peer = wire.to, line = wire.line](Member& one, TimePoint then) { one.group.lost(peer, line, then); });
  }
  void carry(Connection id, Way way, Bytes frame) {
    Wire& wire = wires_.at(id);
    if (wire.is_cut || (way == Way::there && deaf_.contains(id))) return;
    TimePoint& last = way == Way::there ? wire.last_there : wire.last_back;
    last = std::max(last, now) + Duration(dice_.between(1'000, 2'000'000));
    events_[{last, ++made_}] = [this, id, way, frame = std::move(frame)]() mutable {
      const Wire& over = wires_.at(id);
      const std::string& name = way == Way::there ? over.to : over.from;
      const auto found = members_.find(name);
      if (found == members_.end()) return;
      if (const auto frozen = frozen_.find(name);
          frozen != frozen_.end()) {  // also what came before a connection ended
        return frozen->second.push_back([this, id, way, frame] { arrive(id, way, frame); });
      }
      if (!over.is_cut) arrive(id, way, frame);
    };
  }
  void arrive(Connection id, Way way, const Bytes& frame) {
    const Wire& over = wires_.at(id);
    const std::string& name = way == Way::there ? over.to : over.from;
    const auto found = members_.find(name);
    if (found == members_.end()) return;
    if (way == Way::there) {
      found->second->group.heard(id, frame, now);
    } else {
      found->second->group.answered(over.to, over.line, frame, now);
    }
    settle(name);
  }

  Dice& dice_;
  const GroupCore::Options options_;
  std::map<std::string, std::unique_ptr<Member>> members_;
  std::map<std::string, std::vector<std::function<void()>>> frozen_;  ///< and what waits for them
  std::set<Connection> deaf_;
  std::map<Connection, Wire> wires_;
  std::map<std::pair<TimePoint, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t made_ = 0;
  std::uint64_t epochs_ = 0;
  Connection connections_ = 0;
};

}  // namespace cadre::remote
