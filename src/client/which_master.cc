#include "client/which_master.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "client/data_folder.h"
#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::client {
namespace {

namespace fs = std::filesystem;
using cluster::KnownMaster;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Got<KnownMaster> in_folder(const std::string& named) {
  std::error_code error;
  std::string path = fs::absolute(named, error).lexically_normal().string();
  if (error) return NotGot(Refusal{bad_usage, named + ": " + error.message()});
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const cluster::DataFolder folder{path};
  const Result<std::string> text = loop::read_file(folder.client_file());
  if (!text && text.error().code != Errc::not_found) return NotGot(Refusal{failed, text.error().message});
  if (!text) {
    return NotGot(Refusal{
        unreachable,
        "no master answers at " + path + "; start one with `cadre up`, or name another with --master or CADRE_MASTER"});
  }
  auto master = describe::read_json<KnownMaster>(*text);
  if (!master) return NotGot(Refusal{failed, describe::to_error(master.error(), folder.client_file()).message});
  return *std::move(master);
}

/// Scheme, host and perhaps more of a path; without a host, the first word of the path would be taken for one.
bool is_address(std::string_view url) {
  std::string_view authority = url.substr(url.find("://") + 3);
  authority = authority.substr(0, authority.find('/'));
  authority.remove_prefix(authority.rfind('@') + 1);
  if (authority.empty() || authority.starts_with(':') || url.find_first_of("?#") != std::string_view::npos)
    return false;
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) return true;
  const std::string_view port = authority.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number > 0;
}

Got<KnownMaster> at_url(const std::string& named) {
  KnownMaster master;
  master.url = plain_url(named);
  const Got<Logins> logins = read_logins();
  if (!logins) return NotGot(logins.error());
  for (const KnownMaster& known : logins->masters) {
    if (known.url == master.url) master = known;
  }
  if (master.token.empty()) {  // it may be this host's own
    const Got<KnownMaster> own = in_folder(default_data_folder());
    if (own && own->url == master.url) master = *own;
  }
  if (const std::string ca = variable("CADRE_CA"); !ca.empty()) master.ca = ca;
  return master;
}

}  // namespace

std::string plain_url(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  return url;
}

std::string logins_file() {
  const std::string config = variable("XDG_CONFIG_HOME");
  if (config.starts_with('/')) return config + "/cadre/logins.json";
  const std::string home = variable("HOME");
  return (home.starts_with('/') ? home : "/root") + "/.config/cadre/logins.json";
}

Got<Logins> read_logins() {
  const std::string path = logins_file();
  const Result<std::string> text = loop::read_file(path);
  if (!text && text.error().code == Errc::not_found) return Logins{};
  if (!text) return NotGot(Refusal{failed, text.error().message});
  auto logins = describe::read_json<Logins>(*text);
  if (logins) return *std::move(logins);
  return NotGot(Refusal{failed, describe::to_error(logins.error(), path).message + "; mend it or remove it"});
}

Got<void> write_logins(const Logins& logins) {
  const std::string path = logins_file();
  Result<void> written = loop::make_folder(fs::path(path).parent_path().string());
  const std::string text = describe::write_json(logins, describe::Indent::two_spaces) + "\n";
  if (written) written = loop::write_whole(path, as_bytes(text), loop::Durable::yes);
  if (!written) return NotGot(Refusal{failed, written.error().message});
  return {};
}

Got<KnownMaster> find_master(const std::string& given) {
  std::string named = given.empty() ? variable("CADRE_MASTER") : given;
  if (named.empty()) {
    const Got<Logins> logins = read_logins();
    if (!logins) return NotGot(logins.error());
    named = logins->current.empty() ? default_data_folder() : logins->current;
  }
  const bool is_url = named.starts_with("http://") || named.starts_with("https://");
  if (is_url ? !is_address(named) : named.find("://") != std::string::npos) {
    return NotGot(Refusal{bad_usage, named + " is no master; name one like http://host:7310, or its data folder"});
  }
  Got<KnownMaster> master = is_url ? at_url(named) : in_folder(named);
  if (const std::string token = variable("CADRE_TOKEN"); master && !token.empty()) {
    master->token = token;
    master->user.clear();
  }
  return master;
}

}  // namespace cadre::client
