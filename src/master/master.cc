#include "master/master.h"

#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "base/rounded.h"
#include "describe/describe.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;
namespace control = cluster::control;
namespace messages = cluster::messages;
namespace requests = cluster::requests;

constexpr std::size_t news_max = 200'000;
constexpr ByteSize news_bytes_max{256 << 20};
/// Of a control message; nothing that belongs there is larger.
constexpr std::size_t message_nodes_max = 200'000;
/// Between the master and an agent. The largest is a Start, which came in a request of at most 4 MiB. A connection that
/// has not authenticated yet can hold one message of this size, so it is no larger than needed.
constexpr ByteSize agent_message_max{5 << 20};
/// Agents beat more often than this.
constexpr Duration peer_silence_max = 10min;

/// So often a transaction that met a conflict is repeated. Nobody else writes: one that stays is of what is written.
constexpr int conflicts_max = 4;

/// That are removed by one transaction.
constexpr std::int64_t changes_at_once = 5'000;
constexpr std::int64_t jobs_at_once = 200;
/// Leases of one task whose output is released; more than that had no task.
constexpr std::uint64_t epochs_most = 1'000;

describe::Bounds bounds() {
  describe::Bounds bounds;
  bounds.nodes = message_nodes_max;
  return bounds;
}

bool has_code(const control::JobRow& row) {
  return std::any_of(row.spec.members.begin(), row.spec.members.end(),
                     [](const cluster::Member& member) { return !member.command.code.empty(); });
}

/// Each of its members may have code of its own.
void each_code(const control::JobRow& row, const std::function<void(const std::string&)>& fn) {
  if (!fn) return;
  for (const cluster::Member& member : row.spec.members) {
    if (!member.command.code.empty()) fn(member.command.code);
  }
}

std::string first_of(const describe::Faults& faults) {
  return faults.empty() ? "it is not understood" : faults.begin()->path + " " + faults.begin()->message;
}

}  // namespace

control::Quotas quotas_of(const access::Rows& rows) {
  control::Quotas quotas;
  for (const access::UserRow& user : rows.users) {
    if (user.max_slots) quotas[cluster::account_of_user(user.name)] = *user.max_slots;
  }
  for (const access::WorkspaceRow& workspace : rows.workspaces) {
    if (workspace.max_slots) quotas[cluster::account_of_workspace(workspace.name)] = *workspace.max_slots;
  }
  return quotas;
}

Result<std::unique_ptr<Master>> Master::make(const Ground& ground, Options options) {
  net::HubOptions agents = std::move(options.agents);
  agents.limits.message_max = agent_message_max;
  options.rows.quotas = quotas_of(options.access_rows);
  std::unique_ptr<Master> master(new Master(ground, std::move(options)));
  TRY(master->bind(std::move(agents)));
  return master;
}

Master::Master(const Ground& ground, Options options)
    : ground_(ground),
      settings_(options.settings),
      access_settings_(options.access),
      local_token_(std::move(options.local_token)),
      tick_every_(options.settings.beat_every / 4),
      keeping_(options.keeping),
      agent_keys_(std::move(options.agent_keys)),
      record_(std::move(options.record)),
      keep_code_(std::move(options.keep_code)),
      release_code_(std::move(options.release_code)),
      tell_leases_(std::move(options.tell_leases)),
      tell_revoked_(std::move(options.tell_revoked)),
      release_output_(std::move(options.release_output)),
      make_join_token_(std::move(options.make_join_token)),
      tell_(std::move(options.tell)),
      tell_changes_(std::move(options.tell_changes)),
      make_pass_(std::move(options.make_pass)),
      control_(std::move(options.settings), options.rows, options.boot, ground.calendar.now()),
      access_(options.access, options.access_rows),
      inbox_(ground.loop, {"the master's inbox", news_max, news_bytes_max}, size_of),
      confirm_every_(control_.settings().agent_timeout / 12) {
  for (const control::JobRow& row : options.rows.jobs) look_after_code(row);
  access_.found(ground.calendar.wall());
  if (!local_token_) return;
  const Result<void> put = access_.put_token(*local_token_);
  if (!put) ground_.log.warning("the owner of the data folder has no token: " + put.error().message);
}

Master::~Master() = default;

