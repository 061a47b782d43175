#include "master/master.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::master {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t news_max = 200'000;
constexpr ByteSize news_bytes_max{256 << 20};

/// So often a transaction that met a conflict is repeated. Nobody else writes: one that stays is of what is written.
constexpr int conflicts_max = 4;

/// That are removed by one transaction.
constexpr std::int64_t changes_at_once = 5'000;

bool is_declared(const api::ChangeRow& change, const api::PartType& part) {
  return std::any_of(part.changes.begin(), part.changes.end(),
                     [&](const api::ChangeKind& kind) { return kind.noun == change.noun; });
}

}  // namespace

Result<std::unique_ptr<Master>> Master::make(const Dependencies& dependencies, Options options,
                                             std::uint64_t last_change) {
  std::unique_ptr<Master> master(new Master(dependencies, std::move(options)));
  master->last_change_ = last_change;
  TRY(master->make_shells());
  std::vector<std::any> loaded;
  for (PartSetup& part : master->options_.parts) {
    std::any known = std::exchange(part.loaded, {});
    TRY_ASSIGN(rows, known.has_value() ? Result<std::any>(std::move(known)) : master->load(part));
    loaded.push_back(std::move(rows));
  }
  TRY(master->make_parts(std::move(loaded)));
  return master;
}

Master::Master(const Dependencies& dependencies, Options options)
    : deps_(dependencies),
      calendar_(dependencies.calendar),
      options_(std::move(options)),
      inbox_(dependencies.loop, {"the master's inbox", news_max, news_bytes_max}, size_of) {
  for (std::size_t part = 0; part < options_.parts.size(); ++part) {
    for (const std::string_view name : options_.parts[part].type.requests) {
      CHECK(requests_.emplace(name, part).second && "the name of a request is unique among the parts of a master");
    }
  }
}

Master::~Master() = default;

Result<std::any> Master::load(const PartSetup& part) const {
  if (part.load) return part.load(deps_.records);
  if (part.type.load) return deps_.records.load_part(part.type.load);
  return std::any();
}

Result<void> Master::make_shells() {
  for (std::size_t part = 0; part < options_.parts.size(); ++part) {
    std::unique_ptr<PartShell>& shell = shells_.emplace_back();
    if (!options_.parts[part].make_shell) continue;
    TRY_ASSIGN(made, options_.parts[part].make_shell(deps_));
    shell = std::move(made);
    shell->start(
        [this, part](std::any news, ByteSize size) {
          return inbox_.push(FromShell{part, std::move(news), size}).has_value();
        },
        [this](api::CallId call, api::Reply reply) {
          audit_without_reply(call);
          options_.reply(call, std::move(reply));
        });
  }
  return {};
}

Result<void> Master::make_parts(std::vector<std::any> loaded) {
  parts_.clear();
  journal_ = nullptr;
  for (std::size_t at = 0; at < options_.parts.size(); ++at) {
    const PartSetup& setup = options_.parts[at];
    parts_.push_back(setup.type.make(std::move(loaded[at]), parts_, now()));
    if (auto* journal = dynamic_cast<api::Journal*>(parts_.back().get())) journal_ = journal;
    if (shells_[at]) shells_[at]->attach(*parts_.back());
  }
  if (journal_ == nullptr) return fail(Errc::invalid, "no part of the master keeps the audit log");
  return {};
}

ByteSize Master::size_of(const News& news) {
  if (const auto* one = std::get_if<FromShell>(&news)) return one->size;
  const auto* one = std::get_if<FromGateway>(&news);
  return ByteSize{one == nullptr ? 0 : static_cast<std::int64_t>(one->credential.body_bytes)};
}

void Master::tick_later() {
  ticking_ = deps_.loop.after(options_.tick_every, [this] {
    if (!inbox_.push(Tick{})) deps_.log.warning("the master's inbox is full");
    tick_later();
  });
}

