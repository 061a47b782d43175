/// The right to make network namespaces, which root has, and everybody else in a user namespace of their own. A test
/// program that is linked with cadre_rights and has not got it starts itself anew in such a namespace, before main: as
/// the same process and user, and what it starts has no more rights than that user. Any thread.
#pragma once

namespace cadre::servers {

/// Starts this program anew if that helps. Before main only.
void get_network_rights();

/// Throws std::runtime_error that names the remedy when the system does not allow it.
void expect_network_rights();

}  // namespace cadre::servers
