/// Where a user's master keeps its things when nobody says otherwise. Safe on any thread.
#pragma once

#include <string>

namespace cadre::client {

/// A variable of the environment; empty when it is not set.
std::string variable(const char* name);
/// $XDG_DATA_HOME/cadre, or ~/.local/share/cadre.
std::string default_data_folder();
/// HOME, else that of the password database; empty: this user has none.
std::string home_folder();

}  // namespace cadre::client
