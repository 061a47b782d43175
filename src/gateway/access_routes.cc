#include "access/part.h"
#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

/// The reply with the secret of a token that was just created.
net::http::Response with_secret(const api::Reply& reply, const NewSecret& secret) {
  const auto* made = reply.as<access::NewToken>();
  if (made == nullptr) return response_of(reply);
  access::NewToken shown = *made;
  shown.token = secret.text;
  return json(shown);
}

}  // namespace

void Gateway::add_access_requests() {
  serve_here<access::CreateUser>([this](const Visit& visit, api::Credential who, const access::CreateUser& request) {
    tasks_.spawn(create_user(visit, std::move(who), request));
  });
  serve_here<access::SetUser>([this](const Visit& visit, api::Credential who, const access::SetUser& request) {
    tasks_.spawn(set_user(visit, std::move(who), request));
  });
  serve_here<access::CreateToken>([this](const Visit& visit, api::Credential who, const access::CreateToken& request) {
    tasks_.spawn(create_token(visit, std::move(who), request));
  });
  serve_here<access::Login>([this](const Visit& visit, const api::Credential&, const access::Login& request) {
    tasks_.spawn(login(visit, request));
  });
}

loop::Task<void> Gateway::login(Visit visit, access::Login request) {
  const std::string address = visit.request().peer;
  const api::Credential nobody{"", "", address};
  const access::BeginLogin begin{request.user};  // named: g++ 12 destroys such a temporary twice
  const api::Reply begun = co_await inquire(nobody, begin);
  const auto* challenge = begun.as<access::Challenge>();
  if (challenge == nullptr) co_return visit.answer(response_of(begun));
  const std::string hash = challenge->password;
  const Result<bool> passed = co_await deps_.pool.run([&] { return is_password(request.password, hash); });
  if (!passed) co_return visit.answer(problem(passed.error().code, passed.error().message, {}));
  const NewSecret secret = make_secret();
  using access::Access;
  const access::EndLogin end{
      {request.user, address, *passed ? Access::Passed::yes : Access::Passed::no, request.valid, secret.kept}};
  const api::Reply ended = co_await inquire(nobody, end);
  visit.answer(with_secret(ended, secret));
}

loop::Task<void> Gateway::create_user(Visit visit, api::Credential who, access::CreateUser request) {
  // Only who may do it makes us work for it.
  const api::Reply reply = co_await inquire(who, access::GetMe{});
  const auto* me = reply.as<access::Me>();
  if (me == nullptr) co_return visit.answer(response_of(reply));
  const bool may = me->user.is_admin;
  if (!may) request.password.clear();  // nobody gets to see it as it is
  if (!request.password.empty()) {
    Result<std::string> hash = co_await deps_.pool.run([&] { return hash_password(request.password); });
    if (!hash) co_return visit.answer(problem(hash.error().code, hash.error().message, {}));
    request.password = *std::move(hash);
  }
  ask(deps_.service, visit, std::move(who), std::move(request));
}

loop::Task<void> Gateway::set_user(Visit visit, api::Credential who, access::SetUser request) {
  if (request.password) {
    const api::Reply reply = co_await inquire(who, access::GetMe{});
    const auto* me = reply.as<access::Me>();
    if (me == nullptr) co_return visit.answer(response_of(reply));
    const access::UserView user = me->user;
    if (user.name == request.user && user.has_password) {
      const api::Reply present = co_await inquire(who, access::GetPassword{});
      const auto* challenge = present.as<access::Challenge>();
      if (challenge == nullptr) co_return visit.answer(response_of(present));
      const std::string hash = challenge->password;
      const std::string old = request.old_password.value_or("");
      const Result<bool> passed = co_await deps_.pool.run([&] { return is_password(old, hash); });
      if (!passed) co_return visit.answer(problem(passed.error().code, passed.error().message, {}));
      if (!*passed) {
        const std::string why =
            request.old_password ? "is not your current password" : "is required to change your own password";
        co_return visit.answer(problem(describe::Faults({"old_password", why})));
      }
    }
    if (!request.password->empty()) {
      Result<std::string> hash = co_await deps_.pool.run([&] { return hash_password(*request.password); });
      if (!hash) co_return visit.answer(problem(hash.error().code, hash.error().message, {}));
      request.password = *std::move(hash);
    }
  }
  request.old_password.reset();
  ask(deps_.service, visit, std::move(who), std::move(request));
}

loop::Task<void> Gateway::create_token(Visit visit, api::Credential who, access::CreateToken request) {
  // A request that is repeated with its key gets the same secret again, though nobody has kept it.
  const access::IdempotencyKey& once = who.idempotency;
  const NewSecret secret =
      once.key.empty() ? make_secret()
                       : secret_of(passes_.digest("token", who.token_hash + "\n" + once.key + "\n" + once.fingerprint));
  request.secret = secret.kept;
  const std::string id = secret.kept.id;
  const api::Reply reply = co_await inquire(std::move(who), std::move(request));
  const auto* made = reply.as<access::NewToken>();
  if (made != nullptr && made->about.id != id) {
    co_return visit.answer(problem(409, "this request was sent before with another token, and created the token " +
                                            made->about.id +
                                            ", whose secret is not stored; revoke it and create a new one"));
  }
  visit.answer(with_secret(reply, secret));
}

}  // namespace cadre::gateway
