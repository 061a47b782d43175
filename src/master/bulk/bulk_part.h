/// The bulk side of a part of a master: serves requests whose data must not pass the control loop, such as metrics of
/// tasks. For the thread of its loop, which it may block.
#pragma once

#include <any>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "api/principal.h"
#include "api/reply.h"
#include "api/request.h"
#include "base/bytes.h"
#include "base/log.h"
#include "loop/calendar.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

/// A request, and the caller who was authenticated for it.
struct BulkCall {
  api::Principal who;
  api::Request request;
};

class BulkPart {
 public:
  /// What it is made from; all of it outlives it.
  struct Dependencies {
    BulkDatabase& database;  ///< the schema is that of the part
    const loop::Calendar& calendar;
    Log& log;
    /// News for the part, which Part::hear() gets. They are lost when the master is overloaded or stops: what must not
    /// be lost is in rows that the part reads when it is made.
    std::function<void(std::any news, ByteSize size)> tell_part;
  };

  virtual ~BulkPart() = default;
  /// Serves the requests that came together, in one transaction if they fit. One reply for each, in their order.
  [[nodiscard]] virtual std::vector<api::Reply> serve(std::span<const BulkCall> calls) = 0;
  /// What the part has decided and written, in its order (Outcome::facts).
  virtual void learn(const std::any& fact) { static_cast<void>(fact); }
  /// Does a portion of work that no request waits for, in milliseconds. Gives when it is to be called again at the
  /// latest; nothing: after the next requests or facts.
  [[nodiscard]] virtual std::optional<Duration> work() { return std::nullopt; }
};

}  // namespace cadre::master
