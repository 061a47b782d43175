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
  std::int64_t audit = 1'000'000;
  std::int64_t jobs = 1'000'000;
  ByteSize job_bytes{std::int64_t{16} << 30};
  Duration tidy_every = std::chrono::minutes(10);
};
template <class V>
void describe(V& v, Keeping& k) {
  v.field("changes", k.changes, "So many of the last changes are kept, for who asks what has happened.",
          range(0, 1'000'000'000));
  v.field("audit", k.audit, "So many of the last entries of the audit log are kept.", range(0, 1'000'000'000));
  v.field(
      "jobs", k.jobs,
      "Number of ended jobs that stay in the database, and not less than ended_jobs_kept. Those that ended first are "
      "removed, with their output.",
      range(0, 1'000'000'000));
  v.field(
      "job_bytes", k.job_bytes,
      "Disk space that the specifications of these may take, and not less than ended_bytes_kept. Beyond it the jobs "
      "of the user whose ended jobs take most are removed, those that ended first.",
      range(ByteSize{0}, cluster::most_memory));
  v.field("tidy_every", k.tidy_every, "How often older ones, and tokens that have expired, are removed.",
          describe::at_least(std::chrono::milliseconds(10)));
}

struct Http {
  static constexpr std::string_view doc = "The front door: REST, WebSocket and the page.";
  std::string listen = "127.0.0.1:7310";
  std::string url;
  std::string tls_certificates;
  std::string tls_key;
  std::string tls_ca;
  std::string web;
  bool open_metrics = false;
  bool insecure = false;
  std::int32_t connections_max = 10'000;
};
template <class V>
void describe(V& v, Http& h) {
  v.field("listen", h.listen, "host:port; port 0 is a free one. Beyond this host, give it tls_certificates as well.");
  v.field("url", h.url, "By which users and tasks reach it; empty: as `listen` says.");
  v.field("tls_certificates", h.tls_certificates, "PEM file: its certificate and those that lead to the root.");
  v.field("tls_key", h.tls_key, "PEM file: the key of that certificate.");
  v.field("tls_ca", h.tls_ca, "PEM file that users of this host are told to believe; empty: what the system believes.");
  v.field("web", h.web, "Folder of the page; empty: there is none.");
  v.field("open_metrics", h.open_metrics, "Whether /metrics takes no token; it tells less then.");
  v.field("insecure", h.insecure,
          "Whether it may serve other hosts without TLS: passwords and tokens travel in plain.");
  v.field("connections_max", h.connections_max,
          "Most connections at a time; fewer where the limit of open files is low, half of which is kept for agents, "
          "the database and logs.",
          range(1, 100'000));
  v.check(h.tls_certificates.empty() == h.tls_key.empty(), "tls_key", "goes with tls_certificates; give both or none");
}

struct Config {
  std::string data;
  std::string database;
  std::string listen;
  std::string advertise;
  std::string record;
  Http http;
  Keeping keeping;
  BulkLimits bulk;
  cluster::control::Settings cluster;
  bool adopt = false;

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
  v.field("http", c.http, "The front door.");
  v.field("keeping", c.keeping, "What of the records stays.");
  v.field("bulk", c.bulk, "How much output and code is kept and served.");
  v.field("cluster", c.cluster, "How the cluster is run.");
  v.field("adopt", c.adopt,
          "Whether a data folder of another cluster, or one newer than the database, is accepted: its output and code "
          "are set aside. For one start only.");
}

}  // namespace cadre::master
