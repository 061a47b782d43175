#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "cluster/ending.h"
#include "logs/spool.h"
#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/processes.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {

using namespace cluster::supervision;

namespace {

constexpr int seconds_max = 120;

cluster::LeaseId new_lease() {
  static std::uint64_t job = static_cast<std::uint64_t>(::getpid()) * 100'000;
  return {{cluster::JobId{++job}, 0}, {1}};
}

}  // namespace

bool wait_for(const std::string& what, const std::function<bool()>& holds) {
  for (int i = 0; i < seconds_max * 200; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ADD_FAILURE() << "waited in vain: " << what;
  return false;
}

Peer Peer::connect(const std::string& folder, const std::string& name) {
  const Descriptor held(::open(folder.c_str(), O_PATH | O_CLOEXEC));
  const std::string path = "/proc/self/fd/" + std::to_string(held.get()) + "/" + name;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  Peer peer;
  wait_for("a listener at " + folder + "/" + name, [&] {
    Peer next(Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
    if (::connect(next.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return ::access((folder + "/ending").c_str(), F_OK) == 0 || ::access(folder.c_str(), F_OK) != 0;
    }
    peer = std::move(next);
    return true;
  });
  return peer;
}

Peer::Peer(Descriptor socket) : socket_(std::move(socket)) {
  const timeval patience{seconds_max, 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

bool Peer::send_raw(BytesView packet) {
  return ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(packet.size());
}

std::optional<Bytes> Peer::receive_raw() {
  Bytes packet(packet_bytes_max);
  const ssize_t got = ::recv(socket_.get(), packet.data(), packet.size(), 0);
  if (got < 0 && errno == EAGAIN) ADD_FAILURE() << "waited in vain for a packet";
  if (got <= 0) return std::nullopt;
  packet.resize(static_cast<std::size_t>(got));
  return packet;
}

std::optional<Status> FakeAgent::status(const std::function<bool(const Status&)>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max);
  while (auto next = this->next<Status>()) {
    if (holds(*next)) return next;
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "waited in vain for a status: " << describe::write_json(*next);
      break;
    }
  }
  return std::nullopt;
}

std::optional<Status> FakeAgent::running() {
  return status([](const Status& status) { return status.pid != 0 || status.ending; });
}

Rig::Rig() {
  root = "/tmp/cadre-test-XXXXXX";
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
}

Rig::~Rig() {
  end_all();
  std::error_code ignored;
  std::filesystem::remove_all(root, ignored);
}

void Rig::end_all() {
  for (const Begun& begun : begun_) {
    if (!is_alive(begun.pid)) continue;
    FakeAgent(begun.folder).send(Stop{cluster::lease::Reason::killed_by_user, Duration{0}});
    wait_for("the end of " + begun.folder, [&] { return !is_alive(begun.pid); });
  }
  begun_.clear();
}

Nursery& Rig::nursery(std::optional<IsolationFeatures> features) {
  static std::map<int, std::unique_ptr<Nursery>> all;
  const int key =
      features ? features->mount_namespace + 2 * features->pid_namespace + 4 * features->user_namespace : -1;
  std::unique_ptr<Nursery>& found = all[key];
  if (!found) {
    auto opened = Nursery::open(supervisor_program, features);
    if (!opened) throw std::runtime_error(opened.error().message);
    found = *std::move(opened);
  }
  return *found;
}

Launch Rig::script(const std::string& text) const { return program({"/bin/sh", "-c", text}); }

Launch Rig::program(std::vector<std::string> argv) const {
  Launch launch;
  launch.protocols = protocol::own();
  launch.lease = new_lease();
  launch.command.argv = std::move(argv);
  launch.policy.isolation = isolation;
  launch.abandon_after = std::chrono::minutes(10);
  return launch;
}

std::string Rig::make_folder(const Launch& launch) {
  last_folder = root + "/" + std::to_string(launch.lease.task.job.value);
  std::filesystem::create_directories(last_folder);
  ::chmod(last_folder.c_str(), 0700);
  EXPECT_TRUE(write_whole(last_folder + "/launch", describe::write_msgpack(launch)));
  return last_folder;
}

std::string Rig::begin(const Launch& launch) { return begin_in(nursery(), launch); }

std::string Rig::begin_in(Nursery& nursery, const Launch& launch) {
  give_birth(nursery, launch);
  return last_folder;
}

FakeAgent Rig::begin_with_agent(const Launch& launch) { return FakeAgent(give_birth(nursery(), launch).socket); }

Nursery::Born Rig::give_birth(Nursery& nursery, const Launch& launch) {
  make_folder(launch);
  auto born = nursery.start(last_folder);
  EXPECT_TRUE(born) << (born ? "" : born.error().message);
  last_supervisor = born ? born->pid : 0;
  begun_.push_back({last_supervisor, last_folder});
  return born ? *std::move(born) : Nursery::Born();
}

cluster::TaskEnding Rig::wait_for_ending(const std::string& folder) const {
  wait_for("ending in " + folder, [&] { return ::access((folder + "/ending").c_str(), F_OK) == 0; });
  const std::string bytes = read_file(folder + "/ending").value_or("");
  const auto ending = cluster::unseal(as_bytes(bytes), cluster::SealRequired::yes);
  EXPECT_TRUE(ending) << "no ending in " << folder;
  return ending.value_or(cluster::TaskEnding{});
}

std::string Rig::output(const std::string& folder, int stream) {
  logs::SpoolReader reader(folder + "/output");
  std::string text;
  for (std::int64_t offset = 0;;) {
    const auto chunk = reader.read(offset, std::size_t{1} << 20);
    if (!chunk || chunk->bytes.empty()) return text;
    logs::Decoder decoder(chunk->bytes);
    while (const auto line = decoder.next()) {
      if (static_cast<int>(line->stream) != stream) continue;
      text += line->text;
      if (!line->continues) text += "\n";
    }
    offset = chunk->next();
  }
}

std::vector<pid_t> Rig::processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const Process& process : all_processes()) {
    if (process.state == 'Z') continue;
    const auto line = read_file("/proc/" + std::to_string(process.pid) + "/cmdline");
    if (line && line->find(text) != std::string::npos) found.push_back(process.pid);
  }
  return found;
}

bool Rig::is_alive(pid_t pid) {
  const auto line = read_file("/proc/" + std::to_string(pid) + "/stat");
  return line && parse_process(*line).state != 'Z';
}

std::string Rig::new_mark() const {
  static int number = 0;
  return "77" + std::to_string(::getpid()) + "0" + std::to_string(++number);
}

const std::string supervisor_program = [] {
  const char* chosen = std::getenv("CADRE_TEST_SUPERVISOR");
  return std::string(chosen == nullptr ? CADRE_BINARY_DIR "/cadre-supervisor" : chosen);
}();

std::vector<int> live_cgroups() {
  const CgroupParent parent = prepare_cgroups("cadre-test-look-" + std::to_string(::getpid()));
  remove_cgroups(parent);
  return parent.version == 0 ? std::vector<int>{} : std::vector<int>{parent.version};
}

ByteSize memory_of(pid_t pid) {
  const auto line = read_file("/proc/" + std::to_string(pid) + "/stat");
  return line ? parse_process(*line).memory : ByteSize{0};
}

}  // namespace cadre::supervisor
