#include "master/bulk/ingest.h"

#include <utility>

#include "api/rendered.h"
#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::master {
namespace {

/// That are served together.
constexpr std::size_t batch_max = 1'000;

const char* const is_overloaded = "the master is overloaded or about to stop; try again";

}  // namespace

Ingest::Ingest(const Dependencies& dependencies, const IngestLimits& limits)
    : deps_(dependencies),
      limits_(limits),
      inbox_(dependencies.loop, {"bulk requests", limits.told_max + limits.calls_max}) {}

Ingest::Open Ingest::open_of(const Asked& asked) {
  return {asked.call, static_cast<std::int64_t>(asked.credential.body_bytes)};
}

void Ingest::ask(api::CallId call, api::Credential credential, api::Request request) {
  Asked asked{call, std::move(credential), std::move(request)};
  const Open open = open_of(asked);
  const bool is_one_too_many = waiting_.fetch_add(1) >= limits_.calls_max;
  const bool is_too_large = waiting_bytes_.fetch_add(open.bytes) + open.bytes > limits_.bytes_max.value;
  if (!is_one_too_many && !is_too_large && !lags_ && inbox_.push(std::move(asked))) return;
  refuse_overloaded(open);
}

bool Ingest::tell(News news) {
  if (!lags_ && inbox_.push(std::move(news))) return true;
  if (!stopped_ && !lags_.exchange(true)) {
    deps_.log.error(
        "a bulk service does not accept updates from the master, so it stopped serving; check that the database "
        "answers, and restart the master");
  }
  return false;
}

void Ingest::learn(std::vector<std::any> facts) { tell(Facts{std::move(facts)}); }

void Ingest::end(std::vector<cluster::LeaseId> leases) { tell(Ended{std::move(leases)}); }

void Ingest::fence(std::vector<cluster::LeaseId> newest, std::function<void()> done) {
  // One that does not keep up may still be writing for an older lease: the newer one must not begin.
  if (!tell(Fence{std::move(newest), done}) && stopped_) done();
}

void Ingest::reply(const Open& call, api::Reply reply) {
  --waiting_;
  waiting_bytes_ -= call.bytes;
  deps_.reply(call.call, api::rendered(std::move(reply)));
}

void Ingest::refuse_overloaded(const Open& call) {
  {
    const std::lock_guard lock(counting_);
    ++deps_.counters.overloaded;
  }
  reply(call, api::Failed{Errc::unavailable, is_overloaded, {}});
}

std::string Ingest::key_of(const api::Credential& credential) {
  return credential.lease.empty() ? "token " + credential.token_hash : "task " + credential.lease;
}

const api::Principal* Ingest::rights_of(const api::Credential& credential) {
  const auto valid = [&](const auto& all, const auto& found) -> const api::Principal* {
    return found == all.end() || found->second.until <= deps_.loop.now() ? nullptr : &found->second.who;
  };
  if (credential.lease.empty()) return valid(tokens_, tokens_.find(credential.token_hash));
  const Result<cluster::LeaseId> lease = cluster::parse_lease_id(credential.lease);
  return valid(leases_, lease ? leases_.find(*lease) : leases_.end());
}

void Ingest::take(Asked asked, Batch& batch) {
  if (const api::Principal* who = rights_of(asked.credential)) {
    ++deps_.counters.hits;
    batch.calls.push_back(open_of(asked));
    batch.requests.push_back({*who, std::move(asked.request)});
    if (batch.calls.size() >= batch_max) serve(batch);
    return;
  }
  ++deps_.counters.misses;
  const api::Credential credential = asked.credential;
  std::vector<Asked>& waiting = unidentified_[key_of(credential)];
  waiting.push_back(std::move(asked));
  if (waiting.size() > 1) return;  // the master is asked already
  deps_.identifier.identify_caller(credential, [this, credential](Result<api::Principal> who) {
    tell(Identified{credential, std::move(who)});
  });
}

void Ingest::take(Identified identified, Batch& batch) {
  const auto waiting = unidentified_.extract(key_of(identified.credential));
  if (identified.who) {
    if (tokens_.size() >= limits_.rights_max) tokens_.clear();
    if (leases_.size() >= limits_.rights_max) leases_.clear();
    const Result<cluster::LeaseId> lease = cluster::parse_lease_id(identified.credential.lease);
    const Known known{*identified.who, deps_.loop.now() + limits_.rights_for};
    (lease ? leases_[*lease] : tokens_[identified.credential.token_hash]) = known;
  }
  if (waiting.empty()) return;
  for (Asked& asked : waiting.mapped()) {
    if (!identified.who) {
      ++deps_.counters.unauthenticated;
      reply(open_of(asked), api::Failed::unauthenticated(identified.who.error().message));
      continue;
    }
    batch.calls.push_back(open_of(asked));
    batch.requests.push_back({*identified.who, std::move(asked.request)});
  }
}

void Ingest::forget_older(const std::vector<cluster::LeaseId>& newest) {
  for (const cluster::LeaseId& lease : newest) {
    leases_.erase(leases_.lower_bound({lease.task, {}}), leases_.lower_bound(lease));
  }
}

void Ingest::serve(Batch& batch) {
  if (batch.calls.empty()) return;
  if (lags_) {
    for (const Open& call : batch.calls) refuse_overloaded(call);
    batch = {};
    return;
  }
  std::vector<api::Reply> replies = deps_.part.serve(batch.requests);
  CHECK(replies.size() == batch.calls.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ++deps_.counters.accepted;
    reply(batch.calls[i], std::move(replies[i]));
  }
  batch = {};
}

void Ingest::work() {
  if (lags_) return;
  const std::optional<Duration> next = deps_.part.work();
  next_work_ = next ? deps_.loop.after(*next, [this] { work(); }) : loop::Timer();
}

loop::Task<void> Ingest::run() {
  for (;;) {
    work();
    std::vector<News> news = co_await inbox_.receive_all();
    if (news.empty()) break;
    Batch batch;
    for (News& one : news) {
      std::visit(overloaded{
                     [&](Asked& asked) { take(std::move(asked), batch); },
                     [&](Identified& identified) { take(std::move(identified), batch); },
                     [&](Facts& facts) {
                       serve(batch);
                       for (const std::any& fact : facts.facts) deps_.part.learn(fact);
                     },
                     [&](Ended& ended) {
                       for (const cluster::LeaseId& lease : ended.leases) leases_.erase(lease);
                     },
                     [&](Fence& fence) {
                       serve(batch);  // what was accepted before is written before the newer run begins
                       forget_older(fence.newest);
                       fence.done();
                     },
                 },
                 one);
    }
    serve(batch);
  }
  next_work_.cancel();
}

}  // namespace cadre::master
