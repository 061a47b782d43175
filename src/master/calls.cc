#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "describe/describe.h"
#include "describe/utf8.h"
#include "master/master.h"

namespace cadre::master {
namespace {

/// Bytes of an error in the log: it may repeat what a client has sent.
constexpr std::size_t logged_most = 512;

/// The names of the fields in a path: `job` of /jobs/{job}/stop.
std::vector<std::string_view> fields_in(std::string_view path) {
  std::vector<std::string_view> names;
  for (std::size_t open = path.find('{'); open != std::string_view::npos; open = path.find('{', open + 1)) {
    names.push_back(path.substr(open + 1, path.find('}', open) - open - 1));
  }
  return names;
}

/// What the request is about: `job 17`, `workspace vision, user ann`. The path of a route names it; of a request that
/// is to create something, these fields do.
std::string object_of(const api::Request& request) {
  std::vector<std::string_view> keys = fields_in(request.route() == nullptr ? "" : request.route()->path);
  if (keys.empty()) keys = {"agent", "pool", "workspace", "user", "name"};
  const describe::Value fields = request.fields();
  std::string text;
  for (const std::string_view key : keys) {
    const describe::Value* value = fields.find(key);
    if (value == nullptr || value->as<describe::Value::Map>() != nullptr) continue;
    const auto* name = value->as<std::string>();
    if (name != nullptr && name->empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(key) + " " + (name != nullptr ? *name : describe::to_json(*value));
  }
  return text;
}

/// Who sends it, and what it is: `request stop_job of user ann from 127.0.0.1: `.
std::string in_words(const api::Call& call, const api::Request& request) {
  return "request " + std::string(request.name()) + (call.who.user.empty() ? "" : " of user " + call.who.user) +
         (call.address.empty() ? "" : " from " + call.address) + ": ";
}

bool is_audited(const api::Request& request) { return request.route() != nullptr && request.route()->is_in_audit(); }

}  // namespace

void Master::ask(api::CallId call, api::Credential credential, api::Request request) {
  deps_.loop.post([this, one = FromGateway{call, std::move(credential), std::move(request)}]() mutable {
    const api::CallId id = one.call;
    const auto unavailable = [&](const std::string& why) {
      options_.reply(id, api::Failed{Errc::unavailable, why, {}});
    };
    if (!obstacle_.empty())
      return unavailable("the master cannot write to its database, so it handles no requests" +
                         obstacle_for(one.credential));
    if (!inbox_.push(std::move(one))) unavailable("the master is overloaded or about to stop; try again");
  });
}

std::string Master::obstacle_for(const api::Credential& credential) const {
  const Result<api::Principal> who = identify(credential);
  return who && who->is_admin ? ": " + obstacle_ : "; its admins can see why";
}

void Master::forget(api::CallId call) {
  deps_.loop.post([this, call] { static_cast<void>(inbox_.push(Left{call})); });  // if it is closed, all is over
}

void Master::identify_caller(api::Credential credential, std::function<void(Result<api::Principal>)> then) {
  // Not by the inbox: what was decided and is not written yet does not concern a caller who cannot know of it.
  deps_.loop.post([this, credential = std::move(credential), then = std::move(then)] { then(identify(credential)); });
}

void Master::tell_part(std::size_t part, std::any news, ByteSize size) {
  static_cast<void>(inbox_.push(FromShell{part, std::move(news), size}));  // its sender keeps what must not be lost
}

void Master::reply_later(api::CallId call, api::Reply reply) { replies_.emplace_back(call, std::move(reply)); }

Result<api::Principal> Master::identify(const api::Credential& credential) const {
  for (const std::unique_ptr<api::Part>& part : parts_) {
    if (auto who = part->identify(credential, now())) return *std::move(who);
  }
  return fail(Errc::denied, "unknown token");
}

api::Part* Master::part_of(const api::Request& request) const {
  const auto found = requests_.find(request.name());
  return found == requests_.end() ? nullptr : parts_[found->second].get();
}

void Master::take_call(const FromGateway& one) {
  api::Call call{one.call, {}, one.credential.address, now()};
  if (!one.request.is_anonymous()) {
    Result<api::Principal> who = identify(one.credential);
    if (!who) {
      ++unauthenticated_;
      deps_.log.debug([&] { return in_words(call, one.request) + "refused: " + who.error().message; });
      return reply_later(one.call, api::Failed::unauthenticated(who.error().message));
    }
    call.who = *std::move(who);
  }
  const api::IdempotencyKey& key = one.credential.idempotency;
  const api::Route* const route = one.request.route();
  const bool is_keyed = !key.key.empty() && route != nullptr && route->is_keyed();
  if (is_keyed && answer_repeated(call, key, one.request)) return;
  std::optional<api::Reply> reply = serve(call, one.request);
  if (is_keyed && reply && reply->created()) journal_->remember(call, key, *reply->created());
  const bool comes_later = !reply && route != nullptr && !route->streams();
  if (is_audited(one.request) && comes_later) {
    audited_.emplace(call.id, Audited{call, one.request});
  } else {
    audit(call, one.request, reply ? &*reply : nullptr);
  }
  log_call(call, one.request, reply ? &*reply : nullptr);
  if (!reply) return;
  if (reply->is_unauthenticated()) ++unauthenticated_;
  reply_later(call.id, *std::move(reply));
}

void Master::log_call(const api::Call& call, const api::Request& request, const api::Reply* reply) const {
  const api::Failed* const no = reply == nullptr ? nullptr : reply->failed();
  if (no == nullptr && !is_audited(request)) return;  // what changes nothing is logged only if it is refused
  deps_.log.debug([&] {
    if (no != nullptr) return in_words(call, request) + "refused: " + describe::shortened(no->message, logged_most);
    return in_words(call, request) + (reply == nullptr ? "accepted, replied to later" : "accepted");
  });
}

std::optional<api::Reply> Master::serve_for_all(const api::Call& call, const api::Request& request) const {
  if (const auto* wanted = request.as<api::GetSnapshot>()) {
    for (std::size_t at = 0; at < parts_.size(); ++at) {
      if (options_.parts[at].type.name != wanted->part) continue;
      api::SnapshotPage page = parts_[at]->snapshot(call.who, wanted->after);
      page.seq = last_change_;  // what is decided and not numbered yet is told after it once more
      return page;
    }
  }
  if (request.as<api::GetMetrics>() == nullptr) return std::nullopt;
  api::Metrics all;
  for (const std::unique_ptr<api::Part>& part : parts_) {
    for (Metric& one : part->metrics()) all.metrics.push_back(std::move(one));
  }
  for (Metric& one : metrics_.read()) all.metrics.push_back(std::move(one));
  all.metrics.push_back(metric("refused_total",
                               "Number of connections, messages and tokens that the master has refused.",
                               static_cast<double>(refused())));
  return all;
}

std::optional<api::Reply> Master::serve(const api::Call& call, const api::Request& request) {
  if (std::optional<api::Reply> reply = serve_for_all(call, request)) return reply;
  api::Part* const own = part_of(request);
  if (own == nullptr) {
    return api::Failed{Errc::invalid, "no part of this master serves " + std::string(request.name()), {}};
  }
  for (const std::unique_ptr<api::Part>& part : parts_) {
    if (part.get() == own) continue;
    if (const std::optional<Error> why = part->objection(call.who, request)) return api::Reply(*why);
  }
  std::optional<api::Reply> reply = own->serve(call, request);
  if (!reply || reply->failed() != nullptr) return reply;
  for (const std::unique_ptr<api::Part>& part : parts_) {
    if (part.get() != own) part->executed(request);
  }
  return reply;
}

bool Master::answer_repeated(const api::Call& call, const api::IdempotencyKey& key, const api::Request& request) {
  const Result<std::optional<api::Created>> found = journal_->created_by(call.who.user, key);
  if (!found) return reply_later(call.id, found.error()), true;
  if (!*found) return false;
  api::Part* const own = part_of(request);
  std::optional<api::Reply> reply = own == nullptr ? std::nullopt : own->serve_created(call, **found);
  if (reply) reply_later(call.id, *std::move(reply));
  return true;
}

void Master::audit(const api::Call& call, const api::Request& request, const api::Reply* reply) {
  if (!is_audited(request)) return;
  const api::Failed* const no = reply == nullptr ? nullptr : reply->failed();
  const auto& created = reply == nullptr ? std::nullopt : reply->created();
  std::string object = created ? created->noun + " " + created->id : object_of(request);
  if (no != nullptr && request.route()->object_may_be_secret) object.clear();
  journal_->audit(call, {std::string(request.name()), std::move(object),
                         no == nullptr ? std::nullopt : std::optional(no->message)});
}

void Master::audit_without_reply(api::CallId call) {
  const auto pending = audited_.find(call);
  if (pending == audited_.end()) return;
  audit(pending->second.call, pending->second.request, nullptr);
  audited_.erase(pending);
}

}  // namespace cadre::master
