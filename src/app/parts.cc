#include "app/parts.h"

#include <string>

#include "access/tables.h"
#include "cluster/control/tables.h"
#include "master/access_shell.h"

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

}  // namespace

std::vector<PartDeclaration> parts_of(PartOptions options, api::Sections&) {
  return {
      access_part(options),
      cluster_part(options),
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
