#include "agent/joining.h"

#include <filesystem>
#include <optional>

#include "base/shell_words.h"
#include "cluster/joining.h"
#include "describe/describe.h"
#include "loop/file.h"
#include "net/address.h"
#include "net/host_port.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace joining = cluster::joining;

constexpr Duration answer_max = 20s;
constexpr Duration local_answer_max = 2s;

/// What it was told when it joined.
struct MasterContact {
  std::string control;
  std::string bulk;
  std::string pool;
  std::string master_key;
};
template <class V>
void describe(V& v, MasterContact& t) {
  v.required("control", t.control, "Where to speak to the master.");
  v.required("bulk", t.bulk, "Where output and code go.");
  v.field("pool", t.pool, "Which pool it has joined.");
  v.required("master_key", t.master_key, "Public key of the master.");
}

std::string contact_path(const std::string& data) { return data + "/master.json"; }

Result<net::Keys> own_keys(const std::string& data) {
  const std::string path = data + "/agent.keys";
  if (fs::exists(path)) return net::load_keys(path);
  const net::Keys keys = net::make_keys();
  TRY(net::save_keys(keys, path));
  return keys;
}

Result<joining::Answer> show(const WayOptions& options, const joining::Ticket& ticket, const net::Keys& keys) {
  TRY_ASSIGN(master_key, net::parse_public_key(ticket.master_key));
  std::optional<joining::Answer> answer;
  TRY_ASSIGN(link, options.network.connect({ticket.address, keys, master_key, {}}, [&](BytesView bytes) {
    if (auto read = describe::read_msgpack<joining::Answer>(bytes)) answer = *std::move(read);
    options.loop.stop();
  }));
  TRY(link->send(describe::write_msgpack(joining::Join{options.id, ticket.secret})));
  const loop::Timer give_up = options.loop.after(answer_max, [&] { options.loop.stop(); });
  options.loop.run();
  if (!answer) {
    return fail(Errc::timed_out, "no master answers at " + ticket.address +
                                     "; check that it runs, and that its port is open to this host");
  }
  return *std::move(answer);
}

Result<MasterContact> join(const WayOptions& options, const net::Keys& keys) {
  TRY_ASSIGN(ticket, joining::parse_token(options.token));
  TRY_ASSIGN(answer, show(options, ticket, keys));
  if (const auto* refused = std::get_if<joining::Refused>(&answer)) {
    return fail(Errc::denied, "the master does not take this token: " + refused->why);
  }
  const auto& joined = std::get<joining::Joined>(answer);
  return MasterContact{joined.control, joined.bulk, joined.pool, ticket.master_key};
}

/// Both sides of a unix socket prove who they are by their keys, too.
net::LinkOptions local_link(std::string address, const net::Keys& keys, const net::PublicKey& master_key) {
  net::LinkOptions options{std::move(address), keys, master_key, {}};
  options.unix_proof = net::UnixProof::keys;
  return options;
}

std::string with_host(const std::string& address, const std::string& master) {
  const Result<net::HostPort> other = net::parse_host_port(master);
  const Result<net::Address> parsed = net::parse_address(address);
  const auto* tcp = parsed ? std::get_if<net::TcpAddress>(&*parsed) : nullptr;
  if (!other || tcp == nullptr) return address;
  return net::to_string(net::TcpAddress{other->host, tcp->port});
}

}  // namespace

Result<Way> way_by_folder(const LocalWayOptions& options) {
  const cluster::DataFolder& folder = options.master;
  const Result<std::string> secret = loop::read_file(folder.local_secret_file());
  const Result<std::string> master = loop::read_file(folder.public_key_file());
  if (!secret || !master) {
    const Error& error = secret ? master.error() : secret.error();
    if (error.code != Errc::not_found) return Failure(error);
    return fail(Errc::timed_out, "no master has run in " + folder.path + "; start one with cadre master --data " +
                                     shell_words({folder.path}) + ", or name another with --master or --join");
  }
  TRY_ASSIGN(keys, own_keys(options.data));
  TRY_ASSIGN(master_key, net::parse_public_key(*master));
  const std::string known_path = options.data + "/local_master";
  const bool is_known = loop::read_file(known_path).value_or("") == *master;
  std::optional<joining::Answer> answer;
  TRY_ASSIGN(link, options.network.connect(local_link(folder.join_address(), keys, master_key), [&](BytesView bytes) {
    if (auto read = describe::read_msgpack<joining::Answer>(bytes)) answer = *std::move(read);
    options.loop.stop();
  }));
  const Bytes join = describe::write_msgpack(joining::Join{options.id, *secret});
  for (int attempt = 0; !answer && !(is_known && attempt > 0); ++attempt) {
    if (attempt == 1) options.log.info("waiting for the master in " + folder.path);
    static_cast<void>(link->send(join));  // too many wait already when the master is away for long
    const loop::Timer enough = options.loop.after(local_answer_max, [&] { options.loop.stop(); });
    options.loop.run();
  }
  if (const auto* refused = answer ? std::get_if<joining::Refused>(&*answer) : nullptr) {
    return fail(Errc::denied, "the master in " + folder.path + " refuses this agent: " + refused->why);
  }
  TRY(loop::write_whole(known_path, as_bytes(*master)));
  return Way{local_link(folder.agents_address(), keys, master_key), local_link(folder.bulk_address(), keys, master_key),
             ""};
}

bool has_joined(const std::string& data) { return fs::exists(contact_path(data)); }

Result<Way> way_by_key(const WayOptions& options) {
  TRY_ASSIGN(keys, own_keys(options.data));
  const std::string path = contact_path(options.data);
  if (!options.token.empty()) {
    TRY_ASSIGN(contact, join(options, keys));
    TRY(loop::write_whole(path, as_bytes(describe::write_json(contact) + "\n")));
  }
  const Result<std::string> text = loop::read_file(path);
  if (!text && text.error().code != Errc::not_found) return Failure(text.error());
  if (!text) {
    return fail(Errc::invalid,
                "this agent has not joined a master yet; start it with --master with a data folder on this host, or "
                "--join with a "
                "token from cadre agent token");
  }
  auto contact = describe::read_json_of_peer<MasterContact>(*text);
  if (!contact) return Failure(describe::to_error(contact.error(), path));
  TRY_ASSIGN(master_key, net::parse_public_key(contact->master_key));
  return Way{{with_host(contact->control, options.master), keys, master_key, {}},
             {with_host(contact->bulk, options.master), keys, master_key, {}},
             contact->pool};
}

}  // namespace cadre::agent
