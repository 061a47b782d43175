/// The master's control logic with a database in memory and agents that say what a test lets them say. Writes down what
/// was heard, written and sent, for transcripts. One thread at a time.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/control/words_for_tests.h"
#include "cluster/control/world_for_tests.h"

namespace cadre::cluster::control {

/// What a job asks for, where it is not plain.
struct Wish {
  std::int32_t slots = 1;
  std::optional<std::int32_t> count = {};
  std::optional<std::int32_t> elastic_min = {};
  std::int32_t priority = 42;
  bool preemptible = false;
};

inline JobSpec job_of(const Wish& wish) {
  JobSpec spec;
  spec.priority = wish.priority;
  spec.preemptible = wish.preemptible;
  MemberSpec& member = spec.members.emplace_back();
  member.slots = wish.slots;
  member.count = wish.count;
  member.elastic_min = wish.elastic_min;
  member.command.argv = {"train"};
  return spec;
}

inline LeaseId lease_of(std::uint64_t job, std::uint32_t member = 0, std::uint64_t epoch = 1) {
  return {{{job}, member}, {epoch}};
}

class ControlFixture {
 public:
  /// `restarts`: the master is made anew from its rows after everything it hears, and its agents say hello again.
  enum class Restarts : bool { no, yes };
  explicit ControlFixture(Settings settings = {}, Restarts restarts = Restarts::no)
      : settings_(std::move(settings)), restarts_(restarts), now_(TimePoint(std::chrono::hours(1))) {
    restart();
  }

  /// Says hello on a new connection. `leases` is what it runs; left out: what it was told to.
  void hello(const std::string& name, std::int32_t slots = 4, std::optional<std::set<LeaseId>> leases = {}) {
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = AgentId(name);
    hello.agent.slots = slots;
    hello.slots.resize(static_cast<std::size_t>(slots));
    hello.identity = name;
    if (leases) agents_[name].runs = *std::move(leases);
    hello.leases.assign(agents_[name].runs.begin(), agents_[name].runs.end());
    say_hello(name, hello);
  }
  void say_hello(const std::string& name, const messages::Hello& hello) {
    AgentSide& agent = agents_[name];
    agent.peer = ++last_peer_;
    agent.introduction = hello;
    agent.is_there = true;
    write(name + ": " + in_words(messages::FromAgent{0, hello}));
    control_->hear(agent.peer, {0, hello}, proven_, now_);
    settle();
  }
  template <class Body>
  void says(const std::string& name, const Body& body) {
    says_in(agents_[name].session, name, body);
  }
  template <class Body>
  void says_in(std::uint64_t session, const std::string& name, const Body& body) {
    const messages::FromAgent message{session, body};
    write(name + ": " + in_words(message));
    if constexpr (std::is_same_v<Body, messages::Exited>) agents_[name].runs.erase(body.lease);
    control_->hear(agents_[name].peer, message, std::nullopt, now_);
    settle();
  }
  void started(const std::string& name, const LeaseId& lease) { says(name, messages::Started{lease}); }
  void exited(const std::string& name, const LeaseId& lease, std::int32_t code = 0,
              lease::Reason reason = lease::Reason::exited) {
    says(name, messages::Exited{lease, {reason, code, "", {}, 0}});
  }
  /// Nothing is heard of it any more.
  void falls_silent(const std::string& name) {
    write(name + " falls silent");
    agents_[name].is_there = false;
    end_step();
  }
  void ask(const std::string& words, requests::Request request) { ask(an_admin(), words, std::move(request)); }
  void ask(const access::Principal& who, const std::string& words, requests::Request request) {
    write((who.is_admin ? "user" : who.user) + ": " + words);
    control_->ask(++last_asker_, who, request, now_);
    settle();
  }
  /// Removes an agent that has a key; in the same step it says hello again.
  void remove_with_hello(const std::string& name) {
    const AgentSide& agent = agents_[name];
    write("user: remove " + name + ", which says hello at the same time");
    control_->ask(++last_asker_, an_admin(), requests::RemoveAgent{AgentId(name)}, now_);
    control_->hear(agent.peer, {0, agent.introduction}, AgentId(name), now_);
    settle();
  }
  /// Who asked last does not wait for answers any more.
  void leaves() {
    write("user: leaves");
    control_->forget_asker(last_asker_);
    settle();
  }
  void submit(const Wish& wish, const std::string& words) { ask("submit " + words, requests::Submit{job_of(wish)}); }
  void submit(const JobSpec& spec, const std::string& words) { ask("submit " + words, requests::Submit{spec}); }
  /// The account may hold so many slots from now on; none: any number.
  void quota(const AccountId& account, std::optional<std::int64_t> max_slots) {
    write("quota of " + account.value + ": " + (max_slots ? std::to_string(*max_slots) : "none"));
    max_slots ? void(database_.quotas[account] = *max_slots) : void(database_.quotas.erase(account));
    control_->set_quota(account, max_slots);
    settle();
  }
  /// Time passes; agents that are there beat.
  void pass(Duration time) {
    write(cadre::to_string(time) + " pass");
    for (const TimePoint end = now_ + time; now_ < end;) {
      now_ += std::min<Duration>(std::chrono::seconds(1), end - now_);
      for (const auto& [name, agent] : agents_) {
        if (agent.is_there) control_->hear(agent.peer, {agent.session, messages::Beat{}}, std::nullopt, now_);
      }
      control_->tick(now_);
      settle(Quiet::yes);
    }
    end_step();
  }
  /// The master was stopped for so long: the first that it does is to look at the time, with everything unread.
  void sleeps(Duration time) {
    write("the master is stopped for " + cadre::to_string(time));
    now_ += time;
    control_->tick(now_);
    settle();
  }
  void restart() {
    control_ = std::make_unique<Control>(settings_, database_.rows(), ++boot_, now_);
    for (auto& [name, agent] : agents_) {
      if (!agent.is_there) continue;
      agent.introduction.leases.assign(agent.runs.begin(), agent.runs.end());
      agent.peer = ++last_peer_;
      control_->hear(agent.peer, {0, agent.introduction}, std::nullopt, now_);
    }
    settle(Quiet::yes);
  }

