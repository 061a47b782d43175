#include <deque>
#include <variant>

#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
using cluster::supervision::ExecOutput;
namespace requests = cluster::requests;

/// Maximum time that a request waits for a change; then the response has the current state.
constexpr Duration job_wait_max = 20s;

}  // namespace

void Gateway::add_cluster_requests() {
  serve_here<requests::GetJob>([this](const Visit& visit, api::Credential who, const requests::GetJob& request) {
    request.seen ? wait_for_job(visit, who, request) : ask(deps_.service, visit, std::move(who), request);
  });
  serve_here<requests::RunExec>([this](const Visit& visit, api::Credential who, const requests::RunExec& request) {
    tasks_.spawn(run_exec(visit, std::move(who), request));
  });
}

void Gateway::wait_for_job(const Visit& visit, const api::Credential& who, const requests::GetJob& request) {
  const auto late = std::make_shared<loop::Timer>();  // ends with whoever waits
  const api::CallId call = replies_.add([exchange = visit.exchange, late](const api::Reply& told) {
    late->cancel();
    exchange->answer(response_of(told));
  });
  visit.exchange->on_gone([this, call, late] {
    late->cancel();
    replies_.forget(call);
  });
  // The timer does not keep the exchange, which keeps the timer: both end with who waits, or with the gateway.
  const std::weak_ptr<net::http::Exchange> exchange = visit.exchange;
  *late = deps_.loop.after(job_wait_max, [this, call, exchange, who, job = request.job] {
    const std::shared_ptr<net::http::Exchange> waiting = exchange.lock();
    replies_.forget(call);
    if (waiting) ask(deps_.service, {waiting, {}}, who, requests::GetJob{job, std::nullopt});
  });
  deps_.service.ask(call, who, request);
}

namespace {

/// Maximum output of a command that its client has not read: beyond that, the client counts as gone.
constexpr std::size_t unsent_max = std::size_t{8} << 20;
/// Output under way of a command whose client asks for no window: what was written to the client is acknowledged here.
constexpr std::int64_t default_window = std::int64_t{1} << 20;
/// With more messages than that waiting, small pieces of output are joined up to this size: each costs more than
/// itself.
constexpr std::size_t separate_max = 64;
constexpr std::size_t joined_bytes_max = 32'768;
/// After this time without output an empty line is sent, so that the client knows that the command still runs.
constexpr Duration quiet_max = 20s;

/// The output of a command that these news tell of, if any.
template <class Item>
auto* output_in(Item& item) {
  auto* news = std::get_if<cluster::messages::ExecNews>(&item);
  return news == nullptr ? nullptr : std::get_if<ExecOutput>(&news->news);
}

/// Buffers the output of a running command until it can be sent. Kills the command when its client is gone.
class ExecTalk {
 public:
  /// News of the command, or the reply that there is none.
  using Item = std::variant<cluster::messages::ExecNews, api::Reply>;

  ExecTalk(loop::Loop& loop, Waiting<api::Reply>& waiting) : loop_(loop), waiting_(waiting) {
    call_ = waiting.add_for_all([this](const api::Reply& reply) {
      const auto* news = reply.as<cluster::messages::ExecNews>();
      Item item = news == nullptr ? Item(reply) : Item(*news);
      if (!join(item)) {
        unsent_bytes_ += size_of(item);
        items_.push_back(std::move(item));
      }
      unsent_bytes_ > unsent_max ? leave() : wake();
    });
  }
  ExecTalk(const ExecTalk&) = delete;
  ExecTalk& operator=(const ExecTalk&) = delete;
  ~ExecTalk() { waiting_.forget(call_); }

  api::CallId call() const { return call_; }
  /// Ends the command at once and drops its output: whoever writes to the client may hang there for long.
  void leave() {
    is_left_ = true;
    waiting_.forget(call_);
    items_.clear();
    unsent_bytes_ = 0;
    wake();
  }

  bool is_left() const { return is_left_; }

