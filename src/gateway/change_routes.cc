#include <algorithm>

#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/listen.h"
#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr std::size_t changes_at_once = 1'000;
/// Without a change, so often it is said up to where all is known; and who listens is looked at again.
constexpr Duration beat_every = 5s;

bool may_know(const access::UserView& who, const api::ChangeRow& change) {
  return change.workspace.empty() || who.is_admin || who.workspaces.contains(change.workspace);
}

std::optional<access::UserView> user_in(const api::Reply& reply) {
  const auto* me = reply.as<access::Me>();
  return me == nullptr ? std::nullopt : std::optional(me->user);
}

std::string message_of(const access::UserView& who, const std::vector<api::ChangeRow>& rows, std::uint64_t seq) {
  Changes message{to_string({rows.empty() ? seq : rows.back().number, sight_of(who)}), {}};
  for (const api::ChangeRow& row : rows) {
    if (may_know(who, row)) message.changes.push_back({row.number, row.time, row.noun, row.id, row.what});
  }
  return describe::write_json(ChangeMessage(std::move(message)));
}

/// The change after which the client can resume; nothing: it sent no cursor, or could see other objects then.
std::optional<std::uint64_t> since_of(const net::http::Request& request, std::uint64_t sight) {
  const auto query = net::http::query_of(request.target);
  if (!query) return std::nullopt;
  const auto since = std::find_if(query->begin(), query->end(), [](const auto& one) { return one.first == "since"; });
  if (since == query->end()) return std::nullopt;
  const std::optional<Cursor> cursor = parse_cursor(since->second);
  return cursor && cursor->sight == sight ? std::optional(cursor->seq) : std::nullopt;
}

}  // namespace

void Gateway::add_change_routes() {
  add_route("GET", "/api/v1/changes", [this](const Visit& visit) {
    std::optional<api::Credential> who = credential_of(visit);
    if (!who) return;
    if (visit.request().is_websocket) return tasks_.spawn(follow_changes(visit, *std::move(who)));
    visit.answer(problem(400, "changes are sent over a WebSocket; request one with Upgrade: websocket"));
  });
}

loop::Task<std::optional<std::uint64_t>> Gateway::send_snapshot(net::http::WebSocket& socket,
                                                                const api::Credential& who,
                                                                const access::UserView& user, bool& is_gone) {
  std::optional<std::uint64_t> seq;
  const auto has_more = [&](std::size_t part, const std::string& next) {
    const auto after = options_.parts.begin() + static_cast<std::ptrdiff_t>(part) + 1;
    return !next.empty() ||
           std::any_of(after, options_.parts.end(), [](const PartInterface& one) { return one.has_snapshot; });
  };
  for (std::size_t part = 0; part < options_.parts.size(); ++part) {
    if (!options_.parts[part].has_snapshot) continue;
    std::string next;
    do {
      const api::GetSnapshot question{options_.parts[part].name, next};
      const api::Reply reply = co_await inquire(who, question);
      const auto* page = reply.as<api::SnapshotPage>();
      if (page == nullptr || is_gone) co_return std::nullopt;
      next = page->next;
      ChangeMessage message = SnapshotPart{options_.parts[part].name, page->state, has_more(part, next)};
      // What changes from the first page on is sent after the last one.
      if (!seq) {
        seq = page->seq;
        message = Reset{to_string({*seq, sight_of(user)}), *seq, options_.parts[part].name, page->state,
                        has_more(part, next)};
      }
      std::string text = describe::write_json(message);
      const Result<void> sent = co_await socket.send(std::move(text));
      if (!sent) is_gone = true;
      if (is_gone) co_return std::nullopt;
    } while (!next.empty());
  }
  co_return seq;
}

loop::Task<void> Gateway::follow_changes(Visit visit, api::Credential who) {
  api::Reply me = co_await inquire(who, access::GetMe{});
  std::optional<access::UserView> user = user_in(me);
  if (!user) co_return visit.answer(response_of(me));
  std::optional<std::uint64_t> seq = since_of(visit.request(), sight_of(*user));
  Result<std::unique_ptr<net::http::WebSocket>> upgraded = co_await visit.exchange->upgrade();
  if (!upgraded) co_return;
  const std::unique_ptr<net::http::WebSocket> socket = *std::move(upgraded);
  bool is_gone = false;
  loop::Tasks listening(deps_.loop);
  ChangeFeed::News* waited_for = nullptr;
  listening.spawn(listen(*socket, is_gone, [&waited_for] {
    if (waited_for != nullptr) waited_for->wake();
  }));
  TimePoint looked = deps_.loop.now();
  bool is_late = false;
  while (!is_gone) {                                // NOLINT(bugprone-infinite-loop): listen() sees to it
    if (deps_.loop.now() - looked >= beat_every) {  // a token may be revoked, a role given or taken
      looked = deps_.loop.now();
      me = co_await inquire(who, access::GetMe{});
      const std::optional<access::UserView> now = user_in(me);
      if (me.is_unauthenticated()) {
        co_await socket->close(1008, "your token is no longer valid");
        co_return;
      }
      if (now && sight_of(*now) != sight_of(*user)) seq.reset();
      if (now) user = now;
    }
    if (!seq || !feed_.can_follow(*seq)) {
      seq = co_await send_snapshot(*socket, who, *user, is_gone);
      if (is_gone) co_return;
      if (!seq) {  // nothing can be decided at the moment: another reset begins it all again
        co_await loop::sleep(deps_.loop, 1s);
        continue;
      }
    }
    const std::vector<api::ChangeRow> rows = feed_.after(*seq, changes_at_once);
    if (!rows.empty() || is_late) {
      std::string message = message_of(*user, rows, *seq);
      if (!rows.empty()) seq = rows.back().number;
      const Result<void> sent = co_await socket->send(std::move(message));
      if (!sent) co_return;
    }
    if (is_gone) co_return;
    const TimePoint before = deps_.loop.now();
    ChangeFeed::News news = feed_.news(deps_.loop, *seq, beat_every);
    waited_for = &news;
    co_await news;
    waited_for = nullptr;
    is_late = deps_.loop.now() - before >= beat_every;
  }
}

}  // namespace cadre::gateway
