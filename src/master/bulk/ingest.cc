#include "master/bulk/ingest.h"

#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::master {
namespace {

/// That are served together.
constexpr std::size_t batch_max = 1'000;
/// Requests are bounded by IngestLimits; what the master says finds room beside them.
constexpr std::size_t inbox_max = 1'000'000;

const char* const is_overloaded = "the master is overloaded or about to stop; try again";

}  // namespace

Ingest::Ingest(const Dependencies& dependencies, const IngestLimits& limits)
    : deps_(dependencies),
      limits_(limits),
      inbox_(dependencies.loop, {"bulk requests", inbox_max + limits.calls_max, limits.bytes_max},
             [](const News& news) {
               const auto* asked = std::get_if<Asked>(&news);
               return ByteSize{asked == nullptr ? 0 : static_cast<std::int64_t>(asked->credential.body_bytes)};
             }) {}

void Ingest::ask(api::CallId call, api::Credential credential, api::Request request) {
  const bool has_room = waiting_.fetch_add(1) < limits_.calls_max;
  if (has_room && inbox_.push(Asked{call, std::move(credential), std::move(request)})) return;
  refuse(call, api::Failed{Errc::unavailable, is_overloaded, {}});
}

void Ingest::learn(std::vector<std::any> facts) {
  static_cast<void>(inbox_.push(Facts{std::move(facts)}));  // refused when it has stopped: then nothing is served
}

void Ingest::end(std::vector<cluster::LeaseId> leases) { static_cast<void>(inbox_.push(Ended{std::move(leases)})); }

void Ingest::fence(std::vector<cluster::LeaseId> newest, std::function<void()> done) {
  if (!inbox_.push(Fence{std::move(newest), done})) done();  // it has stopped and serves nobody
}

void Ingest::refuse(api::CallId call, api::Reply reply) {
  ++refused_;
  --waiting_;
  deps_.reply(call, std::move(reply));
}

std::string Ingest::key_of(const api::Credential& credential) {
  return credential.lease.empty() ? "token " + credential.token_hash : "task " + credential.lease;
}

const api::Principal* Ingest::rights_of(const api::Credential& credential) {
  if (credential.lease.empty()) {
    const auto known = tokens_.find(credential.token_hash);
    return known == tokens_.end() || known->second.until <= deps_.loop.now() ? nullptr : &known->second.who;
  }
  const Result<cluster::LeaseId> lease = cluster::parse_lease_id(credential.lease);
  const auto known = lease ? leases_.find(*lease) : leases_.end();
  return known == leases_.end() ? nullptr : &known->second;
}

void Ingest::take(Asked asked, Batch& batch) {
  if (const api::Principal* who = rights_of(asked.credential)) {
    batch.calls.push_back(asked.call);
    batch.requests.push_back({*who, std::move(asked.request)});
    if (batch.calls.size() >= batch_max) serve(batch);
    return;
  }
  const api::Credential credential = asked.credential;
  std::vector<Asked>& waiting = unidentified_[key_of(credential)];
  waiting.push_back(std::move(asked));
  if (waiting.size() > 1) return;  // the master is asked already
  ++identified_;
  deps_.identifier.identify_caller(credential, [this, credential](Result<api::Principal> who) {
    static_cast<void>(inbox_.push(Identified{credential, std::move(who)}));
  });
}

void Ingest::take(Identified identified, Batch& batch) {
  const auto waiting = unidentified_.extract(key_of(identified.credential));
  if (identified.who) {
    if (tokens_.size() >= limits_.rights_max) tokens_.clear();
    if (leases_.size() >= limits_.rights_max) leases_.clear();
    const Result<cluster::LeaseId> lease = cluster::parse_lease_id(identified.credential.lease);
    if (lease) leases_[*lease] = *identified.who;
    if (!lease)
      tokens_[identified.credential.token_hash] = {*identified.who, deps_.loop.now() + limits_.token_rights_for};
  }
  if (waiting.empty()) return;
  for (Asked& asked : waiting.mapped()) {
    if (!identified.who) {
      refuse(asked.call, api::Failed::unauthenticated(identified.who.error().message));
      continue;
    }
    batch.calls.push_back(asked.call);
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
  std::vector<api::Reply> replies = deps_.part.serve(batch.requests);
  CHECK(replies.size() == batch.calls.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    ++served_;
    --waiting_;
    deps_.reply(batch.calls[i], std::move(replies[i]));
  }
  batch = {};
}

loop::Task<void> Ingest::run() {
  for (;;) {
    std::vector<News> news = co_await inbox_.receive_all();
    if (news.empty()) co_return;
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
}

}  // namespace cadre::master