  Control& control() { return *control_; }
  const ModelDatabase& database() const { return database_; }
  const JobRow& job(std::uint64_t id) const { return database_.jobs.at({id}); }
  const TaskRow& task(std::uint64_t job, std::uint32_t member = 0) const { return database_.tasks.at({{job}, member}); }
  const api::Reply& answer() const { return answers_.back(); }
  /// The same, as one of this type.
  template <class T>
  const T& answered() const {
    const T* answer = answers_.back().as<T>();
    if (answer == nullptr) throw std::runtime_error("the answer is another one: " + in_words(answers_.back()));
    return *answer;
  }
  std::size_t answers() const { return answers_.size(); }
  /// Whether the last step left nothing to do in further ones.
  bool is_finished() const { return is_finished_; }
  TimePoint now() const { return now_; }
  const std::string& text() const { return text_; }
  Settings& settings() { return settings_; }
  std::optional<AgentId>& proven() { return proven_; }
  std::set<LeaseId>& runs(const std::string& agent) { return agents_[agent].runs; }

 private:
  enum class Quiet : bool { no, yes };  ///< beats and answers to them are not told
  struct AgentSide {
    Peer peer = 0;
    std::uint64_t session = 0;
    messages::Hello introduction;
    std::set<LeaseId> runs;
    bool is_there = false;
  };

  void write(const std::string& line) { text_ += line + "\n"; }

  void settle(Quiet quiet = Quiet::no) {
    const Outcome outcome = control_->settle(now_);
    is_finished_ = outcome.is_finished;
    database_.apply(outcome.writes);
    tell_writes(outcome.writes);
    for (const ToAgent& one : outcome.to_agents) tell_agent(one);
    for (const Answer& one : outcome.answers) {
      write("    to user   " + in_words(one.reply));
      answers_.push_back(one.reply);
    }
    if (quiet == Quiet::no) end_step();
  }

  void end_step() {
    if (restarts_ == Restarts::yes && !std::exchange(restarting_, true)) {
      restart();
      restarting_ = false;
    }
  }

  void tell_writes(const Writes& writes) {
    for (const ChangeRow& row : writes.changes) write("    written   " + row.noun + " " + row.id + " " + row.what);
    for (const TaskRow& row : writes.tasks) {
      const auto held = lease::current(row.lease);
      if (!held) continue;
      write("              task " + to_string(row.id) + " holds " + held->agent.value + "/" +
            std::to_string(held->epoch.value) + ", slots " + in_words(row.slots));
    }
    for (const JobRow& row : writes.jobs) {
      if (row.stage != JobStage::ended) continue;
      write("              job " + std::to_string(row.id.value) + ": " + name_of(row.reason) + " " +
            std::to_string(row.code));
    }
  }

  void tell_agent(const ToAgent& one) {
    for (auto& [name, agent] : agents_) {
      if (agent.peer != one.peer) continue;
      if (std::holds_alternative<messages::MasterBeat>(one.message.body)) return;
      write("    to " + name + "     " + in_words(one.message));
      if (const auto* welcome = std::get_if<messages::Welcome>(&one.message.body)) {
        agent.session = one.message.session;
        agent.runs = std::set<LeaseId>(welcome->keep.begin(), welcome->keep.end());
      }
      if (const auto* start = std::get_if<messages::Start>(&one.message.body)) agent.runs.insert(start->lease);
    }
  }

  Settings settings_;
  Restarts restarts_;
  bool restarting_ = false;
  bool is_finished_ = true;
  TimePoint now_;
  ModelDatabase database_;
  std::unique_ptr<Control> control_;
  std::uint64_t boot_ = 0;
  std::map<std::string, AgentSide> agents_;
  std::optional<AgentId> proven_;
  Peer last_peer_ = 0;
  Asker last_asker_ = 0;
  std::vector<api::Reply> answers_;
  std::string text_;
};

}  // namespace cadre::cluster::control
