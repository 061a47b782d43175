#include "client/cluster/which_master.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "client/cluster/data_folder.h"
#include "client/cluster/encryption.h"
#include "client/cluster/master_address.h"
#include "describe/describe.h"
#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::client {
namespace {

namespace fs = std::filesystem;
using cluster::KnownMaster;

Result<KnownMaster> in_folder(const std::string& named, std::string_view naming) {
  std::error_code error;
  std::string path = fs::absolute(named, error).lexically_normal().string();
  if (error) return fail(Errc::invalid, named + ": " + error.message());
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const cluster::DataFolder folder{path};
  const Result<std::string> text = loop::read_file(folder.client_file());
  if (!text && text.error().code != Errc::not_found) return fail(Errc::corrupt, text.error().message);
  if (!text) {
    return fail(Errc::unavailable, "no master answers at " + path +
                                       "; start one with `cadre up`, or name another with " + std::string(naming));
  }
  auto master = describe::read_json_of_peer<KnownMaster>(*text);
  if (!master) return fail(Errc::corrupt, describe::to_error(master.error(), folder.client_file()).message);
  return *std::move(master);
}

/// Whether a program listens on a Unix socket.
bool is_listening(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return false;
  path.copy(at.sun_path, path.size());
  const loop::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return socket && (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno == EAGAIN);
}

/// The master of a data folder was stopped, and another one answers at its address. It must not get the token.
bool is_another_now(const KnownMaster& known) {
  return !known.socket.empty() && !is_listening(known.socket) && answers(known.url);
}

Result<KnownMaster> at_url(const std::string& named) {
  KnownMaster master;
  master.url = named;
  const Result<Logins> logins = read_logins();
  if (!logins) return Failure(logins.error());
  for (const KnownMaster& known : logins->masters) {
    if (is_same_master(known.url, named)) master = known;
  }
  if (master.token.empty()) {  // it may be this host's own
    const Result<KnownMaster> own = in_folder(default_data_folder(), naming_by_option);
    if (own && is_same_master(own->url, named) && !is_another_now(*own)) master = *own;
  }
  if (const std::string ca = variable("CADRE_CA"); !ca.empty()) master.ca = ca;
  return master;
}

}  // namespace

rest::Endpoint endpoint_of(const KnownMaster& master) { return {master.url, master.token, master.ca, master.socket}; }

std::string logins_file() {
  const std::string config = variable("XDG_CONFIG_HOME");
  if (config.starts_with('/')) return config + "/cadre/logins.json";
  return home_folder() + "/.config/cadre/logins.json";
}

Result<Logins> read_logins() {
  const std::string path = logins_file();
  const Result<std::string> text = loop::read_file(path);
  if (!text && text.error().code == Errc::not_found) return Logins{};
  if (!text) return fail(Errc::corrupt, text.error().message);
  auto logins = describe::read_json_of_peer<Logins>(*text);
  if (logins) return *std::move(logins);
  return fail(Errc::corrupt, describe::to_error(logins.error(), path).message + "; correct or remove it");
}

Result<void> write_logins(const Logins& logins) {
  const std::string path = logins_file();
  Result<void> written = loop::make_folder(fs::path(path).parent_path().string());
  const std::string text = describe::write_json(logins, describe::Indent::two_spaces) + "\n";
  if (written) written = loop::write_whole(path, as_bytes(text));
  return written;
}

Result<KnownMaster> find_master(const std::string& given, std::string_view naming) {
  std::string named = given.empty() ? variable("CADRE_MASTER") : given;
  if (named.empty()) {
    const Result<Logins> logins = read_logins();
    if (!logins) return Failure(logins.error());
    named = logins->current.empty() ? default_data_folder() : logins->current;
  }
  const Result<MasterAddress> address = parse_master_address(named);
  if (!address) return fail(Errc::invalid, address.error().message);
  Result<KnownMaster> master = address->url.empty() ? in_folder(address->folder, naming) : at_url(address->url);
  if (master && named.starts_with("cadre://") && master->url == address->url) {
    const std::string url = prefer_tls(master->url);  // unless a login or this host's own master says it
    if (url != master->url) master = at_url(url);
  }
  if (const std::string token = variable("CADRE_TOKEN"); master && !token.empty()) {
    master->token = token;
    master->user.clear();
  }
  return master;
}

}  // namespace cadre::client
