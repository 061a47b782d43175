#include "cli/commands/last_lines.h"

#include "cli/output.h"

namespace cadre::cli {

using cluster::requests::JobView;

bool ended_badly(const JobView& job) {
  return job.stage == cluster::JobStage::ended &&
         (job.reason != cluster::lease::Reason::exited || job.code.value_or(0) != 0);
}

loop::Task<std::vector<std::string>> last_lines_of(CommandContext& session, JobView job, std::int64_t most) {
  std::vector<std::string> lines;
  for (const cluster::requests::TaskView& task : job.tasks) {
    if (!task.ending || (task.ending->reason == cluster::lease::Reason::exited && task.ending->code == 0)) continue;
    const OnLine keep = [&](cluster::TaskId, const logs::Line& line) { lines.emplace_back(line.text); };
    const Reading reading{{task.id, {task.epoch}}, 0, most, 0, {}};  // named: g++ 12 destroys such a temporary twice
    const Result<void> read = co_await read_all(session, reading, keep);
    if (!read) lines.clear();
    break;
  }
  co_return lines;
}

}  // namespace cadre::cli
