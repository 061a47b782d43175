/// For the tests of this room: random rows with every field drawn. One thread at a time.
#pragma once

#include <limits>
#include <string>
#include <utility>

#include "access/rows.h"
#include "base/dice.h"
#include "cluster/control/rows.h"
#include "describe/random.h"

namespace cadre::records {

namespace control = cluster::control;
namespace lease = cluster::lease;

/// Any bytes at all, now and then: users and tasks may say what they like.
inline std::string random_said(Dice& dice) {
  if (!dice.percent(20)) return describe::random_text(dice, {});
  const Bytes bytes = describe::random_bytes(dice, {});
  return std::string(dice.percent(30) ? "\x01" : "") + std::string(as_text(bytes));
}

inline std::string random_name(Dice& dice) { return "n" + random_said(dice); }

template <class Number>
Number random_number(Dice& dice, Number first = 0) {
  const std::int64_t last = std::cmp_less(std::numeric_limits<Number>::max(), std::numeric_limits<std::int64_t>::max())
                                ? static_cast<std::int64_t>(std::numeric_limits<Number>::max())
                                : std::numeric_limits<std::int64_t>::max();
  if (dice.percent(10)) return static_cast<Number>(last);
  return static_cast<Number>(dice.between(static_cast<std::int64_t>(first), dice.percent(50) ? 50 : last));
}

inline TimePoint random_time(Dice& dice) {
  return TimePoint(Duration(dice.percent(20) ? 0 : random_number<std::int64_t>(dice)));
}

template <class Enum>
Enum random_enum(Dice& dice) {
  return describe::random_scalar<Enum>(dice, {});
}

inline lease::Held random_held(Dice& dice) {
  return {cluster::AgentId(random_name(dice)), {random_number<std::uint64_t>(dice)}};
}

inline lease::State random_lease(Dice& dice) {
  lease::State state{{random_number<std::uint64_t>(dice)}, {}};
  switch (dice.below(6)) {
    case 0: state.stage = lease::Queued{}; break;
    case 1: state.stage = lease::Queued{random_held(dice)}; break;
    case 2: state.stage = lease::Placed{random_held(dice)}; break;
    case 3: state.stage = lease::Running{random_held(dice)}; break;
    case 4: state.stage = lease::Stopping{random_held(dice), random_enum<lease::Reason>(dice)}; break;
    default: state.stage = lease::Ended{{random_enum<lease::Reason>(dice), random_number<std::int32_t>(dice, -50)}};
  }
  return state;
}

inline cluster::TaskEnding random_ending(Dice& dice) {
  return {random_enum<lease::Reason>(dice),
          random_number<std::int32_t>(dice, -50),
          random_said(dice),
          {{random_number<std::int64_t>(dice)},
           {random_number<std::int64_t>(dice)},
           Duration(random_number<std::int64_t>(dice)),
           random_number<std::int64_t>(dice)},
          random_number<std::int64_t>(dice)};
}

// The rows are taken apart whole, so that a new field is not forgotten here: it does not compile.

inline control::JobRow random_job(Dice& dice, cluster::JobId job) {
  control::JobRow row;
  auto& [id, spec, owner, position, stage, submitted, queued, started, ended, reason, code, detail, grace, runs, why,
         history] = row;
  id = job;
  spec = describe::random_value<cluster::JobSpec>(dice);
  owner = random_said(dice);
  position = describe::random_double(dice, describe::limits_of<double>(describe::range(-1e300, 1e300)));
  stage = random_enum<cluster::JobStage>(dice);
  for (TimePoint* time : {&submitted, &queued, &started, &ended}) *time = random_time(dice);
  reason = random_enum<lease::Reason>(dice);
  code = random_number<std::int32_t>(dice, -50);
  detail = random_said(dice);
  if (dice.percent(50)) grace = Duration(random_number<std::int64_t>(dice));
  runs = random_number<std::int32_t>(dice);
  why = random_said(dice);
  history = describe::random_value<control::JobHistory>(dice);
  return row;
}

/// The same job later: of the spec only priority, pool and group may differ.
inline control::JobRow random_change_of(Dice& dice, const control::JobRow& before) {
  control::JobRow row = random_job(dice, before.id);
  cluster::JobSpec spec = before.spec;
  spec.priority = row.spec.priority;
  spec.pool = row.spec.pool;
  spec.group = row.spec.group;
  row.spec = std::move(spec);
  return row;
}

inline control::TaskRow random_task(Dice& dice, cluster::TaskId task) {
  control::TaskRow row;
  auto& [id, role, rank, role_rank, run, state, agent, slots, placed, started, ended, ending, reports, last_report,
         restarts, restart_at, announcement] = row;
  id = task;
  for (std::int32_t* number : {&role, &rank, &role_rank, &run, &restarts}) *number = random_number<std::int32_t>(dice);
  state = random_lease(dice);
  agent = cluster::AgentId(random_said(dice));
  for (std::size_t count = dice.below(9); count > 0; --count) slots.push_back(random_number<std::int32_t>(dice));
  for (TimePoint* time : {&placed, &started, &ended, &restart_at}) *time = random_time(dice);
  ending = random_ending(dice);
  reports = random_number<std::uint64_t>(dice);
  last_report = random_said(dice);
  announcement = last_report + "!";
  return row;
}

inline control::AgentRow random_agent(Dice& dice, cluster::AgentId id) {
  control::AgentRow row;
  auto& [agent, pool, host, identity, version, slots, slot_states, isolation, lost, place, stopped, boot] = row;
  agent = describe::random_value<plan::Agent>(dice);
  agent.id = std::move(id);
  for (std::string* text : {&pool, &host, &identity, &version}) *text = random_said(dice);
  for (std::size_t count = dice.below(9); count > 0; --count) {
    slots.push_back(describe::random_value<cluster::messages::Slot>(dice));
    slot_states.push_back(random_enum<control::SlotState>(dice));
  }
  for (std::size_t count = dice.below(3); count > 0; --count) isolation.push_back(describe::random_text(dice, {}));
  lost = dice.percent(50);
  place = random_said(dice);
  stopped = dice.percent(50);
  boot = random_said(dice);
  return row;
}

inline control::GroupRow random_group(Dice& dice, std::string pool, cluster::GroupId id) {
  return {std::move(pool), std::move(id), describe::random_value<plan::Group>(dice)};
}

inline control::ChangeRow random_change(Dice& dice, std::uint64_t number) {
  return {number, random_time(dice), random_said(dice), random_said(dice), random_said(dice), random_said(dice)};
}

inline access::UserRow random_user(Dice& dice, std::string user) {
  access::UserRow row;
  auto& [name, password, is_admin, is_active, max_slots, created, unix_user] = row;
  name = std::move(user);
  password = random_said(dice);
  is_admin = dice.percent(50);
  is_active = dice.percent(50);
  if (dice.percent(50)) max_slots = random_number<std::int64_t>(dice);
  created = random_time(dice);
  unix_user = random_said(dice);
  return row;
}

inline access::TokenRow random_token(Dice& dice, std::string token, std::string owner) {
  access::TokenRow row;
  auto& [id, hash, user, name, created, expires] = row;
  id = std::move(token);
  user = std::move(owner);
  for (std::string* text : {&hash, &name}) *text = random_said(dice);
  for (TimePoint* time : {&created, &expires}) *time = random_time(dice);
  return row;
}

inline access::WorkspaceRow random_workspace(Dice& dice, std::string workspace) {
  access::WorkspaceRow row;
  auto& [name, max_slots, created] = row;
  name = std::move(workspace);
  if (dice.percent(50)) max_slots = random_number<std::int64_t>(dice);
  created = random_time(dice);
  return row;
}

inline access::AuditRow random_audit(Dice& dice, std::uint64_t last) {
  access::AuditRow row;
  auto& [number, time, user, token, address, act, object, is_done, detail] = row;
  number = last;
  time = random_time(dice);
  for (std::string* text : {&user, &token, &address, &act, &object, &detail}) *text = random_said(dice);
  is_done = dice.percent(50);
  return row;
}

}  // namespace cadre::records
