#include "net/http/client.h"

#include <utility>

#include "net/http/curl_multi.h"
#include "net/http/transfer.h"

namespace cadre::net::http {

struct Client::Inside {
  Inside(loop::RealLoop& loop, ClientOptions o)
      : options(std::move(o)), multi(std::make_shared<CurlMulti>(loop, options.connections_max)) {}
  ~Inside() { multi->end(); }

  const ClientOptions options;
  const std::shared_ptr<CurlMulti> multi;

  static loop::Task<Result<Response>> ask(std::shared_ptr<Inside> inside, Question question,
                                          Transfer::OnPiece on_piece);
};

namespace {

/// Ends the question when the coroutine that asks is ended.
struct Asked {
  explicit Asked(std::shared_ptr<Transfer> t) : transfer(std::move(t)) {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() { transfer->abandon(); }
  const std::shared_ptr<Transfer> transfer;  // shared with the turn in which it is told
};

}  // namespace

loop::Task<Result<Response>> Client::Inside::ask(std::shared_ptr<Inside> inside, Question question,
                                                 Transfer::OnPiece on_piece) {
  const Asked asked(
      std::make_shared<Transfer>(inside->multi, inside->options, std::move(question), std::move(on_piece)));
  CO_TRY(asked.transfer->start());
  while (!asked.transfer->is_done()) co_await asked.transfer->done().wait();
  co_return asked.transfer->result();
}

Client::Client(loop::RealLoop& loop, ClientOptions options)
    : inside_(std::make_shared<Inside>(loop, std::move(options))) {}

Client::~Client() { inside_->multi->end(); }

loop::Task<Result<Response>> Client::ask(Question question) {
  return Inside::ask(inside_, std::move(question), nullptr);
}

loop::Task<Result<Response>> Client::ask(Question question, std::function<void(std::string_view)> on_piece) {
  return Inside::ask(inside_, std::move(question), std::move(on_piece));
}

}  // namespace cadre::net::http
