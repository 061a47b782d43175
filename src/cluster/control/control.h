/// The control logic of the master: takes messages of agents and requests of clients, plans, and returns what is to be
/// written and then sent. Pure: no I/O, no clock; the same input gives the same output. One thread at a time.
///
/// Its messages may only be sent after its changes are written. After a restart it is rebuilt from the rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/awake_clock.h"
#include "cluster/control/ledger.h"
#include "cluster/control/sessions.h"
#include "cluster/requests.h"
#include "plan/plan_file.h"
#include "plan/planner.h"

namespace cadre::cluster::control {

struct PoolSettings {
  plan::Policy policy;
  plan::Groups groups;

  static constexpr std::string_view doc = "A named set of agents with one scheduling policy.";
};
template <class V>
void describe(V& v, PoolSettings& p) {
  v.field("policy", p.policy, "Scheduling policy.");
  v.field("groups", p.groups, "Settings of groups; groups not listed have the defaults.");
}

struct Settings {
  Duration agent_timeout = std::chrono::seconds(30);
  Duration beat_every = std::chrono::seconds(1);
  Duration session_timeout = std::chrono::seconds(5);
  std::map<std::string, PoolSettings> pools = {{"default", {}}};
  Duration forget_agents_after = std::chrono::hours(24 * 7);
  std::int64_t ended_jobs_kept = 10'000;
  ByteSize ended_bytes_kept{std::int64_t{256} << 20};
  ByteSize job_bytes_max{std::int64_t{1} << 30};
  ByteSize job_bytes_of_user_max{std::int64_t{256} << 20};
  std::int64_t agents_max = 10'000;
  std::int64_t watchers_max = 10'000;
  std::int64_t sessions_max = 10'000;
  std::int64_t sessions_of_user_max = 1'000;
  std::int64_t execs_max = 1'000;
  bool record_plans = false;
  std::string cluster;          ///< id of this cluster, made with its database; not configured
  std::string owner = "admin";  ///< of the data folder; agents that name no user run for this one

