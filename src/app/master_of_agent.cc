#include "app/master_of_agent.h"

#include <filesystem>
#include <string_view>
#include <vector>

#include "agent/joining.h"
#include "agent/process/data_folders.h"
#include "client/cluster/data_folder.h"
#include "client/cluster/master_address.h"
#include "cluster/data_folder.h"
#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::app {
namespace {

namespace fs = std::filesystem;

std::string absolute(const std::string& folder) {
  std::string path = fs::absolute(folder).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

/// Whether the master of this folder serves its API there. An address without http or https may be either.
bool serves_at(const std::string& folder, const std::string& url, bool has_scheme) {
  const Result<std::string> text = loop::read_file(cluster::DataFolder{folder}.client_file());
  const auto known = text ? describe::read_json_of_peer<cluster::KnownMaster>(*text).value_or(cluster::KnownMaster{})
                          : cluster::KnownMaster{};
  if (known.url.empty()) return false;
  return client::is_same_master(known.url, url) ||
         (!has_scheme && client::is_same_master(known.url, "https" + url.substr(std::string_view("http").size())));
}

/// Data folders of this account whose masters serve, or last served, their API at this URL: the default one alone, else
/// all others.
std::vector<std::string> folders_of(const std::string& url, bool has_scheme) {
  const std::string usual = client::default_data_folder();
  if (serves_at(usual, url, has_scheme)) return {usual};
  std::vector<std::string> found = agent::DataFolders::of_this_account().listed().value_or(std::vector<std::string>());
  std::erase_if(found, [&](const std::string& folder) { return !serves_at(folder, url, has_scheme); });
  return found;
}

Result<std::string> named_master(const std::string& named, bool has_joined) {
  TRY_ASSIGN(address, client::parse_master_address(named));
  if (!address.folder.empty()) return absolute(address.folder);
  if (has_joined) return client::host_port_of(address.url);
  const bool has_scheme = named.starts_with("http://") || named.starts_with("https://");
  const std::vector<std::string> folders = folders_of(address.url, has_scheme);
  if (folders.size() == 1) return folders.front();
  if (folders.empty()) {
    return fail(Errc::invalid, "no master of this user on this host serves " + named +
                                   ", and this agent has not joined a master; create a token there with `cadre agent "
                                   "token` and join with --join TOKEN");
  }
  return fail(Errc::invalid, "the masters of several data folders have served " + named + ": " + folders[0] + " and " +
                                 folders[1] + "; name the folder with --master FOLDER");
}

}  // namespace

Result<std::string> master_of_agent(const agent::Config& config) {
  const bool has_joined = !config.join.empty() || agent::has_joined(config.data);
  if (!config.master.empty()) return named_master(config.master, has_joined);
  if (has_joined) return "";
  const std::string named = client::variable("CADRE_MASTER");
  return named_master(named.empty() ? client::default_data_folder() : named, has_joined);
}

}  // namespace cadre::app
