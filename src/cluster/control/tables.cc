#include "cluster/control/tables.h"

#include "base/overloaded.h"

namespace cadre::cluster::control {
namespace {

using lease::Stage;

std::string name_of(lease::Reason reason) {
  for (const auto& [each, name] : enum_names(lease::Reason{})) {
    if (each == reason) return name;
  }
  return "";
}

Result<lease::Reason> reason_of(const std::string& name) {
  for (const auto& [each, known] : enum_names(lease::Reason{})) {
    if (name == known) return each;
  }
  return fail(Errc::corrupt, "the column why has no known reason");
}

Result<lease::Held> held_of(const LeaseColumns& columns) {
  if (columns.held.agent.value.empty()) return fail(Errc::corrupt, "the column agent is empty");
  return columns.held;
}

}  // namespace

LeaseColumns flatten(const lease::State& state) {
  LeaseColumns columns;
  columns.stage = lease::stage_of(state);
  columns.epoch = state.epoch;
  std::visit(overloaded{
                 [&](const lease::Queued& queued) { columns.lost = queued.lost.value_or(lease::Held{}); },
                 [&](const lease::Placed& placed) { columns.held = placed.held; },
                 [&](const lease::Running& running) { columns.held = running.held; },
                 [&](const lease::Stopping& stopping) {
                   columns.held = stopping.held;
                   columns.why = name_of(stopping.why);
                 },
                 [&](const lease::Ended& ended) {
                   columns.why = name_of(ended.ending.reason);
                   columns.why_code = ended.ending.code;
                 },
             },
             state.stage);
  return columns;
}

Result<lease::State> assemble(const LeaseColumns& columns) {
  lease::State state{columns.epoch, {}};
  switch (columns.stage) {
    case Stage::queued: {
      auto& queued = state.stage.emplace<lease::Queued>();
      if (!columns.lost.agent.value.empty()) queued.lost = columns.lost;
      return state;
    }
    case Stage::placed: {
      TRY_ASSIGN(held, held_of(columns));
      state.stage = lease::Placed{std::move(held)};
      return state;
    }
    case Stage::running: {
      TRY_ASSIGN(held, held_of(columns));
      state.stage = lease::Running{std::move(held)};
      return state;
    }
    case Stage::stopping: {
      TRY_ASSIGN(held, held_of(columns));
      TRY_ASSIGN(why, reason_of(columns.why));
      state.stage = lease::Stopping{std::move(held), why};
      return state;
    }
    case Stage::ended: {
      TRY_ASSIGN(why, reason_of(columns.why));
      state.stage = lease::Ended{{why, columns.why_code}};
      return state;
    }
  }
  return fail(Errc::corrupt, "unknown stage");
}

}  // namespace cadre::cluster::control
