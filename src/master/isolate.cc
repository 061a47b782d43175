#include <set>
#include <utility>

#include "master/master.h"

namespace cadre::master {

bool Master::is_of_data(const Error& error) {
  // Errors of the database itself are waited for (unavailable, timed_out) or final (denied, corrupt).
  return error.code == Errc::invalid || error.code == Errc::not_found || error.code == Errc::conflict;
}

loop::Task<Result<void>> Master::isolate(const std::vector<News>& news, Error why) {
  deps_.log.error("a transaction of " + std::to_string(news.size()) +
                  " inputs cannot be written; they are handled one by one: " + why.message);
  Result<void> done = co_await reload(news);
  if (!done) co_return done;
  bool ticked = false;
  for (const News& one : news) {
    if (std::holds_alternative<Tick>(one)) {
      ticked = true;
      continue;
    }
    const std::vector<News> alone{one};
    Result<void> taken = co_await take(alone);
    if (taken) continue;
    if (!is_of_data(taken.error())) co_return taken;
    done = co_await reload(alone);
    if (!done) co_return done;
    done = co_await reject(one, taken.error());
    if (!done) co_return done;
  }
  if (!ticked) co_return Result<void>();
  const std::vector<News> time{Tick{}};
  Result<void> taken = co_await take(time);  // no input at all: what fails now is wrong in the records
  co_return taken;
}

loop::Task<Result<void>> Master::reload(const std::vector<News>& news) {
  struct Loaded {
    std::vector<std::any> parts;
    std::uint64_t last_change = 0;
  };
  std::set<api::CallId> again;  // they will be answered when their request is taken again
  for (const News& one : news) {
    if (const auto* asked = std::get_if<FromGateway>(&one)) again.insert(asked->call);
  }
  Result<Loaded> loaded = fail(Errc::unavailable, "");
  for (int attempt = 0; !loaded; ++attempt) {
    loaded = co_await deps_.pool.run([this]() -> Result<Loaded> {
      Loaded all;
      TRY(deps_.records.begin_boot());
      for (const PartSetup& part : options_.parts) {
        TRY_ASSIGN(rows, load(part));
        all.parts.push_back(std::move(rows));
      }
      TRY_ASSIGN(last, deps_.records.last("change"));
      all.last_change = last;
      return all;
    });
    if (loaded) break;
    const Errc code = loaded.error().code;
    const bool may_pass = code == Errc::unavailable || code == Errc::timed_out || code == Errc::conflict;
    if (!may_pass || stopping_) co_return Failure(loaded.error());
    if (attempt == 0) deps_.log.error("the state cannot be read: " + loaded.error().message);
    obstacle_ = loaded.error().message;
    co_await loop::sleep(deps_.loop, std::chrono::seconds(1));
  }
  obstacle_.clear();
  std::set<api::CallId> waiting = std::exchange(unanswered_, {});
  for (const std::unique_ptr<api::Part>& part : parts_) {
    for (const api::CallId call : part->waiting()) waiting.insert(call);
  }
  for (const api::CallId call : waiting) {
    if (again.contains(call)) continue;
    options_.reply(call, api::Failed{Errc::unavailable, "the master has read its state again; repeat the request", {}});
  }
  const std::vector<std::unique_ptr<api::Part>> dropped = std::exchange(parts_, {});
  last_change_ = loaded->last_change;
  Result<void> made = make_parts(std::move(loaded->parts));
  if (!made) co_return made;
  for (std::size_t at = 0; at < parts_.size(); ++at) parts_[at]->take_over(*dropped[at]);
  for (const api::CallId call : again) audited_.erase(call);  // they are audited when they are taken again
  for (const api::CallId call : waiting) audit_without_reply(call);
  for (auto& [call, reply] : std::exchange(replies_, {})) {
    if (!again.contains(call)) options_.reply(call, std::move(reply));
  }
  co_return Result<void>();
}

loop::Task<Result<void>> Master::reject(const News& one, Error why) {
  ++unwritable_;
  const auto log = [&](const std::string& what) {
    deps_.log.error(what + " cannot be written and is refused (" + std::to_string(unwritable_) +
                    " so far): " + why.message);
  };
  if (const auto* asked = std::get_if<FromGateway>(&one)) {
    log("a request from " + asked->credential.address);
    options_.reply(
        asked->call,
        api::Failed{Errc::invalid, "the request has a value that cannot be stored; see the log of the master", {}});
    co_return Result<void>();
  }
  const auto* heard = std::get_if<FromShell>(&one);
  if (heard == nullptr) co_return Result<void>();
  log("news for the part " + std::string(options_.parts[heard->part].type.name));
  PartShell* const shell = shells_[heard->part].get();
  std::optional<std::any> instead = shell == nullptr ? std::nullopt : shell->reject(heard->news);
  if (!instead) co_return Result<void>();
  const std::vector<News> alone{FromShell{heard->part, *std::move(instead), heard->size}};
  Result<void> taken = co_await take(alone);
  if (!taken && is_of_data(taken.error())) taken = co_await reload(alone);
  co_return taken;
}

}  // namespace cadre::master
