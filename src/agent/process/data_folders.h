/// The data folders of all masters and agents that this unix account has run on this host, so that an agent can hide
/// them from tasks. The list survives restarts; a folder that is gone leaves it by itself. Blocks on files; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cadre::agent {

class DataFolders {
 public:
  /// The list is kept in the first of these folders that can be written, and read in all of them.
  explicit DataFolders(std::vector<std::string> places) : places_(std::move(places)) {}
  /// In the home folder of the account, whatever HOME says, for this host, as others may share it; in /var/tmp where
  /// that cannot be written.
  [[nodiscard]] static DataFolders of_this_account();

  [[nodiscard]] Result<void> add(const std::string& folder) const;
  /// Without symbolic links; with the folders of the list itself.
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  std::vector<std::string> places_;
};

}  // namespace cadre::agent
