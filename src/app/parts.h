/// The parts that a master of this program has, in their order. Safe on any thread.
#pragma once

#include <any>
#include <cstdint>
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
#include "master/output_reader.h"
#include "records/records.h"

namespace cadre::app {

/// A part with its shell, how its rows are stored, and its bulk side, if it has one.
struct PartDeclaration {
  master::PartSetup setup;
  std::function<void(records::RowTypes&)> add_rows;
  master::MakeBulkPart make_bulk = {};

  /// With a shell, made from master::Dependencies.
  template <class Shell>
  [[nodiscard]] PartDeclaration with_shell() && {
    setup.make_shell = [](const master::Dependencies& deps) -> Result<std::unique_ptr<master::PartShell>> {
      return std::make_unique<Shell>(deps);
    };
    return std::move(*this);
  }
  /// With a bulk side, made from BulkPart::Dependencies.
  template <class Bulk>
  [[nodiscard]] PartDeclaration with_bulk() && {
    make_bulk = [](const master::BulkPart::Dependencies& deps) { return std::make_unique<Bulk>(deps); };
    return std::move(*this);
  }
};

template <class P>
[[nodiscard]] PartDeclaration declare(api::PartType type) {
  return {{std::move(type)}, [](records::RowTypes& types) { types.add(std::type_identity<typename P::RowTypes>{}); }};
}
/// A part with settings: its section of the master file has the part's name.
template <class P>
[[nodiscard]] PartDeclaration declare(api::Sections& sections) {
  return declare<P>(P::type(sections.take<typename P::Settings>(P::name)));
}

/// What differs from master to master.
struct PartOptions {
  access::AccessPart::Options access;
  std::int64_t audit_kept = 1'000'000;  ///< entries of the audit log
  cluster::control::ClusterPart::Options cluster;
  std::any cluster_loaded;                       ///< a ClusterPart::Loaded, if the rows were read already
  records::EndedMost ended_most;                 ///< ended jobs that are read when the part cluster is made again
  std::string data;                              ///< the data folder
  std::shared_ptr<master::OutputReader> output;  ///< of the output of tasks, if it is stored
  master::MakePartShell cluster_shell;  ///< it needs the network, the bulk side and more of the master's process
};

/// The list: a new part is one line in parts.cc, declare<P>(sections).with_shell<S>().with_bulk<B>().
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
