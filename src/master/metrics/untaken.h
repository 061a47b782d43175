/// Validations that the part has not taken: tells it of them, again and again, until it says that it has. For the
/// thread of the bulk service.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "experiment/facts.h"
#include "master/bulk/bulk_database.h"

namespace cadre::master {

class UntakenValidations {
 public:
  using Tell = std::function<void(experiment::Validated)>;
  UntakenValidations(BulkDatabase& database, Tell tell) : database_(database), tell_(std::move(tell)) {}

  /// It is stored.
  void add(const experiment::ValidationRow& validation, TimePoint now);
  void take(const experiment::ValidationTaken& taken);
  /// The part has read them from the database.
  void clear() { last_.clear(); }

  /// Repeats what was told some seconds ago.
  [[nodiscard]] Result<void> repeat(TimePoint now);
  [[nodiscard]] bool empty() const { return last_.empty(); }

 private:
  struct Last {
    std::uint64_t number = 0;
    TimePoint told;
  };

  BulkDatabase& database_;
  Tell tell_;
  std::map<experiment::TrialId, Last> last_;  ///< the last one that is not taken
};

}  // namespace cadre::master