loop::Task<void> Master::tidy() {
  for (;;) {
    co_await loop::sleep(deps_.loop, options_.tidy_every);
    for (const std::unique_ptr<api::Part>& part : parts_) part->tidy(now());
    for (const std::unique_ptr<PartShell>& shell : shells_) {
      if (shell) co_await shell->tidy();
    }
    for (std::int64_t removed = changes_at_once; removed == changes_at_once;) {  // others write in between
      const Result<std::int64_t> some = co_await deps_.pool.run(
          [this] { return deps_.records.prune_changes(options_.changes_kept, changes_at_once); });
      if (!some) deps_.log.warning("cannot remove old changes, trying again later: " + some.error().message);
      removed = some.value_or(0);
    }
  }
}

loop::Task<Result<void>> Master::run() {
  tick_later();
  deps_.loop.spawn(tidy());
  for (;;) {
    const std::vector<News> news = co_await inbox_.receive_all();
    if (news.empty()) break;
    const TimePoint begun = deps_.loop.now();
    step_inputs_.observe(static_cast<double>(news.size()));
    Result<void> taken = co_await take(news);
    if (!taken && is_of_data(taken.error())) taken = co_await isolate(news, taken.error());
    if (!taken) co_return taken;
    step_seconds_.observe(deps_.loop.now() - begun);
  }
  co_return Result<void>();
}

loop::Task<Result<void>> Master::take(const std::vector<News>& news) {
  // Time passes after all that was received: heartbeats that waited long, behind a slow write, must count before it
  // does.
  bool ticked = false;
  for (const News& one : news) std::holds_alternative<Tick>(one) ? void(ticked = true) : decide(one);
  if (ticked) decide(Tick{});
  Decided decided = settle();
  if (!decided.writes.empty()) {
    Result<void> written = co_await write(decided.writes);
    if (!written) {
      for (const auto& [call, reply] : decided.replies) unanswered_.insert(call);
      co_return written;
    }
  }
  Result<void> confirmed = co_await confirm();
  if (!confirmed) co_return confirmed;
  act(std::move(decided));
  co_return Result<void>();
}

void Master::stop() {
  stopping_ = true;
  ticking_.cancel();
  inbox_.close();
}

void Master::decide(const News& news) {
  std::visit(overloaded{
                 [&](const FromGateway& one) { take_call(one); },
                 [&](const FromShell& one) {
                   PartShell* const shell = shells_[one.part].get();
                   const std::optional<std::any> admitted =
                       shell == nullptr ? std::optional(one.news) : shell->admit(one.news);
                   if (admitted) parts_[one.part]->hear(*admitted, now());
                 },
                 [&](const Left& one) {
                   audit_without_reply(one.call);
                   for (const std::unique_ptr<api::Part>& part : parts_) part->forget(one.call);
                 },
                 [&](const Tick&) {
                   for (const std::unique_ptr<api::Part>& part : parts_) part->tick(now());
                   for (const std::unique_ptr<PartShell>& shell : shells_) {
                     if (shell) shell->tick();
                   }
                 },
                 [](const Resume&) {},
             },
             news);
}

Master::Decided Master::settle() {
  Decided decided;
  decided.effects.resize(parts_.size());
  decided.facts.resize(parts_.size());
  std::vector<api::Writes> writes(parts_.size());
  std::vector<std::vector<api::ChangeRow>> changes(parts_.size());
  // A part may hand requests to those before it, and the first keeps the audit log: so the last one settles first.
  for (std::size_t at = parts_.size(); at-- > 0;) {
    api::Outcome outcome = parts_[at]->settle(now());
    for (const auto& [call, reply] : outcome.replies) {
      const auto pending = audited_.find(call);
      if (pending == audited_.end()) continue;
      audit(pending->second.call, pending->second.request, &reply);
      decided.audited.push_back(call);
    }
    decided.is_finished &= outcome.is_finished;
    writes[at] = std::move(outcome.writes);
    changes[at] = std::move(outcome.changes);
    decided.effects[at] = std::move(outcome.effects);
    decided.facts[at] = std::move(outcome.facts);
    std::move(outcome.replies.begin(), outcome.replies.end(), std::back_inserter(decided.replies));
  }
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    decided.writes.append(std::move(writes[at]));
    for (api::ChangeRow& change : changes[at]) {
      CHECK(is_declared(change, options_.parts[at].type));
      change.number = ++last_change_;
    }
    std::move(changes[at].begin(), changes[at].end(), std::back_inserter(decided.changes));
  }
  decided.writes.put(decided.changes);
  decided.writes.raise("change", last_change_);
  return decided;
}