Result<void> Master::bind(net::HubOptions agents) {
  for (const auto& [key, agent] : agent_keys_) agents.admission.allow(key);
  TRY_ASSIGN(agents_hub, ground_.network.bind(std::move(agents), [this](const net::Peer& peer, BytesView bytes) {
    hear_agent(peer, bytes);
  }));
  agents_ = std::move(agents_hub);
  return {};
}

void Master::admit(const net::PublicKey& key, const cluster::AgentId& agent) {
  if (knows(key, agent)) return;
  revoke(agent);
  agent_keys_[key] = agent;
  agents_->allow(key);
}

bool Master::knows(const net::PublicKey& key, const cluster::AgentId& agent) const {
  const auto known = agent_keys_.find(key);
  return known != agent_keys_.end() && known->second == agent;
}

bool Master::has_key(const cluster::AgentId& agent) const {
  return std::any_of(agent_keys_.begin(), agent_keys_.end(), [&](const auto& one) { return one.second == agent; });
}

void Master::revoke(const cluster::AgentId& agent) {
  for (auto at = agent_keys_.begin(); at != agent_keys_.end();) {
    if (at->second != agent) {
      ++at;
      continue;
    }
    agents_->revoke(at->first);
    if (tell_revoked_) tell_revoked_(at->first);
    at = agent_keys_.erase(at);
  }
}

void Master::complain(std::string_view whom, std::string_view what) {
  ++complaints_;
  if ((complaints_ & (complaints_ - 1)) != 0) return;  // the 1st, 2nd, 4th, 8th …
  ground_.log.warning("a message of " + std::string(whom) + " was refused: " + std::string(what) + " (" +
                      std::to_string(complaints_) + " so far)");
}

void Master::hear_agent(const net::Peer& peer, BytesView bytes) {
  auto message = describe::read_msgpack<messages::FromAgent>(bytes, bounds());
  if (!message) return complain("an agent", first_of(message.error()));
  if (!inbox_.push(FromAgent{peer, *std::move(message), bytes.size()})) overrun_.insert(peer.connection.value);
}

ByteSize Master::size_of(const News& news) {
  std::size_t size = 0;
  if (const auto* one = std::get_if<FromAgent>(&news)) size = one->size;
  if (const auto* one = std::get_if<FromDoor>(&news)) size = one->credential.body_bytes;
  return ByteSize{static_cast<std::int64_t>(size)};
}

void Master::tick_later() {
  ticking_ = ground_.loop.after(tick_every_, [this] {
    if (!inbox_.push(Tick{})) ground_.log.warning("the master's inbox is full");
    tick_later();
  });
}

loop::Task<void> Master::prune_jobs() {
  const std::int64_t jobs_kept = std::max(keeping_.jobs, settings_.ended_jobs_kept);
  const std::int64_t bytes_kept = std::max(keeping_.job_bytes.value, settings_.ended_bytes_kept.value);
  for (;;) {
    const std::int64_t jobs = std::min(control_.ledger().ended() - jobs_kept, jobs_at_once);
    const std::int64_t bytes = control_.ledger().ended_bytes() - bytes_kept;
    if (jobs <= 0 && bytes <= 0) co_return;
    const Result<std::vector<records::PrunedJob>> pruned = co_await ground_.pool.run([this, jobs, bytes] {
      return jobs > 0 ? ground_.records.prune_jobs(jobs) : ground_.records.prune_largest_owner({jobs_at_once, bytes});
    });
    if (!pruned) ground_.log.warning("old jobs stay for now: " + pruned.error().message);
    if (!pruned || pruned->empty()) co_return;
    for (const records::PrunedJob& job : *pruned) {
      control_.note_pruned(job.id, job.bytes);
      for (cluster::LeaseId lease : job.leases) {
        const std::uint64_t last = lease.epoch.value;
        for (std::uint64_t epoch = last > epochs_most ? last - epochs_most : 0; release_output_ && epoch < last;) {
          lease.epoch.value = ++epoch;
          release_output_(lease);
        }
      }
    }
  }
}

