#include "gateway/bodies.h"
#include "gateway/requests.h"

namespace cadre::gateway {
namespace {

using cluster::Told;

const cluster::requests::Failed* failure_in(const Told& told) {
  const auto* reply = std::get_if<cluster::requests::Reply>(&told);
  return reply == nullptr ? nullptr : std::get_if<cluster::requests::Failed>(reply);
}

/// The answer with the secret of a token that was just made.
net::http::Response with_secret(Told told, const NewSecret& secret) {
  if (auto* reply = std::get_if<access::Reply>(&told)) {
    if (auto* made = std::get_if<access::NewToken>(reply)) made->token = secret.text;
  }
  return response_of(told);
}

}  // namespace

void Gateway::add_access_routes() {
  const auto serve = [this]<class T>(const Visit& visit, cluster::Credential who, T request) {
    if constexpr (std::is_same_v<T, access::CreateUser>) {
      tasks_.spawn(create_user(visit, std::move(who), std::move(request)));
    } else if constexpr (std::is_same_v<T, access::SetUser>) {
      tasks_.spawn(set_user(visit, std::move(who), std::move(request)));
    } else if constexpr (std::is_same_v<T, access::CreateToken>) {
      tasks_.spawn(create_token(visit, std::move(who), std::move(request)));
    } else {
      ask(visit, std::move(who), access::Request(std::move(request)));
    }
  };
  add_requests(serve, std::type_identity<access::Request>{});
  add_request<access::ListAudit>([this](const Visit& visit, cluster::Credential who, access::ListAudit request) {
    ask(visit, std::move(who), request);
  });
  operations_.push_back(std::make_unique<Operation>(operation_of<access::Login>()));
  add_route(access::Login::route, [this, &operation = *operations_.back()](const Visit& visit) {
    auto read = arguments(operation, visit.names, visit.request()).and_then(describe::read<access::Login>);
    visit.exchange->release_body();
    read ? tasks_.spawn(login(visit, *std::move(read))) : visit.answer(problem(read.error()));
  });
}

loop::Task<void> Gateway::login(Visit visit, access::Login request) {
  const std::string address = visit.request().peer;
  const cluster::Credential nobody{"", std::nullopt, address};
  const cluster::BeginLogin begin{request.user};  // named: g++ 12 destroys such a temporary twice
  const Told begun = co_await inquire(nobody, begin);
  const auto* challenge = std::get_if<access::Challenge>(&begun);
  if (challenge == nullptr) {
    co_return visit.answer(response_of(begun));
  }
  const std::string hash = challenge->password;
  const Result<bool> passed = co_await ground_.pool.run([&] { return is_password(request.password, hash); });
  if (!passed) co_return visit.answer(problem(passed.error().code, passed.error().message, {}));
  const NewSecret secret = make_secret();
  using access::Access;
  const Access::LoginEnd end{request.user, address, *passed ? Access::Passed::yes : Access::Passed::no, request.valid,
                             secret.kept};
  Told ended = co_await inquire(nobody, end);
  const auto* no = failure_in(ended);
  if (no != nullptr && no->code == Errc::denied) co_return visit.answer(unknown(no->message));
  visit.answer(with_secret(std::move(ended), secret));
}

loop::Task<void> Gateway::create_user(Visit visit, cluster::Credential who, access::CreateUser request) {
  // Only who may do it makes us work for it.
  const Told me = co_await inquire(who, access::Request(access::GetMe{}));
  const auto* reply = std::get_if<access::Reply>(&me);
  if (reply == nullptr) co_return visit.answer(response_of(me));
  const bool may = std::get<access::Me>(*reply).user.is_admin;
  if (!may) request.password.clear();  // nobody gets to see it as it is
  if (!request.password.empty()) {
    Result<std::string> hash = co_await ground_.pool.run([&] { return hash_password(request.password); });
    if (!hash) co_return visit.answer(problem(hash.error().code, hash.error().message, {}));
    request.password = *std::move(hash);
  }
  ask(visit, std::move(who), access::Request(std::move(request)));
}

loop::Task<void> Gateway::set_user(Visit visit, cluster::Credential who, access::SetUser request) {
  if (request.password) {
    const Told me = co_await inquire(who, access::Request(access::GetMe{}));
    const auto* reply = std::get_if<access::Reply>(&me);
    if (reply == nullptr) co_return visit.answer(response_of(me));
    const access::UserView user = std::get<access::Me>(*reply).user;
    if (user.name == request.user && user.has_password) {
      const Told present = co_await inquire(who, cluster::GetPassword{});
      const auto* challenge = std::get_if<access::Challenge>(&present);
      if (challenge == nullptr) co_return visit.answer(response_of(present));
      const std::string hash = challenge->password;
      const std::string old = request.old_password.value_or("");
      const Result<bool> passed = co_await ground_.pool.run([&] { return is_password(old, hash); });
      if (!passed) co_return visit.answer(problem(passed.error().code, passed.error().message, {}));
      if (!*passed) {
        const std::string why =
            request.old_password ? "is not your current password" : "is required to change your own password";
        co_return visit.answer(problem(describe::Faults({"old_password", why})));
      }
    }
    if (!request.password->empty()) {
      Result<std::string> hash = co_await ground_.pool.run([&] { return hash_password(*request.password); });
      if (!hash) co_return visit.answer(problem(hash.error().code, hash.error().message, {}));
      request.password = *std::move(hash);
    }
  }
  request.old_password.reset();
  ask(visit, std::move(who), access::Request(std::move(request)));
}

loop::Task<void> Gateway::create_token(Visit visit, cluster::Credential who, access::CreateToken request) {
  // A request that is repeated with its key gets the same secret again, though nobody has kept it.
  const access::IdempotencyKey& once = who.idempotency;
  const NewSecret secret =
      once.key.empty() ? make_secret()
                       : secret_of(passes_.digest("token", who.token_hash + "\n" + once.key + "\n" + once.fingerprint));
  request.secret = secret.kept;
  const std::string id = secret.kept.id;
  Told told = co_await inquire(std::move(who), access::Request(std::move(request)));
  const auto* reply = std::get_if<access::Reply>(&told);
  const auto* made = reply == nullptr ? nullptr : std::get_if<access::NewToken>(reply);
  if (made != nullptr && made->about.id != id) {
    co_return visit.answer(problem(409, "this request was sent before with another token, and created the token " +
                                            made->about.id +
                                            ", whose secret is not stored; revoke it and create a new one"));
  }
  visit.answer(with_secret(std::move(told), secret));
}

}  // namespace cadre::gateway
