#include "client/actors/session.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

#include "client/actors/actor_host.h"
#include "client/cluster/master_address.h"
#include "client/cluster/which_master.h"
#include "client/host_identity.h"
#include "loop/random_word.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr Duration news_wait = 2s;  ///< so long the master may be silent
constexpr Duration answer_wait = 10s;
constexpr Duration again_after = 200ms;
constexpr Duration leave_wait = 2s;
constexpr Duration callbacks_wait = 5s;
constexpr Duration output_wait = 1s;
constexpr std::size_t unclaimed_max = 10'000;
constexpr std::size_t forgotten_max = 10'000;
/// An actor that is given up before its submission was answered is killed when it is.
constexpr Duration submission_wait = 60s;
constexpr Duration explain_after = 3s;  ///< that an actor waits
constexpr Duration explain_again_after = 60s;
constexpr Duration session_look_every = 500ms;
constexpr std::string_view ended = "the session with the cluster was ended";

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string program_name() {
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  return name;
}

/// Each line with where it comes from.
std::string with_prefix(const std::string& prefix, std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    text += prefix;
    text += lines.substr(0, end);
    text += '\n';
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return text;
}

bool output_is_wanted() {
  const char* const value = std::getenv(output_variable);
  return value == nullptr || std::string_view(value) != "0";
}

}  // namespace

Session::Session(const cluster::KnownMaster& master, Options options)
    : master_(master.url),
      id_(loop::random_word(32)),
      shows_output_(options.shows_output.value_or(output_is_wanted())),
      printer_(options.sink ? std::move(options.sink) : Printer::to_this_process()) {
  connection_.emplace(engine_.loop(), endpoint_of(master), rest::Options{.naming = options.naming});
}

Result<std::shared_ptr<Session>> Session::open(const std::string& url, Options options) {
  const Result<cluster::KnownMaster> master = find_master(url, options.naming);
  if (!master) return Failure(master.error());
  const Duration wait = options.wait;
  const std::shared_ptr<Session> session(new Session(*master, std::move(options)), [pid = own_pid()](Session* ended) {
    if (own_pid() != pid) return;
    if (!ended->callbacks_.is_here()) return delete ended;
    std::thread([ended] { delete ended; }).detach();  // the last who had it was a callback: its thread ends too
  });
  const auto is_open = [&] {
    const std::lock_guard lock(session->mutex_);
    return session->opened_.has_value();
  };
  Engine& engine = session->engine_;
  const bool is_known = engine.wait(
      engine.loop().now() + wait, [&] { engine.loop().spawn(session->keep_alive()); }, is_open);
  if (!is_known) return fail(Errc::unavailable, "the master at " + session->master_ + " has not answered in time");
  if (!*session->opened_) return Failure(session->opened_->error());
  return session;
}

Session::~Session() { close(); }

bool Session::is_at(const std::string& address) const {
  const Result<MasterAddress> parsed = parse_master_address(address);
  return parsed && !parsed->url.empty() && is_same_master(parsed->url, master_);
}

void Session::close() {
  if (std::exchange(is_closed_, true)) return;
  std::atomic<bool> has_left = false;
  engine_.wait(
      engine_.loop().now() + leave_wait,
      [&] {
        engine_.loop().destroy_tasks();
        is_ending_ = true;
        const Error why{Errc::unavailable, std::string(ended)};
        for (const auto& [id, actor] : std::exchange(actors_, {})) actor->drop(why);
        for (const std::shared_ptr<Actor>& actor : std::exchange(submitting_, {})) actor->drop(why);
        for (const std::shared_ptr<Brought>& one : std::exchange(bringing_, {})) {
          one->settle(fail(Errc::unavailable, std::string(ended)));
        }
        engine_.changed();
        engine_.loop().spawn(leave(has_left));
      },
      [&] { return has_left.load(); });
  engine_.perform([this] {
    engine_.loop().destroy_tasks();
    connection_.reset();
  });
  callbacks_.finish(callbacks_wait);
  printer_.close(output_wait);
}

loop::Task<void> Session::leave(std::atomic<bool>& is_done) {
  requests::EndSession request;
  request.session = id_;
  const Result<requests::Done> ended = co_await connection_->ask(request, leave_wait);
  static_cast<void>(ended);  // a master that did not hear it will miss the beats
  is_done = true;
  engine_.changed();
}

/// One question that waits for news is always on its way: by it the master knows that this program lives.
loop::Task<void> Session::keep_alive() {
  requests::KeepSession request;
  request.session = id_;
  request.host = host_name();
  request.pid = ::getpid();
  request.program = program_name();
  for (;;) {
    request.seen = seen_;
    const Result<requests::SessionNews> news = co_await connection_->ask_once(request, answer_wait);
    {
      const std::lock_guard lock(mutex_);
      if (!opened_) opened_ = news ? Result<void>() : Result<void>(Failure(news.error()));
    }
    if (!news) {
      engine_.changed();
      co_await loop::sleep(engine_.loop(), again_after);
      continue;
    }
    seen_ = news->version;
    request.wait = news_wait;
    for (const requests::JobView& view : news->jobs) take(view);
    engine_.changed();
  }
}

void Session::take(const requests::JobView& view) {
  if (const auto found = actors_.find(view.id); found != actors_.end()) {
    const std::shared_ptr<Actor> actor = found->second;
    actor->news(view);
  } else if (!submitting_.empty() && unclaimed_.size() < unclaimed_max) {
    unclaimed_[view.id] = view;
  } else if (has_unknown_jobs_ && view.stage != cluster::JobStage::ended && !forgotten_.contains(view.id)) {
    kill(view.id);  // its submission failed here, though the master has it
  }
}

