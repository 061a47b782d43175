/// The master's shell around its mind: takes news from agents and from the door, lets the mind decide, writes, then
/// sends. For the thread of its loop; what is asked at its desk may come from any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "access/access.h"
#include "base/log.h"
#include "cluster/control/control.h"
#include "cluster/desk.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "loop/inbox.h"
#include "master/config.h"
#include "master/lease_holders.h"
#include "net/network.h"
#include "records/archive.h"
#include "records/records.h"

namespace cadre::master {

/// What a master stands on; all of it must outlive the master.
struct Ground {
  loop::Loop& loop;
  net::Network& network;
  loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
  records::Records& records;
  loop::Calendar& calendar;
  Log& log;
  /// Ended jobs that are not in memory, read on a thread of their own; may be left out: then they are not found.
  records::Archive* archive = nullptr;
  loop::BlockingPool* archive_pool = nullptr;
};

struct Options {
  cluster::control::Settings settings;
  Keeping keeping;
  net::HubOptions agents;
  std::map<net::PublicKey, cluster::AgentId> agent_keys;
  std::uint64_t boot = 0;
  cluster::control::Rows rows;
  access::Settings access;
  access::Rows access_rows;
  std::optional<access::TokenRow> local_token;  ///< of who owns the data folder
  /// Takes the answers to what was asked at the desk, and the changes that were written; on the master's loop.
  std::function<void(cluster::Desk::Asker, cluster::Told)> tell;
  std::function<void(const std::vector<cluster::control::ChangeRow>&)> tell_changes;
  /// What a task is given to ask the master by itself.
  std::function<cluster::messages::Pass(cluster::LeaseId)> make_pass;
  /// Is given every plan that was made, if the settings ask for them.
  std::function<void(const cluster::control::PlanRecord&)> record;
  /// The packed code of jobs that have not ended must stay; that of others may go. May be left out.
  std::function<void(const std::string& hash)> keep_code;
  std::function<void(const std::string& hash)> release_code;
  /// Who may write the output of which lease, before the agents are told; a key that is nobody's any more. May be left
  /// out.
  std::function<void(std::vector<LeaseFact>)> tell_leases;
  std::function<void(const net::PublicKey&)> tell_revoked;
  /// The output of this lease is not needed any more. May be left out.
  std::function<void(cluster::LeaseId)> release_output;
  /// Makes a text that lets one agent join this pool; nothing, if nobody can.
  std::function<loop::Task<Result<std::string>>(cluster::requests::MakeJoinToken)> make_join_token;
};

/// The quotas that users and workspaces have.
[[nodiscard]] cluster::control::Quotas quotas_of(const access::Rows& rows);

class Master : public cluster::Desk {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Master>> make(const Ground& ground, Options options);
  ~Master() override;

  void ask(Asker asker, cluster::Credential credential, cluster::Asked asked) override;
  void forget(Asker asker) override;

  /// Goes on until stop(), or until another master has begun.
  [[nodiscard]] loop::Task<Result<void>> run();
  void stop();

  /// From now on this key is this agent's, and no other is.
  void admit(const net::PublicKey& key, const cluster::AgentId& agent);
  /// Whether the key is this agent's already.
  bool knows(const net::PublicKey& key, const cluster::AgentId& agent) const;
  /// Whether there is an agent of this name that no other may replace.
  bool is_alive(const cluster::AgentId& agent) const { return control_.is_alive(agent); }

  const std::vector<std::string>& agents_addresses() const { return agents_->addresses(); }

 private:
  struct FromAgent {
    net::Peer peer;
    cluster::messages::FromAgent message;
    std::size_t size = 0;
  };
  struct FromDoor {
    Asker asker = 0;
    cluster::Credential credential;
    cluster::Asked asked;
  };
  struct Left {
    Asker asker = 0;
  };
  struct Tick {};
  using News = std::variant<FromAgent, FromDoor, Left, Tick>;
  static ByteSize size_of(const News& news);
  /// Somebody at the desk whose token was believed.
  struct Guest {
    Asker asker = 0;
    access::Principal who;
    std::string address;
  };

