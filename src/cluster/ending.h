/// How a task ended: in words, and as the bytes of the file that its supervisor leaves. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "cluster/lease.h"
#include "cluster/task.h"

namespace cadre::cluster {

/// `ended well`, `exited with 3`, `ran out of memory: used 512MiB of 512MiB`.
std::string ending_words(lease::Reason reason, std::int32_t code, const std::string& detail);

/// With a checksum behind it: after a power loss a file may have its name and length, but not its content.
[[nodiscard]] Bytes seal(const TaskEnding& ending);
/// Corrupt when it is not what seal() gave. Supervisors of earlier versions wrote no checksum; `seal_required` is false
/// where the file cannot be torn: the host has not been rebooted since.
enum class SealRequired : bool { no, yes };
[[nodiscard]] Result<TaskEnding> unseal(BytesView bytes, SealRequired required);

}  // namespace cadre::cluster
