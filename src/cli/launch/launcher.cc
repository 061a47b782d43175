#include "cli/launch/launcher.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "cli/command_context.h"
#include "cli/exit_code.h"
#include "cli/launch/nodes.h"
#include "cli/launch/worker.h"
#include "cli/line_printer.h"
#include "client/cluster/data_folder.h"
#include "client/gang/join.h"
#include "client/gang/meeting.h"
#include "loop/signals.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using client::GangCard;
using client::variable;

/// What processes get to end after SIGTERM when another one has failed.
constexpr Duration end_wait = 10s;
/// For output that was written before the end.
constexpr Duration output_wait = 500ms;

std::vector<std::string> list_in(const char* name) {
  const std::string text = variable(name);
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string ranks_text(std::uint32_t first, std::uint32_t count) {
  if (count == 1) return "rank " + std::to_string(first);
  return "ranks " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

/// Output that waits for its reader is written on after that signal.
void go_on_after(int number) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  action.sa_flags |= SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

class Launcher {
 public:
  explicit Launcher(const LaunchOptions& options)
      : options_(options), printer_([](LinePrinter::To to, std::string_view text) {
          to == LinePrinter::To::out ? print(text) : print_error(text);
        }) {}
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  int run() {
    const Result<int> code = run_all();
    if (code) return *code;
    print_error(options_.name + ": " + code.error().message + "\n");
    return own_failure;
  }

 private:
  Result<int> run_all();
  Result<void> join();
  Result<void> open_meeting();
  void start_all();
  int wait();
  std::map<std::string, std::string> variables_of(std::uint32_t local_rank) const;
  std::uint32_t first_rank(std::uint32_t node) const;
  std::string name_of(std::uint32_t local_rank) const;

  void heard(std::uint32_t node, const LaunchNote& note);
  void update_meeting();
  void look_at_workers();
  void fail_all(const std::string& what, int code);
  void end_workers();
  void signaled(int number);
  bool have_all_ended() const { return running_ == 0; }
  bool are_all_silent() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const auto& one) { return one->is_silent(); });
  }

  const LaunchOptions& options_;
  loop::RealLoop loop_;
  SilentLog log_;
  LinePrinter printer_;
  std::unique_ptr<Nodes> nodes_;
  std::unique_ptr<client::PrivateFolder> folder_;
  std::unique_ptr<net::ZmqNetwork> network_;
  std::unique_ptr<client::Meeting> meeting_;
  std::string socket_;
  std::uint32_t world_ = 1;
  std::map<std::uint32_t, std::vector<GangCard>> cards_;  ///< of the processes, by node
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<bool> has_ended_;
  std::size_t running_ = 0;
  bool is_stopping_ = false;    ///< the user wants it
  std::optional<int> failure_;  ///< exit code of the process that failed first
  int code_ = 0;                ///< of those that ended after a stop
  loop::Timer kill_;
};

std::uint32_t Launcher::first_rank(std::uint32_t node) const {
  std::uint32_t first = 0;
  for (std::uint32_t before = 0; before < node; ++before) first += nodes_->all()[before].workers;
  return first;
}

std::string Launcher::name_of(std::uint32_t local_rank) const {
  const GangCard& self = nodes_->self();
  return "rank " + std::to_string(first_rank(self.rank) + local_rank) + " on " + self.place;
}

Result<int> Launcher::run_all() {
  TRY(join());
  if (world_ == 1) return Failure(become(options_.command, variables_of(0)));
  TRY(open_meeting());
  TRY_ASSIGN(children, loop::on_signal(loop_, {SIGCHLD}, [this](int) { look_at_workers(); }));
  TRY_ASSIGN(stops, loop::on_signal(loop_, {SIGINT, SIGTERM, SIGHUP}, [this](int number) { signaled(number); }));
  for (const int number : {SIGCHLD, SIGINT, SIGTERM, SIGHUP}) go_on_after(number);
  start_all();
  return wait();
}

Result<void> Launcher::join() {
  Nodes::Handlers handlers;
  handlers.on_note = [this](std::uint32_t node, const LaunchNote& note) { heard(node, note); };
  handlers.on_lost = [this](std::uint32_t node, std::string_view why) {
    const GangCard& card = nodes_->all()[node];
    fail_all(ranks_text(first_rank(node), card.workers) + " on " + card.place + " was lost: " + std::string(why),
             failed);
  };
  TRY_ASSIGN(nodes, Nodes::join(loop_, options_.workers, options_.join_wait, std::move(handlers)));
  nodes_ = std::move(nodes);
  world_ = first_rank(static_cast<std::uint32_t>(nodes_->all().size()));
  return {};
}

Result<void> Launcher::open_meeting() {
  TRY_ASSIGN(folder, client::PrivateFolder::make());
  folder_ = std::move(folder);
  TRY_ASSIGN(network, net::ZmqNetwork::make(loop_, log_));
  network_ = std::move(network);
  socket_ = folder_->path() + "/meeting";
  const GangCard& self = nodes_->self();
  const auto on_complete = [this, node = self.rank](const std::vector<GangCard>& cards) {
    nodes_->tell_cards(cards);
    cards_[node] = cards;
    update_meeting();
  };
  TRY_ASSIGN(meeting, client::Meeting::open(*network_, socket_, first_rank(self.rank), options_.workers, on_complete));
  meeting_ = std::move(meeting);
  update_meeting();  // what has come before
  return {};
}

