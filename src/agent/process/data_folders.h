/// The data folders of all masters and agents that this unix account has run on this host, so that an agent can hide
/// them from tasks. The list survives restarts; a folder that is gone leaves it by itself. Blocks on files; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cadre::agent {

class DataFolders {
 public:
  /// The list is kept in the home folder of the account, in a folder for each host that shares it, and where that
  /// cannot be written in a folder that only the account can write; it is read in all of them.
  struct Places {
    std::string home;  ///< empty: the account has none
    std::string host;
    std::string shared;  ///< where every user can make folders
    std::string prefix;  ///< of the account's folder there
  };

  explicit DataFolders(Places places) : places_(std::move(places)) {}
  /// In the home folder of the account, whatever HOME says, or in /var/tmp.
  [[nodiscard]] static DataFolders of_this_account();

  [[nodiscard]] Result<void> add(const std::string& folder) const;
  /// Without symbolic links; with the folders of the list itself, sorted. Fails when the list cannot be read whole, or
  /// has lost `own`, which was added: then others may be missing, too.
  [[nodiscard]] Result<std::vector<std::string>> all(const std::string& own) const;
  /// The same, although folders may be missing.
  [[nodiscard]] Result<std::vector<std::string>> listed() const;

 private:
  Result<std::string> place_in_home() const;
  Result<std::string> shared_place() const;
  Result<std::vector<std::string>> shared_places() const;

  const Places places_;
};

}  // namespace cadre::agent
