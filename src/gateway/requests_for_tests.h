/// For tests: all requests that have a route, and how each is asked over HTTP. Safe on any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "access/part.h"
#include "cluster/control/cluster_part.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "describe/describe.h"
#include "gateway/gateway.h"
#include "names/master/requests.h"
#include "net/http/message.h"

namespace cadre::gateway {

/// The parts of a master, as clients see them.
inline std::vector<PartInterface> interfaces_for_tests() {
  const api::PartType access = access::AccessPart::type({});
  const api::PartType cluster = cluster::control::ClusterPart::type({});
  return {{std::string(access.name), access.operations, access.has_snapshot, {}, nullptr, access.changes},
          {std::string(cluster.name), cluster.operations, cluster.has_snapshot, {}, nullptr, cluster.changes}};
}

/// Calls fn(std::type_identity<T>) for each of them.
template <class Fn>
void for_all_requests(Fn fn) {
  const auto call = [&]<class T>(std::type_identity<T> type) {
    if constexpr (api::Routed<T>) fn(type);
  };
  const auto call_each = [&]<class... Ts>(std::type_identity<std::variant<Ts...>>) {
    (call(std::type_identity<Ts>{}), ...);
  };
  namespace requests = cluster::requests;
  call_each(std::type_identity<requests::Request>{});
  call_each(std::type_identity<access::Request>{});
  call_each(std::type_identity<names::requests::Request>{});
  call_each(
      std::type_identity<
          std::variant<access::ListAudit, access::Login, requests::ReadLogs, requests::GetCode, requests::PutCode>>{});
}

/// As a client says it.
template <api::Routed T>
net::http::Request http_form(const T& request) {
  const auto text = [](const describe::Value& value) {
    const auto* plain = value.as<std::string>();
    return net::http::escape(plain != nullptr ? *plain : describe::to_json(value));
  };
  describe::Value body(describe::Value::Map{});
  std::string path = "/api/v1" + std::string(T::route.path);
  std::string query;
  const describe::Value written = describe::write(request);
  for (const describe::Entry& field : *written.as<describe::Value::Map>()) {
    const std::string name = "{" + field.key + "}";
    if (const std::size_t at = path.find(name); at != std::string::npos) {
      path.replace(at, name.size(), text(field.value));
    } else if (T::route.has_fields_in_body()) {
      body.set(field.key, field.value);
    } else {
      query += (query.empty() ? "?" : "&") + net::http::escape(field.key) + "=" + text(field.value);
    }
  }
  net::http::Request asked;
  asked.method = net::http::parse_method(T::route.method);
  asked.target = path + query;
  if (T::route.has_fields_in_body()) asked.body = describe::to_json(body);
  return asked;
}

}  // namespace cadre::gateway
