#include <deque>

#include "gateway/bodies.h"
#include "gateway/requests.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
using cluster::Told;
namespace requests = cluster::requests;

/// A question that waits for a change is answered after so long with how things are.
constexpr Duration wait_max = 20s;

template <class T>
const T* reply_in(const Told& told) {
  const auto* reply = std::get_if<requests::Reply>(&told);
  return reply == nullptr ? nullptr : std::get_if<T>(reply);
}

}  // namespace

void Gateway::add_cluster_routes() {
  add_requests(
      [this]<class T>(const Visit& visit, cluster::Credential who, T request) {
        if constexpr (std::is_same_v<T, requests::GetJob>) {
          if (request.seen) return wait_for_job(visit, who, request);
        }
        if constexpr (std::is_same_v<T, requests::RunExec>) {
          tasks_.spawn(run_exec(visit, std::move(who), std::move(request)));
        } else {
          ask(visit, std::move(who), requests::Request(std::move(request)));
        }
      },
      std::type_identity<requests::Request>{});
}

void Gateway::wait_for_job(const Visit& visit, const cluster::Credential& who, const requests::GetJob& request) {
  const auto late = std::make_shared<loop::Timer>();  // ends with whoever waits
  const cluster::Desk::Asker asker = told_.add([exchange = visit.exchange, late](const Told& told) {
    late->cancel();
    exchange->answer(response_of(told));
  });
  visit.exchange->on_gone([this, asker, late] {
    late->cancel();
    told_.forget(asker);
  });
  *late = ground_.loop.after(wait_max, [this, asker, visit, who, job = request.job] {
    told_.forget(asker);
    ask(visit, who, requests::Request(requests::GetJob{job, std::nullopt}));
  });
  ground_.desk.ask(asker, who, requests::Request(request));
}

namespace {

/// What is said of a command while it runs, kept until it can be sent. Ends the command when nobody waits any more.
class ExecTalk {
 public:
  ExecTalk(loop::Loop& loop, Waiting<Told>& waiting) : loop_(loop), waiting_(waiting) {
    asker_ = waiting.add_for_all([this](Told told) {
      news_.push_back(std::move(told));
      wake();
    });
  }
  ExecTalk(const ExecTalk&) = delete;
  ExecTalk& operator=(const ExecTalk&) = delete;
  ~ExecTalk() { waiting_.forget(asker_); }

  cluster::Desk::Asker asker() const { return asker_; }
  void leave() {
    is_left_ = true;
    wake();
  }

  struct Next {
    ExecTalk& talk;
    bool await_ready() const { return talk.is_left_ || !talk.news_.empty(); }
    void await_suspend(std::coroutine_handle<> waiting) { talk.waiter_ = waiting; }
    /// Nothing: nobody waits any more.
    std::optional<Told> await_resume() {
      if (talk.is_left_) return std::nullopt;
      Told told = std::move(talk.news_.front());
      talk.news_.pop_front();
      return told;
    }
  };
  Next next() { return {*this}; }

 private:
  void wake() {
    if (!waiter_) return;
    wake_ = loop_.after(Duration{0}, [this] {
      if (waiter_) std::exchange(waiter_, nullptr).resume();
    });
  }

  loop::Loop& loop_;
  Waiting<Told>& waiting_;
  cluster::Desk::Asker asker_ = 0;
  bool is_left_ = false;
  std::deque<Told> news_;
  std::coroutine_handle<> waiter_;
  loop::Timer wake_;
};

}  // namespace

loop::Task<void> Gateway::run_exec(Visit visit, cluster::Credential who, requests::RunExec request) {
  const auto talk = std::make_shared<ExecTalk>(ground_.loop, told_);  // the exchange tells it when the peer is gone
  visit.exchange->on_gone([weak = std::weak_ptr(talk)] {
    if (const auto still = weak.lock()) still->leave();
  });
  ground_.desk.ask(talk->asker(), std::move(who), requests::Request(std::move(request)));
  std::unique_ptr<net::http::Stream> stream;
  for (;;) {
    const std::optional<Told> told = co_await talk->next();
    if (!told) co_return;
    const auto* news = reply_in<cluster::messages::ExecNews>(*told);
    if (news == nullptr) {
      if (!stream) visit.answer(response_of(*told));
      co_return;
    }
    if (!stream) {
      net::http::Response head;
      head.content_type = "application/x-ndjson";
      stream = visit.exchange->stream(std::move(head));
    }
    const Result<void> written = co_await stream->write(describe::write_json(*news) + "\n");
    if (!written) co_return;
    if (!std::holds_alternative<cluster::supervision::ExecEnded>(news->news)) continue;
    static_cast<void>(co_await stream->end());
    co_return;
  }
}

}  // namespace cadre::gateway
