#include "cli/commands/experiment/provenance.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/protocol.h"
#include "base/shell_words.h"
#include "describe/describe.h"
#include "describe/utf8.h"
#include "loop/file.h"

extern char** environ;

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;

constexpr Duration git_wait = 10s;
constexpr Duration python_wait = 5s;
constexpr std::size_t packages_bytes_most = 1 << 20;

/// The interpreter and its packages. The folder in which it runs is not searched for modules.
constexpr const char* python_program = R"(
import sys
sys.path = [one for one in sys.path if one]
import importlib.metadata, json, platform
found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]}
found["python"] = platform.python_version()
print(json.dumps({str(k)[:200]: str(v)[:200] for k, v in sorted(found.items())[:5000]}))
)";

std::chrono::milliseconds steady_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

/// Starts the program with its standard output on a pipe; -1: it cannot be started.
pid_t start_program(const std::vector<std::string>& argv, int output) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What git says about a folder. It runs no program that the repository names, and waits for no lock.
std::optional<std::string> git(const std::string& folder, const std::vector<std::string>& words,
                               std::size_t bytes_most) {
  std::vector<std::string> argv = {"git", "-C", folder, "--no-optional-locks", "-c", "core.fsmonitor=false"};
  argv.insert(argv.end(), words.begin(), words.end());
  return output_of(argv, bytes_most, git_wait);
}

/// At most as long as it may be, cut at the end of a line.
std::string bounded_diff(std::string diff) {
  constexpr std::string_view note = "\n(the rest of the diff is left out)\n";
  diff = describe::is_utf8(diff) ? diff : describe::escaped_lines(diff);
  if (diff.size() <= experiment::git_diff_most) return diff;
  const std::size_t end = diff.rfind('\n', experiment::git_diff_most - note.size());
  return diff.substr(0, end == std::string::npos ? 0 : end) + std::string(note);
}

std::string user_name() {
  const passwd* user = ::getpwuid(::geteuid());
  return user != nullptr ? user->pw_name : std::to_string(::geteuid());
}

/// The command line of this process.
std::string own_command() {
  constexpr std::size_t bytes_most = 65'536;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\0', at), all.size());
    words.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  std::string line = shell_words(words);
  if (!describe::is_utf8(line)) line = describe::escaped(line);
  return describe::shortened(line, bytes_most);
}

std::map<std::string, std::string> versions() {
  std::map<std::string, std::string> all;
  if (const auto text = output_of({"python3", "-c", python_program}, packages_bytes_most, python_wait)) {
    auto read = describe::read_json<std::map<std::string, std::string>>(*text);
    if (read) all = *std::move(read);
  }
  all["cadre"] = std::string(version());
  return all;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::optional<std::string> output_of(const std::vector<std::string>& argv, std::size_t bytes_most, Duration wait) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t pid = start_program(argv, ends[1]);
  ::close(ends[1]);
  std::string text;
  bool is_whole = false;
  const auto until = steady_now() + std::chrono::duration_cast<std::chrono::milliseconds>(wait);
  while (pid > 0 && text.size() < bytes_most) {
    pollfd ready{ends[0], POLLIN, 0};
    const auto left = std::max<std::int64_t>(0, (until - steady_now()).count());
    if (::poll(&ready, 1, static_cast<int>(left)) <= 0) break;
    std::array<char, 65'536> block{};
    const ssize_t count = ::read(ends[0], block.data(), block.size());
    is_whole = count == 0;
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (pid <= 0) return std::nullopt;
  const bool is_long = text.size() >= bytes_most;
  if (!is_whole) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (is_long) return text.substr(0, bytes_most);
  return is_whole && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(std::move(text)) : std::nullopt;
}

experiment::Provenance provenance_of(const std::string& folder) {
  experiment::Provenance from;
  from.command = own_command();
  from.host = host_name();
  from.user = user_name();
  from.versions = versions();
  if (folder.empty()) return from;
  constexpr std::size_t commit_most = 128;
  const auto commit = git(folder, {"rev-parse", "HEAD"}, commit_most);
  if (!commit) return from;
  from.git_commit = without_line_end(*commit);
  // One byte more shows that it is too long.
  const auto diff = git(folder, {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", "."},
                        experiment::git_diff_most + 1);
  if (diff) from.git_diff = bounded_diff(*diff);
  return from;
}

}  // namespace cadre::cli
