/// The reference page of a described type, in Markdown: a table for each struct. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "describe/outline.h"

namespace cadre::describe {

struct PageHead {
  std::string_view title;
  std::string_view intro;
};

[[nodiscard]] std::string page_of(const Shape& shape, const PageHead& head);

template <class T>
[[nodiscard]] std::string reference_page(std::string_view title, std::string_view intro) {
  return page_of(outline<T>(), {title, intro});
}

}  // namespace cadre::describe
