#include "app/parts.h"

#include <string>

#include "access/tables.h"
#include "cluster/control/tables.h"
#include "experiment/part.h"
#include "master/access_shell.h"
#include "master/checkpoints/checkpoint_part.h"
#include "master/experiment_shell.h"
#include "master/metrics/experiment_bulk.h"

namespace cadre::app {

namespace {

PartDeclaration access_part(PartOptions& options) {
  auto part = declare<access::AccessPart>(access::AccessPart::type(std::move(options.access)));
  part.setup.make_shell =
      [kept = options.audit_kept](const master::Dependencies& deps) -> Result<std::unique_ptr<master::PartShell>> {
    return std::make_unique<master::AccessShell>(deps, kept);
  };
  return part;
}

PartDeclaration cluster_part(PartOptions& options) {
  using cluster::control::ClusterPart;
  auto part = declare<ClusterPart>(ClusterPart::type(std::move(options.cluster)));
  part.setup.make_shell = std::move(options.cluster_shell);
  part.setup.loaded = std::move(options.cluster_loaded);
  part.setup.load = [most = options.ended_most](records::Records& records) -> Result<std::any> {
    TRY_ASSIGN(rows, records.load(most));
    return std::any(ClusterPart::Loaded{records.boot(), std::move(rows)});
  };
  return part;
}

std::shared_ptr<master::CheckpointStores> stores_of(const PartOptions& options, api::Sections& sections) {
  return std::make_shared<master::CheckpointStores>(
      sections.take<master::CheckpointSettings>(master::CheckpointPart::name), options.data + "/checkpoints");
}

/// The stores are shared: one side removes checkpoints, the other takes and returns their files.
PartDeclaration experiment_part(const std::shared_ptr<master::CheckpointStores>& stores,
                                const std::shared_ptr<master::OutputReader>& output) {
  experiment::Control::Options options;
  for (const auto& [name, store] : stores->settings().stores) options.stores.insert(name);
  auto part = declare<experiment::ExperimentPart>(experiment::ExperimentPart::type(std::move(options)));
  part.setup.make_shell = [stores,
                           output](const master::Dependencies& deps) -> Result<std::unique_ptr<master::PartShell>> {
    return std::make_unique<master::ExperimentShell>(deps, stores, output);
  };
  return std::move(part).with_bulk<master::ExperimentBulk>();
}

PartDeclaration checkpoint_part(const std::shared_ptr<master::CheckpointStores>& stores) {
  auto part = declare<master::CheckpointPart>(master::CheckpointPart::type());
  part.make_bulk = [stores](const master::BulkPart::Dependencies& deps) {
    return std::make_unique<master::CheckpointFiles>(deps, stores);
  };
  return part;
}

}  // namespace

std::vector<PartDeclaration> parts_of(PartOptions options, api::Sections& sections) {
  const auto stores = stores_of(options, sections);
  return {
      access_part(options),
      cluster_part(options),
      experiment_part(stores, options.output),
      checkpoint_part(stores),
  };
}

api::Sections take_sections(api::Sections sections) {
  static_cast<void>(parts_of({}, sections));
  return sections;
}

records::Declared rows_of(const std::vector<PartDeclaration>& parts) {
  records::Declared declared;
  declared.rows.add(std::type_identity<std::tuple<api::ChangeRow>>{});
  for (const PartDeclaration& part : parts) {
    part.add_rows(declared.rows);
    declared.add_schema(part.setup.type);
  }
  return declared;
}

std::vector<gateway::PartInterface> interfaces_of(const std::vector<PartDeclaration>& parts) {
  std::vector<gateway::PartInterface> interfaces;
  for (const PartDeclaration& part : parts) {
    const api::PartType& type = part.setup.type;
    interfaces.push_back(
        {std::string(type.name), type.operations, type.has_snapshot, type.bulk_operations, nullptr, type.changes});
  }
  return interfaces;
}

}  // namespace cadre::app
