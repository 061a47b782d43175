/// Reads what was asked over HTTP as the master's gateway does, for a master that is played. Safe on any thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "access/requests.h"
#include "api/route.h"
#include "base/joined_variant.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "describe/describe.h"
#include "describe/outline.h"
#include "net/http/message.h"

namespace cadre::cli {

/// Everything that a command may ask.
using AskedRequest =
    JoinedVariant<cluster::requests::Request, std::variant<cluster::requests::ReadLogs, cluster::requests::GetCode,
                                                           cluster::requests::PutCode, access::DeleteUser>>;

inline std::vector<std::string> segments_of(std::string_view path) {
  std::vector<std::string> segments;
  for (;;) {
    const std::size_t slash = path.find('/');
    segments.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    path.remove_prefix(slash + 1);
  }
}

/// A text from a path or a query as what its field is.
inline describe::Value field_value(const describe::Shape& record, const std::string& key, const std::string& text) {
  const auto field = std::find_if(record.fields.begin(), record.fields.end(),
                                  [&](const describe::FieldShape& one) { return one.key == key; });
  if (field == record.fields.end()) return describe::Value(text);
  const bool is_optional = field->shape.kind == describe::Shape::Kind::optional;
  const describe::Shape& shape = is_optional ? field->shape.parts.front() : field->shape;
  const describe::Value* type = shape.schema.find("type");
  const bool is_text = type != nullptr && *type == describe::Value("string");
  return is_text ? describe::Value(text) : describe::parse_yaml(text).value();
}

/// The fields of a request of that kind; nothing: something else was asked.
template <api::Routed T>
std::optional<describe::Value> fields_in(const net::http::Request& request) {
  const std::vector<std::string> pattern = segments_of("/api/v1" + std::string(T::route.path));
  const std::vector<std::string> path = segments_of(request.path());
  if (to_string(request.method) != T::route.method || pattern.size() != path.size()) return std::nullopt;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!pattern[i].starts_with('{') && pattern[i] != path[i]) return std::nullopt;
  }
  const describe::Shape shape = describe::outline<T>();
  describe::Value fields(describe::Value::Map{});
  if (T::route.has_fields_in_body() && !request.body.empty()) fields = describe::parse_json(request.body).value();
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (!pattern[i].starts_with('{')) continue;
    const std::string key = pattern[i].substr(1, pattern[i].size() - 2);
    fields.set(key, field_value(shape, key, net::http::unescape(path[i]).value()));
  }
  const net::http::Query query = net::http::query_of(request.target).value();
  for (const auto& [key, text] : query) {
    EXPECT_FALSE(T::route.has_fields_in_body()) << key << " stands in the query and belongs into the body";
    fields.set(key, field_value(shape, key, text));
  }
  return fields;
}

template <class T>
void read_as(const net::http::Request& request, std::optional<AskedRequest>& into) {
  if constexpr (api::Routed<T>) {
    if (into) return;
    const std::optional<describe::Value> fields = fields_in<T>(request);
    if (!fields) return;
    auto read = describe::read<T>(*fields);
    if (!read) ADD_FAILURE() << request.target << ": " << describe::to_text(read.error(), request.body);
    if (read) into = *std::move(read);
  }
}

/// What was asked; nothing: nothing that there is.
inline std::optional<AskedRequest> read_asked(const net::http::Request& request) {
  std::optional<AskedRequest> asked;
  [&]<class... Ts>(std::type_identity<std::variant<Ts...>>) {
    (read_as<Ts>(request, asked), ...);
  }(std::type_identity<AskedRequest>{});
  return asked;
}

}  // namespace cadre::cli
