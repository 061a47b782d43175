#include "cli/connection.h"

#include <variant>

namespace cadre::cli {
namespace {

namespace bulk = cluster::bulk;
namespace requests = cluster::requests;

std::uint64_t number_of_answer(const requests::Answer& answer) { return answer.number; }
std::uint64_t number_of_bulk(const bulk::FromMaster& message) {
  return std::visit([](const auto& one) { return one.number; }, message);
}

bool is_submit(const requests::Request& request) { return std::holds_alternative<requests::Submit>(request); }

/// Everything else says how things are to be, or only asks.
bool must_not_be_done_twice(const requests::Request& request) {
  return is_submit(request) || std::holds_alternative<requests::RunExec>(request);
}

}  // namespace

Connection::Connection(loop::RealLoop& loop, cluster::DataFolder folder)
    : folder_(std::move(folder)), control_(loop, number_of_answer), bulk_(loop, number_of_bulk) {}

Result<std::unique_ptr<Connection>> Connection::open(loop::RealLoop& loop, cluster::DataFolder folder) {
  std::unique_ptr<Connection> connection(new Connection(loop, std::move(folder)));
  TRY_ASSIGN(network, net::ZmqNetwork::make(loop, connection->log_));
  connection->network_ = std::move(network);
  const Result<void> connected =
      connection->control_.connect(*connection->network_, connection->folder_.clients_address());
  if (!connected) return Failure(connection->explain(connected.error()));
  return connection;
}

Result<void> Connection::connect_bulk() {
  if (has_bulk_) return {};
  const Result<void> connected = bulk_.connect(*network_, folder_.bulk_address());
  if (!connected) return Failure(explain(connected.error()));
  has_bulk_ = true;
  return {};
}

Error Connection::explain(Error error) const {
  if (error.code == Errc::not_found || error.code == Errc::unavailable) {
    return {Errc::unavailable,
            "no master answers at " + folder_.path +
                "; start one with `cadre up`, or name another's folder with --master or CADRE_MASTER"};
  }
  if (error.code == Errc::timed_out) {
    return {Errc::timed_out,
            "the master at " + folder_.path + " went away before it answered; try again when it is back"};
  }
  if (error.code == Errc::corrupt) error.message += "; are `cadre` here and the master of one version?";
  return error;
}

Error Connection::silence(Duration wait) const {
  return {Errc::timed_out, "the master at " + folder_.path + " has not answered for " + to_string(wait) +
                               "; it is overloaded or stuck: look at what it logs, or start it again"};
}

namespace {

/// Not inside a coroutine, where g++ 12 destroys such a temporary twice.
Bytes packed(std::uint64_t number, requests::Request request) {
  return describe::write_msgpack(requests::Question{number, std::move(request)});
}

}  // namespace

loop::Task<Result<requests::Reply>> Connection::ask(requests::Request request, Duration wait) {
  const bool submits = is_submit(request);
  const Repeat repeat = must_not_be_done_twice(request) ? Repeat::never : Repeat::when_lost;
  const std::uint64_t number = control_.next_number();
  Control::Conversation talk(control_, number, packed(number, std::move(request)), repeat);
  auto answer = co_await talk.next(wait);
  if (answer && *answer) co_return (**std::move(answer)).reply;
  Error error = answer ? silence(wait) : explain(std::move(answer).error());
  if (submits && error.code == Errc::timed_out) {
    error.message = "the master at " + folder_.path +
                    " did not answer; it may have taken the job: look with `cadre job list` before you submit it again";
  }
  co_return Failure(std::move(error));
}

std::unique_ptr<Connection::Control::Conversation> Connection::begin(requests::Request request) {
  const std::uint64_t number = control_.next_number();
  return std::make_unique<Control::Conversation>(control_, number, packed(number, std::move(request)), Repeat::never);
}

}  // namespace cadre::cli
