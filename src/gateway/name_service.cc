#include "gateway/name_service.h"

#include <utility>

#include "base/overloaded.h"
#include "gateway/bodies.h"
#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

using net::http::Response;
namespace name_requests = names::requests;

names::RegistriesOptions options_from(std::uint64_t begin) {
  names::RegistriesOptions options;
  options.each.begin = begin;
  options.each.entries_max = 20'000;
  options.each.bytes_max = std::size_t{16} << 20;  // so that a list of all is one answer
  return options;
}

/// Something happens at least so often: what is longer is an absence of this process.
constexpr Duration tick_every = std::chrono::milliseconds(250);

Response refusal(const Error& error) { return problem(error.code, error.message, {}); }

Response no_name(const std::string& key) { return problem(404, "there is no name " + key); }

name_requests::NameView view_of(names::Entry entry, NameService::Shown shown) {
  const bool is_hidden = shown == NameService::Shown::to_viewers && entry.key.starts_with(names::groups_folder);
  name_requests::Content content =
      is_hidden ? name_requests::Content{} : name_requests::content_of(std::move(entry.value));
  return {names::Key(std::move(entry.key)), std::move(content), entry.epoch};
}

Response news_response(names::News news, NameService::Shown shown) {
  name_requests::NameNews told;
  told.is_all = news.is_all;
  for (names::Entry& entry : news.put) told.put.push_back(view_of(std::move(entry), shown));
  for (std::string& key : news.gone) told.gone.emplace_back(std::move(key));
  told.version = news.next.version;
  return json(told);
}

}  // namespace

NameService::NameService(loop::Loop& loop, std::uint64_t begin)
    : loop_(loop), awake_({2 * tick_every, tick_every}, loop.now()), registries_(options_from(begin)) {
  tick_later();
}

void NameService::tick_later() {
  ticking_ = loop_.after(tick_every, [this] {
    settle();
    tick_later();
  });
}

TimePoint NameService::now() {
  awake_.advance(loop_.now());
  return awake_.now();
}

void NameService::serve(const std::string& workspace, const name_requests::Request& request, Shown shown,
                        const std::shared_ptr<net::http::Exchange>& exchange) {
  std::visit(overloaded{
                 [&](const name_requests::WatchNames& one) { watch(workspace, one, shown, exchange); },
                 [&](const name_requests::ListNames& one) { exchange->answer(answer(workspace, one, shown)); },
                 [&](const name_requests::GetName& one) { exchange->answer(answer(workspace, one, shown)); },
                 [&](const auto& one) { exchange->answer(answer(workspace, one)); },
             },
             request);
  settle();
}

Response NameService::answer(const std::string& workspace, const name_requests::ListNames& request, Shown shown) {
  name_requests::NameList list;
  for (names::Entry& entry : registries_.list(workspace, request.prefix.value, now())) {
    list.names.push_back(view_of(std::move(entry), shown));
  }
  return json(list);
}

Response NameService::answer(const std::string& workspace, const name_requests::RemoveNames& request) {
  return json(name_requests::Removed{registries_.remove_subtree(workspace, request.prefix.value, now())});
}

Response NameService::answer(const std::string& workspace, const name_requests::GetName& request, Shown shown) {
  std::optional<names::Entry> entry = registries_.get(workspace, request.key.value, now());
  return entry ? json(view_of(*std::move(entry), shown)) : no_name(request.key.value);
}

Response NameService::answer(const std::string& workspace, const name_requests::PutName& request) {
  const names::Claim claim{request.key.value, name_requests::value_of(request.content), request.ttl,
                           request.epoch.value_or(names::Epoch{})};
  const names::PutMode mode = request.only_if_absent ? names::PutMode::only_if_absent : names::PutMode::over;
  const Result<names::Epoch> epoch = request.epoch ? registries_.restore(workspace, request.session, claim, now())
                                                   : registries_.put(workspace, request.session, claim, mode, now());
  return epoch ? json(name_requests::Owned{*epoch}) : refusal(epoch.error());
}

Response NameService::answer(const std::string& workspace, const name_requests::RemoveName& request) {
  const bool was_there = registries_.remove(workspace, request.key.value, now());
  return was_there ? json(name_requests::Removed{1}) : no_name(request.key.value);
}

Response NameService::answer(const std::string& workspace, const name_requests::KeepNames& request) {
  std::vector<names::Claim> claims;
  for (const name_requests::HeldName& held : request.names)
    claims.push_back({held.key.value, "", held.ttl, held.epoch});
  return json(name_requests::Holds{registries_.keep(workspace, request.session, claims, now())});
}

Response NameService::answer(const std::string& workspace, const name_requests::ReleaseNames& request) {
  std::vector<std::string> keys;
  for (const names::Key& key : request.keys) keys.push_back(key.value);
  return json(name_requests::Removed{registries_.release(workspace, request.session, keys, now())});
}

void NameService::watch(const std::string& workspace, const name_requests::WatchNames& request, Shown shown,
                        const std::shared_ptr<net::http::Exchange>& exchange) {
  const TimePoint present = now();
  auto outcome = registries_.watch(workspace, {request.prefix.value, request.seen, present + request.wait}, present);
  if (!outcome) return exchange->answer(refusal(outcome.error()));
  if (auto* news = std::get_if<names::News>(&*outcome)) return exchange->answer(news_response(std::move(*news), shown));
  const names::WatcherId watcher = std::get<names::WatcherId>(*outcome);
  waiting_.emplace(watcher, Waiting{exchange, shown});
  exchange->on_gone([this, watcher] {
    registries_.forget(watcher);
    waiting_.erase(watcher);
  });
}

void NameService::settle() {
  for (names::Registries::Notification& told : registries_.settle(now())) {
    const auto waiting = waiting_.extract(told.watcher);
    waiting.mapped().exchange->answer(news_response(std::move(told.news), waiting.mapped().shown));
  }
  const TimePoint next = registries_.next();
  if (next >= timer_at_) return;
  timer_at_ = next;
  timer_ = loop_.after(next - now(), [this] {
    timer_at_ = TimePoint::max();
    settle();
  });
}

}  // namespace cadre::gateway
