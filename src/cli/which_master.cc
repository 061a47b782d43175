#include "cli/which_master.h"

#include <cstdlib>
#include <filesystem>

#include "cli/data_folder.h"

namespace cadre::cli {

Result<cluster::DataFolder> find_master(const std::string& given) {
  const char* variable = std::getenv("CADRE_MASTER");
  const std::string named = !given.empty() ? given : variable == nullptr ? "" : variable;
  if (named.empty()) return cluster::DataFolder{default_data_folder()};
  if (named.find("://") != std::string::npos) {
    return fail(Errc::invalid, std::string(given.empty() ? "CADRE_MASTER" : "--master") + ": " + named +
                                   " is an address; name the data folder of a master on this host");
  }
  std::error_code error;
  std::string path = std::filesystem::absolute(named, error).lexically_normal().string();
  if (error) return fail(Errc::invalid, named + ": " + error.message());
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return cluster::DataFolder{std::move(path)};
}

}  // namespace cadre::cli