  Master(const Ground& ground, Options options);
  Result<void> bind(net::HubOptions agents);
  void tick_later();
  void hear_agent(const net::Peer& peer, BytesView bytes);
  void complain(std::string_view whom, std::string_view what);
  void decide(const News& news);
  // At the desk (desk.cc).
  void attend(const FromDoor& one, TimePoint now);
  /// Why nothing can be decided now, as far as that is his affair.
  std::string obstacle_for(const cluster::Credential& credential) const;
  Result<access::Principal> identify(const cluster::Credential& credential) const;
  /// Something that was created, by what it is called.
  struct Created {
    std::string noun;
    std::string object;
  };
  std::optional<Created> serve(const Guest& guest, const cluster::requests::Request& request, TimePoint now);
  std::optional<Created> serve(const Guest& guest, const access::Request& request, TimePoint now);
  /// The same as the first; `archived` is the job that it is about, if that is not in memory.
  std::optional<Created> serve_now(const Guest& guest, const cluster::requests::Request& request,
                                   const cluster::control::Job* archived, TimePoint now);
  loop::Task<void> serve_archived(Guest guest, cluster::requests::Request request, cluster::JobId id);
  loop::Task<void> list_archived(Guest guest, cluster::requests::ListJobs request);
  /// What was answered outside of a turn of the loop is told after the next.
  void wake(Asker asker);
  /// Answers a request whose key is known with what it has created; whether it has.
  bool answer_repeated(const Guest& guest, const access::IdempotencyKey& key, TimePoint now);
  void begin_login(const FromDoor& one, const cluster::BeginLogin& request);
  void check_password(const Guest& guest);
  void end_login(const FromDoor& one, const access::Access::LoginEnd& request, TimePoint now);
  loop::Task<void> list_audit(Guest guest, access::ListAudit request);
  loop::Task<void> make_join_token(Guest guest, cluster::requests::MakeJoinToken request);
  /// Notes who wanted to change what, and whether it was refused.
  void audit(const Guest& guest, std::string_view act, std::string object, const cluster::Told* answer, TimePoint now);
  /// Lets the plans know of a quota that this request has changed, if it has.
  void pass_on_quota(const access::Request& request);
  /// To be told when what was decided is written.
  void tell_later(Asker asker, cluster::Told told);

  /// Forgets connections of agents on which nothing was heard for long.
  void sweep();
  loop::Task<void> tidy();
  /// Removes ended jobs that are more than are to be kept, and releases their output.
  loop::Task<void> prune_jobs();
  loop::Task<Result<void>> write(const cluster::control::Writes& writes, const access::Writes& access);
  /// Decides about what was heard, writes and acts. An error that is_of_data() concerns only what was heard.
  loop::Task<Result<void>> take(const std::vector<News>& news);
  // What cannot be written fails alone (isolate.cc).
  static bool is_of_data(const Error& error);
  /// After a batch that could not be written: forgets what was decided and takes the inputs one by one.
  loop::Task<Result<void>> isolate(const std::vector<News>& news, Error why);
  /// Makes the state anew from the database.
  loop::Task<Result<void>> reload(const std::vector<News>& news);
  /// Answers one that cannot be written, so that it is not repeated.
  loop::Task<Result<void>> reject(const News& one, Error why);
  void act(cluster::control::Outcome outcome);
  /// Agents that come and go are of interest to every admin; jobs and tasks have their own history.
  void log_change(const cluster::control::ChangeRow& change);
  void revoke(const cluster::AgentId& agent);
  bool has_key(const cluster::AgentId& agent) const;
  /// Asks the database whether this is still the only master, if that is not certain enough to speak for the cluster.
  loop::Task<Result<void>> confirm();
  void look_after_code(const cluster::control::JobRow& row);
  /// What strangers said, on both hubs.
  std::uint64_t refused() const;
  Ground ground_;
  cluster::control::Settings settings_;
  access::Settings access_settings_;
  std::optional<access::TokenRow> local_token_;
  Duration tick_every_;
  Keeping keeping_;
  std::map<net::PublicKey, cluster::AgentId> agent_keys_;
  std::function<void(const cluster::control::PlanRecord&)> record_;
  std::function<void(const std::string&)> keep_code_;
  std::function<void(const std::string&)> release_code_;
  std::function<void(std::vector<LeaseFact>)> tell_leases_;
  std::function<void(const net::PublicKey&)> tell_revoked_;
  std::function<void(cluster::LeaseId)> release_output_;
  std::function<loop::Task<Result<std::string>>(cluster::requests::MakeJoinToken)> make_join_token_;
  std::function<void(Asker, cluster::Told)> tell_;
  std::function<void(const std::vector<cluster::control::ChangeRow>&)> tell_changes_;
  std::function<cluster::messages::Pass(cluster::LeaseId)> make_pass_;
  cluster::control::Control control_;
  access::Access access_;
  std::vector<std::pair<Asker, cluster::Told>> told_;  ///< once what was decided is written
  loop::Inbox<News> inbox_;
  std::unique_ptr<net::Hub> agents_;
  struct Known {
    net::Peer peer;
    TimePoint heard;  ///< as the mind counts the time that the master was awake
  };
  std::map<std::uint64_t, Known> peers_;  ///< by connection, while somebody may have to be answered there
  TimePoint swept_;
  std::set<std::uint64_t> overrun_;  ///< connections of which a message found no room
  loop::Timer ticking_;
  bool stopping_ = false;
  std::string obstacle_;  ///< why nothing can be written at the moment
  Duration confirm_every_;
  TimePoint confirmed_;  ///< when this was certainly the only master, on the loop's clock
  std::uint64_t complaints_ = 0;
  std::uint64_t unwritable_ = 0;        ///< inputs of which the rows could not be written
  std::uint64_t strangers_ = 0;         ///< at the desk: tokens and passwords that were not believed
  std::set<cluster::JobId> with_code_;  ///< jobs whose code is kept
};

}  // namespace cadre::master
