// Drives every packet of the task socket, the agent link, the bulk link, the join port and the API against a live
// master with extreme values. The master must stay the same process, answer, run ordinary jobs, keep its memory bounded
// and start again from what it has stored. No request may be answered with a status of 5xx other than 503. In the end
// all jobs end, the agents are idle, and every link, socket and kind of request was served at least once.
//
//   fuzz_live PROGRAM SECONDS [SEED [postgresql]]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "access/requests.h"
#include "agent/joining.h"
#include "base/log.h"
#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/joining.h"
#include "cluster/messages.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "describe/random.h"
#include "loop/file.h"
#include "loop/real_loop.h"
#include "names/master/requests.h"
#include "net/http/client.h"
#include "net/http/fields.h"
#include "net/zmq_network.h"
#include "tests/fuzz_live/extremes.h"
#include "tests/servers/postgres.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"

namespace cadre::fuzz_live {
namespace {

using namespace std::chrono_literals;
using describe::Value;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // which keep what is freed for a while
constexpr std::int64_t memory_kib_max = 4 * 700 * 1024;
#else
constexpr std::int64_t memory_kib_max = 700 * 1024;
#endif

[[noreturn]] void give_up(const std::string& why) { throw std::runtime_error(why); }

void run_for(loop::RealLoop& loop, Duration time) {
  static_cast<void>(loop.run_until(loop.now() + time, [] { return false; }));
}

/// A message of a type, mostly as it may be, with some of it spoiled.
template <class T>
Value hostile(Dice& dice) {
  Value tree = describe::write(describe::random_value<T>(dice));
  for (std::size_t times = dice.below(4); times > 0; --times) spoil(tree, dice);
  return tree;
}

std::string hexadecimal(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

constexpr const char* last_report = "all packets were sent";

/// A program for a task that sends hostile packets on its socket, some of them among the counters of a beat, and then a
/// report, until the master has accepted it. Python, and not this program: that need not be visible inside of a task.
std::string task_program(Dice& dice) {
  std::string packets;
  for (int number = 0; packets.size() < 90'000; ++number) {
    Value packet = hostile<supervision::FromTask>(dice);
    if (number % 5 == 0) {
      packet = describe::write(supervision::FromTask(supervision::Beat{}));
      packet.set("calls", extreme(dice));
      packet.set("errors", Value(~std::uint64_t{0} >> dice.below(3)));
    }
    const Bytes bytes = packed(packet, dice);
    if (bytes.size() <= 2'000) packets += "'" + hexadecimal(bytes) + "',";
  }
  const Bytes report = describe::write_msgpack(supervision::FromTask(supervision::Report{1, last_report, false}));
  return "import os, socket, sys, time\n"
         "packets = [bytes.fromhex(one) for one in [" +
         packets +
         "]]\n"
         "packets += [b'\\xff' * 60000, b'\\x91' * 60000, b'\\xdb\\x00\\x00\\xea\\x60' + b'x' * 60000]\n"
         "sent = 0\n"
         "for begin in range(0, len(packets), 20):\n"
         "    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:\n"
         "        peer.settimeout(5)\n"
         "        peer.connect(os.environ['CADRE_SOCKET'])\n"
         "        for packet in packets[begin:begin + 20]:\n"
         "            try:\n"
         "                sent += peer.send(packet) > 0\n"
         "            except OSError:\n"
         "                break\n"
         "if sent <= 50:\n"
         "    sys.exit(9)\n"
         "for attempt in range(60):\n"
         "    try:\n"
         "        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:\n"
         "            peer.settimeout(10)\n"
         "            peer.connect(os.environ['CADRE_SOCKET'])\n"
         "            peer.send(bytes.fromhex('" +
         hexadecimal(report) +
         "'))\n"
         "            if b'accepted\\xc3' in peer.recv(100000):\n"
         "                sys.exit(0)\n"
         "    except OSError:\n"
         "        pass\n"
         "    time.sleep(0.5)\n"  // others still wait for their acknowledgement
         "sys.exit(8)\n";
}

struct Cluster {
  Cluster(std::string program_, std::string database_) : program(std::move(program_)), database(std::move(database_)) {
    std::ofstream(folder.path() + "/master.yaml") << "cluster: {pools: {default: {}, evil: {}}}\n";
    start_master();
  }
  ~Cluster() {
    for (const auto& [name, pid] : agents) servers::kill_tree(pid);
    if (master > 0) servers::kill_tree(master);
  }

  std::string data() const { return folder.path() + "/m"; }

  void start_master() {
    std::vector<std::string> arguments{program,           "master",
                                       "--data",          data(),
                                       "--port",          "0",
                                       "--listen",        "127.0.0.1:0",
                                       "--config",        folder.path() + "/master.yaml",
                                       "--agent-timeout", "5s"};
    if (!database.empty()) arguments.insert(arguments.end(), {"--database", database});
    master = servers::start({arguments, "", folder.path() + "/master.log"});
  }
  void start_agent(const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> arguments{program, "agent", "--id", name, "--data", folder.path() + "/" + name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    agents[name] = servers::start({arguments, "", folder.path() + "/" + name + ".log"});
  }
  bool is_master_alive() const { return ::kill(master, 0) == 0 && waitpid(master, nullptr, WNOHANG) == 0; }
  std::int64_t memory_kib() const {
    std::ifstream file("/proc/" + std::to_string(master) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
    }
    return 0;
  }

  servers::TempDir folder;
  std::string program;
  std::string database;
  pid_t master = -1;
  std::map<std::string, pid_t> agents;
};

/// What is asked over HTTP, many at a time.
class Api {
 public:
  Api(Cluster& cluster, loop::RealLoop& loop) : cluster_(cluster), loop_(loop), client_(loop, {}) {}

  net::http::Response ask(net::http::Method method, const std::string& path, std::string body = "",
                          Duration wait = 30s) {
    std::optional<Result<net::http::Response>> got;
    loop_.spawn(keep(question(method, path, std::move(body), wait), got));
    while (!got) run_for(loop_, 50ms);
    if (!*got) give_up(path + " is not answered: " + got->error().message);
    return **got;
  }

  /// Waits for a master that starts.
  void wait_until_up(Duration most) {
    const TimePoint begun = loop_.now();
    for (;;) {
      const Result<std::string> text = loop::read_file(cluster::DataFolder{cluster_.data()}.client_file());
      const auto known =
          text ? describe::read_json<cluster::KnownMaster>(*text) : describe::Read<cluster::KnownMaster>();
      if (text && known && !known->url.empty()) {
        known_ = *known;
        std::optional<Result<net::http::Response>> got;
        loop_.spawn(keep(question(net::http::Method::get, "/health", "", 2s), got));
        while (!got) run_for(loop_, 20ms);
        if (*got && (*got)->status == 200) return;
      }
      if (!cluster_.is_master_alive()) give_up("the master does not start");
      if (loop_.now() - begun > most) give_up("the master does not answer after its start");
      std::this_thread::sleep_for(50ms);
    }
  }

  template <class T>
  void add_hostile(Dice& dice) {
    if constexpr (api::Routed<T>) {
      if constexpr (std::is_same_v<T, access::Logout>) return;  // it would end the token that all is asked with
      Value tree = hostile<T>(dice);
      if (tree.template as<Value::Map>() == nullptr) tree = Value(Value::Map{});
      // Jobs of a user with an account that the agent does not have are refused, ordinary ones as well.
      if (tree.find("unix_user") != nullptr) tree.set("unix_user", Value(std::string()));
      // Without its user, too, there is no token that all is asked with.
      if constexpr (std::is_same_v<T, access::SetUser> || std::is_same_v<T, access::DeleteUser>) {
        const Value* user = tree.find("user");
        if (user != nullptr && *user == Value(std::string("admin"))) tree.set("user", Value(std::string("another")));
      }
      // A new password of the admin would end the token that all is asked with.
      if constexpr (std::is_same_v<T, access::SetUser>) tree.set("keep_tokens", Value(true));
      if (tree.find("hash") != nullptr && dice.percent(50)) tree.set("hash", Value(std::string(64, 'a')));
      for (std::size_t at = T::route.path.find('{'); at != std::string_view::npos;
           at = T::route.path.find('{', at + 1)) {
        const std::string key(T::route.path.substr(at + 1, T::route.path.find('}', at) - at - 1));
        const Value* value = tree.find(key);
        const bool is_text = value != nullptr && (value->template as<std::string>() != nullptr ||
                                                  value->template as<std::int64_t>() != nullptr);
        if (!is_text) tree.set(key, Value(std::to_string(dice.bits() >> dice.below(64))));
      }
      const std::string path = "/" + net::http::fill(T::route.path, *tree.template as<Value::Map>()).substr(1);
      const net::http::Method method = net::http::parse_method(T::route.method);
      net::http::Question one = question(method, path, "", 30s);
      if (T::route.has_fields_in_body()) {
        one.body = describe::to_json(tree);
        if (dice.percent(5)) one.body.resize(dice.below(one.body.size() + 1));
      } else {
        one.url += net::http::query_of(*tree.template as<Value::Map>());
      }
      if (T::route.body == api::Body::bytes) one.body.assign(dice.below(3'000), 'x');
      if (dice.percent(30)) {
        one.headers.emplace_back("Idempotency-Key", dice.percent(50) ? "same" : std::string(dice.below(300), 'k'));
      }
      if (one.url.size() > 12'000) return;  // what a header cannot hold
      ++under_way_;
      loop_.spawn(judge(std::move(one), std::string(T::type_name)));
    }
  }
  template <class... Ts>
  void add_hostile_of(std::type_identity<std::variant<Ts...>>, Dice& dice) {
    std::size_t at = dice.below(sizeof...(Ts));
    ((at-- == 0 ? add_hostile<Ts>(dice) : void()), ...);
  }
  void burst(Dice& dice) {
    for (int i = 0; i < 60; ++i) {
      switch (dice.below(4)) {
        case 0: add_hostile_of(std::type_identity<access::Request>{}, dice); break;
        case 1: add_hostile_of(std::type_identity<names::requests::Request>{}, dice); break;
        case 2: add_hostile_of(std::type_identity<Bulk>{}, dice); break;
        default: add_hostile_of(std::type_identity<cluster::requests::Request>{}, dice); break;
      }
    }
    const TimePoint begun = loop_.now();
    // Those that wait for something by intent may go on beside what follows.
    while (under_way_ > 20 && loop_.now() - begun < 30s) run_for(loop_, 20ms);
    if (!fault_.empty()) give_up(fault_);
  }

  /// Asks until every kind of request was answered.
  void ask_each(Dice& dice) {
    for (int attempt = 0; attempt < 30; ++attempt) {
      unanswered_.clear();
      each_unanswered(std::type_identity<access::Request>{}, dice);
      each_unanswered(std::type_identity<names::requests::Request>{}, dice);
      each_unanswered(std::type_identity<cluster::requests::Request>{}, dice);
      each_unanswered(std::type_identity<Bulk>{}, dice);
      if (unanswered_.empty()) return;
      const TimePoint begun = loop_.now();
      while (under_way_ > 0 && loop_.now() - begun < 3s) run_for(loop_, 20ms);  // some wait by intent
      if (!fault_.empty()) give_up(fault_);
    }
    give_up("a request was never answered: " + unanswered_);
  }

  std::map<int, std::int64_t> statuses;
  std::map<std::string, std::int64_t, std::less<>> answered;  ///< by kind of request

 private:
  using Bulk = std::variant<access::ListAudit, access::Login, cluster::requests::ReadLogs, cluster::requests::GetCode,
                            cluster::requests::PutCode>;
  template <class T>
  void ask_unanswered(Dice& dice) {
    if constexpr (api::Routed<T> && !std::is_same_v<T, access::Logout>) {
      if (answered.contains(T::type_name)) return;
      unanswered_ += std::string(T::type_name) + " ";
      add_hostile<T>(dice);
    }
  }
  template <class... Ts>
  void each_unanswered(std::type_identity<std::variant<Ts...>>, Dice& dice) {
    (ask_unanswered<Ts>(dice), ...);
  }

  net::http::Question question(net::http::Method method, const std::string& path, std::string body, Duration wait) {
    net::http::Question one;
    one.method = method;
    one.url = known_.url + "/api/v1" + path;
    one.headers = {{"Authorization", "Bearer " + known_.token}, {"Content-Type", "application/json"}};
    one.body = std::move(body);
    one.wait = wait;
    return one;
  }
  loop::Task<void> keep(net::http::Question one, std::optional<Result<net::http::Response>>& got) {
    Result<net::http::Response> response = co_await client_.ask(std::move(one));
    got.emplace(std::move(response));
  }
  loop::Task<void> judge(net::http::Question one, std::string name) {
    const std::string shown = name + " " + one.url.substr(0, 200) + " " + one.body.substr(0, 2'000);
    Result<net::http::Response> response = co_await client_.ask(std::move(one));
    --under_way_;
    if (!response) {
      ++statuses[response.error().code == Errc::timed_out ? 0 : -1];
      co_return;
    }
    ++statuses[response->status];
    ++answered[name];
    if (response->status >= 500 && response->status != 503 && fault_.empty()) {
      fault_ = "status " + std::to_string(response->status) + ": " + response->body + "\nfor " + shown;
    }
  }

  Cluster& cluster_;
  loop::RealLoop& loop_;
  net::http::Client client_;
  cluster::KnownMaster known_;
  int under_way_ = 0;
  std::string fault_;
  std::string unanswered_;
};

/// An agent that has joined and then says anything: on its control link and on its bulk link.
class Evil {
 public:
  Evil(Cluster& cluster, Api& api, loop::RealLoop& loop, net::Network& network) : loop_(loop) {
    const net::http::Response token = api.ask(net::http::Method::post, "/join-tokens", R"({"pool": "evil"})");
    const auto text = describe::read_json<cluster::requests::Text>(token.body);
    if (!text) give_up("no join token: " + token.body);
    cluster.start_agent("evil", {"--join", text->text, "--artificial-slots", "2", "--pool", "evil"});
    for (int i = 0; !is_up(api); ++i) {
      if (i > 600) give_up("the second agent does not join");
      std::this_thread::sleep_for(100ms);
    }
    servers::kill_tree(cluster.agents.at("evil"));
    cluster.agents.erase("evil");
    const std::string data = cluster.folder.path() + "/evil";
    Result<agent::Way> way = agent::way_by_key({loop, network, data, cluster::AgentId("evil"), "", ""});
    if (!way) give_up("no way for the second agent: " + way.error().message);
    std::getline(std::ifstream(data + "/identity"), identity_);
    const cluster::joining::Ticket ticket = cluster::joining::parse_token(text->text).value();
    join_ = network
                .connect({ticket.address, net::make_keys(), net::parse_public_key(ticket.master_key).value(), {}},
                         [this](const Slice&) { ++refusals_; })
                .value();
    control_ = network.connect(way->control, [this](const Slice& message) { hear(message.view); }).value();
    bulk_ = network.connect(way->bulk, [this](const Slice&) { ++answers_; }).value();
  }

  void burst(Dice& dice) {
    say_hello(dice);
    run_for(loop_, 100ms);
    for (int i = 0; i < 120; ++i) {
      Value message = hostile<messages::FromAgent>(dice);
      if (message.as<Value::Map>() != nullptr && dice.percent(90)) message.set("session", Value(session_.value_or(0)));
      if (Value* body = find(message, "body"); body != nullptr && !leases_.empty() && dice.percent(70)) {
        if (body->find("lease") != nullptr) body->set("lease", Value(some_lease(dice)));
      }
      const bool has_bulk = dice.percent(60);  // one that is full or refused loses it
      if (control_->send(packed(message, dice))) ++sent_control_;
      if (has_bulk && bulk_->send(packed(bulk_message(dice), dice))) ++sent_bulk_;
    }
    if (!leases_.empty()) end_one(dice);
    static_cast<void>(join_->send(packed(hostile<cluster::joining::Join>(dice), dice)));
    static_cast<void>(
        join_->send(describe::write_msgpack(cluster::joining::Join{cluster::AgentId("x"), std::string(40, 'x')})));
    run_for(loop_, 100ms);
  }
  /// Every link was used, and served.
  void check_was_served() const {
    if (sent_control_ == 0 || welcomes_ == 0 || starts_ == 0) give_up("the link of the second agent was never served");
    if (sent_bulk_ == 0 || answers_ == 0) give_up("the bulk link of the second agent was never served");
    if (refusals_ == 0) give_up("nobody was refused at the join port");
  }
  std::string summary() const {
    return std::to_string(sent_control_) + " messages and " + std::to_string(sent_bulk_) +
           " bulk messages of an agent, " + std::to_string(starts_) + " starts, " + std::to_string(answers_) +
           " bulk responses";
  }

 private:
  static Value* find(Value& map, std::string_view key) { return const_cast<Value*>(map.find(key)); }
  static bool is_up(Api& api) {
    return api.ask(net::http::Method::get, "/agents").body.find("\"evil\"") != std::string::npos;
  }
  std::string some_lease(Dice& dice) const {
    return *std::next(leases_.begin(), static_cast<std::ptrdiff_t>(dice.below(leases_.size())));
  }
  Value bulk_message(Dice& dice) {
    Value message = hostile<cluster::bulk::ToMaster>(dice);
    if (!leases_.empty() && message.find("lease") != nullptr && dice.percent(60)) {
      message.set("lease", Value(some_lease(dice)));
    }
    return message;
  }
  void say_hello(Dice& dice) {
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = cluster::AgentId("evil");
    hello.agent.slots = 2;
    hello.pool = "evil";
    hello.identity = identity_;
    hello.slots.resize(2);
    hello.number = ++hellos_;
    Value tree = describe::write(messages::FromAgent{0, hello});
    if (dice.percent(50)) spoil(tree, dice);
    static_cast<void>(control_->send(describe::to_msgpack(tree)));
    if (!session_.has_value() || dice.percent(50)) {
      static_cast<void>(control_->send(describe::write_msgpack(messages::FromAgent{0, hello})));
    }
  }
  /// A real end of a real lease, with figures that no database holds.
  void end_one(Dice& dice) {
    const std::string lease = some_lease(dice);
    messages::Exited exited;
    Value tree = describe::write(messages::FromAgent{session_.value_or(0), exited});
    Value* body = find(tree, "body");
    body->set("lease", Value(lease));
    Value& ending = *find(*body, "ending");
    if (dice.percent(50)) spoil(ending, dice);
    static_cast<void>(control_->send(describe::to_msgpack(tree)));
    leases_.erase(lease);
  }
  void hear(BytesView bytes) {
    const auto message = describe::read_msgpack<messages::FromMaster>(bytes);
    if (!message) give_up("cannot read a message of the master");
    if (std::holds_alternative<messages::Welcome>(message->body)) {
      session_ = message->session;
      ++welcomes_;
    }
    if (const auto* start = std::get_if<messages::Start>(&message->body)) {
      leases_.insert(to_string(start->lease));
      ++starts_;
    }
    if (const auto* end = std::get_if<messages::EndStored>(&message->body)) leases_.erase(to_string(end->lease));
  }

  loop::RealLoop& loop_;
  std::string identity_;
  std::unique_ptr<net::Link> control_;
  std::unique_ptr<net::Link> bulk_;
  std::unique_ptr<net::Link> join_;
  std::optional<std::uint64_t> session_;
  std::set<std::string> leases_;
  std::uint64_t hellos_ = 1'000;
  std::uint64_t sent_control_ = 0;
  std::uint64_t sent_bulk_ = 0;
  std::uint64_t starts_ = 0;
  std::uint64_t welcomes_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t refusals_ = 0;  ///< of a wish to join
};

std::string job_of(const std::string& pool, const std::vector<std::string>& argv, int slots) {
  Value member;
  Value::List words;
  for (const std::string& word : argv) words.emplace_back(word);
  member.set("command", Value().set("argv", Value(std::move(words)))).set("slots", Value(slots));
  Value spec;
  spec.set("pool", Value(pool)).set("members", Value(Value::List{std::move(member)}));
  return describe::to_json(spec);
}

std::uint64_t submit(Api& api, const std::string& spec) {
  const net::http::Response made = api.ask(net::http::Method::post, "/jobs", spec);
  const auto view = describe::read_json<cluster::requests::JobView>(made.body);
  if (!view) give_up("a job is not taken: " + made.body);
  return view->id.value;
}

bool until(loop::RealLoop& loop, Duration most, const std::function<bool()>& holds) {
  const TimePoint begun = loop.now();
  while (!holds()) {
    if (loop.now() - begun > most) return false;
    run_for(loop, 100ms);
  }
  return true;
}

cluster::requests::JobView wait_for_end(Api& api, std::uint64_t id) {
  std::string seen;
  for (int i = 0; i < 900; ++i) {
    seen = api.ask(net::http::Method::get, "/jobs/" + std::to_string(id)).body;
    const auto view = describe::read_json<cluster::requests::JobView>(seen);
    if (!view) break;
    if (view->stage == cluster::JobStage::ended) return *view;
    std::this_thread::sleep_for(100ms);
  }
  give_up("a job does not end: " + seen);
}

bool ended_well(const cluster::requests::JobView& job) {
  return job.reason == cluster::lease::Reason::exited && job.code == 0;
}

/// An ordinary job must run to its end; one that a request killed by chance is tried again.
void run_ordinary_job(Api& api) {
  cluster::requests::JobView job;
  for (int attempt = 0; attempt < 5; ++attempt) {
    job = wait_for_end(api, submit(api, job_of("default", {"true"}, 0)));
    if (ended_well(job)) return;
  }
  give_up("an ordinary job no longer runs: " + describe::to_json(describe::write(job)));
}

/// Tasks that send packets end by themselves, and one at least has done all that it should.
void check_tasks(Api& api, const std::vector<std::uint64_t>& tasks) {
  std::size_t reported = 0;
  std::string others;
  for (const std::uint64_t id : tasks) {
    const cluster::requests::JobView job = wait_for_end(api, id);
    if (ended_well(job) && job.tasks.at(0).reports > 0 && job.tasks.at(0).last_report == last_report) {
      ++reported;
    } else {
      others += "\n" + describe::to_json(describe::write(job)).substr(0, 2'000);
    }
  }
  if (reported == 0) give_up("no task has sent its packets and its report:" + others);
}

/// Ends all jobs that requests have made; then nothing may be left of them, with the master and on the agent's host.
void check_idle(Api& api, const Cluster& cluster, loop::RealLoop& loop) {
  const bool all_ended = until(loop, 90s, [&] {
    const std::string body = api.ask(net::http::Method::get, "/jobs?ended=false&most=10000").body;
    const auto open = describe::read_json<cluster::requests::Jobs>(body);
    if (!open) give_up("the jobs cannot be read: " + body);
    for (const cluster::requests::JobView& job : open->jobs) {
      static_cast<void>(api.ask(net::http::Method::post, "/jobs/" + std::to_string(job.id.value) + "/kill"));
    }
    return open->jobs.empty();
  });
  if (!all_ended) give_up("jobs do not end: " + api.ask(net::http::Method::get, "/jobs?ended=false").body);
  std::string left;
  const bool is_idle = until(loop, 60s, [&] {
    left = api.ask(net::http::Method::get, "/agents").body;
    const auto list = describe::read_json<cluster::requests::Agents>(left);
    if (!list) give_up("the agents cannot be read: " + left);
    bool is_up = false;
    for (const cluster::requests::AgentView& agent : list->agents) {
      if (agent.slots_used > 0 || agent.tasks > 0) return false;
      is_up |= agent.id.value == "a1" && agent.state == "up";
    }
    if (!is_up) return false;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(cluster.folder.path() + "/a1/tasks", gone)) {
      left = entry.path().filename();
      const bool is_of_task = left[0] >= '0' && left[0] <= '9' && !left.starts_with("0.");
      if (is_of_task) return false;  // others are kept ready for tasks
    }
    return true;
  });
  if (!is_idle) give_up("the agent is not idle: " + left);
}

int run_all(const std::vector<std::string>& arguments) {
  const std::string& program = arguments.at(0);
  const auto seconds = std::chrono::seconds(std::stoll(arguments.at(1)));
  const std::uint64_t seed = arguments.size() > 2 ? std::stoull(arguments[2]) : 1;
  const bool on_server = arguments.size() > 3 && arguments[3] == "postgresql";
  Cluster cluster(program, on_server ? servers::shared_postgres().url() : "");
  Dice dice(seed);
  loop::RealLoop loop;
  SilentLog log;
  auto network = net::ZmqNetwork::make(loop, log).value();
  Api api(cluster, loop);
  const pid_t first = cluster.master;
  try {
    api.wait_until_up(60s);
    cluster.start_agent("a1", {"--master", cluster.data(), "--artificial-slots", "4"});
    Evil evil(cluster, api, loop, *network);
    const auto begun = std::chrono::steady_clock::now();
    std::uint64_t rounds = 0;
    std::int64_t most_kib = 0;
    std::vector<std::uint64_t> tasks;
    for (; std::chrono::steady_clock::now() - begun < seconds || rounds < 3; ++rounds) {
      if (rounds % 4 == 0)
        tasks.push_back(submit(api, job_of("default", {"/usr/bin/python3", "-c", task_program(dice)}, 0)));
      submit(api, job_of("evil", {"true"}, 1));
      evil.burst(dice);
      api.burst(dice);
      if (!cluster.is_master_alive()) give_up("the master has ended");
      if (api.ask(net::http::Method::get, "/health").status != 200) give_up("the master is not healthy");
      most_kib = std::max(most_kib, cluster.memory_kib());
      if (most_kib > memory_kib_max) give_up("the master uses " + std::to_string(most_kib) + " KiB");
      if (rounds % 10 == 0) run_ordinary_job(api);
    }
    run_ordinary_job(api);
    api.ask_each(dice);
    check_tasks(api, tasks);
    check_idle(api, cluster, loop);
    if (cluster.master != first || !cluster.is_master_alive()) give_up("the master is another one");
    evil.check_was_served();
    if (api.statuses[200] == 0 || api.statuses[400] == 0) give_up("no request got as far as it should");
    std::printf("%llu rounds, memory at most %lld MiB; statuses:", static_cast<unsigned long long>(rounds),
                static_cast<long long>(most_kib / 1024));
    for (const auto& [status, count] : api.statuses) std::printf(" %d: %lld", status, static_cast<long long>(count));
    std::printf("; %zu tasks; %zu kinds of requests; %s\n", tasks.size(), api.answered.size(), evil.summary().c_str());
    // What was stored must not keep it from starting.
    servers::kill_tree(cluster.master);
    cluster.start_master();
    api.wait_until_up(120s);
    run_ordinary_job(api);
    check_idle(api, cluster, loop);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "fuzz_live, seed %llu: %s\n--- the end of the master's log\n",
                 static_cast<unsigned long long>(seed), failure.what());
    const std::string text = loop::read_file(cluster.folder.path() + "/master.log").value_or("");
    std::fputs(text.substr(text.size() < 6'000 ? 0 : text.size() - 6'000).c_str(), stderr);
    loop.destroy_tasks();
    return 1;
  }
  loop.destroy_tasks();
  return 0;
}

}  // namespace
}  // namespace cadre::fuzz_live

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2) return std::fprintf(stderr, "usage: fuzz_live PROGRAM SECONDS [SEED [postgresql]]\n"), 2;
  return cadre::fuzz_live::run_all(arguments);
}
