/// A whole cluster in virtual time, for tests: the master's control logic over a database in memory, that of agents
/// over disks and supervisors in memory, and links that stall, break and lose. Everything that happens comes from one
/// Dice; what must hold at all times is checked at all times. One thread at a time.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/dice.h"
#include "cluster/control/control.h"
#include "cluster/host/host_control.h"

namespace cadre::cluster::control {

/// The rows as a database would hold them.
class ModelDatabase {
 public:
  void apply(const Writes& writes);
  Rows rows() const;

  std::map<AgentId, AgentRow> agents;
  std::map<JobId, JobRow> jobs;
  std::map<TaskId, TaskRow> tasks;
  std::map<std::pair<std::string, GroupId>, GroupRow> groups;
  Quotas quotas;  ///< as who keeps users and workspaces would say
};

/// A task's process with its supervisor, and what both have left on the disk of their host.
struct Process {
  messages::Start start;
  TimePoint ends;  ///< by itself
  std::int32_t code = 0;
  bool obeys = true;
  Duration abandon_after{};
  std::optional<TimePoint> permitted_until;
  std::optional<TimePoint> alone_since;
  std::optional<supervision::Stop> stop;
  TimePoint stop_until;
  std::optional<TimePoint> obeys_at;
  std::optional<TaskEnding> ending;
  TimePoint says_status;
  std::uint64_t reports = 0;

  bool is_alive() const { return !ending; }
};

/// A program with jobs that end with it.
struct Client {
  SessionId id;
  std::string owner;
  TimePoint ends;
  bool says_goodbye = false;
  std::optional<TimePoint> wakes;      ///< if it is stopped for a while: it says nothing then
  bool was_stopped = false;            ///< ever: it may have lost its jobs
  std::optional<std::uint64_t> waits;  ///< for the answer to this question
  std::uint64_t seen = 0;
  std::set<JobId> has;    ///< that were confirmed
  std::set<JobId> ended;  ///< of whose end it was told
};

class World {
 public:
  struct Faults {
    int per_minute = 20;  ///< of all kinds together
    bool master_dies = true;
    bool agents_die = true;
    bool links_fail = true;
    bool users_meddle = true;
    bool master_stops = true;  ///< for a while, as by SIGSTOP or suspend
  };

  World(Dice& dice, Settings settings, int agents);

  /// Lets this much time pass, with jobs submitted and faults made on the way.
  void live(Duration time, const Faults& faults);
  /// No faults any more: everything comes back, and all jobs must come to their end in this time.
  void calm_down(Duration time);

  /// What did not hold; empty if all did.
  const std::string& complaint() const { return complaint_; }
  std::int64_t jobs_ended() const { return static_cast<std::int64_t>(ended_.size()); }

 private:
  template <class Message>
  struct Wire {
    std::deque<std::pair<TimePoint, Message>> under_way;
    TimePoint last;
    std::optional<TimePoint> heals;  ///< if it is cut: nothing passes, and what is said waits
  };
  struct Node {
    messages::Hello introduction;
    std::unique_ptr<host::HostControl> host;
    std::map<LeaseId, Process> disk;
    std::vector<std::pair<TimePoint, messages::Start>> launches;
    Peer peer = 0;
    Wire<messages::FromAgent> to_master;
    Wire<messages::FromMaster> to_agent;
    TimePoint ticks;
    std::optional<TimePoint> returns;  ///< if it is dead
    bool heals_broken = false;         ///< what was under way is lost when both ways are whole again
    bool leaves = false;
    TimePoint troubled;  ///< when it was last dead, or a link of it not as it should be
  };

  void step(const Faults& faults);
  void complain(const std::string& what);
  /// With CADRE_TRACE in the environment: tells what happens, line by line.
  void trace(const std::string& who, const std::string& what) const;

  // The master.
  void start_master();
  void kill_master();
  /// Whether it takes messages and requests.
  bool master_is_awake() const { return control_ && !master_wakes_; }
  void wake_master();
  void settle();
  void record(const Writes& writes);
  void act(const Outcome& outcome);
  void check_ledger();
  void check_restarts(const Job& job, const TaskRow& task);
  void check_planner();
  void check_quotas(const std::map<AccountId, std::int64_t>& before);
  void check_restart();
  void compare(const plan::Snapshot& mine, const plan::Snapshot& its);
  /// Slots that are held under each account, as the ledger has it.
  std::map<AccountId, std::int64_t> held() const;

  // Agents and links.
  void step_node(Node& node);
  void carry(Node& node);
  template <class Message>
  std::optional<Message> arrived(Wire<Message>& wire);
  void break_link(Node& node);
  void cut(Node& node);
  void start_agent(Node& node);
  void kill_agent(Node& node);
  void perform(Node& node);
  void perform(Node& node, const host::Effect& effect);
  void launch(Node& node, const messages::Start& start);
  void forget(Node& node, const LeaseId& lease);
  void step_process(Node& node, Process& process);
  void end(Process& process, lease::Reason reason, std::int32_t code);
  void tell_status(Node& node, const Process& process);

  // Clients.
  void step_clients(const Faults& faults);
  void step(Client& client);
  void hear(Client& client, const requests::SessionNews& news);
  /// Somebody whose job a new one may be.
  Client* any_client();
  /// The jobs of clients that are there are left alone, and those of others are not.
  void check_sessions();
  /// Who is still there was told of all ends.
  void check_told();

  // Users.
  void make_fault(const Faults& faults);
  void ask(requests::Request request, const std::string& user = "admin");
  void meddle();
  void set_quota(const AccountId& account, std::optional<std::int64_t> max_slots);
  JobSpec random_job();
  restart::Policy random_policy();
  /// Whose quota is changed, or whose job is submitted.
  std::string any_user() { return dice_.percent(50) ? "ann" : "bob"; }
  std::string any_workspace() { return dice_.percent(50) ? "vision" : "speech"; }
  Duration step_delay() { return std::chrono::milliseconds(50 * dice_.between(0, 2)); }
  Duration seconds(std::int64_t least, std::int64_t most) {
    return std::chrono::milliseconds(dice_.between(least * 1000, most * 1000));
  }

  Dice& dice_;
  bool traced_ = std::getenv("CADRE_TRACE") != nullptr;
  Settings settings_;
  bool has_quotas_;
  TimePoint now_;
  ModelDatabase database_;
  std::unique_ptr<Control> control_;
  std::uint64_t boot_ = 0;
  std::optional<TimePoint> master_returns_;
  std::optional<TimePoint> master_wakes_;  ///< if it is stopped
  int deadly_settles_ = 0;                 ///< the master dies in the middle of one of the next
  TimePoint ticked_;
  TimePoint master_began_;  ///< or woke
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<SessionId, Client> clients_;
  std::map<SessionId, TimePoint> departed_;  ///< clients that are gone, and since when
  std::uint64_t last_client_ = 0;
  Peer last_peer_ = 0;
  std::uint64_t last_question_ = 0;
  std::map<std::uint64_t, requests::Request> asked_;
  bool may_refuse_ = false;   ///< a job asked for since the last answers may have found too few slots
  std::set<JobId> answered_;  ///< whose submission was confirmed
  std::map<JobId, std::int32_t> runs_when_stopped_;  ///< of jobs whose stop was confirmed
  std::set<JobId> ended_;
  std::set<JobId> failed_;  ///< one of whose processes failed by itself
  std::set<LeaseId> launched_;
  std::set<LeaseId> recorded_;  ///< leases whose end stands in the database
  std::map<TaskId, Epoch> newest_report_;
  std::string complaint_;
};

}  // namespace cadre::cluster::control
