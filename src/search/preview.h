/// How many trials a search would run how far, before it runs. Pure; safe on any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "search/config.h"

namespace cadre::search {

struct BracketPreview {
  std::int64_t rungs = 0;
  std::int64_t trials = 0;
  std::int64_t concurrent = 0;
};
template <class V>
void describe(V& v, BracketPreview& c) {
  v.required("rungs", c.rungs, "Number of rungs.");
  v.required("trials", c.trials, "Number of trials.");
  v.required("concurrent", c.concurrent, "Most trials at a time.");
}

struct LengthPreview {
  std::int64_t count = 0;
  std::int64_t length = 0;
};
template <class V>
void describe(V& v, LengthPreview& c) {
  v.required("count", c.count, "Number of trials.");
  v.required("length", c.length, "Time at which they end; 0: when their program ends.");
}

struct Preview {
  std::vector<BracketPreview> brackets;
  std::vector<LengthPreview> trials;
};
template <class V>
void describe(V& v, Preview& c) {
  v.required("brackets", c.brackets, "Brackets of asynchronous halving.");
  v.required("trials", c.trials, "How many trials would run how far, the shortest first.");
}

/// `length` is that of a trial whose searcher does not set one; 0: not known.
[[nodiscard]] Preview preview(const Searcher& searcher, const Space& space, std::int64_t length);

}  // namespace cadre::search
