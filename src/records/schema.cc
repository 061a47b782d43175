#include "records/schema.h"

#include <array>

namespace cadre::records {
namespace {

// Times are nanoseconds since 1970, 0 is never; sizes are bytes; a truth value is 0 or 1; -1 is none. A column named
// here holds the truth: where jobs.spec says otherwise (priority, pool and group may change) it is out of date.
constexpr std::string_view first = R"(
CREATE TABLE master (
  only_row BIGINT PRIMARY KEY,
  boot BIGINT NOT NULL,
  last_job BIGINT NOT NULL,
  last_change BIGINT NOT NULL
);
INSERT INTO master (only_row, boot, last_job, last_change) VALUES (1, 0, 0, 0);

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  pool TEXT NOT NULL,
  host TEXT NOT NULL,
  identity TEXT NOT NULL,
  version TEXT NOT NULL,
  slots BIGINT NOT NULL,
  slot_kind TEXT NOT NULL,
  cpus_milli BIGINT NOT NULL,
  memory BIGINT NOT NULL,
  enabled BIGINT NOT NULL,
  draining BIGINT NOT NULL,
  lost BIGINT NOT NULL,
  labels TEXT NOT NULL,
  devices TEXT NOT NULL,
  slot_states TEXT NOT NULL,
  isolation TEXT NOT NULL
);

CREATE TABLE groups (
  pool TEXT NOT NULL,
  id TEXT NOT NULL,
  weight DOUBLE PRECISION NOT NULL,
  max_slots BIGINT NOT NULL,
  PRIMARY KEY (pool, id)
);

CREATE TABLE jobs (
  id BIGINT PRIMARY KEY,
  spec TEXT NOT NULL,
  name TEXT NOT NULL,
  pool TEXT NOT NULL,
  priority BIGINT NOT NULL,
  group_id TEXT NOT NULL,
  preemptible BIGINT NOT NULL,
  position DOUBLE PRECISION NOT NULL,
  stage TEXT NOT NULL,
  submitted BIGINT NOT NULL,
  queued BIGINT NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  reason TEXT NOT NULL,
  code BIGINT NOT NULL,
  detail TEXT NOT NULL,
  grace BIGINT NOT NULL,
  runs BIGINT NOT NULL,
  why TEXT NOT NULL
);
CREATE INDEX jobs_not_ended ON jobs (id) WHERE stage <> 'ended';
CREATE INDEX jobs_ended ON jobs (ended, id) WHERE stage = 'ended';

CREATE TABLE tasks (
  job BIGINT NOT NULL REFERENCES jobs (id),
  member BIGINT NOT NULL,
  role BIGINT NOT NULL,
  rank BIGINT NOT NULL,
  role_rank BIGINT NOT NULL,
  run BIGINT NOT NULL,
  stage TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  agent TEXT NOT NULL,
  agent_epoch BIGINT NOT NULL,
  lost_agent TEXT NOT NULL,
  lost_epoch BIGINT NOT NULL,
  why TEXT NOT NULL,
  why_code BIGINT NOT NULL,
  last_agent TEXT NOT NULL,
  slots TEXT NOT NULL,
  placed BIGINT NOT NULL,
  started BIGINT NOT NULL,
  ended BIGINT NOT NULL,
  reason TEXT NOT NULL,
  code BIGINT NOT NULL,
  detail TEXT NOT NULL,
  memory BIGINT NOT NULL,
  memory_most BIGINT NOT NULL,
  cpu_time BIGINT NOT NULL,
  processes BIGINT NOT NULL,
  output_end BIGINT NOT NULL,
  reports BIGINT NOT NULL,
  last_report TEXT NOT NULL,
  PRIMARY KEY (job, member)
);

CREATE TABLE changes (
  number BIGINT PRIMARY KEY,
  time BIGINT NOT NULL,
  noun TEXT NOT NULL,
  id TEXT NOT NULL,
  what TEXT NOT NULL
);

CREATE TABLE join_tokens (
  hash TEXT PRIMARY KEY,
  expires BIGINT NOT NULL,
  pool TEXT NOT NULL,
  used BIGINT NOT NULL,
  used_by TEXT NOT NULL
);

CREATE TABLE agent_keys (
  agent TEXT PRIMARY KEY,
  public_key TEXT NOT NULL,
  pool TEXT NOT NULL,
  joined BIGINT NOT NULL
);
)";

constexpr std::string_view second = R"(
CREATE TABLE users (
  name TEXT PRIMARY KEY,
  password TEXT NOT NULL,
  is_admin BIGINT NOT NULL,
  is_active BIGINT NOT NULL,
  max_slots BIGINT NOT NULL,
  created BIGINT NOT NULL
);

CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  hash TEXT NOT NULL,
  user_name TEXT NOT NULL REFERENCES users (name),
  name TEXT NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL
);
CREATE INDEX tokens_of_user ON tokens (user_name);

CREATE TABLE workspaces (
  name TEXT PRIMARY KEY,
  max_slots BIGINT NOT NULL,
  created BIGINT NOT NULL
);

CREATE TABLE members (
  workspace TEXT NOT NULL REFERENCES workspaces (name),
  user_name TEXT NOT NULL REFERENCES users (name),
  role TEXT NOT NULL,
  PRIMARY KEY (workspace, user_name)
);
CREATE INDEX members_of_user ON members (user_name);

CREATE TABLE audit (
  number BIGINT PRIMARY KEY,
  time BIGINT NOT NULL,
  user_name TEXT NOT NULL,
  token TEXT NOT NULL,
  address TEXT NOT NULL,
  act TEXT NOT NULL,
  object TEXT NOT NULL,
  is_done BIGINT NOT NULL,
  detail TEXT NOT NULL
);

ALTER TABLE master ADD COLUMN last_audit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN workspace TEXT NOT NULL DEFAULT 'default';
ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT 'admin';
ALTER TABLE changes ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
)";

constexpr std::string_view third = R"(
ALTER TABLE tasks ADD COLUMN calls BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN errors BIGINT NOT NULL DEFAULT 0;
)";

constexpr std::string_view fourth = R"(
ALTER TABLE tasks ADD COLUMN restarts BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN restart_at BIGINT NOT NULL DEFAULT 0;
)";

constexpr std::string_view idempotency = R"(
CREATE TABLE idempotency_keys (
  user_name TEXT NOT NULL,
  request_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  noun TEXT NOT NULL,
  object TEXT NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (user_name, request_key)
);
)";

constexpr std::string_view cluster_ids = R"(
ALTER TABLE master ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN place TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN stopped BIGINT NOT NULL DEFAULT 0;
)";

constexpr std::string_view job_history = R"(
ALTER TABLE jobs ADD COLUMN history TEXT NOT NULL DEFAULT '{}';
)";

constexpr std::string_view unix_users = R"(
ALTER TABLE users ADD COLUMN unix_user TEXT NOT NULL DEFAULT '';
)";

constexpr std::string_view names_floor = R"(
ALTER TABLE master ADD COLUMN names_begin BIGINT NOT NULL DEFAULT 0;
)";

// The indexes hold what is asked for, so that the specifications, which may be large, are not read for it.
constexpr std::string_view job_sizes = R"(
ALTER TABLE jobs ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0;
UPDATE jobs SET bytes = length(spec);
DROP INDEX jobs_not_ended;
DROP INDEX jobs_ended;
CREATE INDEX jobs_not_ended ON jobs (id, bytes) WHERE stage <> 'ended';
CREATE INDEX jobs_ended ON jobs (ended, id, bytes) WHERE stage = 'ended';
CREATE INDEX jobs_ended_of_owner ON jobs (owner, ended, id, bytes) WHERE stage = 'ended';
CREATE INDEX jobs_ended_by_id ON jobs (id, workspace, owner, bytes) WHERE stage = 'ended';
)";

constexpr std::string_view agent_boots = R"(
ALTER TABLE agents ADD COLUMN boot TEXT NOT NULL DEFAULT '';
)";

constexpr std::string_view announcements = R"(
ALTER TABLE tasks ADD COLUMN announcement TEXT NOT NULL DEFAULT '';
)";

constexpr std::array<database::Migration, 12> steps{{
    {1, "agents, groups, jobs, tasks, changes, join tokens and agent keys", first},
    {2, "users, tokens, workspaces, members and audit; to whom a job belongs", second},
    {3, "calls that a task has answered", third},
    {4, "tasks that are started again alone", fourth},
    {5, "what requests with an Idempotency-Key have created", idempotency},
    {6, "the cluster's id; where agents have their data, and whether they were stopped", cluster_ids},
    {7, "who stopped a job, and its earlier runs", job_history},
    {8, "accounts of users on agents", unix_users},
    {9, "from where epochs of names count on", names_floor},
    {10, "what the specifications of jobs take", job_sizes},
    {11, "since which start of its host an agent is there", agent_boots},
    {12, "where tasks can be reached", announcements},
}};

}  // namespace

std::span<const database::Migration> migrations() { return steps; }

}  // namespace cadre::records