/// With the cards that have come.
void Launcher::update_meeting() {
  std::string missing;
  std::vector<GangCard> roster;
  for (std::uint32_t node = 0; node < nodes_->all().size(); ++node) {
    const GangCard& card = nodes_->all()[node];
    const auto found = cards_.find(node);
    if (found != cards_.end()) {
      roster.insert(roster.end(), found->second.begin(), found->second.end());
    } else if (node != nodes_->self().rank) {
      missing += (missing.empty() ? "" : ", ") + ranks_text(first_rank(node), card.workers) + " on " + card.place;
    }
  }
  roster.size() == world_ ? meeting_->answer(std::move(roster)) : meeting_->wait_for(missing);
}

std::map<std::string, std::string> Launcher::variables_of(std::uint32_t local_rank) const {
  const GangCard& self = nodes_->self();
  std::map<std::string, std::string> variables{
      {"RANK", std::to_string(first_rank(self.rank) + local_rank)},
      {"WORLD_SIZE", std::to_string(world_)},
      {"LOCAL_RANK", std::to_string(local_rank)},
      {"LOCAL_WORLD_SIZE", std::to_string(options_.workers)},
      {"GROUP_RANK", std::to_string(self.rank)},
      {"GROUP_WORLD_SIZE", std::to_string(nodes_->all().size())},
      {"MASTER_ADDR", nodes_->chief_address()},
      {"MASTER_PORT", std::to_string(nodes_->all().front().torch_port)},
      {client::meeting_variable, socket_},
      {client::gang_variable, self.gang},
      {client::place_variable, self.place},
  };
  for (const char* name : {"CADRE_SLOTS", "CUDA_VISIBLE_DEVICES"}) {
    const std::vector<std::string> all = list_in(name);
    if (all.size() == options_.workers) variables[name] = all[local_rank];
  }
  return variables;
}

void Launcher::start_all() {
  for (std::uint32_t local_rank = 0; local_rank < options_.workers && !failure_; ++local_rank) {
    const std::string prefix = "[rank " + std::to_string(first_rank(nodes_->self().rank) + local_rank) + "] ";
    const auto on_line = [this, prefix](const logs::Line& line) {
      printer_.print(prefix, line);
      flush_output();
    };
    auto worker = Worker::start(loop_, options_.command, variables_of(local_rank), on_line);
    if (!worker) {
      fail_all(name_of(local_rank) + " did not start: " + worker.error().message, own_failure);
      return;
    }
    workers_.push_back(*std::move(worker));
    has_ended_.push_back(false);
    ++running_;
  }
}

int Launcher::wait() {
  static_cast<void>(loop_.run_until(TimePoint::max(), [this] { return have_all_ended(); }));
  static_cast<void>(loop_.run_until(loop_.now() + output_wait, [this] { return are_all_silent(); }));
  LaunchNote note;
  note.ended = true;
  nodes_->tell(note);
  return failure_.value_or(code_);
}

void Launcher::look_at_workers() {
  for (std::uint32_t local_rank = 0; local_rank < workers_.size(); ++local_rank) {
    const std::optional<WorkerEnding>& ending = workers_[local_rank]->ending();
    if (!ending || has_ended_[local_rank]) continue;
    has_ended_[local_rank] = true;
    --running_;
    if (ending->code == 0) continue;
    if (code_ == 0) code_ = ending->code;
    if (!is_stopping_ && !failure_) fail_all(name_of(local_rank) + " " + ending->text(), ending->code);
  }
}

void Launcher::heard(std::uint32_t node, const LaunchNote& note) {
  if (!note.cards.empty()) {
    cards_[node] = note.cards;
    if (meeting_ != nullptr) update_meeting();
  }
  if (!note.failure.empty() && !failure_) {
    failure_ = note.code;
    printer_.note(options_.name + ": " + note.failure + "; ending all processes");
    end_workers();
  }
}

void Launcher::fail_all(const std::string& what, int code) {
  if (failure_ || is_stopping_) return;
  failure_ = code;
  printer_.note(options_.name + ": " + what + "; ending all processes");
  LaunchNote note;
  note.failure = what;
  note.code = code;
  nodes_->tell(note);
  end_workers();
}

void Launcher::end_workers() {
  for (const auto& worker : workers_) worker->signal(SIGTERM);
  kill_ = loop_.after(end_wait, [this] {
    for (const auto& worker : workers_) worker->signal(SIGKILL);
  });
}

/// The second time, processes that are left are killed.
void Launcher::signaled(int number) {
  const bool is_second = std::exchange(is_stopping_, true);
  for (const auto& worker : workers_) worker->signal(is_second ? SIGKILL : number);
}

}  // namespace

int launch(const LaunchOptions& options) { return Launcher(options).run(); }

std::uint32_t workers_per_slot() {
  const std::size_t slots = std::max(list_in("CADRE_SLOTS").size(), list_in("CUDA_VISIBLE_DEVICES").size());
  return static_cast<std::uint32_t>(std::max<std::size_t>(1, slots));
}

}  // namespace cadre::cli
