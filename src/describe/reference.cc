#include "describe/reference.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "describe/formats.h"

namespace cadre::describe {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

class Page {
 public:
  explicit Page(const PageHead& head) {
    text_ = "# " + std::string(head.title) + "\n";
    if (!head.intro.empty()) text_ += "\n" + std::string(head.intro) + "\n";
  }

  /// Writes what stands at `path`, then what is inside of it.
  void write(const Shape& shape, const std::string& path) {
    if (shape.kind == Shape::Kind::record) record(shape, path);
    if (shape.kind == Shape::Kind::choice) choice(shape, path);
    if (shape.parts.empty() || shape.kind == Shape::Kind::choice) return;
    write(shape.parts[0], inner_path(shape, path));
  }

  std::string take() { return std::move(text_); }

 private:
  void heading(const std::string& path, const std::string& rest) {
    if (!path.empty() || !rest.empty()) text_ += "\n## " + (path.empty() ? "" : code(path)) + rest + "\n";
  }

  void record(const Shape& shape, const std::string& path) {
    heading(path, "");
    body(shape, path);
  }

  void body(const Shape& shape, const std::string& path) {
    if (!shape.doc.empty()) text_ += "\n" + shape.doc + "\n";
    if (shape.fields.empty()) {
      text_ += "\nIt has no keys" + std::string(shape.name.empty() ? "" : " but `type`") + ".\n";
      return;
    }
    text_ += "\n| key | type | default | limits | meaning |\n|---|---|---|---|---|\n";
    for (const FieldShape& field : shape.fields) row(field, path);
    for (const FieldShape& field : shape.fields) write(field.shape, join(path, field.key));
  }

  /// A choice at a path that records of another choice share is written once.
  void choice(const Shape& shape, const std::string& path) {
    if (!shape.parts.empty() && !written_.emplace(path, shape.parts[0].identity).second) return;
    heading(path, "");
    text_ += "\nThe key `type` says which of these it is:";
    for (const Shape& each : shape.parts) text_ += (&each == &shape.parts[0] ? " " : ", ") + code(each.name);
    text_ += ".\n";
    for (const Shape& each : shape.parts) {
      heading(path, (path.empty() ? "" : " ") + std::string("of type ") + code(each.name));
      body(each, path);
    }
  }

  void row(const FieldShape& field, const std::string& path) {
    text_ += "| " + code(field.key) + " | " + escaped(type_text(field.shape, join(path, field.key))) + " | " +
             escaped(default_text(field)) + " | " + escaped(to_text(field.limits)) + " | " + escaped(field.doc) +
             " |\n";
  }

  static std::string join(const std::string& path, std::string_view key) {
    return path + (path.empty() ? "" : ".") + std::string(key);
  }

  static std::string inner_path(const Shape& shape, const std::string& path) {
    if (shape.kind == Shape::Kind::list) return path + "[]";
    return shape.kind == Shape::Kind::map ? join(path, "*") : path;
  }

  /// Of what a list or a map holds: there an optional is written as null when it is empty.
  static std::string held_text(const Shape& shape, const std::string& path) {
    const Shape& held = shape.parts[0];
    return type_text(held, inner_path(shape, path)) + (held.kind == Shape::Kind::optional ? " or null" : "");
  }

  static std::string type_text(const Shape& shape, const std::string& path) {
    switch (shape.kind) {
      case Shape::Kind::scalar: return shape.name;
      case Shape::Kind::list: return "list of " + held_text(shape, path);
      case Shape::Kind::map: return "map of names to " + held_text(shape, path);
      case Shape::Kind::optional: return type_text(shape.parts[0], path);
      case Shape::Kind::record:
      case Shape::Kind::choice: return code(path) + " below";
      case Shape::Kind::again: return "the same type as its parent";
    }
    return {};
  }

  static std::string default_text(const FieldShape& field) {
    if (field.is_required) return "**required**";
    if (field.initial.is_null()) return "none";
    if (field.shape.kind == Shape::Kind::record) return "its own defaults";
    const auto* text = field.initial.as<std::string>();
    return code(text != nullptr && !text->empty() ? *text : to_json(field.initial));
  }

  std::string text_;
  std::set<std::pair<std::string, const void*>> written_;
};

}  // namespace

std::string page_of(const Shape& shape, const PageHead& head) {
  Page page(head);
  page.write(shape, "");
  return page.take();
}

}  // namespace cadre::describe
