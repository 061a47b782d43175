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
  add("agents", "Agents that are known.", status.agents);
  add("agents_up", "Agents that are there.", status.agents_up);
  add("slots", "Slots of agents that are there.", status.slots);
  add("slots_used", "Slots in use.", status.slots_used);
  add("cpus", "Cores that agents offer.", static_cast<double>(status.cpus.milli) / 1000);
  add("cpus_used", "Cores given to tasks.", static_cast<double>(status.cpus_used.milli) / 1000);
  add("memory_bytes", "Memory that agents offer.", status.memory.value);
  add("memory_used_bytes", "Memory given to tasks.", status.memory_used.value);
  add("load", "Sum of the agents' load averages.", status.load);
  add("jobs_queued", "Jobs that wait.", status.queued);
  add("jobs_running", "Jobs that run or stop.", status.running);
  add("actors", "Jobs that wait, run or stop and are actors.", status.actors);
  add("sessions", "Sessions of clients.", status.sessions);
  add("refused_total", "Connections, messages and tokens that the master has refused.", status.refused);
}

void add_figures(const net::http::Counters& counters, std::vector<Figure>& figures) {
  const auto add = [&](const char* name, const char* help, auto value) {
    figures.push_back({name, help, static_cast<double>(value)});
  };
  add("http_connections_total", "Connections that were taken.", counters.connections);
  add("http_connections_open", "Connections that are open.", counters.open);
  add("http_requests_total", "Requests that came.", counters.requests);
  add("http_refused_connections_total", "Connections for which there was no room.", counters.refused_connections);
  add("http_evicted_connections_total", "Connections that were closed to make room for others.",
      counters.evicted_connections);
  add("http_refused_malformed_total", "Malformed requests.", counters.refused_malformed);
  add("http_refused_large_total", "Requests that were too large.", counters.refused_large);
  add("http_refused_bodies_total", "Requests for whose body there was no room beside others.", counters.refused_bodies);
  add("http_cut_unsent_total", "Connections cut because too much waited to be sent on all of them.",
      counters.cut_unsent);
  add("http_timed_out_total", "Connections that were too slow.", counters.timed_out);
  add("http_handshakes_failed_total", "TLS handshakes that failed.", counters.handshakes_failed);
}

void add_figures(const names::Registries::Counters& counters, std::vector<Figure>& figures) {
  const auto add = [&](const char* name, const char* help, auto value) {
    figures.push_back({name, help, static_cast<double>(value)});
  };
  add("names", "Names that are kept alive.", counters.entries);
  add("names_bytes", "Bytes of names and their values.", counters.bytes);
  add("names_watchers", "Questions that wait for news of names.", counters.watchers);
  add("names_refused_total", "Names for which there was no room.", counters.refused_puts);
  add("names_refused_watchers_total", "Questions for news of names for which there was no room.",
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
