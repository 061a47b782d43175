/// Times, sizes and endings as people say them. Values; safe on any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "cluster/ending.h"
#include "cluster/requests.h"

namespace cadre::cli {

/// Two units at most: 42s, 3m, 1h20m, 5d; less than a second is 0s.
std::string short_duration(Duration duration);
/// `3m ago`, `just now`; empty when there is no time.
std::string ago(std::optional<TimePoint> time, TimePoint now);
/// `3m ago (2026-11-15T11:31:10Z)`
std::string with_time(std::optional<TimePoint> time, TimePoint now);
/// How long it ran, or has run so far; empty: it has not started.
std::string ran(std::optional<TimePoint> started, std::optional<TimePoint> ended, TimePoint now);
/// Three digits: 512MiB, 1.5GiB, 0.
std::string short_size(ByteSize size);
/// `1 slot`, `3 slots`.
std::string counted(std::int64_t count, const std::string& noun);
std::string joined(const std::vector<std::string>& texts, const std::string& separator);
/// 0-3, 5
std::string ranges(const std::vector<std::int32_t>& sorted);

using cluster::ending_words;
/// How it ended and who stopped it; of one that has not ended, its stage.
std::string ending_words(const cluster::requests::JobView& job);
std::string ending_words(const cluster::requests::ActorView& actor);
int exit_code_of(const cluster::requests::JobView& job);
/// `ranks 0-2, 5`, `rank 3`.
std::string rank_words(const std::vector<std::int32_t>& sorted);

/// What `cadre run` ends with: the task's own code; 128 and the signal; 125 for other ends.
int exit_code_of(cluster::lease::Reason reason, std::int32_t code);

}  // namespace cadre::cli
