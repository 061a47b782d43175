/// The operations of a master, read from its OpenAPI document: those of all its parts, also of parts that this program
/// does not know. Values; one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/route.h"
#include "base/result.h"
#include "describe/value.h"

namespace cadre::cli {

struct RemoteOperation {
  std::string name;
  std::string method;
  std::string path;
  std::string summary;
  std::vector<std::string> required;  ///< names of fields
  std::vector<std::string> optional;
  std::vector<std::string> texts;  ///< those of them that are sent as they are typed: a name may look like a number
  bool is_keyed = false;           ///< it takes an Idempotency-Key
  bool is_idempotent = false;      ///< it may be repeated although its method does not say so
  bool takes_bytes = false;        ///< its body is not JSON
  bool streams = false;            ///< it is answered line by line
  bool needs_no_token = false;

  /// How it is sent; views of its texts.
  [[nodiscard]] api::Route route() const;
};

class OperationIndex {
 public:
  [[nodiscard]] static Result<OperationIndex> read(std::string_view openapi);

  const std::vector<RemoteOperation>& all() const { return operations_; }
  /// `not_found` suggests one with a similar name.
  [[nodiscard]] Result<RemoteOperation> find(std::string_view name) const;

 private:
  std::vector<RemoteOperation> operations_;
};

/// The fields of a request from `key=value` arguments. A value that is JSON is taken as JSON, anything else as text.
[[nodiscard]] Result<describe::Value> fields_of(const RemoteOperation& operation,
                                                const std::vector<std::string>& arguments);

}  // namespace cadre::cli