loop::Task<void> Master::tidy() {
  for (;;) {
    co_await loop::sleep(ground_.loop, keeping_.tidy_every);
    const TimePoint now = ground_.calendar.wall();
    const Result<void> done = co_await ground_.pool.run([this, now]() -> Result<void> {
      TRY(ground_.records.prune_join_tokens(now));
      return {};
    });
    if (!done) ground_.log.warning("old join tokens stay for now: " + done.error().message);
    access_.tidy(now);
    co_await prune_jobs();
    for (std::int64_t removed = changes_at_once; removed == changes_at_once;) {  // others write in between
      const Result<std::int64_t> some = co_await ground_.pool.run([this]() -> Result<std::int64_t> {
        TRY_ASSIGN(changes, ground_.records.prune_changes(keeping_.changes, changes_at_once));
        TRY_ASSIGN(audit, ground_.records.prune_audit(keeping_.audit, changes_at_once));
        return std::max(changes, audit);
      });
      if (!some) ground_.log.warning("old records stay for now: " + some.error().message);
      removed = some.value_or(0);
    }
  }
}

loop::Task<Result<void>> Master::run() {
  tick_later();
  ground_.loop.spawn(tidy());
  for (;;) {
    const std::vector<News> news = co_await inbox_.receive_all();
    if (news.empty()) break;
    for (const std::uint64_t peer : std::exchange(overrun_, {})) control_.forget_peer(peer);
    Result<void> taken = co_await take(news);
    if (!taken && is_of_data(taken.error())) taken = co_await isolate(news, taken.error());
    if (!taken) co_return taken;
  }
  co_return Result<void>();
}

loop::Task<Result<void>> Master::take(const std::vector<News>& news) {
  // Time passes after all that was said: beats that waited long, behind a slow write, must count before it does.
  bool ticked = false;
  for (const News& one : news) std::holds_alternative<Tick>(one) ? void(ticked = true) : decide(one);
  if (ticked) decide(Tick{});
  control::Outcome outcome = control_.settle(ground_.calendar.now());
  const access::Writes access = access_.take();
  if (!outcome.writes.empty() || !access.empty()) {
    Result<void> written = co_await write(outcome.writes, access);
    if (!written) co_return written;
  }
  Result<void> confirmed = co_await confirm();
  if (!confirmed) co_return confirmed;
  act(std::move(outcome));
  co_return Result<void>();
}

void Master::stop() {
  stopping_ = true;
  ticking_.cancel();
  inbox_.close();
}

void Master::decide(const News& news) {
  const TimePoint now = ground_.calendar.now();
  std::visit(overloaded{
                 [&](const FromAgent& one) {
                   std::optional<cluster::AgentId> proven;
                   if (!one.peer.key.empty()) {
                     const auto owner = agent_keys_.find(one.peer.key);
                     if (owner == agent_keys_.end()) return complain("a removed agent", "its key is revoked");
                     proven = owner->second;
                   }
                   peers_[one.peer.connection.value] = {one.peer, control_.awake()};
                   control_.hear(one.peer.connection.value, one.message, proven, now);
                 },
                 [&](const FromDoor& one) { attend(one, now); },
                 [&](const Left& one) { control_.forget_asker(one.asker); },
                 [&](const Tick&) {
                   control_.tick(now);
                   if (control_.awake() - swept_ >= peer_silence_max / 10) sweep();
                 },
             },
             news);
}

void Master::sweep() {
  const TimePoint now = control_.awake();
  swept_ = now;
  for (auto at = peers_.begin(); at != peers_.end();) {
    if (now - at->second.heard < peer_silence_max) {
      ++at;
      continue;
    }
    control_.forget_peer(at->first);
    at = peers_.erase(at);
  }
}

loop::Task<Result<void>> Master::write(const control::Writes& writes, const access::Writes& access) {
  for (int attempt = 0;; ++attempt) {
    const TimePoint begun = ground_.loop.now();
    Result<void> written = co_await ground_.pool.run([&] { return ground_.records.commit(writes, access); });
    if (written) {
      obstacle_.clear();
      confirmed_ = begun;
      co_return written;
    }
    const Errc code = written.error().code;
    const bool may_pass = code == Errc::unavailable || code == Errc::timed_out || code == Errc::conflict;
    if (!may_pass) co_return written;
    if (code == Errc::conflict && attempt >= conflicts_max) co_return written;  // the rows contradict the database
    if (attempt == 0) ground_.log.error("nothing can be written, so nothing is done: " + written.error().message);
    if (stopping_) co_return written;  // nothing of it was acted on
    obstacle_ = written.error().message;
    co_await loop::sleep(ground_.loop, std::min<Duration>(100ms * (attempt + 1), 2s));
  }
}

