#include "app/plan_recorder.h"

#include <fstream>

#include "describe/describe.h"

namespace cadre::app {

void PlanRecorder::operator()(const cluster::control::PlanRecord& record) {
  const std::string path = folder_ + "/" + std::to_string(1'000'000 + ++number_).substr(1);
  std::ofstream(path + ".plan.json") << describe::write_json(record.file, describe::Indent::two_spaces) << "\n";
  std::ofstream(path + ".decided.json") << describe::write_json(plan::to_answer(record.file, record.plan),
                                                                describe::Indent::two_spaces)
                                        << "\n";
}

}  // namespace cadre::app
