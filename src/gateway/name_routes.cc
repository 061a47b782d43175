#include "gateway/bodies.h"
#include "gateway/requests.h"

namespace cadre::gateway {
namespace {

using cluster::Told;
namespace name_requests = names::requests;

template <class T>
const T* reply_in(const Told& told) {
  const auto* reply = std::get_if<access::Reply>(&told);
  return reply == nullptr ? nullptr : std::get_if<T>(reply);
}

/// A task is at home in one workspace only.
std::string workspace_meant(const access::Principal& who, const std::string& named) {
  if (named != name_requests::own_workspace) return named;
  if (who.task.empty() || who.roles.empty()) return access::default_workspace;
  return who.roles.begin()->first;
}

/// What one may not see is as if it were not there. The fault tells it from a name that is not there.
net::http::Response no_workspace(const std::string& name) {
  const std::string why = "there is no workspace '" + name + "'; see cadre workspace list";
  return problem(Errc::not_found, why, {{"workspace", "does not exist"}});
}

}  // namespace

void Gateway::add_name_routes() {
  add_requests([this]<class T>(const Visit& visit, cluster::Credential who,
                               T request) { tasks_.spawn(serve_name(visit, std::move(who), std::move(request))); },
               std::type_identity<name_requests::Request>{});
}

loop::Task<void> Gateway::serve_name(Visit visit, cluster::Credential who, name_requests::Request request) {
  const auto* known = rights_.fresh(who, ground_.loop.now());
  if (known == nullptr) {
    const Told told = co_await inquire(who, access::Request(access::GetMe{}));
    if (const auto* me = reply_in<access::Me>(told)) {
      known = &rights_.learn(who, *me, ground_.loop.now());
    } else if (std::holds_alternative<cluster::Unknown>(told)) {
      rights_.forget(who);
    } else {
      known = rights_.last(who);  // a master that decides nothing takes nothing from anybody either
    }
    if (known == nullptr) co_return visit.answer(response_of(told));
  }
  const access::Principal principal = *known;
  const auto& named = std::visit([](const auto& one) -> const std::string& { return one.workspace; }, request);
  const std::string workspace = workspace_meant(principal, named);
  if (principal.is_admin && !principal.roles.contains(workspace)) {  // he may, but it may not be there
    access::Request question = access::GetWorkspace{workspace};
    const Told told = co_await inquire(who, std::move(question));
    if (reply_in<access::WorkspaceView>(told) == nullptr) co_return visit.answer(no_workspace(workspace));
    rights_.add_workspace(who, workspace);
  }
  const bool reads = std::visit([](const auto& one) { return one.route.reads(); }, request);
  if (!access::may_read(principal, workspace)) co_return visit.answer(no_workspace(workspace));
  const bool may_write = access::may_create(principal, workspace);
  if (!reads && !may_write) {
    co_return visit.answer(problem(403, "changing names of workspace '" + workspace +
                                            "' requires the role editor; ask an admin of the workspace"));
  }
  const auto shown = may_write ? NameDesk::Shown::all : NameDesk::Shown::to_viewers;
  names_.serve(workspace, request, shown, visit.exchange);
}

}  // namespace cadre::gateway
