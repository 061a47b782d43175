/// How a master is set up. Values; safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "cluster/control/control.h"

namespace cadre::master {

struct Config {
  std::string data;
  std::string database;
  std::string listen;
  std::string advertise;
  std::string record;
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
  v.field("cluster", c.cluster, "How the cluster is run.");
}

}  // namespace cadre::master