  static constexpr std::string_view doc = "Settings of the cluster.";
};
template <class V>
void describe(V& v, Settings& s) {
  v.field("agent_timeout", s.agent_timeout, "Heartbeat timeout after which an agent counts as lost.",
          at_least(std::chrono::milliseconds(100)));
  v.field("beat_every", s.beat_every, "Heartbeat interval between agents and the master.",
          at_least(std::chrono::milliseconds(10)));
  v.field("session_timeout", s.session_timeout,
          "Heartbeat timeout of a client, after which the jobs of its session are killed.",
          range(std::chrono::milliseconds(100), std::chrono::hours(24)));
  v.field("pools", s.pools, "The pools that agents may join.", not_empty());
  v.field("forget_agents_after", s.forget_agents_after, "Time after which a lost agent is forgotten.",
          at_least(Duration{0}));
  v.field("ended_jobs_kept", s.ended_jobs_kept,
          "Number of ended jobs kept in memory; older ones are read from the database.", range(0, 10'000'000));
  v.field("ended_bytes_kept", s.ended_bytes_kept, "Memory for the specifications and reports of these jobs.",
          range(ByteSize{0}, plan::most_memory));
  v.field("job_bytes_max", s.job_bytes_max, "Memory for the specifications of all jobs that have not ended.",
          range(ByteSize{1 << 20}, plan::most_memory));
  v.field("job_bytes_of_user_max", s.job_bytes_of_user_max, "The same for the jobs of one user.",
          range(ByteSize{1 << 20}, plan::most_memory));
  v.field("agents_max", s.agents_max, "Maximum number of known agents.", range(1, 16'000));
  v.field("watchers_max", s.watchers_max, "Maximum number of clients that wait for a job to change.",
          range(1, 1'000'000));
  v.field("sessions_max", s.sessions_max, "Maximum number of client sessions.", range(1, 1'000'000));
  v.field("sessions_of_user_max", s.sessions_of_user_max, "Maximum number of client sessions of one user.",
          range(1, 1'000'000));
  v.field("execs_max", s.execs_max, "Maximum number of commands that run inside tasks at a time.", range(1, 100'000));
  v.check(s.beat_every <= s.agent_timeout / 3, "beat_every",
          "must be at most a third of agent_timeout; lower it or raise agent_timeout");
  v.check(s.beat_every <= s.session_timeout / 3, "session_timeout",
          "must be at least three times beat_every; raise it or lower beat_every");
}

struct ToAgent {
  Peer peer = 0;
  messages::FromMaster message;
};

struct Answer {
  Asker asker = 0;
  requests::Reply reply;
};

/// A plan and its input.
struct PlanRecord {
  std::string pool;
  plan::PlanFile file;
  plan::Plan plan;
};

struct Outcome {
  Writes writes;
  std::vector<ToAgent> to_agents;
  std::vector<Answer> answers;
  std::vector<PlanRecord> plans;
};

class Control {
 public:
  /// `boot` numbers the starts of the master and only grows.
  Control(Settings settings, const Rows& rows, std::uint64_t boot, TimePoint now);

  /// Handles a message of an agent. `proven` is the agent that the connection has authenticated, if it has.
  void hear(Peer peer, const messages::FromAgent& message, const std::optional<AgentId>& proven, TimePoint now);
  /// A message to or from this agent was lost: everything is sent again after a new hello.
  void forget_peer(Peer peer);
  /// Handles a request of a client; the reply contains only what the client may see.
  void ask(Asker asker, const access::Principal& who, const requests::Request& request, TimePoint now);
  /// The same, of a job that has ended and is not in memory any more.
  void ask(Asker asker, const access::Principal& who, const requests::Request& request, const Job& archived,
           TimePoint now);
  /// A page of jobs, of which ended ones that are in the database only are part, if any: newest first, all of them of
  /// the range that list_range() gives.
  requests::Jobs list_jobs(const access::Principal& who, const requests::ListJobs& request,
                           const std::vector<Job>& archived) const;
  /// The numbers that the next page of this list covers: at most from `from` to before `before`.
  struct JobRange {
    JobId from;
    JobId before;
    bool has_archived = false;  ///< jobs that are in the database only may be among them
  };
  JobRange list_range(const requests::ListJobs& request) const;
  void note_pruned(JobId id, std::int64_t bytes) { ledger_.note_pruned(id, bytes); }
  /// The client no longer waits for replies.
  void forget_asker(Asker asker);
  /// Takes the last answer that is to be sent, if it is for this one.
  std::optional<requests::Reply> take_answer(Asker asker);
  /// A page of everything that has not ended, as far as the caller may see it.
  requests::SnapshotPage snapshot(const access::Principal& who, const requests::GetSnapshot& request) const;
  requests::Status status() const;
  /// Whether an agent of this name counts as alive: no other may take its place.
  bool is_alive(const AgentId& id) const;
  /// Revokes the key of a name under which no agent is known.
  void revoke_key(Asker asker, const AgentId& id);
  /// Whether a job that has not ended is in this workspace.
  bool is_used(const std::string& workspace) const;
  /// Jobs of this user that have not ended.
  std::int64_t jobs_of(const std::string& user) const;
  /// Most slots that the jobs of an account may hold together, over all pools; none: no limit. It binds from the next
  /// plan on, and nothing is stopped for it.
  void set_quota(const AccountId& account, std::optional<std::int64_t> max_slots);
  /// Slots that its jobs hold, in all pools.
  std::int64_t held_by(const AccountId& account) const;
  /// Takes the connections of agents over from a control that was dropped because what it decided could not be
  /// written. Call it once, before anything else; the rows of both are those of one database.
  void take_connections(const Control& dropped);
  /// All clients that still wait for a reply.
  std::vector<Asker> waiting() const;
  /// Looks for agents that are lost. Call it about once per heartbeat interval.
  void tick(TimePoint now);

  /// Plans where something has changed, and returns everything that is to be written and then sent.
  Outcome settle(TimePoint now);

  const Ledger& ledger() const { return ledger_; }
  const Settings& settings() const { return settings_; }
  const std::map<SessionId, Session>& sessions() const { return sessions_.all(); }
  /// What the planner of a pool knows; for tests.
  plan::Snapshot planned(const std::string& pool, TimePoint now) const { return pools_.at(pool).planner.snapshot(now); }
  /// How much is remembered beside the ledger; for tests.
  std::size_t remembered() const {
    return watchers_.size() + static_cast<std::size_t>(watching_) + execs_.size() + inputs_.size() + usages_.size() +
           to_offer_.size() + sessions_.all().size() + sessions_.waiting() + impaired_.size() + in_doubt_.size() +
           rejoining_.size() + deadlines_.size();
  }
  /// The time that this process has been running: timeouts of peers are measured by it.
  TimePoint awake() const { return awake_.now(); }
  std::size_t peers() const { return peers_.size(); }

 private:
  struct Pool {
    plan::Planner planner;
    plan::Planner ideal;  ///< the same agents, all of them there and idle: what could ever run
    bool changed = true;
    TimePoint planned;
    bool closed = false;  ///< it is configured no longer: what is left in it waits
  };
  struct Exec {
    Asker asker = 0;
    LeaseId lease;
    AgentId agent;
    std::string user;
    std::optional<messages::Exec> waiting;  ///< until the task has started
  };
  /// A command that runs in a task, or the task itself: number 0.
  using InputTarget = std::pair<LeaseId, std::uint64_t>;
  struct Input {
    Asker asker = 0;
    AgentId agent;
  };
  /// The caller of a request.
  struct Caller {
    Asker asker;
    const access::Principal& who;
  };

  // Agents (agents.cc).
  void hello(Peer peer, const messages::Hello& hello, const std::optional<AgentId>& proven, TimePoint now);
  /// Why not even an idle cluster could run it, as far as is known.
  std::optional<std::string> never_fits(const JobSpec& spec, const std::string& owner, TimePoint now);
  /// The user of the cluster that an agent runs for.
  const std::string& owner_of(const AgentEntry& agent) const;
  /// Agents that take no jobs of this user, since they cannot keep tasks of several users apart.
  std::vector<AgentId> closed_to(const std::string& user, const std::string& pool) const;
  std::string closed_words(const std::vector<AgentId>& agents) const;
  /// The gang of a job, which must not be placed on agents that are closed to its owner.
  plan::Gang admitted_gang(const JobRow& row) const;
  /// Which agents are closed to whom has changed.
  void admit_again(const std::string& pool, TimePoint now);
  /// Why it could not even run alone under the quotas of its user and its workspace.
  std::optional<std::string> exceeds_quota(const JobSpec& spec, const std::string& user) const;
  /// Why it cannot wait in that pool from now on, if it cannot.
  std::optional<Error> obstacle_to_pool(const Job& job, const std::string& pool, TimePoint now);
  /// In words, when there is no such pool.
  std::optional<std::string> missing_pool(const std::string& name) const;
  std::optional<std::string> refusal(const messages::Hello& hello, const std::optional<AgentId>& proven);
  AgentEntry& welcome(Peer peer, const messages::Hello& hello, TimePoint now);
  // Leases whose agents were lost and come back (rejoin.cc).
  /// Takes back the lost leases that the agent still runs. A gang over several agents goes on once all of them are
  /// back; until then, and for agent_timeout at most, its returned leases are kept. Leases that cannot go on are ended.
  void take_back(AgentEntry& agent, const std::set<LeaseId>& reported, TimePoint now);
  /// The lost tasks of a queued job that has come back in full run again.
  void rejoin(JobId id, TimePoint now);
  /// Ends the wait for the rest of a gang: its leases on agents that were lost are ended.
  void give_up_lost(JobId id, TimePoint now);
  /// Holds back what an agent says of a lease that waits for the rest of its gang. Whether it does.
  bool defer(AgentEntry& agent, const AgentMessage& message);
  /// Its lease does not go on there: the agent is to end what it runs of it.
  void stop_rejoining(AgentEntry& agent, TaskId task);
  void tick_rejoining(TimePoint now);
  /// Whether a partly lost job may wait until it is known what became of its other agents.
  bool is_in_doubt(const Job& job);
  bool is_silent(const AgentEntry& agent) const;

  void lose(AgentEntry& agent, TimePoint now);
  /// The same without a look at the jobs that had tasks there; these are returned.
  std::set<JobId> lose_leases(AgentEntry& agent, TimePoint now);
  /// Nothing, while it is occupied.
  void forget(const AgentId& id, TimePoint now);
  void remove_agent(const Caller& caller, const requests::RemoveAgent& request, TimePoint now);
  void goodbye(const AgentId& id, const messages::Goodbye& news, TimePoint now);
  /// Why this is not the agent of that name which is there, but a copy of it, if it is.
  std::optional<std::string> copied(const AgentEntry& known, const messages::Hello& hello) const;
  /// Whether the agent has sent a later one since: this one was delayed on an older connection, and what it says of
  /// leases is not true any more.
  bool is_outdated(const messages::Hello& hello) const;
  /// Whether its host was rebooted since its last hello. What it was told to start then may have run and left no trace,
  /// so the same lease must not be started there again.
  bool was_rebooted_since(const messages::Hello& hello) const;
  /// Whether a gang that has not ended as a whole has, or had, a task there.
  bool is_occupied(const AgentId& id) const;
  void note_obstacle(AgentEntry& agent, const std::string& obstacle, TimePoint now);
  void offer(const AgentEntry& agent);
  void set_agent(const Caller& caller, const requests::SetAgent& request, TimePoint now);
  void set_slot(const Caller& caller, const requests::SetSlot& request, TimePoint now);
  void stop_tasks_on(const AgentEntry& agent, const std::function<bool(const TaskRow&)>& chosen, const std::string& why,
                     TimePoint now);
  /// The agent, if the caller may change it; otherwise sends an error.
  AgentEntry* own_agent(const Caller& caller, const AgentId& id);
  void send(const AgentEntry& agent, messages::MasterMessage message);
  void refuse(Peer peer, std::string why);

  // Tasks (tasks.cc).
  void report(const AgentEntry& agent, const messages::Report& report, TimePoint now);
  void refuse_report(const AgentEntry& agent, const messages::Report& report);
  void exited(const AgentEntry& agent, const messages::Exited& news, TimePoint now);
  /// Takes one step in the life of a task's lease, and does what follows from it for its slots.
  void step(TaskId id, const lease::Event& event, TimePoint now);
  void perform(TaskId id, const lease::Effect& effect);
  messages::Start start_of(const Job& job, const TaskRow& task) const;
  /// When it is to be started again; TimePoint{}: not at all.
  void set_restart(TaskId id, TimePoint at);
  /// The task uses, or uses no longer, what it asked for on that agent.
  void count_use(AgentEntry& agent, const TaskRow& task, std::int64_t sign) const;
  void take_slots(const TaskRow& task);
  void release_slots(const TaskRow& task, const AgentId& agent);
  enum class Lost : bool { no, yes };
  /// Records with the agent on which the task was lost that it is lost, or no longer is.
  void note_lost(const TaskRow& task, Lost is);
  /// Looks at a job after one of its tasks has changed: does it go on, stop, end, or wait again?
  void review(JobId id, TimePoint now);
  void finish(Job& job, TimePoint now);
  void requeue(Job& job, TimePoint now);
  void resume(Job& job, TimePoint now);
  void stop_tasks(JobId id, lease::Reason why, TimePoint now);
  /// For which job the last plan preempts it, in words; one of another workspace is not named.
  std::string preemption_words(const Job& job) const;
  plan::Running running_of(const Job& job) const;

  // Tasks that fail while the others of their job go on (restarts.cc).
  /// A task of a running job has ended: whether it is to be started again.
  void judge_end(TaskId id, TimePoint now);
  /// Whether time will tell what becomes of it: one of its tasks is to be started again, or there are too few.
  bool is_impaired(const Job& job) const;
  void tick_restarts(TimePoint now);
  /// Starts what is due, in its place; a job whose place is gone waits for another.
  void restart_due(JobId id, TimePoint now);
  void end_if_too_few(JobId id, TimePoint now);
  /// It has started: notes when it has run for as long as it may.
  void note_deadline(const Job& job);
  /// Stops the jobs that have run for as long as they may.
  void tick_deadlines(TimePoint now);

  // Planning (planning.cc).
  void plan(const std::string& name, Pool& pool, TimePoint now);
  /// Tells a pool what is held in the others under its limits. Whether that leaves more room in it than before.
  bool count_elsewhere(Pool& pool);
  void start(JobId id, const plan::Places& places, TimePoint now);
  TaskRow& place_task(Job& job, std::uint32_t member, const plan::Place& place, std::int32_t slots, TimePoint now);
  Pool& pool_of(const Job& job);

  // Requests (requests.cc, jobs.cc).
  void answer(Asker asker, requests::Reply reply);
  void fail(Asker asker, Errc code, std::string message);
  /// The job, if the caller may see it; otherwise sends an error.
  const Job* seen_job(const Caller& caller, JobId id);
  /// The job, if the caller may change it; otherwise sends an error.
  const Job* own_job(const Caller& caller, JobId id);
  /// The same, unless it has ended.
  const Job* live_job(const Caller& caller, JobId id);
  /// The job of the task, if it has only that one and the caller may change it; otherwise sends an error.
  const Job* job_of_one(const Caller& caller, TaskId id);
  void submit(const Caller& caller, const JobSpec& spec, TimePoint now);
  /// Why there is no memory for a job of this size, if there is none.
  std::optional<std::string> no_memory_for(const std::string& user, std::int64_t bytes) const;
  void end_job(const Caller& caller, JobId id, std::optional<Duration> grace, TimePoint now);
  /// Stops a job that has not ended; with a grace, if that is less than what it was given before.
  void end(JobId id, std::optional<Duration> grace, TimePoint now);
  void get_job(const Caller& caller, const requests::GetJob& request);
  void get_task(const Caller& caller, TaskId id);
  void list_tasks(const Caller& caller, const requests::ListTasks& request);
  void move_job(const Caller& caller, const requests::MoveJob& request, TimePoint now);
  void set_job(const Caller& caller, const requests::SetJob& request, TimePoint now);
  void why(const Caller& caller, const requests::Why& request);

  // Commands inside tasks, and input (execs.cc).
  void exec(const Caller& caller, const requests::RunExec& request);
  void start_exec(std::uint64_t number, Exec& exec);
  /// Those that waited for this lease to start.
  void start_execs(const LeaseId& lease);
  void exec_news(const AgentEntry& agent, const messages::ExecNews& news);
  /// The agent will report nothing more about these commands.
  void end_execs(const std::function<bool(const Exec&)>& chosen, const std::string& why);
  void send_input(const Caller& caller, const requests::SendInput& request);
  void input_taken(const AgentEntry& agent, const messages::InputTaken& news);
  /// The agent will not acknowledge this input any more.
  void end_inputs(const std::function<bool(const InputTarget&, const Input&)>& chosen, const Error& why);
  /// The lease of a task that runs or starts on a connected agent; otherwise sends an error.
  std::optional<lease::Held> present_lease(const Caller& caller, TaskId id);
  bool is_started(TaskId id) const;
  static std::optional<std::string> obstacle_to_entering(const access::Principal& who, const Job& job);

  // Sessions of clients (clients.cc).
  void keep_session(const Caller& caller, const requests::KeepSession& request, TimePoint now);
  void list_actors(const Caller& caller, const requests::ListActors& request);
  void list_sessions(const Caller& caller, const requests::ListSessions& request);
  void end_session(const Caller& caller, const requests::EndSession& request, TimePoint now);
  /// Why a job cannot belong to that session of the caller, if it cannot.
  std::optional<Error> obstacle_to_session(const Caller& caller, const SessionId& id);
  /// The lease of the task in which the client runs, if it runs in one; an error when that is not to go on.
  Result<std::optional<LeaseId>> parent_of(const Caller& caller) const;
  /// Whether the sessions of its tasks end as soon as it is asked to stop, not only when it has ended.
  static bool ends_at_once(const JobRow& job);
  /// Closes the sessions whose clients ran in tasks that are over, and those of their actors, at all levels.
  void close_orphans(TimePoint now);
  /// Kills its jobs, for a reason in words.
  void close_session(const SessionId& id, const std::string& why, TimePoint now);
  void tick_sessions(TimePoint now);
  requests::ActorView actor_view(const Job& job) const;
  /// Responds to the client that waits there, if something has changed for it.
  void tell_session(const SessionId& id);
  requests::SessionNews news_of(const SessionId& id, const access::Principal& who, std::uint64_t seen) const;

  // What there is (views.cc).
  void list_agents(Asker asker, const requests::ListAgents& request);
  void get_agent(Asker asker, const AgentId& id);
  void list_slots(const Caller& caller, const requests::ListSlots& request);
  void list_pools(Asker asker);
  /// up, silent or lost.
  std::string state_of(const AgentEntry& agent) const;
  /// Why it takes no work; empty: it does.
  std::string obstacle_to_work(const AgentEntry& agent) const;
  requests::AgentView view(const AgentEntry& agent) const;
  const MemberSpec& member_of(TaskId id) const;
  requests::JobView view(const Job& job) const;
  /// The same with what it runs, and its earlier runs.
  requests::JobView whole_view(const Job& job) const;
  requests::TaskView view(const Job& job, const TaskRow& task) const;

  Settings settings_;
  Ledger ledger_;
  std::map<std::string, Pool> pools_;
  std::uint64_t boot_;
  std::uint64_t greetings_ = 0;  ///< of agents, each of which begins a session of theirs
  std::map<Peer, AgentId> peers_;
  std::map<JobId, std::vector<std::pair<Asker, std::uint64_t>>> watchers_;  ///< with the version they have seen
  std::int64_t watching_ = 0;
  Sessions sessions_;
  std::vector<LeaseId> over_;  ///< leases that ended: the sessions within them are to be closed
  std::map<std::uint64_t, Exec> execs_;
  std::map<InputTarget, Input> inputs_;  ///< those that were sent and not answered yet, one for each
  std::uint64_t last_exec_;              ///< those of an earlier master may still be heard of
  std::map<TaskId, Usage> usages_;
  std::set<JobId> impaired_;
  std::set<std::pair<TimePoint, JobId>> deadlines_;  ///< of jobs with a max_time, running or not any more
  AwakeClock awake_;
  /// Running jobs with some leases lost while the other agents are silent; with the time, if all of these are heard
  /// again, until which the lost ones may come back.
  std::map<JobId, std::optional<TimePoint>> in_doubt_;
  std::map<JobId, TimePoint> rejoining_;  ///< queued jobs with leases that came back, and until when they wait
  std::set<AgentId> to_offer_;            ///< agents that offer less now that something has ended there
  const Job* archived_ = nullptr;         ///< while it is asked about
  Outcome outcome_;
};

}  // namespace cadre::cluster::control