  struct Next {
    ExecTalk& talk;
    bool await_ready() const { return talk.is_left_ || !talk.items_.empty(); }
    void await_suspend(std::coroutine_handle<> waiting) {
      talk.waiter_ = waiting;
      talk.wake_ = talk.loop_.after(quiet_max, [owner = &talk] { owner->go_on(); });
    }
    /// Nothing: the client has disconnected, or there was no output for a while.
    std::optional<Item> await_resume() {
      if (talk.is_left_ || talk.items_.empty()) return std::nullopt;
      Item item = std::move(talk.items_.front());
      talk.items_.pop_front();
      talk.unsent_bytes_ -= size_of(item);
      return item;
    }
  };
  Next next() { return {*this}; }

 private:
  static std::size_t size_of(const Item& item) {
    const ExecOutput* output = output_in(item);
    return sizeof item + (output == nullptr ? 0 : output->bytes.size());
  }
  /// Adds output to what waits last, if that is of the same stream and there is room.
  bool join(const Item& item) {
    const ExecOutput* more = output_in(item);
    if (more == nullptr || items_.size() <= separate_max) return false;
    ExecOutput* last = output_in(items_.back());
    if (last == nullptr || last->stream != more->stream) return false;
    if (last->bytes.size() + more->bytes.size() > joined_bytes_max) return false;
    last->bytes.insert(last->bytes.end(), more->bytes.begin(), more->bytes.end());
    unsent_bytes_ += more->bytes.size();
    return true;
  }
  void wake() {
    if (waiter_) wake_ = loop_.after(Duration{0}, [this] { go_on(); });
  }
  void go_on() {
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }

  loop::Loop& loop_;
  Waiting<api::Reply>& waiting_;
  api::CallId call_ = 0;
  bool is_left_ = false;
  std::size_t unsent_bytes_ = 0;
  std::deque<Item> items_;
  std::coroutine_handle<> waiter_;
  loop::Timer wake_;
};

}  // namespace

void Gateway::acknowledge(api::Credential who, requests::SendInput seen) {
  who.idempotency = {};
  // Whatever the answer is: the command's end comes with its output.
  const api::CallId call = replies_.add([](const api::Reply&) {});
  deps_.service.ask(call, std::move(who), std::move(seen));
}

loop::Task<void> Gateway::run_exec(Visit visit, api::Credential who, requests::RunExec request) {
  const auto talk = std::make_shared<ExecTalk>(deps_.loop, replies_);  // the exchange tells it when the peer is gone
  visit.exchange->on_gone([weak = std::weak_ptr(talk)] {
    if (const auto still = weak.lock()) still->leave();
  });
  const bool acknowledges = request.window == 0;
  if (acknowledges) request.window = default_window;
  requests::SendInput seen;
  seen.task = request.task;
  std::int64_t seen_told = 0;
  deps_.service.ask(talk->call(), who, std::move(request));
  std::unique_ptr<net::http::Stream> stream;
  const auto begin = [&] {
    net::http::Response head;
    head.content_type = "application/x-ndjson";
    stream = visit.exchange->stream(std::move(head));
  };
  for (;;) {
    const std::optional<ExecTalk::Item> item = co_await talk->next();
    if (talk->is_left()) co_return;
    if (const auto* reply = item ? std::get_if<api::Reply>(&*item) : nullptr) {
      if (!stream) visit.answer(response_of(*reply));
      co_return;
    }
    const auto* news = item ? std::get_if<cluster::messages::ExecNews>(&*item) : nullptr;
    if (!stream) begin();
    std::string line = news == nullptr ? "\n" : describe::write_json(*news) + "\n";
    const Result<void> written = co_await stream->write(std::move(line));
    if (!written) co_return;
    if (const ExecOutput* output = item ? output_in(*item) : nullptr) {
      seen.exec = output->number;
      seen.seen += static_cast<std::int64_t>(output->bytes.size());
    }
    // When nothing came for a while it is said again: the last time may have been refused by a busy master.
    if (acknowledges && (news == nullptr ? seen.seen > 0 : seen.seen - seen_told > default_window / 4)) {
      seen_told = seen.seen;
      acknowledge(who, seen);
    }
    if (news == nullptr || !std::holds_alternative<cluster::supervision::ExecEnded>(news->news)) continue;
    static_cast<void>(co_await stream->end());
    co_return;
  }
}

}  // namespace cadre::gateway
