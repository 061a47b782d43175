#include "tests/fuzz_live/trial_program.h"

#include <utility>

#include "describe/describe.h"
#include "experiment/requests/metrics.h"
#include "experiment/requests/objects.h"
#include "net/http/fields.h"
#include "tests/fuzz_live/extremes.h"

namespace cadre::fuzz_live {
namespace {

using describe::Value;
namespace requests = experiment::requests;

/// Stands for the trial that sends it.
constexpr const char* own_trial = "OWN-TRIAL";

std::string some_checkpoint(Dice& dice) {
  return "7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a" + std::to_string(dice.below(10));
}

Value map_of(Value value) { return value.as<Value::Map>() != nullptr ? std::move(value) : Value(Value::Map{}); }

template <class T>
Value hostile_request(Dice& dice) {
  Value tree = map_of(hostile<T>(dice));
  if (tree.find("trial") == nullptr || dice.percent(90)) tree.set("trial", Value(std::string(own_trial)));
  if constexpr (requires(T one) { one.checkpoint; }) tree.set("checkpoint", Value(some_checkpoint(dice)));
  if constexpr (std::is_same_v<T, requests::ReportMetrics>) {
    Value report;
    report.set("group", Value(std::string(dice.percent(50) ? "validation" : "training")));
    report.set("steps", Value(dice.between(0, 1'000'000))).set("metrics", map_of(extreme(dice)));
    if (dice.percent(50)) report.set("metrics", Value().set("loss", extreme(dice)));
    if (dice.percent(70)) tree.set("reports", Value(Value::List{std::move(report)}));
  }
  if constexpr (std::is_same_v<T, requests::PutFile>) {
    // Of the content "x".
    if (dice.percent(50))
      tree.set("hash", Value(std::string("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")));
    if (dice.percent(50)) tree.set("size", Value(1)).set("offset", Value(0));
    if (dice.percent(50)) tree.set("name", Value("file-" + std::to_string(dice.below(3))));
  }
  return tree;
}

/// As a line of Python: a method, a path and a body.
template <class T>
std::string line_of(Dice& dice) {
  Value tree = hostile_request<T>(dice);
  Value::Map& fields = *tree.as<Value::Map>();
  const std::string path = net::http::fill(T::route.path, fields);
  Value line;
  line.set("method", Value(std::string(T::route.method)));
  if (T::route.has_fields_in_body()) {
    line.set("path", Value(path)).set("body", Value(describe::to_json(tree)));
  } else {
    line.set("path", Value(path + net::http::query_of(fields))).set("body", Value(std::string("x")));
  }
  return describe::to_json(line);
}

std::string any_line(Dice& dice) {
  switch (dice.below(6)) {
    case 0: return line_of<requests::ReportTrial>(dice);
    case 1: return line_of<requests::BeginCheckpoint>(dice);
    case 2: return line_of<requests::CompleteCheckpoint>(dice);
    case 3: return line_of<requests::PutFile>(dice);
    case 4: return line_of<requests::BeginRun>(dice);
    default: return line_of<requests::ReportMetrics>(dice);
  }
}

}  // namespace

std::string hostile_experiment(Dice& dice) {
  std::string lines;
  while (lines.size() < 60'000) {
    const std::string line = any_line(dice);
    if (line.size() <= 2'000 && line.find("'''") == std::string::npos) lines += line + "\n";
  }
  Value program(
      "import json, os, sys, urllib.error, urllib.request\n"
      "taken = 0\n"
      "for line in sys.argv[1].splitlines():\n"
      "    one = json.loads(line)\n"
      "    path = one['path'].replace('" +
      std::string(own_trial) +
      "', os.environ['CADRE_TRIAL'])\n"
      "    request = urllib.request.Request(os.environ['CADRE_MASTER'] + '/api/v1' + path, one['body'].encode(), "
      "method=one['method'],\n"
      "        headers={'Authorization': 'Bearer ' + os.environ['CADRE_TOKEN'], 'Content-Type': 'application/json'})\n"
      "    try:\n"
      "        taken += urllib.request.urlopen(request, timeout=60).status == 200\n"
      "    except urllib.error.HTTPError as answer:\n"
      "        if answer.code >= 500 and answer.code != 503:\n"
      "            print(answer.code, answer.read(), 'for', line, file=sys.stderr)\n"
      "            sys.exit(9)\n"
      "        if answer.code == 401:\n"
      "            sys.exit(0)\n"  // it was killed
      "    except (OSError, ValueError):\n"
      "        pass\n"
      "sys.exit(0 if taken > 10 else 8)\n");
  Value searcher;
  searcher.set("type", Value(std::string("random"))).set("metric", Value(std::string("loss")));
  searcher.set("max_trials", Value(2)).set("max_concurrent_trials", Value(2));
  Value config;
  config.set("name", Value(std::string("hostile"))).set("searcher", std::move(searcher));
  config.set("entrypoint", Value(Value::List{Value(std::string("/usr/bin/python3")), Value(std::string("-c")),
                                             std::move(program), Value(std::move(lines))}));
  config.set("resources", Value().set("slots_per_trial", Value(0))).set("max_restarts", Value(2));
  return describe::to_json(Value().set("config", std::move(config)));
}

}  // namespace cadre::fuzz_live
