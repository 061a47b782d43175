#include "client/gang/join.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <optional>

#include "client/cluster/data_folder.h"
#include "client/gang/announced.h"
#include "client/gang/meeting.h"
#include "client/gang/socket_gang.h"
#include "client/host_identity.h"

namespace cadre::client {
namespace {

/// A number that the program which has started this process has set; nothing: it is not set.
Result<std::optional<std::uint32_t>> count_in(const char* name) {
  const std::string text = variable(name);
  if (text.empty()) return std::nullopt;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return fail(Errc::invalid, std::string(name) + " is '" + text + "', but must be a number");
}

Result<std::uint32_t> needed_count(const char* name) {
  TRY_ASSIGN(number, count_in(name));
  if (number) return *number;
  return fail(Errc::invalid, std::string(name) +
                                 " is not set, but other variables of a distributed program are; start it "
                                 "with cadre launch or torchrun, or without these variables");
}

/// By the variables that both launchers set.
Result<GangCard> card_of_worker() {
  GangCard card;
  TRY_ASSIGN(rank, needed_count("RANK"));
  TRY_ASSIGN(size, needed_count("WORLD_SIZE"));
  TRY_ASSIGN(local_rank, needed_count("LOCAL_RANK"));
  TRY_ASSIGN(local_size, needed_count("LOCAL_WORLD_SIZE"));
  TRY_ASSIGN(node_rank, count_in("GROUP_RANK"));
  TRY_ASSIGN(nodes, count_in("GROUP_WORLD_SIZE"));
  if (rank >= size || local_rank >= local_size || local_size > size) {
    return fail(Errc::invalid, "RANK and LOCAL_RANK must be less than WORLD_SIZE and LOCAL_WORLD_SIZE");
  }
  card.rank = rank;
  card.size = size;
  card.local_rank = local_rank;
  card.local_size = local_size;
  card.node_rank = node_rank.value_or(0);
  card.nodes = nodes.value_or(1);
  card.place = variable(place_variable);
  if (card.place.empty()) card.place = place_of_process();
  return card;
}

Result<std::unique_ptr<Gang>> join_launched(Duration wait) {
  TRY_ASSIGN(card, card_of_worker());
  card.gang = variable(gang_variable);
  TRY_ASSIGN(gang, SocketGang::listen(std::move(card)));
  TRY_ASSIGN(roster, meet(*gang, variable(meeting_variable), wait));
  gang->begin(std::move(roster));
  return gang;
}

/// A folder of the user for processes that know its name.
Result<std::string> folder_for_torch(const std::string& run) {
  std::string name;
  for (const char letter : run) name += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '-';
  return PrivateFolder::named("gang-" + name);
}

/// Rank 0 runs the meeting itself: torchrun knows nothing of it.
Result<std::unique_ptr<Gang>> join_torch(Duration wait) {
  TRY_ASSIGN(card, card_of_worker());
  if (card.local_size != card.size) {
    return fail(Errc::invalid,
                "torchrun has started the processes on several hosts; on a cluster, start them with "
                "`cadre launch`, which sets the same variables");
  }
  card.gang =
      variable("TORCHELASTIC_RUN_ID") + "-" + variable("MASTER_PORT") + "-" + variable("TORCHELASTIC_RESTART_COUNT");
  TRY_ASSIGN(folder, folder_for_torch(card.gang));
  const std::string socket = folder + "/meeting";
  const std::uint32_t size = card.size;
  TRY_ASSIGN(gang, SocketGang::listen(std::move(card)));
  std::unique_ptr<Meeting> meeting;
  Result<void> opened;
  Engine& engine = gang->engine();
  if (gang->card().rank == 0) {
    engine.perform([&] {
      auto made = Meeting::open(gang->lines().network(), socket, 0, size,
                                [&](const std::vector<GangCard>& cards) { meeting->answer(cards); });
      if (!made) return void(opened = Failure(made.error()));
      meeting = *std::move(made);
    });
  }
  TRY(opened);
  auto roster = meet(*gang, socket, wait);
  if (roster) gang->begin(*roster);
  // The others have read their answers when all of them take part in a call.
  const Result<std::vector<Bytes>> all_began = roster ? gang->allgather({}) : Result<std::vector<Bytes>>();
  engine.perform([&] { meeting.reset(); });
  if (gang->card().rank == 0) ::rmdir(folder.c_str());
  if (!roster) return Failure(roster.error());
  TRY(all_began);
  return gang;
}

Result<std::unique_ptr<Gang>> join_tasks(Duration wait) {
  TRY_ASSIGN(gang, SocketGang::listen(card_of_task("trial")));
  TRY_ASSIGN(roster, meet_at_master(gang->card(), wait));
  gang->begin(std::move(roster));
  return gang;
}

}  // namespace

Result<std::unique_ptr<Gang>> join_gang(Duration wait) {
  if (!variable(meeting_variable).empty()) return join_launched(wait);
  TRY_ASSIGN(size, count_in("WORLD_SIZE"));
  const bool is_of_torch = size && *size > 1 && !variable("RANK").empty() && !variable("MASTER_PORT").empty();
  if (is_of_torch) return join_torch(wait);
  TRY_ASSIGN(tasks, count_in("CADRE_SIZE"));
  const bool is_trial = !variable("CADRE_TRIAL").empty();
  if (is_trial && tasks && *tasks > 1) return join_tasks(wait);
  return nullptr;
}

}  // namespace cadre::client
