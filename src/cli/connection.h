/// What a command asks of a master, over the unix sockets in its data folder. For the thread of its loop.
///
/// Errors of what is awaited here mean that no answer came: nobody is there, or it was lost. That the master declined
/// is an answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "cli/questions.h"
#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/requests.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"

namespace cadre::cli {

/// How long a command waits for an answer that needs no waiting for anything else.
constexpr Duration answer_max = std::chrono::seconds(15);
/// How long one that follows something waits for a master that is gone.
constexpr Duration absence_max = std::chrono::minutes(10);

class Connection {
 public:
  using Control = Questions<cluster::requests::Answer>;
  using Bulk = Questions<cluster::bulk::FromMaster>;

  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(loop::RealLoop& loop, cluster::DataFolder folder);

  /// One answer. Asked again when the connection is lost before it came, unless it must not be done twice.
  [[nodiscard]] loop::Task<Result<cluster::requests::Reply>> ask(cluster::requests::Request request,
                                                                 Duration wait = answer_max);

  /// A question that may have several answers, or wait long for one. It is asked once; whoever waits for more than some
  /// minutes asks something else meanwhile, or the master takes him for gone.
  [[nodiscard]] std::unique_ptr<Control::Conversation> begin(cluster::requests::Request request);

  /// The same beside the control messages; asked again when the connection is lost. The number is put in here.
  template <class Question>
  [[nodiscard]] Result<std::unique_ptr<Bulk::Conversation>> begin_bulk(Question question) {
    TRY(connect_bulk());
    question.number = bulk_.next_number();
    const std::uint64_t number = question.number;
    return std::make_unique<Bulk::Conversation>(
        bulk_, number, describe::write_msgpack(cluster::bulk::ToMaster(std::move(question))), Repeat::when_lost);
  }

  template <class Question>
  [[nodiscard]] loop::Task<Result<cluster::bulk::FromMaster>> ask_bulk(Question question, Duration wait = answer_max) {
    auto asked = begin_bulk(std::move(question));
    if (!asked) co_return Failure(std::move(asked).error());
    const std::unique_ptr<Bulk::Conversation> talk = *std::move(asked);
    auto answer = co_await talk->next(wait);
    if (!answer) co_return Failure(explain(std::move(answer).error()));
    if (!*answer) co_return Failure(silence(wait));
    co_return **std::move(answer);
  }

  /// Whether the master is there at this moment, as far as can be known.
  bool is_connected() const { return control_.is_connected(); }

  /// An error of a conversation, in words that say what to do.
  [[nodiscard]] Error explain(Error error) const;
  const cluster::DataFolder& folder() const { return folder_; }

 private:
  Connection(loop::RealLoop& loop, cluster::DataFolder folder);
  Result<void> connect_bulk();
  Error silence(Duration wait) const;

  cluster::DataFolder folder_;
  SilentLog log_;
  std::unique_ptr<net::ZmqNetwork> network_;
  Control control_;
  Bulk bulk_;
  bool has_bulk_ = false;
};

}  // namespace cadre::cli
