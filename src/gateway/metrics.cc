#include "gateway/metrics.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::gateway {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

/// The shortest text that is read as this number: a bound is part of the name of a series.
std::string shortest(double value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
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
std::string labels_of(const Metric::Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    text += (text.empty() ? "{" : ",") + key + "=\"" + escaped(value, Quotes::are_escaped) + "\"";
  }
  return text.empty() ? text : text + "}";
}

const char* word_of(Metric::Kind kind) {
  switch (kind) {
    case Metric::Kind::counter: return "counter";
    case Metric::Kind::gauge: return "gauge";
    case Metric::Kind::histogram: return "histogram";
  }
  CHECK(false && "every kind has a word");
}

/// A bucket contains all observations up to its bound, those of the buckets below it included.
void write_histogram(const std::string& name, const Metric::Labels& labels, const Metric::Distribution& some,
                     std::string& text) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < some.counts.size(); ++i) {
    count += some.counts[i];
    Metric::Labels of_bucket = labels;
    of_bucket.emplace_back("le", i < some.bounds.size() ? shortest(some.bounds[i]) : "+Inf");
    text += name + "_bucket" + labels_of(of_bucket) + " " + std::to_string(count) + "\n";
  }
  text += name + "_sum" + labels_of(labels) + " " + number(some.sum) + "\n";
  text += name + "_count" + labels_of(labels) + " " + std::to_string(count) + "\n";
}

}  // namespace

std::string exposition(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric& metric : metrics) {
    const std::string name = "cadre_" + metric.name;
    text += "# HELP " + name + " " + escaped(metric.help, Quotes::stay) + "\n";
    text += "# TYPE " + name + " " + word_of(metric.kind) + "\n";
    for (const Metric::Sample& sample : metric.samples) {
      std::visit(overloaded{
                     [&](double value) { text += name + labels_of(sample.labels) + " " + number(value) + "\n"; },
                     [&](const Metric::Distribution& some) { write_histogram(name, sample.labels, some, text); },
                 },
                 sample.value);
    }
  }
  return text;
}

}  // namespace cadre::gateway
