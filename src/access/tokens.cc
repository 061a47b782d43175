#include <algorithm>
#include <tuple>
#include <vector>

#include "access/access.h"
#include "access/views.h"
#include "access/words.h"
#include "base/check.h"

namespace cadre::access {

Result<Reply> Access::answer(const Caller& caller, const Logout&) {
  if (caller.who.token.empty()) return fail(Errc::invalid, "the request has no token that could be revoked");
  directory_.remove_token(caller.who.token);
  return Done{};
}

Result<Reply> Access::answer(const Caller& caller, const ListTokens& request) {
  if (request.all && !caller.who.is_admin) return only_for_admins("list the tokens of all users");
  if (request.all && request.user) {
    return fail(Errc::invalid, "user and all cannot be combined; remove one of them");
  }
  Tokens list;
  const auto add = [&](const User& user) {
    const std::size_t first = list.tokens.size();
    for (const std::string& id : user.tokens) {
      const TokenRow& token = *directory_.find_token(id);
      if (!token.has_expired(caller.now)) list.tokens.push_back(view_of(token));
    }
    std::sort(
        list.tokens.begin() + static_cast<std::ptrdiff_t>(first), list.tokens.end(),
        [](const TokenView& a, const TokenView& b) { return std::tie(a.created, a.id) < std::tie(b.created, b.id); });
  };
  if (request.all) {
    for (const auto& [name, user] : directory_.users()) add(user);
  } else {
    TRY_ASSIGN(user, see_user(caller.who, request.user.value_or(caller.who.user)));
    add(*user);
  }
  return list;
}

Result<Reply> Access::answer(const Caller& caller, const CreateToken& request) {
  TRY_ASSIGN(user, see_user(caller.who, request.user.value_or(caller.who.user)));
  TokenRow token{request.secret.id, request.secret.hash, user->row.name, request.name, caller.now, {}};
  if (request.valid) {
    if (*request.valid <= Duration(0))
      return fail(Errc::invalid, "the validity period of a token is too short; use 1s or more");
    token.expires = caller.now + *request.valid;
  }
  drop_expired(*user, caller.now);
  return add_token(std::move(token));
}

Result<Reply> Access::answer(const Caller& caller, const RevokeToken& request) {
  const TokenRow* token = directory_.find_token(request.token);
  const bool is_seen = token != nullptr && (caller.who.is_admin || token->user == caller.who.user);
  if (!is_seen || token->has_expired(caller.now)) return no_token();
  directory_.remove_token(request.token);
  return Done{};
}

Result<Reply> Access::token_made(const std::string& id) const {
  const TokenRow* token = directory_.find_token(id);
  if (token == nullptr) return no_token();
  return NewToken{"", view_of(*token)};
}

Result<void> Access::put_token(TokenRow token) {
  CHECK(!token.id.empty() && !token.hash.empty());
  if (directory_.find_user(token.user) == nullptr) {
    return fail(Errc::not_found, "there is no user '" + token.user + "' to create a token for");
  }
  const TokenRow* before = directory_.find_token(token.id);
  if (before == nullptr || *before != token) directory_.put_token(std::move(token));
  return {};
}

void Access::drop_expired(const User& user, TimePoint now) {
  const std::set<std::string> ids = user.tokens;
  for (const std::string& id : ids) {
    if (directory_.find_token(id)->has_expired(now)) directory_.remove_token(id);
  }
}

Result<NewToken> Access::add_token(TokenRow token) {
  CHECK(!token.id.empty() && !token.hash.empty());  // the shell makes them
  if (directory_.find_token(token.id) != nullptr || directory_.find_token_by_hash(token.hash) != nullptr) {
    return fail(Errc::conflict, "a token with this ID or secret already exists; try again");
  }
  if (static_cast<std::int64_t>(directory_.find_user(token.user)->tokens.size()) >= settings_.tokens_max_each) {
    return fail(Errc::conflict, "user '" + token.user + "' has " + std::to_string(settings_.tokens_max_each) +
                                    " tokens, which is the limit; revoke some first");
  }
  const NewToken made{"", view_of(token)};
  directory_.put_token(std::move(token));
  return made;
}

}  // namespace cadre::access
