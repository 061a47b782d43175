#include "master/cluster_shell.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "base/rounded.h"
#include "cluster/control/change_kinds.h"
#include "cluster/message_text.h"
#include "describe/describe.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;
namespace control = cluster::control;
namespace messages = cluster::messages;
namespace requests = cluster::requests;

/// Of a control message; nothing that belongs there is larger.
constexpr std::size_t message_nodes_max = 200'000;
/// Between the master and an agent. The largest is a Start, which came in a request of at most 4 MiB. A connection that
/// has not authenticated yet can hold one message of this size, so it is no larger than needed.
constexpr ByteSize agent_message_max{5 << 20};
/// Agents beat more often than this.
constexpr Duration peer_silence_max = 10min;
/// That are removed by one transaction.
constexpr std::int64_t pruned_at_once = 200;
/// Leases of one task whose output is released; more than that had no task.
constexpr std::uint64_t epochs_most = 1'000;
/// For one task, while a fence is not acknowledged: there is little to say about a lease that has not begun.
constexpr std::size_t held_max = 1'000;
/// A bulk service acknowledges a fence within milliseconds.
constexpr Duration fence_most = 10s;
/// Nothing ran before it.
constexpr cluster::Epoch first_epoch{1};
/// Jobs that are read from the database for one page.
constexpr std::int32_t archived_most = 500;

describe::Bounds bounds() {
  describe::Bounds bounds;
  bounds.nodes = message_nodes_max;
  return bounds;
}

bool has_code(const control::JobRow& row) {
  return std::any_of(row.spec.members.begin(), row.spec.members.end(),
                     [](const cluster::MemberSpec& member) { return !member.command.code.empty(); });
}

/// Each of its members may have code of its own.
void each_code(const control::JobRow& row, const std::function<void(const std::string&)>& fn) {
  if (!fn) return;
  for (const cluster::MemberSpec& member : row.spec.members) {
    if (!member.command.code.empty()) fn(member.command.code);
  }
}

std::string first_of(const describe::Faults& faults) {
  return faults.empty() ? "it is not understood" : faults.begin()->path + " " + faults.begin()->message;
}

control::Job job_of(records::ArchivedJob archived) {
  control::Job job{std::move(archived.row), {}};
  for (control::TaskRow& task : archived.tasks) job.tasks.emplace(task.id.member, std::move(task));
  return job;
}

}  // namespace

Result<std::unique_ptr<ClusterShell>> ClusterShell::make(const Dependencies& dependencies, Options options) {
  net::HubOptions agents = std::move(options.agents);
  agents.limits.message_max = agent_message_max;
  std::unique_ptr<ClusterShell> shell(new ClusterShell(dependencies, std::move(options)));
  TRY(shell->bind(std::move(agents)));
  return shell;
}

ClusterShell::ClusterShell(const Dependencies& dependencies, Options options)
    : deps_(dependencies), options_(std::move(options)) {}

Result<void> ClusterShell::bind(net::HubOptions agents) {
  for (const auto& [key, agent] : options_.agent_keys) agents.admission.allow(key);
  TRY_ASSIGN(hub, deps_.network.bind(std::move(agents),
                                     [this](const net::Peer& peer, BytesView bytes) { hear_agent(peer, bytes); }));
  agents_ = std::move(hub);
  return {};
}

void ClusterShell::attach(api::Part& part) {
  part_ = dynamic_cast<const control::ClusterPart*>(&part);
  for (const auto& [id, job] : control().ledger().jobs()) look_after_code(job.row);
}

void ClusterShell::admit_key(const net::PublicKey& key, const cluster::AgentId& agent) {
  if (knows(key, agent)) return;
  revoke(agent);
  options_.agent_keys[key] = agent;
  agents_->allow(key);
  static_cast<void>(post(control::KeyAdded{agent}));  // if there is no room: removing the agent needs its hello first
}

bool ClusterShell::knows(const net::PublicKey& key, const cluster::AgentId& agent) const {
  const auto known = options_.agent_keys.find(key);
  return known != options_.agent_keys.end() && known->second == agent;
}

void ClusterShell::revoke(const cluster::AgentId& agent) {
  auto& keys = options_.agent_keys;
  for (auto at = keys.begin(); at != keys.end();) {
    if (at->second != agent) {
      ++at;
      continue;
    }
    agents_->revoke(at->first);
    if (options_.tell_revoked) options_.tell_revoked(at->first);
    at = keys.erase(at);
  }
}

