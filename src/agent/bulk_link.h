/// The agent's end of the connection to the master's bulk side (cluster/bulk.h), shared by who ships output and who
/// fetches code. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/result.h"
#include "cluster/bulk.h"
#include "net/network.h"

namespace cadre::agent {

class BulkLink {
 public:
  using Stored = std::function<void(const cluster::bulk::OutputStored&)>;
  using OutputRefused = std::function<void(const cluster::bulk::Refused&)>;
  using BlobAnswer = std::variant<cluster::bulk::BlobState, cluster::bulk::BlobPart, cluster::bulk::Refused>;
  using Answered = std::function<void(BlobAnswer)>;

  BulkLink(net::Network& network, Log& log) : network_(network), log_(log) {}
  BulkLink(const BulkLink&) = delete;
  BulkLink& operator=(const BulkLink&) = delete;

  /// Until this was called nothing can be sent. Called again, the connection before it is given up.
  [[nodiscard]] Result<void> connect(net::LinkOptions options);

  /// Unavailable when there is no link yet, or too much waits. That it succeeds is no promise that it arrives.
  [[nodiscard]] Result<void> send(const cluster::bulk::ToMaster& message);

  /// For the next question or part that is put: no two have the same.
  std::uint64_t next_number() { return ++number_; }

  /// Who is told of answers; one each.
  void on_stored(Stored stored) { stored_ = std::move(stored); }
  void on_output_refused(OutputRefused refused) { output_refused_ = std::move(refused); }
  void on_answer(Answered answered) { answered_ = std::move(answered); }

  /// Messages that could not be read.
  std::uint64_t malformed() const { return malformed_; }

 private:
  void take(BytesView bytes);

  net::Network& network_;
  Log& log_;
  Stored stored_;
  OutputRefused output_refused_;
  Answered answered_;
  std::uint64_t number_ = 0;
  std::uint64_t malformed_ = 0;
  std::unique_ptr<net::Link> link_;
};

}  // namespace cadre::agent
