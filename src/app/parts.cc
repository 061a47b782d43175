#include "app/parts.h"

#include <string>

#include "access/tables.h"
#include "cluster/control/tables.h"

namespace cadre::app {

std::vector<PartDeclaration> parts_of(PartOptions options, api::Sections&) {
  return {
      declare<access::AccessPart>(access::AccessPart::type(std::move(options.access))),
      declare<cluster::control::ClusterPart>(cluster::control::ClusterPart::type(std::move(options.cluster))),
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
    const api::PartType& type = part.setup.type;
    if (!type.migrations.empty()) declared.schemas.push_back({std::string(type.name), type.migrations});
  }
  return declared;
}

std::vector<gateway::PartInterface> interfaces_of(const std::vector<PartDeclaration>& parts) {
  std::vector<gateway::PartInterface> interfaces;
  for (const PartDeclaration& part : parts) {
    const api::PartType& type = part.setup.type;
    interfaces.push_back({std::string(type.name), type.operations, type.has_snapshot, type.bulk_operations, nullptr});
  }
  return interfaces;
}

}  // namespace cadre::app
