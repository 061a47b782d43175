/// Paths of a master's sockets and keys in its data folder. Safe on any thread.
#pragma once

#include <string>
#include <string_view>

namespace cadre::cluster {

/// How to connect to a master.
struct KnownMaster {
  static constexpr std::string_view doc = "How to connect to a master.";
  std::string url;
  std::string user;
  std::string token;
  std::string ca;
  std::string socket = {};
};
template <class V>
void describe(V& v, KnownMaster& m) {
  v.required("url", m.url, "URL of the master.");
  v.field("user", m.user, "User name.");
  v.field("token", m.token, "Token of the user.");
  v.field("ca", m.ca, "PEM file with trusted certificates; empty: those of the system.");
  v.field("socket", m.socket, "Unix socket by which its owner connects; empty: the URL is used.");
}

/// Its folder `run` is private to its owner and holds the unix sockets.
struct DataFolder {
  std::string path;  ///< absolute

  std::string run() const { return path + "/run"; }
  std::string agents_address() const { return "ipc://" + run() + "/agents"; }
  std::string bulk_address() const { return "ipc://" + run() + "/bulk"; }
  std::string join_address() const { return "ipc://" + run() + "/join"; }
  /// The public key by which agents on this host recognize the master.
  std::string public_key_file() const { return run() + "/master.key"; }
  /// The secret with which agents on this host join.
  std::string local_secret_file() const { return path + "/agents.secret"; }
  /// Where it serves its owner. Unlike its port, nobody else can take over this socket.
  std::string http_socket() const { return run() + "/http"; }
  /// How the command line of its owner connects to the master.
  std::string client_file() const { return path + "/client.json"; }
  /// The secret with which tokens of tasks are signed.
  std::string pass_file() const { return path + "/passes.secret"; }
  std::string keys_file() const { return path + "/master.keys"; }
  std::string database_url() const { return "sqlite://" + path + "/cadre.db"; }
  std::string output_folder() const { return path + "/output"; }
  std::string code_folder() const { return path + "/code"; }
};

}  // namespace cadre::cluster
