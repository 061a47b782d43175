/// Plain data of programs: metrics and hyperparameters, checked before they are used. Values; safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/value.h"

namespace cadre::client {

/// A map from MessagePack; `what` it is, for messages.
[[nodiscard]] Result<describe::Value> read_map(BytesView bytes, std::string_view what);

/// Whether a map can be reported as metrics: numbers, text, true, false, and maps of them, with names.
[[nodiscard]] Result<void> check_metrics(const describe::Value& metrics);

/// The first map with the values of the second, which replace those of the first; maps in both are merged.
[[nodiscard]] describe::Value merged(describe::Value below, const describe::Value& above);

/// Hyperparameters that a user gives off the cluster, each replacing those before: a YAML or JSON file, a text in the
/// same form (CADRE_HYPERPARAMETERS), and words NAME=VALUE. Words whose name is neither in `known` nor in the file or
/// text are those of the program, and ignored.
struct GivenHyperparameters {
  std::string file;
  std::string text;
  std::vector<std::string> words;
};
[[nodiscard]] Result<describe::Value> read_hyperparameters(const describe::Value& known,
                                                           const GivenHyperparameters& given);

}  // namespace cadre::client
