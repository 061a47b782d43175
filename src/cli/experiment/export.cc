#include "cli/experiment/export.h"

#include <set>

#include "describe/describe.h"

namespace cadre::cli {
namespace {

using describe::Value;
using experiment::TrialView;
using experiment::requests::StoredReport;

/// Exact, so that other programs compute with the same numbers.
std::string exact_text(const Value& value) {
  const auto* text = value.as<std::string>();
  return text == nullptr ? describe::to_json(value) : *text;
}

std::string exact_text(const std::optional<double>& number) { return number ? describe::to_text(*number) : ""; }

void flatten(const Value& value, const std::string& name, std::map<std::string, std::string>& into) {
  const auto* map = value.as<Value::Map>();
  if (map == nullptr) {
    into[name] = exact_text(value);
    return;
  }
  for (const describe::Entry& entry : *map)
    flatten(entry.value, name.empty() ? entry.key : name + "." + entry.key, into);
}

std::string utc(std::optional<TimePoint> time) { return time ? to_utc(*time) : ""; }

}  // namespace

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += cells[i];
      continue;
    }
    line += '"';
    for (const char c : cells[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::map<std::string, std::string> exact_texts(const Value& map) {
  std::map<std::string, std::string> texts;
  if (map.as<Value::Map>() != nullptr) flatten(map, "", texts);
  return texts;
}

std::string reports_head(LineFormat format) {
  return format == LineFormat::csv ? csv_line({"trial", "run", "group", "steps", "time", "metric", "value"}) : "";
}

std::string report_lines(LineFormat format, experiment::TrialId trial, const StoredReport& report) {
  if (format == LineFormat::jsonl) {
    Value line;
    line.set("trial", Value(to_string(trial)));
    const Value fields = describe::write(report);
    for (const describe::Entry& entry : *fields.as<Value::Map>()) line.set(entry.key, entry.value);
    return describe::to_json(line) + "\n";
  }
  std::string lines;
  for (const auto& [name, value] : exact_texts(report.metrics)) {
    lines += csv_line({to_string(trial), std::to_string(report.run), report.group, std::to_string(report.steps),
                       utc(report.time), name, value});
  }
  return lines;
}

std::string trial_lines(LineFormat format, const std::vector<TrialView>& trials, const std::string& metric) {
  std::string lines;
  if (format == LineFormat::jsonl) {
    for (const TrialView& trial : trials) lines += describe::write_json(trial) + "\n";
    return lines;
  }
  std::vector<std::map<std::string, std::string>> hyperparameters(trials.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    hyperparameters[i] = exact_texts(trials[i].hyperparameters);
    for (const auto& [name, value] : hyperparameters[i]) names.insert(name);
  }
  std::vector<std::string> head = {"trial",    "state", "steps",   "last." + metric, "best." + metric, "best_steps",
                                   "restarts", "seed",  "created", "started",        "ended",          "checkpoint"};
  for (const std::string& name : names) head.push_back("hyperparameters." + name);
  lines = csv_line(head);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const TrialView& one = trials[i];
    std::vector<std::string> row = {to_string(one.id),
                                    std::string(describe::name_of(one.state)),
                                    std::to_string(one.steps),
                                    exact_text(one.last_metric),
                                    exact_text(one.best_metric),
                                    one.best_metric ? std::to_string(one.best_steps) : "",
                                    std::to_string(one.restarts),
                                    std::to_string(one.seed),
                                    utc(one.created),
                                    utc(one.started),
                                    utc(one.ended),
                                    one.latest_checkpoint ? one.latest_checkpoint->value : ""};
    for (const std::string& name : names) {
      const auto found = hyperparameters[i].find(name);
      row.push_back(found == hyperparameters[i].end() ? "" : found->second);
    }
    lines += csv_line(row);
  }
  return lines;
}

}  // namespace cadre::cli
