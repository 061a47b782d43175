#include "client/session.h"

#include <unistd.h>

#include <climits>
#include <fstream>
#include <thread>
#include <utility>

#include "client/host_identity.h"
#include "client/which_master.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr Duration news_wait = 2s;  ///< so long the master may be silent
constexpr Duration answer_wait = 10s;
constexpr Duration again_after = 200ms;
constexpr Duration leave_wait = 2s;
constexpr Duration callbacks_wait = 5s;
constexpr std::size_t unclaimed_max = 10'000;
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

Error error_of(const Refusal& refusal) {
  Errc code = Errc::invalid;
  if (refusal.code == unreachable) code = Errc::unavailable;
  if (refusal.code == refused) code = Errc::denied;
  return {code, refusal.message};
}

}  // namespace

Session::Session(cluster::KnownMaster master) : master_(master.url), id_(random_word(32)) {
  connection_.emplace(engine_.loop(), std::move(master));
}

Result<std::shared_ptr<Session>> Session::open(const std::string& url, Duration wait) {
  constexpr std::string_view scheme = "cadre://";
  Got<cluster::KnownMaster> master = find_master(url.starts_with(scheme) ? "http://" + url.substr(scheme.size()) : url);
  if (!master) return Failure(error_of(master.error()));
  const std::shared_ptr<Session> session(new Session(*std::move(master)), [pid = own_pid()](Session* ended) {
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
      engine.loop().now() + wait, [&] { engine.loop().spawn(session->attend()); }, is_open);
  if (!is_known) return fail(Errc::unavailable, "the master at " + session->master_ + " has not answered in time");
  if (!*session->opened_) return Failure(error_of(session->opened_->error()));
  return session;
}

Session::~Session() { close(); }

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
          one->settle(NotGot(Refusal{failed, std::string(ended)}));
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
}

loop::Task<void> Session::leave(std::atomic<bool>& is_done) {
  requests::EndSession request;
  request.session = id_;
  const Got<requests::Done> ended = co_await connection_->ask(request, leave_wait);
  static_cast<void>(ended);  // a master that did not hear it will miss the beats
  is_done = true;
  engine_.changed();
}

/// One question that waits for news is always on its way: by it the master knows that this program lives.
loop::Task<void> Session::attend() {
  requests::Attend request;
  request.session = id_;
  request.host = host_name();
  request.pid = ::getpid();
  request.program = program_name();
  for (;;) {
    request.seen = seen_;
    const Got<requests::SessionNews> news = co_await connection_->ask_once(request, answer_wait);
    {
      const std::lock_guard lock(mutex_);
      if (!opened_) opened_ = news ? Got<void>() : Got<void>(NotGot(news.error()));
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
  }
}

std::shared_ptr<Actor> Session::create(ActorOptions options) {
  options.job.session = id_;
  auto& variables = options.job.members.front().command.variables;
  variables["CADRE_ACTOR_CALLER"] = keys_.open.text();
  variables["CADRE_ACTOR_HOST"] = network_identity();
  auto actor = std::make_shared<Actor>(static_cast<Actor::Place&>(*this), std::move(options));
  engine_.run([actor] { actor->begin(); });
  return actor;
}

void Session::submit(const std::shared_ptr<Actor>& actor, const cluster::JobSpec& job, Duration wait) {
  if (is_ending_) return actor->failed({Errc::unavailable, std::string(ended)});
  submitting_.insert(actor);
  requests::Submit request;
  request.job = job;
  engine_.loop().spawn(submit_job(actor, std::move(request), wait));
}

loop::Task<void> Session::submit_job(std::shared_ptr<Actor> actor, requests::Submit request, Duration wait) {
  const Got<requests::JobView> job = co_await connection_->ask(request, wait);
  submitting_.erase(actor);
  if (!job) {
    actor->failed(error_of(job.error()));
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
  const Got<requests::JobView> killed = co_await connection_->ask(request, answer_wait);
  static_cast<void>(killed);  // it ends with the session at the latest
}

void Session::forget(cluster::JobId job) {
  engine_.loop().post([this, job] { actors_.erase(job); });  // never while it calls
}

Result<std::string> Session::upload(const std::string& folder, TimePoint deadline) {
  Got<std::unique_ptr<PackedCode>> code = PackedCode::pack(folder);  // here, and not on the loop: it takes its time
  if (!code) return Failure(error_of(code.error()));
  const auto brought = std::make_shared<Brought>();
  brought->code = *std::move(code);
  const bool is_done = engine_.wait(
      deadline,
      [this, brought] {
        if (is_ending_) return brought->settle(NotGot(Refusal{failed, std::string(ended)}));
        bringing_.insert(brought);
        engine_.loop().spawn(bring(brought));
      },
      [&] { return brought->is_done.load(std::memory_order_acquire); });
  if (!is_done) return fail(Errc::timed_out, "the files were not sent in time");
  if (!brought->hash) return Failure(error_of(brought->hash.error()));
  return *brought->hash;
}

loop::Task<void> Session::bring(std::shared_ptr<Brought> brought) {
  const Got<void> sent = co_await brought->code->send(*connection_);
  brought->settle(sent ? Got<std::string>(brought->code->hash()) : Got<std::string>(NotGot(sent.error())));
  bringing_.erase(brought);
  engine_.changed();
}

}  // namespace cadre::client
