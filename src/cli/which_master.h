/// Which master the user means. Reads the environment; for the main thread.
#pragma once

#include <string>

#include "base/result.h"
#include "cluster/data_folder.h"

namespace cadre::cli {

/// The folder that is given, or that CADRE_MASTER names, or the default one; as an absolute path.
[[nodiscard]] Result<cluster::DataFolder> find_master(const std::string& given);

}  // namespace cadre::cli
