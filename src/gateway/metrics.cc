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

/// A backslash and a line end have escapes, and a quote in the value of a label.
enum class Quotes : std::uint8_t { stay, are_escaped };
std::string escaped(const std::string& words, Quotes quotes) {
  std::string text;
  for (const char c : words) {
    if (c == '\\')
      text += "\\\\";
    else if (c == '"' && quotes == Quotes::are_escaped)
      text += "\\\"";
    else if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

/// `{pool="default",state="up"}`; nothing if there are none.
std::string labels_of(const api::Metric::Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += (text.empty() ? "{" : ",") + key + "=\"" + escaped(value, Quotes::are_escaped) + "\"";
  }
  return text.empty() ? text : text + "}";
}

}  // namespace

void add_metrics(const net::http::Counters& counters, std::vector<api::Metric>& metrics) {
  const auto add = [&](const char* name, const char* help, auto value) {
    metrics.push_back(api::metric(name, help, static_cast<double>(value)));
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

void add_metrics(const names::Registries::Counters& counters, std::vector<api::Metric>& metrics) {
  const auto add = [&](const char* name, const char* help, auto value) {
    metrics.push_back(api::metric(name, help, static_cast<double>(value)));
  };
  add("names", "Number of names in the registry.", counters.entries);
  add("names_bytes", "Size of names and their values, in bytes.", counters.bytes);
  add("names_watchers", "Number of requests that wait for changes of names.", counters.watchers);
  add("names_refused_total", "Number of names refused because a limit was reached.", counters.refused_puts);
  add("names_refused_watchers_total", "Number of watch requests refused because a limit was reached.",
      counters.refused_watchers);
}

std::string exposition(const std::vector<api::Metric>& metrics) {
  std::string text;
  for (const api::Metric& metric : metrics) {
    const std::string name = "cadre_" + metric.name;
    text += "# HELP " + name + " " + escaped(metric.help, Quotes::stay) + "\n";
    text += "# TYPE " + name + (metric.kind == api::Metric::Kind::counter ? " counter\n" : " gauge\n");
    for (const api::Metric::Sample& sample : metric.samples) {
      text += name + labels_of(sample.labels) + " " + number(sample.value) + "\n";
    }
  }
  return text;
}

}  // namespace cadre::gateway
