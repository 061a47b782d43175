/// Plain data of programs: metrics and hyperparameters, checked before they are used. Values; safe on any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/value.h"

namespace cadre::client {

/// The value of a path of names joined with dots; null: there is none.
[[nodiscard]] const describe::Value* find_path(const describe::Value& tree, std::string_view path);

/// A map from MessagePack; `what` it is, for messages.
[[nodiscard]] Result<describe::Value> read_map(BytesView bytes, std::string_view what);

/// Whether a map can be reported as metrics: numbers, text, true, false, and maps of them, with names.
[[nodiscard]] Result<void> check_metrics(const describe::Value& metrics);

/// Whether a search can use it as its metric: a number, also one that is not finite and stands as text.
[[nodiscard]] bool is_metric_number(const describe::Value& value);

/// The first map with the values of the second, which replace those of the first; maps in both are merged.
[[nodiscard]] describe::Value merged(describe::Value below, const describe::Value& above);

/// Hyperparameters that a user gives off the cluster, each replacing those before: a YAML or JSON file, a text in the
/// same form (CADRE_HYPERPARAMETERS), and words NAME=VALUE. Words whose name is neither in `known` nor in the file or
/// text are those of the program, and ignored (but see doubtful_words()).
struct GivenHyperparameters {
  std::string file;
  std::string text;
  std::vector<std::string> words;
};
[[nodiscard]] Result<describe::Value> read_hyperparameters(const describe::Value& known,
                                                           const GivenHyperparameters& given);

/// What a user may have meant as hyperparameters, though read_hyperparameters() takes it for words of the program: a
/// sentence each, with the remedy. `names` are known: defaults of the program and what was given beside the words. None
/// when there are no names, and none about an option (`--lr 0.1`) whose value the program itself has taken.
[[nodiscard]] std::vector<std::string> doubtful_words(const describe::Value& names,
                                                      const std::vector<std::string>& words);

}  // namespace cadre::client