void ClusterShell::complain(std::string_view whom, std::string_view what) {
  ++complaints_;
  deps_.log.debug([&] { return "refused a message of " + std::string(whom) + ": " + std::string(what); });
  if ((complaints_ & (complaints_ - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th …
  deps_.log.warning("a message of " + std::string(whom) + " was refused: " + std::string(what) + " (" +
                    std::to_string(complaints_) + " so far)");
}

std::uint64_t ClusterShell::refused() const {
  const net::Counters seen = agents_->counters();
  return complaints_ + seen.refused_key + seen.refused_large + seen.refused_malformed + seen.handshakes_failed;
}

void ClusterShell::hear_agent(const net::Peer& peer, BytesView bytes) {
  auto message = describe::read_msgpack<messages::FromAgent>(bytes, bounds());
  if (!message) return complain("an agent", first_of(message.error()));
  const ByteSize size{static_cast<std::int64_t>(bytes.size())};
  if (!post(Received{peer, *std::move(message)}, size)) lost_.insert(peer.connection.value);
}

std::optional<std::any> ClusterShell::admit(std::any news) {
  const auto* received = std::any_cast<Received>(&news);
  if (received == nullptr) return news;
  const net::Peer& peer = received->peer;
  control::AgentNews heard{peer.connection.value, received->message, std::nullopt};
  if (!peer.key.empty()) {
    const auto owner = options_.agent_keys.find(peer.key);
    if (owner == options_.agent_keys.end()) {
      complain("a removed agent", "its key is revoked");
      return std::nullopt;
    }
    heard.proven = owner->second;
  }
  peers_[peer.connection.value] = {peer, control().awake()};
  if (!is_heartbeat(heard.message)) {
    deps_.log.debug([&] { return "received from " + name_of(peer) + ": " + in_words(heard.message.body); });
  }
  return heard;
}

std::string ClusterShell::name_of(const net::Peer& peer) const {
  const auto agent = options_.agent_keys.find(peer.key);
  if (agent != options_.agent_keys.end()) return "agent " + agent->second.value;
  return "connection " + std::to_string(peer.connection.value);
}

void ClusterShell::tick() {
  std::erase_if(lost_, [this](std::uint64_t peer) { return post(control::PeerLost{peer}); });
  if (control().awake() - swept_ >= peer_silence_max / 10) sweep();
  look_at_fences();
}

void ClusterShell::sweep() {
  const TimePoint now = control().awake();
  swept_ = now;
  std::erase_if(peers_, [&](const auto& one) {
    if (now - one.second.heard < peer_silence_max) return false;
    lost_.insert(one.first);
    return true;
  });
}

void ClusterShell::look_after_code(const std::vector<control::JobRow>& jobs) {
  for (const control::JobRow& row : jobs) look_after_code(row);
}

void ClusterShell::look_after_code(const control::JobRow& row) {
  if (row.stage != cluster::JobStage::ended) {
    if (has_code(row) && with_code_.insert(row.id).second) each_code(row, options_.keep_code);
  } else if (with_code_.erase(row.id) > 0) {
    each_code(row, options_.release_code);
  }
}

void ClusterShell::log(const std::vector<api::ChangeRow>& changes) {
  for (const api::ChangeRow& change : changes) {
    const auto line = [&] { return change.noun + " " + change.id + ": " + change.what; };
    if (change.noun == control::job_changes.noun || change.noun == control::task_changes.noun) deps_.log.debug(line);
    // Agents that come and go are of interest to every admin; jobs and tasks have their own history.
    if (change.noun != control::agent_changes.noun) continue;
    change.what == "lost"
        ? deps_.log.warning(line() + "; no message from it for " + rounded(options_.settings.agent_timeout) +
                            ", see cadre agent describe " + change.id)
        : deps_.log.info(line());
  }
}

void ClusterShell::perform(std::vector<std::any> effects) {
  for (std::any& effect : effects) {
    if (auto* agents = std::any_cast<control::ToAgents>(&effect)) {
      send(std::move(*agents));
    } else if (auto* wanted = std::any_cast<control::FindArchivedJob>(&effect)) {
      deps_.loop.spawn(find(std::move(*wanted)));
    } else if (auto* page = std::any_cast<control::ListArchivedJobs>(&effect)) {
      deps_.loop.spawn(list(std::move(*page)));
    } else if (auto* token = std::any_cast<control::MakeJoinToken>(&effect)) {
      deps_.loop.spawn(make_join_token(std::move(*token)));
    } else if (const auto* plan = std::any_cast<control::PlanRecord>(&effect); plan != nullptr && options_.record) {
      options_.record(*plan);
    }
  }
}

void ClusterShell::send(control::ToAgents effect) {
  if (options_.tell_leases && effect.tasks) options_.tell_leases(lease_facts(*effect.tasks));
  if (effect.new_jobs) look_after_code(*effect.new_jobs);
  if (effect.jobs) look_after_code(*effect.jobs);
  if (effect.tasks) forget_fences(*effect.tasks);
  fence(effect.messages);
  for (control::ToAgent& one : effect.messages) {
    Held* const held = held_for(one);
    held == nullptr ? deliver(std::move(one)) : hold(*held, std::move(one));
  }
  for (const cluster::AgentId& agent : effect.keys_gone) revoke(agent);  // it has been told why
}

void ClusterShell::fence(const std::vector<control::ToAgent>& messages) {
  if (!options_.fence) return;
  std::vector<cluster::LeaseId> newest;
  for (const control::ToAgent& one : messages) {
    const auto* start = std::get_if<messages::Start>(&one.message.body);
    if (start == nullptr || start->lease.epoch <= first_epoch) continue;
    const auto fenced = fenced_.find(start->lease.task);
    if (fenced != fenced_.end() && fenced->second >= start->lease.epoch) continue;
    Held& held = held_[start->lease.task];
    if (held.epoch >= start->lease.epoch) continue;            // it is under way
    held = {start->lease.epoch, deps_.loop.now(), false, {}};  // what was to be said of an older one does not count
    newest.push_back(start->lease);
  }
  if (!newest.empty()) options_.fence(newest, [this, newest] { fenced(newest); });
}

void ClusterShell::fenced(const std::vector<cluster::LeaseId>& newest) {
  for (const cluster::LeaseId& lease : newest) {
    const auto held = held_.find(lease.task);
    if (held == held_.end() || held->second.epoch != lease.epoch) continue;
    fenced_[lease.task] = lease.epoch;
    const std::vector<control::ToAgent> ready = std::exchange(held->second.messages, {});
    held_.erase(held);
    for (const control::ToAgent& message : ready) deliver(message);
  }
}

void ClusterShell::forget_fences(const std::vector<control::TaskRow>& tasks) {
  for (const control::TaskRow& row : tasks) {
    if (!cluster::lease::current(row.lease)) fenced_.erase(row.id);
  }
}

ClusterShell::Held* ClusterShell::held_for(const control::ToAgent& message) {
  return std::visit(
      [&](const auto& body) -> Held* {
        if constexpr (requires { cluster::LeaseId(body.lease); }) {
          const auto held = held_.find(body.lease.task);
          if (held != held_.end() && body.lease.epoch >= held->second.epoch) return &held->second;
        }
        return nullptr;
      },
      message.message.body);
}

void ClusterShell::hold(Held& held, control::ToAgent message) {
  if (std::holds_alternative<messages::Start>(message.message.body)) {
    // It is said again to an agent that came back, which does not listen to what was said before.
    std::erase_if(held.messages, [&](const control::ToAgent& one) { return one.peer == message.peer; });
  }
  if (held.messages.size() >= held_max) return lose(message.peer);  // all is sent again after its next hello
  held.messages.push_back(std::move(message));
}

void ClusterShell::look_at_fences() {
  for (auto& [task, held] : held_) {
    if (held.is_logged || deps_.loop.now() - held.since < fence_most) continue;
    held.is_logged = true;
    deps_.log.warning(
        "task " + to_string(task) + " is not restarted yet: for " + rounded(fence_most) +
        " a bulk service has not confirmed that it dropped the earlier run; check that the database answers");
  }
}

void ClusterShell::deliver(control::ToAgent message) {
  const auto peer = peers_.find(message.peer);
  if (peer == peers_.end()) return;
  if (auto* start = std::get_if<messages::Start>(&message.message.body); start != nullptr && options_.make_pass) {
    start->pass = options_.make_pass(start->lease);
  }
  if (!is_heartbeat(message.message)) {
    deps_.log.debug([&] { return "sends to " + name_of(peer->second.peer) + ": " + in_words(message.message.body); });
  }
  if (!agents_->send(peer->second.peer, describe::write_msgpack(message.message))) lose(message.peer);
}

void ClusterShell::lose(std::uint64_t peer) {
  if (peers_.erase(peer) > 0 && !post(control::PeerLost{peer})) lost_.insert(peer);
}

std::optional<std::any> ClusterShell::reject(const std::any& news) {
  const auto* heard = std::any_cast<Received>(&news);
  if (heard == nullptr) return std::nullopt;
  const auto answer = [&](messages::MasterMessage message) {
    const messages::FromMaster to{heard->message.session, std::move(message)};
    static_cast<void>(agents_->send(heard->peer, describe::write_msgpack(to)));  // who is gone needs no answer
  };
  if (std::holds_alternative<messages::Hello>(heard->message.body)) {
    answer(messages::Refused{"its description of itself cannot be stored; see the log of the master"});
  } else if (const auto* report = std::get_if<messages::Report>(&heard->message.body)) {
    answer(messages::ReportAnswer{report->lease, {report->number, false, "the report cannot be stored"}});
  } else if (const auto* exited = std::get_if<messages::Exited>(&heard->message.body)) {
    // That it ended must count, or the agent would report it again for ever; the details of its end need not.
    Received bare = *heard;
    cluster::TaskEnding ending;
    ending.reason = exited->ending.reason;
    ending.code = exited->ending.code;
    ending.output_end = exited->ending.output_end;
    ending.detail = "the report of its agent about its end cannot be stored";
    std::get<messages::Exited>(bare.message.body).ending = ending;
    return bare;
  }
  return std::nullopt;
}

loop::Task<void> ClusterShell::find(control::FindArchivedJob effect) {
  std::optional<control::Job> job;
  if (deps_.archive != nullptr) {
    Result<std::optional<records::ArchivedJob>> found =
        co_await deps_.archive_pool->run([this, id = effect.job] { return deps_.archive->find(id); });
    if (!found) {
      post_for(effect.call.id, control::ArchivedJobFound{effect.call, effect.request, Failure(found.error())});
      co_return;
    }
    if (*found) job = job_of(**std::move(found));
  }
  post_for(effect.call.id, control::ArchivedJobFound{effect.call, effect.request, std::move(job)});
}

loop::Task<void> ClusterShell::list(control::ListArchivedJobs effect) {
  requests::ListJobs request = effect.request;
  request.most = std::min(request.most, archived_most);
  const control::JobRange range = control().list_range(request);
  const records::ArchiveQuery query{range.from.value, range.before.value, request.workspace, request.owner,
                                    request.most + std::int64_t{1}};
  Result<records::ArchivePage> found =
      co_await deps_.archive_pool->run([this, query] { return deps_.archive->list(query); });
  if (!found) {
    post_for(effect.call.id, control::ArchivedJobsFound{effect.call, request, Failure(found.error())});
    co_return;
  }
  std::vector<control::Job> jobs;
  for (records::ArchivedJob& one : found->jobs) jobs.push_back(job_of(std::move(one)));
  // One job more than the page has says that there may be more below it.
  if (found->is_cut) request.most = std::min(request.most, static_cast<std::int32_t>(jobs.size()) - 1);
  request.before = range.before;
  post_for(effect.call.id, control::ArchivedJobsFound{effect.call, request, std::move(jobs)});
}

loop::Task<void> ClusterShell::make_join_token(control::MakeJoinToken effect) {
  Result<std::string> token =
      fail(Errc::conflict, "this master serves its own host only; start it with --listen HOST:PORT");
  if (options_.make_join_token) token = co_await options_.make_join_token(effect.request);
  post_for(effect.call, control::JoinTokenMade{effect.call, std::move(token)});
}

void ClusterShell::release(const records::PrunedJob& job) {
  for (cluster::LeaseId lease : job.leases) {
    const std::uint64_t last = lease.epoch.value;
    for (std::uint64_t epoch = last > epochs_most ? last - epochs_most : 0; options_.release_output && epoch < last;) {
      lease.epoch.value = ++epoch;
      options_.release_output(lease);
    }
  }
}

loop::Task<void> ClusterShell::prune_jobs() {
  const std::int64_t jobs_kept = std::max(options_.keeping.jobs, options_.settings.ended_jobs_kept);
  const std::int64_t bytes_kept = std::max(options_.keeping.job_bytes.value, options_.settings.ended_bytes_kept.value);
  std::int64_t jobs_gone = 0, bytes_gone = 0;  // of which the part has not heard yet
  for (;;) {
    const std::int64_t jobs = std::min(control().ledger().ended() - jobs_gone - jobs_kept, pruned_at_once);
    const std::int64_t bytes = control().ledger().ended_bytes() - bytes_gone - bytes_kept;
    if (jobs <= 0 && bytes <= 0) co_return;
    const Result<std::vector<records::PrunedJob>> pruned = co_await deps_.pool.run([this, jobs, bytes] {
      return jobs > 0 ? deps_.records.prune_jobs(jobs) : deps_.records.prune_largest_owner({pruned_at_once, bytes});
    });
    if (!pruned) deps_.log.warning("cannot remove old jobs, trying again later: " + pruned.error().message);
    if (!pruned || pruned->empty()) co_return;
    for (const records::PrunedJob& job : *pruned) {
      ++jobs_gone;
      bytes_gone += job.bytes;
      static_cast<void>(post(control::JobPruned{job.id, job.bytes}));
      release(job);
    }
  }
}

loop::Task<void> ClusterShell::tidy() {
  const TimePoint now = deps_.calendar.wall();
  const Result<std::int64_t> done =
      co_await deps_.pool.run([this, now] { return deps_.records.prune_join_tokens(now); });
  if (!done) deps_.log.warning("cannot remove old join tokens, trying again later: " + done.error().message);
  co_await prune_jobs();
}

}  // namespace cadre::master
