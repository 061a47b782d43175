#include "cli/plan_command.h"

#include <cstdio>

#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/table.h"
#include "plan/plan_file.h"

namespace cadre::cli {
namespace {

using plan::PlanAnswer;

std::string slots_by_agent(const plan::StartEntry& entry) {
  std::string text;
  for (const auto& [agent, slots] : entry.on) {
    if (!text.empty()) text += ", ";
    text += agent.value + " (" + std::to_string(slots) + (slots == 1 ? " slot" : " slots");
    if (entry.roles) {
      for (const auto& [role, tasks] : *entry.roles) {
        const auto here = tasks.find(agent);
        if (here != tasks.end()) text += ", " + std::to_string(here->second) + " " + role;
      }
    }
    text += ")";
  }
  return text;
}

std::string names(const std::vector<plan::AgentId>& agents) {
  std::string text;
  for (const auto& agent : agents) text += (text.empty() ? "" : ", ") + agent.value;
  return text;
}

std::string to_text(const PlanAnswer& answer, bool coloured) {
  Table decisions({"DECISION", "GANG", "AGENTS", "WHY"});
  std::map<plan::GangId, std::string> rest = answer.why;
  const auto take = [&](const plan::GangId& id) {
    std::string why = answer.why.at(id);
    rest.erase(id);
    return why;
  };
  for (const auto& entry : answer.start)
    decisions.add({"start", entry.id.value, slots_by_agent(entry), take(entry.id)});
  if (answer.grow) {
    for (const auto& entry : *answer.grow)
      decisions.add({"grow", entry.id.value, slots_by_agent(entry), take(entry.id)});
  }
  for (const auto& id : answer.preempt) decisions.add({"preempt", id.value, "", take(id)});
  for (const auto& entry : answer.reserve)
    decisions.add({"reserve", entry.id.value, names(entry.agents), take(entry.id)});
  for (const auto& [id, why] : rest) {
    const bool stops = why == "is stopping";
    decisions.add({stops ? "stop" : why.starts_with("runs") ? "run" : "wait", id.value, "", why});
  }
  if (decisions.empty()) return "There are no gangs to plan.\n";
  return decisions.to_text(coloured);
}

}  // namespace

int run_plan(const PlanOptions& options) {
  const Result<std::string> text = read_file(options.file);
  if (!text) {
    std::fprintf(stderr, "cadre plan: %s\n", text.error().message.c_str());
    return bad_usage;
  }
  const auto file = plan::read_plan_file(*text);
  if (!file) {
    const std::string name = options.file == "-" ? "standard input" : options.file;
    std::fprintf(stderr, "%s", describe::to_text(file.error(), name).c_str());
    std::fprintf(stderr, "cadre plan: %zu %s in %s; for the format, see docs/reference/plan-file.md\n",
                 file.error().count(), file.error().count() == 1 ? "error" : "errors", name.c_str());
    return bad_usage;
  }
  const PlanAnswer answer = plan::answer(*file);
  const std::string out = options.json ? describe::write_json(answer) + "\n" : to_text(answer, takes_colours(1));
  std::fwrite(out.data(), 1, out.size(), stdout);
  return done;
}

}  // namespace cadre::cli
