/// Metrics and trials of experiments as CSV and as JSON lines, for other programs. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiment/requests/metrics.h"

namespace cadre::cli {

enum class LineFormat : std::uint8_t { csv, jsonl };

/// One line of CSV: cells with commas, quotes or line ends are in quotes (RFC 4180).
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

/// The values of a map as exact texts; nested ones with names joined by dots.
[[nodiscard]] std::map<std::string, std::string> exact_texts(const describe::Value& map);

/// The first line of a file of reports; empty in JSON lines.
[[nodiscard]] std::string reports_head(LineFormat format);
/// One report: in CSV a line for each metric, nested ones with names joined by dots; in JSON lines one object.
[[nodiscard]] std::string report_lines(LineFormat format, experiment::TrialId trial,
                                       const experiment::requests::StoredReport& report);

/// All trials, with a column `hyperparameters.NAME` for each hyperparameter; in JSON lines as the API has them.
[[nodiscard]] std::string trial_lines(LineFormat format, const std::vector<experiment::TrialView>& trials,
                                      const std::string& metric);

}  // namespace cadre::cli
