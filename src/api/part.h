/// A part of a master: one capability with state, such as access or cluster. A part is pure: it takes requests of
/// callers and news of its shell, and returns what is to be written, then sent. One thread at a time.
///
/// A master has an ordered list of parts. All of them decide about what was received, what they decided is written in
/// one transaction, then their effects are performed and their replies sent.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "api/change.h"
#include "api/operation.h"
#include "api/principal.h"
#include "api/rows.h"
#include "api/service.h"
#include "base/metric.h"
#include "base/result.h"
#include "base/time.h"

namespace cadre::api {

/// The time of one step.
struct Now {
  TimePoint time;  ///< never runs backwards while the master runs
  TimePoint wall;  ///< what the clock of the host says
};

/// A request of a caller, who is authenticated unless the request is anonymous.
struct Call {
  CallId id = 0;
  Principal who;
  std::string address;
  Now now;
};

/// What a part has decided since the last time.
struct Outcome {
  Writes writes;
  std::vector<ChangeRow> changes;  ///< without numbers
  std::vector<std::any> effects;   ///< for the shell of the part, once all is written
  std::vector<std::any> facts;     ///< for the bulk side of the part, once all is written, before any effect
  std::vector<std::pair<CallId, Reply>> replies;
  bool is_finished = true;  ///< else settle() is to be called again soon: there is work that is done in portions
};

/// A page of what a client that follows changes must know of a part at first. The master answers it for the part named.
struct GetSnapshot {
  static constexpr std::string_view type_name = "get_snapshot";
  std::string part;
  std::string after;  ///< empty: from the beginning; else `next` of the page before
};
struct SnapshotPage {
  std::uint64_t seq = 0;  ///< all changes up to this number are in it; set by the master
  describe::Value state;
  std::string next;  ///< empty: it is the last page
};

/// The metrics of all parts. The master answers it.
struct GetMetrics {
  static constexpr std::string_view type_name = "get_metrics";
};
struct Metrics {
  std::vector<Metric> metrics;
};

class Part {
 public:
  virtual ~Part() = default;

  /// The caller with this credential. Nothing: credentials of this kind are not this part's.
  [[nodiscard]] virtual std::optional<Result<Principal>> identify(const Credential&, const Now&) const {
    return std::nullopt;
  }
  /// Serves a request of this part. Nothing: the reply is in a later outcome.
  [[nodiscard]] virtual std::optional<Reply> serve(const Call& call, const Request& request) = 0;
  /// Serves the request that returns an object which an earlier request has created, for a caller who repeats that.
  [[nodiscard]] virtual std::optional<Reply> serve_created(const Call&, const Created&) {
    return Reply(Failed{Errc::not_found, "the object that the request created no longer exists", {}});
  }
  /// Why a request of another part must not be executed now, if it must not.
  [[nodiscard]] virtual std::optional<Error> objection(const Principal&, const Request&) const { return std::nullopt; }
  /// A request of another part was executed.
  virtual void executed(const Request&) {}
  /// News from the shell of this part.
  virtual void hear(const std::any&, const Now&) {}
  /// The caller waits for no (more) replies.
  virtual void forget(CallId) {}
  /// Time has passed.
  virtual void tick(const Now&) {}
  /// Removes what has expired; called less often.
  virtual void tidy(const Now&) {}
  /// Plans what follows from all that was received, and hands over what was decided.
  [[nodiscard]] virtual Outcome settle(const Now&) = 0;

  [[nodiscard]] virtual SnapshotPage snapshot(const Principal&, const std::string&) const { return {}; }
  [[nodiscard]] virtual std::vector<Metric> metrics() const { return {}; }
  /// Calls that wait for a reply.
  [[nodiscard]] virtual std::vector<CallId> waiting() const { return {}; }
  /// Takes over what is not in the database from a part that was dropped, because what it decided could not be written.
  virtual void take_over(Part&) {}
};

/// Reads rows when a part is made. Of a thread that may block.
class RowReader {
 public:
  virtual ~RowReader() = default;
  /// All rows of this type, in the order of their keys.
  template <class Row>
  [[nodiscard]] Result<std::vector<Row>> all() {
    return some<Row>("");
  }
  /// Those of which this clause of a SELECT statement is true: `WHERE is_live = 1`.
  template <class Row>
  [[nodiscard]] Result<std::vector<Row>> some(std::string_view where) {
    TRY_ASSIGN(rows, read(typeid(Row), where));
    return std::move(*static_cast<std::vector<Row>*>(rows.get()));
  }
  /// The largest number of this kind that was ever given out.
  [[nodiscard]] virtual Result<std::uint64_t> last(const std::string& kind) = 0;

 private:
  virtual Result<std::shared_ptr<void>> read(std::type_index type, std::string_view where) = 0;
};

/// A step of the schema of a part, never changed once released.
struct Migration {
  std::int64_t version = 0;  ///< 1, 2, 3, … without a gap
  std::string_view name;     ///< what it does, in a few words
  std::string_view sql;      ///< statements that SQLite and PostgreSQL understand
};

/// What a master knows of a part before it is made.
struct PartType {
  std::string_view name;
  Operations operations;                   ///< requests with a route
  Operations bulk_operations;              ///< those that its bulk side serves, past the control loop
  std::vector<std::string_view> requests;  ///< names of all its requests
  std::vector<Migration> migrations;
  std::vector<ChangeKind> changes;  ///< all kinds of changes that it writes
  bool has_snapshot = false;
  /// Reads what the part is made from, away from the loop; reads nothing if it is left out.
  std::function<Result<std::any>(RowReader&)> load;
  /// Makes the part of that. `before` are the parts before it in the list.
  std::function<std::unique_ptr<Part>(std::any rows, std::span<const std::unique_ptr<Part>> before, const Now&)> make;
};

}  // namespace cadre::api
