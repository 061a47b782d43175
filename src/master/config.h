/// Configuration of a master. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "api/sections.h"
#include "cluster/control/control.h"
#include "master/bulk_limits.h"

namespace cadre::master {

/// How much history is kept.
struct Keeping {
  std::int64_t changes = 1'000'000;
  std::int64_t audit = 1'000'000;
  std::int64_t jobs = 1'000'000;
  ByteSize job_bytes{std::int64_t{16} << 30};
  Duration tidy_every = std::chrono::minutes(10);
};
template <class V>
void describe(V& v, Keeping& k) {
  v.field("changes", k.changes, "Number of changes kept, for clients that follow changes.", range(0, 1'000'000'000));
  v.field("audit", k.audit, "Number of audit log entries kept.", range(0, 1'000'000'000));
  v.field("jobs", k.jobs,
          "Number of ended jobs kept in the database, at least ended_jobs_kept. The jobs that ended first are removed, "
          "with their output.",
          range(0, 1'000'000'000));
  v.field("job_bytes", k.job_bytes,
          "Disk space for the specifications of these jobs, at least ended_bytes_kept. Beyond it, jobs of the user "
          "whose ended jobs take most space are removed, those that ended first.",
          range(ByteSize{0}, plan::most_memory));
  v.field("tidy_every", k.tidy_every, "Interval at which older entries and expired tokens are removed.",
          describe::at_least(std::chrono::milliseconds(10)));
}

struct Http {
  static constexpr std::string_view doc = "HTTP server: REST, WebSocket and the web page.";
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
  v.field("listen", h.listen, "host:port; port 0 selects a free one. To serve other hosts, also set tls_certificates.");
  v.field("url", h.url, "URL by which users and tasks reach the master; empty: derived from `listen`.");
  v.field("tls_certificates", h.tls_certificates, "PEM file with the certificate and its chain up to the root.");
  v.field("tls_key", h.tls_key, "PEM file with the key of that certificate.");
  v.field("tls_ca", h.tls_ca,
          "PEM file of CA certificates that clients on this host trust; empty: those of the system.");
  v.field("web", h.web, "Folder of the web page; empty: none.");
  v.field("open_metrics", h.open_metrics, "Whether /metrics requires no token; it then shows fewer metrics.");
  v.field("insecure", h.insecure,
          "Whether other hosts may be served without TLS, so that passwords and tokens are sent in plain text.");
  v.field("connections_max", h.connections_max,
          "Maximum number of connections at a time; fewer if the limit of open files is low, half of which is reserved "
          "for agents, the database and logs.",
          range(1, 100'000));
  v.check(h.tls_certificates.empty() == h.tls_key.empty(), "tls_key", "requires tls_certificates; set both or none");
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
  api::Sections sections;  ///< the settings of its parts; not described here: each part declares its own

  static constexpr std::string_view doc = "Configuration of a master.";
};
template <class V>
void describe(V& v, Config& c) {
  v.field("data", c.data, "Folder for all data of the master.");
  v.field("database", c.database, "sqlite:///path or postgresql://user:password@host/name; empty: SQLite in `data`.");
  v.field(
      "listen", c.listen,
      "host:port for agents on other hosts; the two ports after it are for output and joining. Empty: this host only.");
  v.field("advertise", c.advertise, "Host name by which agents reach the master; empty: derived from `listen`.");
  v.field("record", c.record, "Folder in which every plan is recorded with its input, as a file for `cadre plan`.");
  v.field("http", c.http, "HTTP server.");
  v.field("keeping", c.keeping, "How much history is kept.");
  v.field("bulk", c.bulk, "Limits of stored output and code.");
  v.field("cluster", c.cluster, "Settings of the cluster.");
  v.field("adopt", c.adopt,
          "Whether to accept a data folder of another cluster, or one newer than the database; its output and code are "
          "set aside. For one start only.");
}

/// Its keys; all others of the file are sections of parts.
[[nodiscard]] std::vector<std::string_view> own_keys();

/// Reads the file. The faults of sections are found when the parts take them.
[[nodiscard]] tl::expected<Config, describe::Faults> read_config(std::string_view yaml);

}  // namespace cadre::master
