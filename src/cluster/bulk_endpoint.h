/// The bulk side of a master as its gateway sees it: output of tasks and packed code. Messages only; safe on any
/// thread.
#pragma once

#include "api/service.h"
#include "cluster/bulk.h"

namespace cadre::cluster {

/// Callers are not identified here: they must have been before.
class BulkEndpoint {
 public:
  virtual ~BulkEndpoint() = default;
  /// The reply comes on the thread that the endpoint was given for that.
  virtual void ask(api::CallId call, bulk::ToMaster message) = 0;
  virtual void forget(api::CallId call) = 0;
};

}  // namespace cadre::cluster
