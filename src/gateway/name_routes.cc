#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/problem.h"

namespace cadre::gateway {
namespace {

namespace name_requests = names::requests;

/// A task is at home in one workspace only.
std::string workspace_meant(const access::Principal& who, const std::string& named) {
  if (named != name_requests::own_workspace) return named;
  if (who.task.empty() || who.roles.empty()) return api::default_workspace;
  return who.roles.begin()->first;
}

/// What one may not see is as if it were not there. The fault tells it from a name that is not there.
net::http::Response no_workspace(const std::string& name) {
  const std::string why = "there is no workspace '" + name + "'; see cadre workspace list";
  return problem(Errc::not_found, why, {{"workspace", "does not exist"}});
}

}  // namespace

void Gateway::add_name_routes() {
  for (const api::Operation& operation : api::operations_of(std::type_identity<name_requests::Request>{})) {
    add_operation(operation, [this](const Visit& visit, api::Credential who, const api::Request& request) {
      tasks_.spawn(serve_name(visit, std::move(who), *api::choice_of<name_requests::Request>(request)));
    });
  }
}

loop::Task<void> Gateway::serve_name(Visit visit, api::Credential who, name_requests::Request request) {
  const auto* known = rights_.fresh(who, deps_.loop.now());
  if (known == nullptr) {
    const api::Reply reply = co_await inquire(who, access::GetMe{});
    if (const auto* me = reply.as<access::Me>()) {
      known = &rights_.learn(who, *me, deps_.loop.now());
    } else if (reply.is_unauthenticated()) {
      rights_.forget(who);
    } else {
      known = rights_.last(who);  // a master that decides nothing takes nothing from anybody either
    }
    if (known == nullptr) co_return visit.answer(response_of(reply));
  }
  const access::Principal principal = *known;
  const auto& named = std::visit([](const auto& one) -> const std::string& { return one.workspace; }, request);
  const std::string workspace = workspace_meant(principal, named);
  if (principal.is_admin && !principal.roles.contains(workspace)) {  // an admin may, but the workspace may not exist
    const access::GetWorkspace question{workspace};
    const api::Reply reply = co_await inquire(who, question);
    if (reply.as<access::WorkspaceView>() == nullptr) co_return visit.answer(no_workspace(workspace));
    rights_.add_workspace(who, workspace);
  }
  const bool reads = std::visit([](const auto& one) { return one.route.reads(); }, request);
  if (!access::may_read(principal, workspace)) co_return visit.answer(no_workspace(workspace));
  const bool may_write = access::may_create(principal, workspace);
  if (!reads && !may_write) {
    co_return visit.answer(problem(403, "changing names of workspace '" + workspace +
                                            "' requires the role editor; ask an admin of the workspace"));
  }
  const auto shown = may_write ? NameService::Shown::all : NameService::Shown::to_viewers;
  names_.serve(workspace, request, shown, visit.exchange);
}

}  // namespace cadre::gateway