/// An answer to an agent's beat lets its strictly fenced tasks run for another 5/6 of the timeout. Another master waits
/// for a whole timeout from its start on. So this one may answer only if it was alone less than a sixth ago.
loop::Task<Result<void>> Master::confirm() {
  if (!ground_.records.must_confirm()) co_return Result<void>();
  for (int attempt = 0; ground_.loop.now() - confirmed_ >= confirm_every_; ++attempt) {
    const TimePoint begun = ground_.loop.now();
    Result<void> alone = co_await ground_.pool.run([this] { return ground_.records.confirm(); });
    if (alone) {
      if (attempt > 0) ground_.log.info("the database confirms again that this is the only master");
      obstacle_.clear();
      confirmed_ = begun;
      if (ground_.loop.now() - begun < 2 * confirm_every_) break;
      continue;  // it took so long that it says nothing about now
    }
    if (alone.error().code == Errc::denied) co_return alone;
    if (attempt == 0) ground_.log.error("agents are not answered for now: " + alone.error().message);
    if (stopping_) co_return alone;
    obstacle_ = alone.error().message;
    co_await loop::sleep(ground_.loop, std::min<Duration>(100ms * (attempt + 1), 1s));
  }
  co_return Result<void>();
}

std::uint64_t Master::refused() const {
  const net::Counters seen = agents_->counters();
  return complaints_ + strangers_ + unwritable_ + seen.refused_key + seen.refused_large + seen.refused_malformed +
         seen.handshakes_failed;
}

void Master::look_after_code(const control::JobRow& row) {
  if (row.stage != control::JobStage::ended) {
    if (has_code(row) && with_code_.insert(row.id).second) each_code(row, keep_code_);
  } else if (with_code_.erase(row.id) > 0) {
    each_code(row, release_code_);
  }
}

void Master::log_change(const control::ChangeRow& change) {
  const auto line = [&] { return change.noun + " " + change.id + ": " + change.what; };
  if (change.noun != "agent") return ground_.log.debug(line);
  change.what == "lost"
      ? ground_.log.warning(line() + "; nothing was heard from it for " + rounded(settings_.agent_timeout) +
                            ", see cadre agent describe " + change.id)
      : ground_.log.info(line());
}

void Master::act(control::Outcome outcome) {
  for (const control::ChangeRow& change : outcome.writes.changes) log_change(change);
  if (tell_leases_ && !outcome.writes.tasks.empty()) tell_leases_(lease_facts(outcome.writes.tasks));
  for (const control::JobRow& row : outcome.writes.new_jobs) look_after_code(row);
  for (const control::JobRow& row : outcome.writes.jobs) look_after_code(row);
  for (control::ToAgent& one : outcome.to_agents) {
    const auto peer = peers_.find(one.peer);
    if (peer == peers_.end()) continue;
    if (auto* start = std::get_if<messages::Start>(&one.message.body)) {
      if (make_pass_) start->pass = make_pass_(start->lease);
      if (const access::UserRow* owner = access_.find_user(start->owner)) {
        start->rights.unix_user = owner->unix_user;
        start->rights.is_admin = owner->is_admin && owner->is_active;
      }
    }
    if (agents_->send(peer->second.peer, describe::write_msgpack(one.message))) continue;
    control_.forget_peer(one.peer);
    peers_.erase(peer);
  }
  for (const cluster::AgentId& agent : outcome.writes.keys_gone) revoke(agent);  // it has been told why
  if (tell_changes_ && !outcome.writes.changes.empty()) tell_changes_(outcome.writes.changes);
  for (control::Answer& one : outcome.answers) {
    if (auto* status = std::get_if<requests::Status>(&one.reply)) status->refused = refused();
    tell_(one.asker, std::move(one.reply));
  }
  for (auto& [asker, told] : std::exchange(told_, {})) tell_(asker, std::move(told));
  if (!record_) return;
  for (const control::PlanRecord& plan : outcome.plans) record_(plan);
}

}  // namespace cadre::master
