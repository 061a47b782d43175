/// What went wrong with something that was asked over HTTP: the body of application/problem+json, as the server writes
/// it and clients read it. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "describe/checks.h"

namespace cadre::access {

struct ProblemFault {
  std::string path;
  std::string message;
};
template <class V>
void describe(V& v, ProblemFault& f) {
  v.required("path", f.path, "Where: `members[0].slots`; empty: in the whole.");
  v.required("message", f.message, "What is wrong, and the remedy.");
}

struct Problem {
  static constexpr std::string_view type_name = "problem";
  static constexpr std::string_view doc = "What went wrong.";
  std::string title;
  std::int32_t status = 500;
  std::string detail;
  std::vector<ProblemFault> faults;
};
template <class V>
void describe(V& v, Problem& p) {
  v.required("title", p.title, "The words of the status.");
  v.required("status", p.status, "The status of the answer.");
  v.field("detail", p.detail, "What went wrong, for people.");
  v.field("faults", p.faults, "Each fault of what was asked, with its path.");
}

}  // namespace cadre::access
