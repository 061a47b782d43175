#include "client/names_place.h"

#include "client/cluster/which_master.h"

namespace cadre::client {
namespace {

Result<void> find_door(names::MasterUrl& url, const std::string& why_master) {
  const Result<cluster::KnownMaster> known = find_master(url.address, "CADRE_MASTER");
  if (!known) return fail(known.error().code, why_master + known.error().message);
  url.address = known->url;
  url.token = known->token;
  url.socket = known->socket;
  if (url.ca_file.empty()) url.ca_file = known->ca;
  return {};
}

}  // namespace

Result<std::unique_ptr<names::Names>> open_names(loop::RealLoop& loop, loop::BlockingPool& pool, const std::string& url,
                                                 const names::Options& options) {
  TRY_ASSIGN(parsed, names::parse_url(url.empty() ? "master://" : url));
  if (auto* master = std::get_if<names::MasterUrl>(&parsed); master != nullptr && master->token.empty()) {
    TRY(find_door(*master, url.empty() ? "no URL of names was given, and no master was found: " : ""));
  }
  return names::open(loop, pool, parsed, options);
}

}  // namespace cadre::client