loop::Task<Result<void>> Master::write(const api::Writes& writes) {
  for (int attempt = 0;; ++attempt) {
    const TimePoint begun = deps_.loop.now();
    Result<void> written = co_await deps_.pool.run([&] { return deps_.records.commit(writes); });
    if (written) {
      commit_seconds_.observe(deps_.loop.now() - begun);
      obstacle_.clear();
      confirmed_ = begun;
      co_return written;
    }
    const Errc code = written.error().code;
    const bool may_pass = code == Errc::unavailable || code == Errc::timed_out || code == Errc::conflict;
    if (!may_pass) co_return written;
    if (code == Errc::conflict && attempt >= conflicts_max) co_return written;  // the rows contradict the database
    if (attempt == 0)
      deps_.log.error("cannot write to the database, so no requests are handled: " + written.error().message);
    if (stopping_) co_return written;  // nothing of it was acted on
    obstacle_ = written.error().message;
    co_await loop::sleep(deps_.loop, std::min<Duration>(100ms * (attempt + 1), 2s));
  }
}

/// A reply to an agent's heartbeat lets its strictly fenced tasks run for another 5/6 of the timeout. Another master
/// waits for a whole timeout from its start on. So this one may reply only if it was alone less than a sixth ago.
loop::Task<Result<void>> Master::confirm() {
  if (!deps_.records.must_confirm()) co_return Result<void>();
  for (int attempt = 0; deps_.loop.now() - confirmed_ >= options_.confirm_every; ++attempt) {
    const TimePoint begun = deps_.loop.now();
    Result<void> alone = co_await deps_.pool.run([this] { return deps_.records.confirm(); });
    if (alone) {
      if (attempt > 0) deps_.log.info("the database confirms again that this is the only master");
      obstacle_.clear();
      confirmed_ = begun;
      if (deps_.loop.now() - begun < 2 * options_.confirm_every) break;
      continue;  // it took so long that it says nothing about now
    }
    if (alone.error().code == Errc::denied) co_return alone;
    if (attempt == 0) deps_.log.error("agents get no replies for now: " + alone.error().message);
    if (stopping_) co_return alone;
    obstacle_ = alone.error().message;
    co_await loop::sleep(deps_.loop, std::min<Duration>(100ms * (attempt + 1), 1s));
  }
  co_return Result<void>();
}

std::uint64_t Master::refused() const {
  std::uint64_t sum = unauthenticated_ + unwritable_;
  for (const std::unique_ptr<PartShell>& shell : shells_) sum += shell ? shell->refused() : 0;
  return sum;
}

void Master::act(Decided decided) {
  // If the inbox takes no more, what is in it begins the next step.
  if (!decided.is_finished) static_cast<void>(inbox_.push(Resume{}));
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    if (!decided.facts[at].empty()) options_.parts[at].tell_bulk(std::move(decided.facts[at]));
  }
  for (std::size_t at = 0; at < parts_.size(); ++at) {
    PartShell* const shell = shells_[at].get();
    if (shell == nullptr) continue;
    shell->log(decided.changes);
    if (!decided.effects[at].empty()) shell->perform(std::move(decided.effects[at]));
  }
  if (options_.tell_changes && !decided.changes.empty()) options_.tell_changes(decided.changes);
  for (const api::CallId call : decided.audited) audited_.erase(call);
  for (auto& [call, reply] : decided.replies) options_.reply(call, std::move(reply));
  for (auto& [call, reply] : std::exchange(replies_, {})) options_.reply(call, std::move(reply));
}

}  // namespace cadre::master
