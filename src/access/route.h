/// How a request is asked over HTTP: declared once, beside the request, for the server, its clients and the OpenAPI
/// document. Values; safe on any thread.
///
///   struct GetJob {
///     static constexpr std::string_view type_name = "get_job";
///     static constexpr access::Route route{"GET", "/jobs/{job}", "One job with its tasks.", access::Need::viewer};
///     using Answer = JobView;
///     JobId job;
///   };
///
/// A field whose name stands in braces is part of the path. The others stand in the query, if the method is GET or
/// DELETE, else in a JSON object as the body.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cadre::access {

/// What a request takes of who asks.
enum class Need : std::uint8_t {
  nothing,  ///< not even a token
  token,    ///< a token of any user; he is told of what he may see
  viewer,   ///< at least that role in the workspace of what is asked for
  editor,   ///< the same; and what is another's may only be changed by an admin of the workspace
  admin,    ///< of the cluster
};
constexpr auto enum_names(Need) {
  return std::array{std::pair{Need::nothing, "nothing"}, std::pair{Need::token, "token"},
                    std::pair{Need::viewer, "viewer"}, std::pair{Need::editor, "editor"},
                    std::pair{Need::admin, "admin"}};
}

/// What stands in the body of a request that has one: its fields, or bytes; then its fields stand in the query.
enum class Body : std::uint8_t { fields, bytes };

struct Route {
  std::string_view method;
  std::string_view path;  ///< below /api/v1
  std::string_view summary;
  Need need = Need::token;
  Body body = Body::fields;

  /// Whether it only asks.
  constexpr bool reads() const { return method == "GET"; }
  /// Whether fields that are not in the path stand in the body, and not in the query.
  constexpr bool has_fields_in_body() const { return body == Body::fields && method != "GET" && method != "DELETE"; }
};

/// A request that has a route, and says what it is answered with.
template <class T>
concept Routed = requires {
  T::route;
  typename T::Answer;
};

}  // namespace cadre::access
