/// Where a user's master keeps its things when nobody says otherwise. Safe on any thread.
#pragma once

#include <string>

namespace cadre::client {

/// $XDG_DATA_HOME/cadre, or ~/.local/share/cadre.
std::string default_data_folder();

}  // namespace cadre::client
