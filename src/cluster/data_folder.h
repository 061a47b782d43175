/// Where a master's sockets and keys lie in its data folder: who is given that folder finds the master. Safe on any
/// thread.
#pragma once

#include <string>

namespace cadre::cluster {

/// In it, `run` is private to its owner, and holds the unix sockets.
struct DataFolder {
  std::string path;  ///< absolute

  std::string run() const { return path + "/run"; }
  std::string agents_address() const { return "ipc://" + run() + "/agents"; }
  std::string bulk_address() const { return "ipc://" + run() + "/bulk"; }
  std::string clients_address() const { return "ipc://" + run() + "/clients"; }
  std::string keys_file() const { return path + "/master.keys"; }
  std::string database_url() const { return "sqlite://" + path + "/cadre.db"; }
  std::string output_folder() const { return path + "/output"; }
  std::string code_folder() const { return path + "/code"; }
};

}  // namespace cadre::cluster
