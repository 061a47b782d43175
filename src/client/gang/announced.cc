#include "client/gang/announced.h"

#include <arpa/inet.h>
#include <cadre/core.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "client/cluster/data_folder.h"
#include "client/cluster/which_master.h"
#include "client/gang/meeting.h"
#include "client/interrupt.h"
#include "client/trial/master_calls.h"
#include "cluster/requests/jobs.h"
#include "loop/descriptor.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr Duration announce_max = 1h;  ///< while the master is away, too
constexpr Duration look_max = 25s;     ///< one question to the master, which answers later when there is no news
constexpr Duration pause_after_error = 200ms;

/// The address of this host that others see when it talks to that URL; empty: unknown.
std::string address_toward(const std::string& url) {
  const std::size_t begin = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const std::string host = url.substr(begin, url.find_first_of(":/", begin) - begin);
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "9", &hints, &found) != 0) return "";
  const loop::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool has_route = ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0;  // sends nothing
  ::freeaddrinfo(found);
  sockaddr_in own{};
  socklen_t size = sizeof own;
  if (!has_route || ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &own.sin_addr, text, sizeof text);
  return text;
}

/// The one by which the master is reached comes first: others can reach it there most likely.
void sort_addresses(GangCard& card, const std::string& master) {
  const auto at = std::find(card.addresses.begin(), card.addresses.end(), address_toward(master));
  if (at != card.addresses.end()) std::rotate(card.addresses.begin(), at, at + 1);
}

Result<void> announce(const GangCard& card, Duration wait) {
  core::Context context;  // for as long as it takes: without it, stop requests come as signals
  const auto most = std::chrono::ceil<std::chrono::milliseconds>(std::min(wait, announce_max));
  const core::Reported told = context.announce(describe::write_json(card), most);
  if (told) return {};
  return fail(Errc::unavailable, "the master did not accept where this process can be reached: " + told.why);
}

/// The card in an announcement; nothing: it is another one, or none.
std::optional<GangCard> card_in(const requests::TaskView& task, const GangCard& self) {
  if (task.announcement.empty()) return std::nullopt;
  auto card = describe::read_json_of_peer<GangCard>(task.announcement);
  const bool is_ours =
      card && card->gang == self.gang && card->size == self.size && card->rank == static_cast<std::uint32_t>(task.rank);
  return is_ours ? std::optional(*std::move(card)) : std::nullopt;
}

std::string name_of(const requests::TaskView& task) {
  return "rank " + std::to_string(task.rank) + " (task " + cluster::to_string(task.id) +
         (task.agent.value.empty() ? "" : " on agent " + task.agent.value) + ")";
}

/// What is known of the others at one moment.
struct Found {
  std::vector<GangCard> cards;
  std::string missing;
};
Result<Found> look(const requests::JobView& job, const GangCard& self, std::uint64_t epoch) {
  Found found;
  for (const requests::TaskView& task : job.tasks) {
    if (static_cast<std::uint32_t>(task.rank) == self.rank && task.epoch != epoch) {
      return fail(Errc::conflict, "this process belongs to an earlier run of its task, which now runs again");
    }
    auto card = card_in(task, self);
    if (!card) {
      found.missing += (found.missing.empty() ? "" : ", ") + name_of(task);
      continue;
    }
    if (auto why = protocol::mismatch(card->name(), card->protocols, self.name())) return fail(Errc::conflict, *why);
    found.cards.push_back(*std::move(card));
  }
  std::sort(found.cards.begin(), found.cards.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return found;
}

}  // namespace

GangCard card_of_task(const std::string& kind) {
  const core::Task task = core::this_task();
  GangCard card;
  card.gang = kind + " of " + task.task.substr(0, task.task.find('.'));
  card.rank = card.node_rank = task.rank;
  card.size = card.nodes = task.size;
  card.place = place_of_process();
  return card;
}

Result<std::vector<GangCard>> meet_at_master(GangCard self, Duration wait) {
  const core::Task task = core::this_task();
  TRY_ASSIGN(id, cluster::parse_task_id(task.task));
  TRY_ASSIGN(master, find_master(""));
  const rest::Endpoint endpoint = endpoint_of(master);
  sort_addresses(self, endpoint.url);
  TRY(announce(self, wait));
  MasterCalls calls(endpoint, 1);
  const TimePoint begin = calls.loop().now();
  const TimePoint end = wait > TimePoint::max() - begin ? TimePoint::max() : begin + wait;
  WaitingNotice notice(begin);
  std::string missing = "the other tasks";
  requests::GetJob question{id.job, std::nullopt};
  for (TimePoint now = begin; now < end; now = calls.loop().now()) {
    const Result<requests::JobView> job = calls.ask(question, std::min(look_max, end - now));
    if (was_interrupted()) return fail(Errc::conflict, "it was interrupted");
    if (job) {
      TRY_ASSIGN(found, look(*job, self, task.epoch));
      if (found.cards.size() == self.size) return std::move(found.cards);
      missing = std::move(found.missing);
      question.seen = job->version;
    } else if (job.error().code == Errc::unavailable || job.error().code == Errc::timed_out) {
      static_cast<void>(calls.loop().run_until(calls.loop().now() + pause_after_error, [] { return false; }));
    } else {
      return Failure(job.error());
    }
    notice.waits_for(missing, calls.loop().now());
  }
  return not_come(missing, wait);
}

}  // namespace cadre::client
