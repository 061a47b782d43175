/// The little XML that servers of S3 answer with: elements and text, nothing else. Strict, and bounded in everything,
/// since a response may come from any server. Values; safe on any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cadre::objects::s3 {

struct XmlElement {
  std::string name;  ///< without a namespace prefix
  std::string text;  ///< what stands between its tags, without that of elements within it
  std::vector<XmlElement> children;

  /// The first child of that name; null: there is none.
  const XmlElement* child(std::string_view child_name) const;
  /// The text of the first child of that name; empty: there is none.
  std::string_view text_of(std::string_view child_name) const;
};

struct XmlBounds {
  std::size_t size_bytes = 8 << 20;
  std::size_t elements = 50'000;
  std::size_t depth = 16;
  std::size_t attributes = 16;  ///< of one element; they are skipped
};

/// `corrupt` when it is not well-formed, not UTF-8, beyond a bound, or holds what no answer of S3 holds: a document
/// type, CDATA, processing instructions within, other entities than the five of XML and characters by their numbers.
[[nodiscard]] Result<XmlElement> parse_xml(std::string_view text, const XmlBounds& bounds = {});

}  // namespace cadre::objects::s3
