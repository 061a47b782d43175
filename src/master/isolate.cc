#include <set>
#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"
#include "master/master.h"

namespace cadre::master {
namespace {

namespace control = cluster::control;
namespace messages = cluster::messages;
namespace requests = cluster::requests;

cluster::Told failed(Errc code, std::string why) { return requests::Reply(requests::Failed{code, std::move(why), {}}); }

}  // namespace

bool Master::is_of_data(const Error& error) {
  // Errors of the database itself are waited for (unavailable, timed_out) or final (denied, corrupt).
  return error.code == Errc::invalid || error.code == Errc::not_found || error.code == Errc::conflict;
}

loop::Task<Result<void>> Master::isolate(const std::vector<News>& news, Error why) {
  ground_.log.error("a transaction of " + std::to_string(news.size()) +
                    " inputs cannot be written; they are taken one by one: " + why.message);
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
    std::uint64_t boot = 0;
    control::Rows rows;
    access::Rows access;
  };
  std::set<Asker> again;  // they will be answered when their request is taken again
  for (const News& one : news) {
    if (const auto* asked = std::get_if<FromDoor>(&one)) again.insert(asked->asker);
  }
  Result<Loaded> loaded = fail(Errc::unavailable, "");
  for (int attempt = 0; !loaded; ++attempt) {
    loaded = co_await ground_.pool.run([this]() -> Result<Loaded> {
      Loaded all;
      TRY_ASSIGN(boot, ground_.records.begin_boot());
      TRY_ASSIGN(rows, ground_.records.load({settings_.ended_jobs_kept, settings_.ended_bytes_kept.value}));
      TRY_ASSIGN(access, ground_.records.load_access());
      all.boot = boot;
      all.rows = std::move(rows);
      all.access = std::move(access);
      return all;
    });
    if (loaded) break;
    const Errc code = loaded.error().code;
    const bool may_pass = code == Errc::unavailable || code == Errc::timed_out || code == Errc::conflict;
    if (!may_pass || stopping_) co_return Failure(loaded.error());
    if (attempt == 0) ground_.log.error("the state cannot be read: " + loaded.error().message);
    obstacle_ = loaded.error().message;
    co_await loop::sleep(ground_.loop, std::chrono::seconds(1));
  }
  obstacle_.clear();
  const TimePoint now = ground_.calendar.now();
  loaded->rows.quotas = quotas_of(loaded->access);
  control::Control made(settings_, loaded->rows, loaded->boot, now);
  made.take_connections(control_);
  for (const Asker asker : control_.waiting()) {
    if (again.contains(asker)) continue;
    tell_(asker, failed(Errc::unavailable, "the master has read its state again; repeat the request"));
  }
  control_ = std::move(made);
  access_ = access::Access(access_settings_, loaded->access);
  access_.found(now);
  if (local_token_) static_cast<void>(access_.put_token(*local_token_));  // it was warned of at the start
  for (auto& [asker, told] : std::exchange(told_, {})) {
    if (!again.contains(asker)) tell_(asker, std::move(told));
  }
  co_return Result<void>();
}

loop::Task<Result<void>> Master::reject(const News& one, Error why) {
  ++unwritable_;
  const auto log = [&](const std::string& what) {
    ground_.log.error(what + " cannot be written and is refused (" + std::to_string(unwritable_) +
                      " so far): " + why.message);
  };
  if (const auto* asked = std::get_if<FromDoor>(&one)) {
    log("a request from " + asked->credential.address);
    tell_(asked->asker,
          failed(Errc::invalid, "the request holds something that cannot be stored; the log of the master says what"));
    co_return Result<void>();
  }
  const auto* heard = std::get_if<FromAgent>(&one);
  if (heard == nullptr) co_return Result<void>();
  log("a message of an agent");
  const auto answer = [&](messages::MasterMessage message) {
    const messages::FromMaster to{heard->message.session, std::move(message)};
    static_cast<void>(agents_->send(heard->peer, describe::write_msgpack(to)));  // who is gone needs no answer
  };
  if (std::holds_alternative<messages::Hello>(heard->message.body)) {
    answer(messages::Refused{"what it says of itself cannot be stored; the log of the master says what"});
  } else if (const auto* report = std::get_if<messages::Report>(&heard->message.body)) {
    answer(messages::ReportAnswer{report->lease, {report->number, false, "the report cannot be stored"}});
  } else if (const auto* exited = std::get_if<messages::Exited>(&heard->message.body)) {
    // That it ended must count, or the agent would say it again for ever; what it said of its end need not.
    FromAgent bare = *heard;
    cluster::TaskEnding ending;
    ending.reason = exited->ending.reason;
    ending.code = exited->ending.code;
    ending.output_end = exited->ending.output_end;
    ending.detail = "what its agent said of its end cannot be stored";
    std::get<messages::Exited>(bare.message.body).ending = ending;
    const std::vector<News> alone{std::move(bare)};
    Result<void> taken = co_await take(alone);
    if (!taken && is_of_data(taken.error())) taken = co_await reload(alone);
    co_return taken;
  }
  co_return Result<void>();
}

}  // namespace cadre::master
