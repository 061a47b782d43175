#include "experiment/control/log_policies.h"

#include <algorithm>

#include "describe/utf8.h"

namespace cadre::experiment {

PolicyVerdict verdict_of(const std::vector<LogPolicy>& policies, const std::vector<LineFound>& found) {
  PolicyVerdict verdict;
  for (const LineFound& one : found) {
    if (one.policy >= policies.size()) continue;
    const LogPolicy& policy = policies[one.policy];
    const std::string line = describe::escaped(one.line.substr(0, line_shown_most));
    const std::string why = "log policy '" + describe::escaped(policy.pattern) + "' ";
    switch (policy.action) {
      case LogAction::cancel_retries:
        if (verdict.forbidden.empty()) verdict.forbidden = why + "cancels retries, because of the line: " + line;
        break;
      case LogAction::exclude_agent:
        if (std::find(verdict.exclusions.begin(), verdict.exclusions.end(), one.agent) != verdict.exclusions.end()) {
          break;
        }
        verdict.exclusions.push_back(one.agent);
        if (!verdict.excluded.empty()) verdict.excluded += "; ";
        verdict.excluded += why + "excludes agent " + one.agent + ", because of the line: " + line;
        break;
    }
  }
  return verdict;
}

}  // namespace cadre::experiment
