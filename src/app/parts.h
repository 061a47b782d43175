/// The parts that a master of this program has, in their order. Safe on any thread.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "access/part.h"
#include "api/sections.h"
#include "cluster/control/cluster_part.h"
#include "gateway/gateway.h"
#include "master/bulk/bulk_thread.h"
#include "master/master.h"
#include "records/records.h"

namespace cadre::app {

/// A part, how its rows are stored, and its bulk side, if it has one.
struct PartDeclaration {
  master::PartSetup setup;
  std::function<void(records::RowTypes&)> add_rows;
  master::MakeBulkPart make_bulk = {};
};

/// For a part that needs no shell.
template <class P>
[[nodiscard]] PartDeclaration declare(api::PartType type) {
  return {{std::move(type), {}, nullptr, {}},
          [](records::RowTypes& types) { types.add(std::type_identity<typename P::RowTypes>{}); }};
}
/// The same with a bulk side, made from BulkPart::Dependencies.
template <class P, class Bulk>
[[nodiscard]] PartDeclaration declare(api::PartType type) {
  PartDeclaration declaration = declare<P>(std::move(type));
  declaration.make_bulk = [](const master::BulkPart::Dependencies& deps) { return std::make_unique<Bulk>(deps); };
  return declaration;
}

/// What differs from master to master.
struct PartOptions {
  access::AccessPart::Options access;
  cluster::control::ClusterPart::Options cluster;
};

/// The list: a new part is one line in parts.cc. A part with settings takes them from `sections`.
[[nodiscard]] std::vector<PartDeclaration> parts_of(PartOptions options, api::Sections& sections);
/// The same with the default settings.
[[nodiscard]] inline std::vector<PartDeclaration> parts_of(PartOptions options) {
  api::Sections sections;
  return parts_of(std::move(options), sections);
}

/// The sections of the master file that these parts have, for checks and the reference page.
[[nodiscard]] api::Sections take_sections(api::Sections sections);

/// What the database keeps for the parts of a list.
[[nodiscard]] records::Declared rows_of(const std::vector<PartDeclaration>& parts);

/// What clients see of them.
[[nodiscard]] std::vector<gateway::PartInterface> interfaces_of(const std::vector<PartDeclaration>& parts);

}  // namespace cadre::app
