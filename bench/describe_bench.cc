#include "bench/bench.h"
#include "plan/plan_file.h"

namespace cadre::bench {
namespace {

plan::PlanFile sample() {
  plan::PlanFile file;
  for (int i = 0; i < 200; ++i) {
    plan::Agent agent;
    agent.id = cluster::AgentId("agent" + std::to_string(i));
    agent.slots = 8;
    agent.memory = ByteSize{std::int64_t{64} << 30};
    file.agents.push_back(agent);
    plan::GangEntry gang;
    gang.id = cluster::GangId("gang" + std::to_string(i));
    gang.slots = 4;
    gang.exclude = {agent.id};
    file.gangs.push_back(gang);
  }
  return file;
}

}  // namespace

Result<Figures> bench_describe() {
  const plan::PlanFile file = sample();
  const std::string json = describe::write_json(file);
  const Bytes packed = describe::write_msgpack(file);
  const double json_mb = static_cast<double>(json.size()) / 1e6;
  Figures figures{"describe", {}};
  bool good = true;
  const double read_json = rate([&] { good = good && describe::read_json<plan::PlanFile>(json).has_value(); }, json_mb);
  TRY_ASSIGN(row, row_beside_raw("JSON text to checked struct", read_json, "MB/s",
                                 "json_parse " + std::to_string(json.size())));
  figures.rows.push_back(std::move(row));
  const double write_json = rate([&] { good = good && describe::write_json(file).size() == json.size(); }, json_mb);
  figures.rows.push_back({"struct to JSON text", write_json, "MB/s", {}, {}});
  const double packed_mb = static_cast<double>(packed.size()) / 1e6;
  const double read_msgpack =
      rate([&] { good = good && describe::read_msgpack<plan::PlanFile>(packed).has_value(); }, packed_mb);
  figures.rows.push_back({"MessagePack to checked struct", read_msgpack, "MB/s", {}, {}});
  const double read_yaml = rate([&] { good = good && describe::read_yaml<plan::PlanFile>(json).has_value(); }, json_mb);
  figures.rows.push_back({"YAML text to checked struct", read_yaml, "MB/s", {}, {}});
  if (!good) return fail(Errc::corrupt, "what was written did not read back");
  return figures;
}

}  // namespace cadre::bench
