/// The templates of Gateway that read requests. Only for the files of this room that add routes.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "gateway/arguments.h"
#include "gateway/gateway.h"
#include "gateway/problem.h"

namespace cadre::gateway {

template <class T, class Serve>
void Gateway::add_request(Serve serve) {
  operations_.push_back(std::make_unique<Operation>(operation_of<T>()));
  add_route(T::route, [this, serve, &operation = *operations_.back()](const Visit& visit) {
    std::optional<cluster::Credential> who = credential_of(visit);
    if (!who) return;
    auto read = arguments(operation, visit.names, visit.request()).and_then(describe::read<T>);
    who->body_bytes = visit.request().body.size();
    if (operation.route.body == api::Body::fields) visit.exchange->release_body();  // the request may wait long
    read ? serve(visit, *std::move(who), *std::move(read)) : refuse(visit, *std::move(who), read.error());
  });
}

template <class Serve, class... Ts>
void Gateway::add_requests(Serve serve, std::type_identity<std::variant<Ts...>>) {
  const auto add = [&]<class T>(std::type_identity<T>) {
    if constexpr (api::Routed<T>) add_request<T>(serve);
  };
  (add(std::type_identity<Ts>{}), ...);
}

}  // namespace cadre::gateway
