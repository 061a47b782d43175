/// Where a master's sockets and keys lie in its data folder: who is given that folder finds the master. Safe on any
/// thread.
#pragma once

#include <string>
#include <string_view>

namespace cadre::cluster {

/// A master that somebody can reach, and as whom.
struct KnownMaster {
  static constexpr std::string_view doc = "A master that somebody can reach, and as whom.";
  std::string url;
  std::string user;
  std::string token;
  std::string ca;
  std::string socket = {};
};
template <class V>
void describe(V& v, KnownMaster& m) {
  v.required("url", m.url, "Where it is.");
  v.field("user", m.user, "Who one is there.");
  v.field("token", m.token, "The token that says so.");
  v.field("ca", m.ca, "PEM file of whose certificates are believed; empty: as the system does.");
  v.field("socket", m.socket, "Unix socket by which its owner reaches it; empty: the URL says where it is.");
}

/// In it, `run` is private to its owner, and holds the unix sockets.
struct DataFolder {
  std::string path;  ///< absolute

  std::string run() const { return path + "/run"; }
  std::string agents_address() const { return "ipc://" + run() + "/agents"; }
  std::string bulk_address() const { return "ipc://" + run() + "/bulk"; }
  std::string join_address() const { return "ipc://" + run() + "/join"; }
  /// The public key by which agents of this host know the master.
  std::string public_key_file() const { return run() + "/master.key"; }
  /// What agents of this host show to become known.
  std::string local_secret_file() const { return path + "/agents.secret"; }
  /// Where it serves its owner: nobody else can take its place there, as they could take its port.
  std::string http_socket() const { return run() + "/http"; }
  /// How its owner reaches the master, for the command line.
  std::string client_file() const { return path + "/client.json"; }
  /// By which tokens of tasks are signed.
  std::string pass_file() const { return path + "/passes.secret"; }
  std::string keys_file() const { return path + "/master.keys"; }
  std::string database_url() const { return "sqlite://" + path + "/cadre.db"; }
  std::string output_folder() const { return path + "/output"; }
  std::string code_folder() const { return path + "/code"; }
};

}  // namespace cadre::cluster
