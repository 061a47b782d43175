/// The records of TensorBoard event files, from framing to summaries. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "experiment/requests/metrics.h"

namespace cadre::cli {

/// CRC-32C (Castagnoli), as in RFC 3720.
[[nodiscard]] std::uint32_t crc32c(BytesView bytes);

/// Data as one TFRecord: its length and the data, each followed by its masked CRC-32C.
[[nodiscard]] std::string event_record(std::string_view data);

/// The first record of a file: its version, and the time from which TensorBoard counts relative times.
[[nodiscard]] std::string version_record(TimePoint time);

/// The names and values as a table on the page Text; empty if there are none.
[[nodiscard]] std::string hyperparameters_record(TimePoint time, const std::map<std::string, std::string>& values);

/// The numbers of a report as scalars with tags GROUP/NAME; true and false are 1 and 0. Empty if it has none.
[[nodiscard]] std::string scalars_record(const experiment::requests::StoredReport& report);

}  // namespace cadre::cli
