/// The bulk side of the part `counter`: adds to counters without passing the control loop. For the thread of its loop.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "master/bulk/bulk_part.h"
#include "tests/parts/counter.h"

namespace cadre::counter {

class CounterBulk final : public master::BulkPart {
 public:
  explicit CounterBulk(const Dependencies& dependencies);

  std::vector<api::Reply> serve(std::span<const master::BulkCall> calls) override;
  void learn(const std::any& fact) override;

 private:
  api::Reply add(database::Transaction& transaction, const api::Principal& who, const AddInBulk& request);

  Dependencies deps_;
  std::map<std::string, std::string> workspaces_;  ///< by counter
};

}  // namespace cadre::counter
