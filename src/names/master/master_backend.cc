#include "names/master/master_backend.h"

#include <algorithm>
#include <utility>

#include "names/master/requests.h"
#include "names/session_name.h"
#include "rest/client.h"

namespace cadre::names {
namespace {

Entry entry_of(const requests::NameView& view) {
  return {view.key.value, requests::value_of(view.content), view.epoch};
}

std::vector<Entry> entries_of(const std::vector<requests::NameView>& views) {
  std::vector<Entry> entries;
  for (const requests::NameView& view : views) entries.push_back(entry_of(view));
  return entries;
}

/// A workspace that the caller may not see is reported like one that is not there. It is not the name that is missing.
Errc code_of(int status, const api::Problem& problem) {
  const bool is_of_workspace = std::any_of(problem.faults.begin(), problem.faults.end(),
                                           [](const api::ProblemFault& fault) { return fault.path == "workspace"; });
  return status == 404 && is_of_workspace ? Errc::denied : rest::code_of(status, problem);
}

rest::Options client_options(const Options& options, std::function<void()> on_return) {
  rest::Options client;
  client.naming = "the URL of the names, or CADRE_MASTER";
  client.connect_wait = options.op_wait;
  // Each watch holds a connection while it waits.
  client.connections_max = static_cast<std::int32_t>(std::min<std::size_t>(options.watches_max, 10'000)) + 64;
  client.first_wait = Duration::max();
  client.pause_min = std::min<Duration>(std::chrono::milliseconds(20), options.backoff_max);
  client.pause_max = options.backoff_max;
  client.repeat = rest::Repeat::when_unheard;  // who has lost one looks for what became of it (backend_names.h)
  client.on_return = std::move(on_return);
  client.code_of = code_of;
  return client;
}

class MasterBackend final : public Backend, public std::enable_shared_from_this<MasterBackend> {
 public:
  MasterBackend(loop::RealLoop& loop, const MasterUrl& url, const Options& options)
      : options_(options),
        workspace_(url.workspace.empty() ? std::string(requests::own_workspace) : url.workspace),
        client_(loop, {url.address, url.token, url.ca_file, url.socket},
                client_options(options, [this] { tell_found(); })) {}

  loop::Task<Result<Epoch>> put(const Claim& claim, PutMode mode, TimePoint deadline) override {
    requests::PutName request = put_of(claim);
    request.only_if_absent = mode == PutMode::only_if_absent;
    CO_TRY_ASSIGN(owned, co_await ask(request, deadline));
    co_return owned.epoch;
  }
  loop::Task<Result<Epoch>> restore(const Claim& claim, TimePoint deadline) override {
    requests::PutName request = put_of(claim);
    request.epoch = claim.epoch;
    CO_TRY_ASSIGN(owned, co_await ask(request, deadline));
    co_return owned.epoch;
  }
  loop::Task<Result<std::vector<Hold>>> keep(const std::vector<Claim>& claims, TimePoint deadline) override {
    std::vector<Hold> holds;
    CO_TRY(co_await keep_all(claims, holds, deadline));
    co_return holds;
  }
  loop::Task<Result<Entry>> get(const std::string& key, TimePoint deadline) override {
    const requests::GetName request{workspace_, Key(key)};
    CO_TRY_ASSIGN(view, co_await ask(request, deadline));
    co_return entry_of(view);
  }
  loop::Task<Result<std::vector<Entry>>> list(const std::string& prefix, TimePoint deadline) override {
    const requests::ListNames request{workspace_, Prefix(prefix)};
    CO_TRY_ASSIGN(found, co_await ask(request, deadline));
    co_return entries_of(found.names);
  }
  loop::Task<Result<void>> remove(const std::string& key, TimePoint deadline) override {
    const requests::RemoveName request{workspace_, Key(key)};
    CO_TRY(co_await ask(request, deadline));
    co_return Result<void>();
  }
  loop::Task<Result<std::size_t>> remove_subtree(const std::string& prefix, TimePoint deadline) override {
    const requests::RemoveNames request{workspace_, Prefix(prefix)};
    CO_TRY_ASSIGN(removed, co_await ask(request, deadline));
    co_return static_cast<std::size_t>(removed.count);
  }
  loop::Task<Result<News>> news(const std::string& prefix, const Cursor& since, TimePoint until) override;
  void release(std::vector<std::string> keys, std::function<void()> done) override {
    if (keys.empty()) return done();
    client_.loop().spawn(release_all(shared_from_this(), std::move(keys), std::move(done)));
  }
  void end() override {}

 private:
  template <api::Routed T>
  loop::Task<Result<typename T::Answer>> ask(const T& request, TimePoint deadline) {
    return client_.ask(request, deadline - client_.loop().now());
  }
  requests::PutName put_of(const Claim& claim) const {
    requests::PutName request;
    request.workspace = workspace_;
    request.session = session_;
    request.key = Key(claim.key);
    request.content = requests::content_of(claim.value);
    request.ttl = claim.ttl;
    return request;
  }
  loop::Task<Result<void>> keep_all(const std::vector<Claim>& claims, std::vector<Hold>& holds, TimePoint deadline);
  static loop::Task<void> release_all(std::shared_ptr<MasterBackend> self, std::vector<std::string> keys,
                                      std::function<void()> done);

  const Options options_;
  const std::string workspace_;
  const SessionId session_{new_session_name()};
  rest::Client client_;
};

/// Apart from keep(), which g++ 12 gets wrong (-ftree-slp-vectorize) when it fills and gives the same vector.
loop::Task<Result<void>> MasterBackend::keep_all(const std::vector<Claim>& claims, std::vector<Hold>& holds,
                                                 TimePoint deadline) {
  while (holds.size() < claims.size()) {
    requests::KeepNames request{workspace_, session_, {}};
    const std::size_t end = std::min(holds.size() + requests::claims_max, claims.size());
    for (std::size_t i = holds.size(); i < end; ++i) {
      request.names.push_back({Key(claims[i].key), claims[i].ttl, claims[i].epoch});
    }
    CO_TRY_ASSIGN(kept, co_await ask(request, deadline));
    if (kept.holds.size() != request.names.size()) {
      co_return fail(Errc::unavailable, "the response of the master does not contain the state of each name");
    }
    holds.insert(holds.end(), kept.holds.begin(), kept.holds.end());
  }
  co_return Result<void>();
}

loop::Task<Result<News>> MasterBackend::news(const std::string& prefix, const Cursor& since, TimePoint until) {
  const TimePoint now = client_.loop().now();
  requests::WatchNames request{workspace_, Prefix(prefix), since.version, Duration::zero()};
  if (since.version > 0) request.wait = std::clamp<Duration>(until - now, Duration::zero(), requests::wait_max);
  CO_TRY_ASSIGN(heard, co_await client_.ask(request, request.wait + first_look_wait));
  News news;
  news.is_all = heard.is_all;
  news.put = entries_of(heard.put);
  for (Key& key : heard.gone) news.gone.push_back(std::move(key.value));
  news.next.version = heard.version;
  co_return news;
}

/// Belongs to the loop, so that the end of the session waits for no master.
loop::Task<void> MasterBackend::release_all(std::shared_ptr<MasterBackend> self, std::vector<std::string> keys,
                                            std::function<void()> done) {
  for (std::size_t first = 0; first < keys.size(); first += requests::claims_max) {
    requests::ReleaseNames request{self->workspace_, self->session_, {}};
    const std::size_t end = std::min(first + requests::claims_max, keys.size());
    for (std::size_t i = first; i < end; ++i) request.keys.emplace_back(keys[i]);
    static_cast<void>(co_await self->client_.ask(request, self->options_.op_wait));
  }
  done();
}

}  // namespace

std::shared_ptr<Backend> make_master_backend(loop::RealLoop& loop, const MasterUrl& url, const Options& options) {
  return std::make_shared<MasterBackend>(loop, url, options);
}

}  // namespace cadre::names
