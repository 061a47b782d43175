/// How a master is set up. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/control/control.h"
#include "master/bulk_limits.h"

namespace cadre::master {

/// What of the records stays.
struct Keeping {
  std::int64_t changes = 1'000'000;
  Duration tidy_every = std::chrono::minutes(10);
};
template <class V>
void describe(V& v, Keeping& k) {
  v.field("changes", k.changes, "So many of the last changes are kept, for who asks what has happened.",
          range(0, 1'000'000'000));
  v.field("tidy_every", k.tidy_every, "How often older ones, and join tokens that have expired, are removed.",
          describe::at_least(std::chrono::milliseconds(10)));
}

struct Config {
  std::string data;
  std::string database;
  std::string listen;
  std::string advertise;
  std::string record;
  Keeping keeping;
  BulkLimits bulk;
  cluster::control::Settings cluster;

  static constexpr std::string_view doc = "What a master is told at its start.";
};
template <class V>
void describe(V& v, Config& c) {
  v.field("data", c.data, "Folder for everything that the master keeps.");
  v.field("database", c.database, "sqlite:///path or postgresql://user:password@host/name; empty: SQLite in `data`.");
  v.field(
      "listen", c.listen,
      "host:port for agents on other hosts; the two ports after it serve output and joining. Empty: this host only.");
  v.field("advertise", c.advertise, "The host by which agents reach this one; empty: as `listen` says.");
  v.field("record", c.record, "Folder in which every plan is kept with all that led to it, as `cadre plan` reads it.");
  v.field("keeping", c.keeping, "What of the records stays.");
  v.field("bulk", c.bulk, "How much output and code is kept and served.");
  v.field("cluster", c.cluster, "How the cluster is run.");
}

}  // namespace cadre::master
