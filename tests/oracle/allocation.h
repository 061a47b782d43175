/// What both policies of the oracle need: the room that is left, the limits of groups, starting a gang. For tests; one
/// thread.
#pragma once

#include <map>

#include "tests/oracle/oracle.h"
#include "tests/oracle/room.h"

namespace cadre::oracle {

class Allocation {
 public:
  Allocation(const plan::Snapshot& snapshot, const plan::Plan& witness);

  /// Could not be held by the working agents even if they were empty.
  bool never(const Gang& gang) const;
  /// Would bring its group or an account above its limit.
  bool over_limit(const Gang& gang) const;
  /// The least that its accounts let it take, if one of them has a limit.
  std::optional<std::int64_t> room_in_accounts(const Gang& gang) const;

  /// Starts the gang where it was found, or, if it is divided unevenly, where the witness starts it.
  Spots start(const Gang& gang, const Found& found, const PlacementInput& input);

  /// Promises the gang its slots: others of its group and accounts may not use them up.
  void promise(const Gang& gang);

  const plan::Snapshot& snapshot;
  Room now;  ///< free at once, whoever has a claim to it
  Answer answer;

 private:
  Spots follow_witness(const Gang& gang, const PlacementInput& input);
  void use(const Gang& gang, std::int64_t slots);

  const plan::Plan& witness_;
  std::map<plan::GroupId, std::int64_t> used_;  ///< running, stopping or promised
  std::map<plan::AccountId, std::int64_t> used_of_accounts_;
};

}  // namespace cadre::oracle