std::shared_ptr<Actor> Session::create(ActorOptions options) {
  options.job.session = id_;
  auto& variables = options.job.members.front().command.variables;
  variables["CADRE_ACTOR_CALLER"] = keys_.open.text();
  variables["CADRE_ACTOR_HOST"] = network_identity();
  variables[output_variable] = shows_output_ ? "1" : "0";
  variables[address_variable] = address_announced;
  auto actor = std::make_shared<Actor>(static_cast<Actor::Place&>(*this), std::move(options));
  engine_.run([actor] { actor->begin(); });
  return actor;
}

void Session::submit(const std::shared_ptr<Actor>& actor, const cluster::JobSpec& job, Duration wait) {
  if (is_ending_) return actor->failed({Errc::unavailable, std::string(ended)});
  submitting_.insert(actor);
  requests::Submit request;
  request.job = job;
  engine_.loop().spawn(submit_job(actor, std::move(request), std::max(wait, submission_wait)));
  if (!std::exchange(explains_waiting_, true)) engine_.loop().spawn(explain_waiting());
}

loop::Task<void> Session::submit_job(std::shared_ptr<Actor> actor, requests::Submit request, Duration wait) {
  const Result<requests::JobView> job = co_await connection_->ask(request, wait);
  submitting_.erase(actor);
  if (!job) {
    has_unknown_jobs_ |= job.error().code == Errc::unavailable || job.error().code == Errc::timed_out;
    actor->failed(job.error());
  } else {
    actors_[job->id] = actor;
    actor->begun(job->id);
    const auto early = unclaimed_.find(job->id);
    if (early != unclaimed_.end()) actor->news(early->second);
  }
  if (submitting_.empty()) unclaimed_.clear();
}

void Session::kill(cluster::JobId job) {
  if (!is_ending_) engine_.loop().spawn(kill_job(job));
}

loop::Task<void> Session::kill_job(cluster::JobId job) {
  requests::KillJob request;
  request.job = job;
  const Result<requests::JobView> killed = co_await connection_->ask(request, answer_wait);
  static_cast<void>(killed);  // it ends with the session at the latest
}

void Session::forget(cluster::JobId job) {
  forgotten_.insert(job);
  if (forgotten_.size() > forgotten_max) forgotten_.erase(forgotten_.begin());
  engine_.loop().post([this, job] { actors_.erase(job); });  // never while it calls
}

void Session::show(const Actor& actor, Printer::Stream stream, std::string_view lines) {
  if (!shows_output_) return;
  const std::string number = std::to_string(actor.job().value);
  printer_.print(stream, with_prefix("(" + actor.class_name() + " " + number + ") ", lines));
}

loop::Task<void> Session::explain_waiting() {
  for (bool somebody_waits = true; somebody_waits;) {
    co_await loop::sleep(engine_.loop(), session_look_every);
    const TimePoint now = engine_.loop().now();
    somebody_waits = false;
    std::shared_ptr<Actor> first;
    std::size_t waiting = 0;
    const auto look_at = [&](const std::shared_ptr<Actor>& one) {
      const bool waits = one->awaits() == Actor::Await::master || one->awaits() == Actor::Await::place;
      if (!waits || one->is_over()) return;
      somebody_waits = true;
      if (now - one->awaits_since() < explain_after) return;
      ++waiting;
      if (!first || one->awaits_since() < first->awaits_since()) first = one;
    };
    for (const std::shared_ptr<Actor>& one : submitting_) look_at(one);
    for (const auto& [id, one] : actors_) look_at(one);
    if (!first || now < explain_not_before_) continue;
    std::string reason = "the master at " + master_ + " does not answer";
    const cluster::JobId job = first->job();
    if (first->awaits() == Actor::Await::place) {
      requests::Why request;
      request.job = job;
      const Result<requests::Text> why = co_await connection_->ask(request, answer_wait);
      if (!why || first->awaits() != Actor::Await::place || first->is_over()) continue;
      reason = why->text;
    }
    while (reason.ends_with('\n')) reason.pop_back();
    const std::string name = first->class_name() + (job.value != 0 ? " " + std::to_string(job.value) : "");
    const std::string others = waiting > 1 ? " (and " + std::to_string(waiting - 1) + " more actors)" : "";
    printer_.print(Printer::Stream::err, "cadre: actor " + name + others + " waits: " + reason + "\n");
    explain_not_before_ = now + explain_again_after;
  }
  explains_waiting_ = false;
}

Result<std::string> Session::upload(const std::string& folder, TimePoint deadline) {
  Result<std::unique_ptr<PackedCode>> code = PackedCode::pack(folder);  // here, and not on the loop: it takes its time
  if (!code) return Failure(code.error());
  const auto brought = std::make_shared<Brought>();
  brought->code = *std::move(code);
  const bool is_done = engine_.wait(
      deadline,
      [this, brought] {
        if (is_ending_) return brought->settle(fail(Errc::unavailable, std::string(ended)));
        bringing_.insert(brought);
        engine_.loop().spawn(bring(brought));
      },
      [&] { return brought->is_done.load(std::memory_order_acquire); });
  if (!is_done) return fail(Errc::timed_out, "the files were not sent in time");
  if (!brought->hash) return Failure(brought->hash.error());
  return *brought->hash;
}

loop::Task<void> Session::bring(std::shared_ptr<Brought> brought) {
  const Result<void> sent = co_await brought->code->send(*connection_);
  brought->settle(sent ? Result<std::string>(brought->code->hash()) : Result<std::string>(Failure(sent.error())));
  bringing_.erase(brought);
  engine_.changed();
}

}  // namespace cadre::client
