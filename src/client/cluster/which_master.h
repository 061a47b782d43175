/// Selects the master and the credentials of the user. Reads the environment; for the main thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/data_folder.h"
#include "rest/client.h"

namespace cadre::client {

/// How people name another master; messages of what cannot be reached say it.
constexpr std::string_view naming_by_option = "--master or CADRE_MASTER";

/// By `given`, else CADRE_MASTER, else where the user logged in last, else the default data folder, each written as
/// client/master_address.h says: an address, for which the token is CADRE_TOKEN or that of a login, and who is believed
/// CADRE_CA or as at that login; or the data folder of a master on this host. `invalid`: what was given is neither;
/// `unavailable`: no master has that folder; `corrupt`: the files about it cannot be read.
[[nodiscard]] Result<cluster::KnownMaster> find_master(const std::string& given,
                                                       std::string_view naming = naming_by_option);

/// How a client of its API reaches it.
[[nodiscard]] rest::Endpoint endpoint_of(const cluster::KnownMaster& master);

/// Masters where the user has logged in, stored in the config folder of the user and readable only by its owner.
struct Logins {
  static constexpr std::string_view doc = "Masters at which the user has logged in.";
  std::string current;  ///< URL
  std::vector<cluster::KnownMaster> masters;
};
template <class V>
void describe(V& v, Logins& l) {
  v.field("current", l.current, "The master that is used when none is named.");
  v.field("masters", l.masters, "Token for each master.");
}
/// $XDG_CONFIG_HOME/cadre/logins.json, or ~/.config/cadre/logins.json.
std::string logins_file();
[[nodiscard]] Result<Logins> read_logins();
[[nodiscard]] Result<void> write_logins(const Logins& logins);

}  // namespace cadre::client
