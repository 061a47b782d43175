#include "gateway/metrics.h"

#include <cmath>
#include <cstdio>

namespace cadre::gateway {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// A backslash and a line end have escapes; all else stands as it is.
std::string escaped(const std::string& help) {
  std::string text;
  for (const char c : help) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

}  // namespace

void add_figures(const cluster::requests::Status& status, std::vector<Figure>& figures) {
  const auto add = [&](const char* name, const char* help, auto value) {
    figures.push_back({name, help, static_cast<double>(value)});
  };
  add("agents", "Number of known agents.", status.agents);
  add("agents_up", "Number of connected agents.", status.agents_up);
  add("slots", "Number of slots of connected agents.", status.slots);
  add("slots_used", "Number of slots in use.", status.slots_used);
  add("cpus", "CPU cores that connected agents offer.", static_cast<double>(status.cpus.milli) / 1000);
  add("cpus_used", "CPU cores allocated to tasks.", static_cast<double>(status.cpus_used.milli) / 1000);
  add("memory_bytes", "Memory that connected agents offer, in bytes.", status.memory.value);
  add("memory_used_bytes", "Memory allocated to tasks, in bytes.", status.memory_used.value);
  add("load", "Sum of the load averages of connected agents.", status.load);
  add("jobs_queued", "Number of queued jobs.", status.queued);
  add("jobs_running", "Number of running or stopping jobs.", status.running);
  add("actors", "Number of actors among the queued, running and stopping jobs.", status.actors);
  add("sessions", "Number of client sessions.", status.sessions);
  add("refused_total", "Number of connections, messages and tokens that the master has refused.", status.refused);
}

void add_figures(const net::http::Counters& counters, std::vector<Figure>& figures) {
  const auto add = [&](const char* name, const char* help, auto value) {
    figures.push_back({name, help, static_cast<double>(value)});
  };
  add("http_connections_total", "Number of connections accepted.", counters.connections);
  add("http_connections_open", "Number of open connections.", counters.open);
  add("http_requests_total", "Number of requests received.", counters.requests);
  add("http_refused_connections_total", "Number of connections refused because the connection limit was reached.",
      counters.refused_connections);
  add("http_evicted_connections_total", "Number of connections closed to make room for others.",
      counters.evicted_connections);
  add("http_refused_malformed_total", "Number of malformed requests.", counters.refused_malformed);
  add("http_refused_large_total", "Number of requests that were too large.", counters.refused_large);
  add("http_refused_bodies_total", "Number of requests refused because the memory limit for bodies was reached.",
      counters.refused_bodies);
  add("http_cut_unsent_total", "Number of connections closed because too much unsent data was buffered on all of them.",
      counters.cut_unsent);
  add("http_timed_out_total", "Number of connections that timed out.", counters.timed_out);
  add("http_handshakes_failed_total", "Number of failed TLS handshakes.", counters.handshakes_failed);
}

void add_figures(const names::Registries::Counters& counters, std::vector<Figure>& figures) {
  const auto add = [&](const char* name, const char* help, auto value) {
    figures.push_back({name, help, static_cast<double>(value)});
  };
  add("names", "Number of names in the registry.", counters.entries);
  add("names_bytes", "Size of names and their values, in bytes.", counters.bytes);
  add("names_watchers", "Number of requests that wait for changes of names.", counters.watchers);
  add("names_refused_total", "Number of names refused because a limit was reached.", counters.refused_puts);
  add("names_refused_watchers_total", "Number of watch requests refused because a limit was reached.",
      counters.refused_watchers);
}

std::string exposition(const std::vector<Figure>& figures) {
  std::string text;
  for (const Figure& figure : figures) {
    const std::string name = "cadre_" + figure.name;
    text += "# HELP " + name + " " + escaped(figure.help) + "\n";
    text += "# TYPE " + name + (name.ends_with("_total") ? " counter\n" : " gauge\n");
    text += name + " " + number(figure.value) + "\n";
  }
  return text;
}

}  // namespace cadre::gateway
