/// How a request is sent over HTTP: declared once, beside the request, for the server, its clients and the OpenAPI
/// document. Values; safe on any thread.
///
///   struct GetJob {
///     static constexpr std::string_view type_name = "get_job";
///     static constexpr api::Route route{"GET", "/jobs/{job}", "Returns one job.", api::Need::viewer};
///     using Answer = JobView;
///     JobId job;
///   };
///
/// A field whose name is in braces is part of the path. The others are in the query, if the method is GET or DELETE,
/// otherwise in a JSON object as the body.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/bytes.h"

namespace cadre::api {

/// What a request requires of the caller.
enum class Need : std::uint8_t {
  nothing,  ///< not even a token
  token,    ///< a token of any user; the response contains only what that user may see
  viewer,   ///< at least that role in the workspace of the object
  editor,   ///< the same; objects of other users can only be changed by an admin of the workspace
  admin,    ///< of the cluster
};
constexpr auto enum_names(Need) {
  return std::array{std::pair{Need::nothing, "nothing"}, std::pair{Need::token, "token"},
                    std::pair{Need::viewer, "viewer"}, std::pair{Need::editor, "editor"},
                    std::pair{Need::admin, "admin"}};
}

/// What a second copy of a request does. Clients repeat a request whose response was lost only if that is safe.
enum class Repeated : std::uint8_t {
  by_method,   ///< as HTTP defines it: nothing, unless the method is POST
  idempotent,  ///< nothing, although the method is POST
  keyed,       ///< creates another object, unless it carries the Idempotency-Key of the first
};

/// What the body of a request contains: its fields, or bytes; in that case its fields are in the query, and a field
/// `bytes`, if it has one, is the body.
enum class Body : std::uint8_t { fields, bytes };

/// How a request is answered: with one value, with a stream of them, one per line, or with bytes as they are.
enum class Response : std::uint8_t { value, lines, bytes };

struct Route {
  std::string_view method;
  std::string_view path;  ///< below /api/v1
  std::string_view summary;
  Need need = Need::token;
  Repeated repeated = Repeated::by_method;
  Body body = Body::fields;
  Response response = Response::value;
  bool is_audited = true;             ///< if it changes something, it is in the audit log
  bool object_may_be_secret = false;  ///< of a refused request: the caller may have pasted a secret there
  ByteSize body_max{4 << 20};         ///< a longer body is refused with status 413, before it is received

  // The same route, but for one thing.
  constexpr Route with_bytes() const {
    Route route = *this;
    route.body = Body::bytes;
    return route;
  }
  constexpr Route in_lines() const {
    Route route = *this;
    route.response = Response::lines;
    return route;
  }
  constexpr Route answered_with_bytes() const {
    Route route = *this;
    route.response = Response::bytes;
    return route;
  }
  constexpr Route with_secret_object() const {
    Route route = *this;
    route.object_may_be_secret = true;
    return route;
  }
  constexpr Route with_body_max(ByteSize size) const {
    Route route = *this;
    route.body_max = size;
    return route;
  }
  constexpr Route without_audit() const {
    Route route = *this;
    route.is_audited = false;
    return route;
  }

  /// Whether the field with this name is part of the path.
  constexpr bool has_in_path(std::string_view field) const {
    for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
      const std::string_view rest = path.substr(at + 1);
      if (rest.starts_with(field) && rest.substr(field.size()).starts_with('}')) return true;
    }
    return false;
  }
  /// Whether it only reads.
  constexpr bool reads() const { return method == "GET"; }
  /// Whether this field is the body itself.
  constexpr bool is_body(std::string_view field) const { return body == Body::bytes && field == "bytes"; }
  /// Whether fields that are not in the path are in the body, not in the query.
  constexpr bool has_fields_in_body() const { return body == Body::fields && method != "GET" && method != "DELETE"; }
  /// Whether it creates an object that the same Idempotency-Key gives again.
  constexpr bool is_keyed() const { return repeated == Repeated::keyed; }
  /// Whether sending it twice has the same effect as sending it once.
  constexpr bool is_idempotent() const {
    return repeated == Repeated::idempotent || (repeated == Repeated::by_method && method != "POST");
  }
  constexpr bool streams() const { return response == Response::lines; }
  constexpr bool gives_bytes() const { return response == Response::bytes; }
  /// Whether the audit log has an entry for it.
  constexpr bool is_in_audit() const { return is_audited && !reads(); }
};

/// A request that has a route and a response type.
template <class T>
concept Routed = requires {
  T::route;
  typename T::Answer;
};

}  // namespace cadre::api
