/// The parts that a master of this program has, in their order. Safe on any thread.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "access/part.h"
#include "cluster/control/cluster_part.h"
#include "gateway/gateway.h"
#include "master/master.h"
#include "records/records.h"

namespace cadre::app {

/// A part, and how its rows are stored.
struct PartDeclaration {
  master::PartSetup setup;
  std::function<void(records::RowTypes&)> add_rows;
};

/// For a part that needs no shell.
template <class P>
[[nodiscard]] PartDeclaration declare(api::PartType type) {
  return {{std::move(type), {}, nullptr},
          [](records::RowTypes& types) { types.add(std::type_identity<typename P::RowTypes>{}); }};
}

/// What differs from master to master.
struct PartOptions {
  access::AccessPart::Options access;
  cluster::control::ClusterPart::Options cluster;
};

/// The list: a new part is one line in parts.cc.
[[nodiscard]] std::vector<PartDeclaration> parts_of(PartOptions options);

/// What the database keeps for the parts of a list.
[[nodiscard]] records::Declared rows_of(const std::vector<PartDeclaration>& parts);

/// What clients see of them.
[[nodiscard]] std::vector<gateway::PartInterface> interfaces_of(const std::vector<PartDeclaration>& parts);

}  // namespace cadre::app
