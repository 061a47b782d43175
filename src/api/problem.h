/// Errors of requests over HTTP: the body of application/problem+json, as the server writes it and clients read it.
/// Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "describe/checks.h"

namespace cadre::api {

struct ProblemFault {
  std::string path;
  std::string message;
};
template <class V>
void describe(V& v, ProblemFault& f) {
  v.required("path", f.path, "Path of the field, for example `members[0].slots`; empty: the whole request.");
  v.required("message", f.message, "What is wrong, and how to fix it.");
}

struct Problem {
  static constexpr std::string_view type_name = "problem";
  static constexpr std::string_view doc = "An error.";
  std::string title;
  std::int32_t status = 500;
  std::string detail;
  std::vector<ProblemFault> faults;
};
template <class V>
void describe(V& v, Problem& p) {
  v.required("title", p.title, "Reason phrase of the HTTP status.");
  v.required("status", p.status, "HTTP status code.");
  v.field("detail", p.detail, "Error message.");
  v.field("faults", p.faults, "Faults in the request, each with its path.");
}

}  // namespace cadre::api
