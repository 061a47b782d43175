#include <chrono>

#include "access/access.h"
#include "access/words.h"
#include "base/rounded.h"

namespace cadre::access {
namespace {

/// What a token that came of a login is for.
constexpr const char* login_name = "login";

}  // namespace

Result<Challenge> Access::begin_login(const std::string& user, const std::string& address, TimePoint now) {
  const Attempt attempt{user, address};
  const Duration wait = guard_.wait(attempt, now);
  if (wait > Duration(0)) {
    return fail(Errc::unavailable,
                "too many failed logins; try again in " + rounded(std::chrono::ceil<std::chrono::seconds>(wait)));
  }
  guard_.begin(attempt, now);
  const User* found = directory_.find_user(user);
  return Challenge{found != nullptr && found->row.is_active ? found->row.password : ""};
}

Result<NewToken> Access::end_login(const LoginEnd& end, TimePoint now) {
  const User* user = directory_.find_user(end.user);
  if (end.passed == Passed::no || user == nullptr || !user->row.is_active) return wrong_login();
  guard_.pass({end.user, end.address});
  if (end.valid <= Duration(0))
    return fail(Errc::invalid, "the validity period of a token is too short; use 1s or more");
  drop_expired(*user, now);
  make_room_for_login(*user);
  return add_token({end.secret.id, end.secret.hash, end.user, login_name, now, now + end.valid});
}

/// A user who has logged in too often loses their oldest login: without a token they could not revoke one themselves.
void Access::make_room_for_login(const User& user) {
  if (static_cast<std::int64_t>(user.tokens.size()) < settings_.tokens_max_each) return;
  const TokenRow* oldest = nullptr;
  for (const std::string& id : user.tokens) {
    const TokenRow* token = directory_.find_token(id);
    if (token->name == login_name && (oldest == nullptr || token->created < oldest->created)) oldest = token;
  }
  if (oldest != nullptr) directory_.remove_token(std::string(oldest->id));
}

}  // namespace cadre::access
