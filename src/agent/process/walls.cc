#include "agent/process/walls.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "agent/host_facts.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
namespace supervision = cluster::supervision;
using cluster::Isolation;

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

std::string real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

void replace_by_real(std::vector<std::string>& paths) {
  for (std::string& path : paths) path = real_path(path);
  std::erase(paths, "");
}

/// Empty: it is none, or is that of a service, which has a system folder for it.
std::string real_home(const char* home) {
  const std::string real = home == nullptr ? "" : real_path(home);
  // Accounts of services have these, or folders in them, for a home.
  constexpr std::array system{"/usr", "/bin", "/sbin", "/etc", "/lib", "/dev", "/proc", "/sys", "/boot"};
  const auto holds = [&](const char* folder) { return is_below(real, folder); };
  return real.size() <= 1 || real == "/var" || std::ranges::any_of(system, holds) ? "" : real;
}

bool is_readable_by_all(const fs::path& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return true;
  const mode_t needed = S_ISDIR(facts.st_mode) || (facts.st_mode & S_IXUSR) != 0 ? S_IROTH | S_IXOTH : S_IROTH;
  return (facts.st_mode & needed) == needed;
}

/// With what is directly in it: what was made with another mask than usual is so in all its parts.
bool is_all_readable(const fs::path& path) {
  if (!is_readable_by_all(path)) return false;
  std::error_code error;
  const auto entries = fs::directory_iterator(path, error);
  return std::all_of(begin(entries), end(entries), [](const auto& entry) { return is_readable_by_all(entry.path()); });
}

/// The highest folder above it that others may not pass through.
std::optional<std::string> closed_folder_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) == 0 && (facts.st_mode & S_IXOTH) == 0) return folder;
  }
  return std::nullopt;
}

/// As umask 077 leaves what root makes.
bool is_for_root_only(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && facts.st_uid == 0 && !is_readable_by_all(path);
}

/// Whether a home folder would be seen with it: that of ~/bin/python3 is ~.
bool holds_home(const std::string& folder, const std::vector<std::string>& homes) {
  const auto holds = [&](const std::string& home) { return is_below(home, folder); };
  return folder == "/" || folder == "/home" || folder == "/root" || fs::path(folder).parent_path() == "/home" ||
         std::ranges::any_of(homes, holds);
}

/// Otherwise any folder of root could be opened by the name of an interpreter in it.
bool has_interpreter(const std::string& folder) {
  std::error_code error;
  const auto programs = fs::directory_iterator(folder + "/bin", error);
  return std::any_of(begin(programs), end(programs), [](const auto& entry) {
    std::error_code unknown;
    const std::string name = entry.path().filename().string();
    return name.starts_with("python") && fs::is_regular_file(entry.path(), unknown) &&
           ::access(entry.path().c_str(), X_OK) == 0;
  });
}

std::vector<std::string> split(const std::string& paths) {
  std::vector<std::string> all;
  std::istringstream text(paths);
  for (std::string path; std::getline(text, path, ':');) all.push_back(path);
  return all;
}

struct Account {
  supervision::UnixUser user;
  std::string home;
};

std::optional<Account> find_account(const std::string& name) {
  std::array<char, 16'384> buffer;
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  Account account{{entry.pw_uid, entry.pw_gid, {}, name}, entry.pw_dir};
  std::array<gid_t, 1024> groups;
  int count = groups.size();
  if (::getgrouplist(name.c_str(), entry.pw_gid, groups.data(), &count) >= 0) {
    account.user.groups.assign(groups.begin(), groups.begin() + count);
  }
  return account;
}

/// Whether a file in the form of /etc/passwd knows the name.
bool has_entry(const std::string& text, const std::string& name) {
  return text.starts_with(name + ":") || text.find("\n" + name + ":") != std::string::npos;
}

/// Of any size.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The host's file, with one more line.
Result<void> write_with_line(const std::string& from, const std::string& to, const std::string& line) {
  std::string text = text_of(from);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  text += line + "\n";
  if (text_of(to) == text) return {};
  TRY(loop::write_whole(to, as_bytes(text), loop::Durable::no));  // it is compared at every start
  if (::chmod(to.c_str(), 0644) != 0) return loop::system_failure(to);
  return {};
}

Failure refuse(const std::string& why) { return fail(Errc::denied, "refused by the agent: " + why); }

}  // namespace

Result<AllowedMount> parse_allowed_mount(const std::string& text) {
  AllowedMount allowed{text, text.ends_with(":rw")};
  if (allowed.writable) allowed.prefix.resize(text.size() - 3);
  while (allowed.prefix.size() > 1 && allowed.prefix.ends_with('/')) allowed.prefix.pop_back();
  if (!allowed.prefix.starts_with('/') || allowed.prefix.find(':') != std::string::npos) {
    return fail(Errc::invalid, "'" + text + "' is not an absolute path; write /data or /data:rw");
  }
  return allowed;
}

std::vector<std::string> folders_of_python(const std::string& python) {
  std::error_code error;
  const bool is_folder = fs::is_directory(python, error);
  const fs::path program = is_folder ? fs::path(python) / "bin" / "python3" : fs::path(python);
  const std::string programs = real_path(program.parent_path());  // of links what they are in counts
  const std::string folder = is_folder ? real_path(python) : fs::path(programs).parent_path().string();
  if (folder.empty()) return {};
  std::vector<std::string> folders{folder};
  const std::string base = fs::path(real_path(program)).parent_path().parent_path();
  if (!base.empty() && !is_below(base, folder)) folders.push_back(base);
  return folders;
}

Result<Walls> Walls::open(WallOptions options) {
  if (options.is_root) TRY(check_uid_range(options.uids));
  TRY_ASSIGN(uids, UidTable::open(options.data + "/uids", options.uids,
                                  UidClaims(options.uid_claims, real_path(options.data))));
  Walls walls(std::move(options), std::move(uids));
  WallOptions& own = walls.options_;
  own.hidden.push_back(own.data);
  // Of /etc/resolv.conf and the like, which are often links into /run.
  for (const char* path : {"/etc/resolv.conf", "/etc/hosts", "/etc/hostname"}) own.shown.emplace_back(path);
  replace_by_real(own.hidden);
  replace_by_real(own.shown);
  for (AllowedMount& mount : own.mounts) {
    const std::string real = real_path(mount.prefix);
    if (real.empty()) {
      return fail(Errc::not_found, "--allow-mount: there is no '" + mount.prefix + "' on this host; make it first");
    }
    mount.prefix = real;
  }
  const std::string home = real_home(std::getenv("HOME"));
  if (!home.empty()) walls.emptied_.push_back(home);
  const std::string home_of_user = real_home(home_of_account().c_str());
  if (!home_of_user.empty() && home_of_user != home) walls.emptied_.push_back(home_of_user);
  if (!own.is_root) return walls;
  if (const auto closed = closed_folder_above(own.data)) walls.emptied_.push_back(*closed);
  for (const std::string& path : own.shown) {
    if (!is_all_readable(path)) walls.shown_private_.push_back(path);
    if (const auto closed = closed_folder_above(path)) walls.emptied_.push_back(*closed);
  }
  std::erase_if(own.shown, [&](const std::string& path) {
    return std::ranges::find(walls.shown_private_, path) != walls.shown_private_.end();
  });
  return walls;
}

Result<void> Walls::check(const WallRequest& request) const {
  const cluster::messages::OwnerRights& rights = request.rights;
  if (!options_.has_namespaces && !rights.owns_agent) {
    return refuse("its kernel offers no namespaces to isolate tasks, so it accepts only jobs of the user it runs for");
  }
  if (request.isolation == Isolation::off) {
    if (!options_.allow_isolation_off) {
      return refuse(
          "it does not allow isolation to be off; start it with --allow-isolation-off, or leave isolation on");
    }
    if (!rights.owns_agent && !rights.is_admin) {
      return refuse("isolation may be off only for the user that it runs for and for admins; leave isolation on");
    }
  }
  if (request.run_as_root && !rights.is_admin) {
    return refuse("only jobs of admins of the cluster may run as root; leave run_as_root out");
  }
  if (request.run_as_root && !options_.is_root) {
    return refuse("it does not run as root, so no task of it can; leave run_as_root out, or choose another agent");
  }
  return {};
}

Result<cluster::Mount> Walls::check_mount(const WallRequest& request, const cluster::Mount& mount,
                                          const std::vector<std::string>& all_hidden) const {
  // What cannot be resolved is not told from what the user may not reach: the supervisor, which opens it as that user,
  // says which.
  std::string real = real_path(mount.source);
  if (real.empty()) real = fs::path(mount.source).lexically_normal();
  const cluster::Mount checked{real, mount.target, mount.writable};
  const std::string what = "'" + mount.source + "' cannot be mounted";
  const std::string target = fs::path(mount.target).lexically_normal().string();
  for (const char* folder : {"/proc", "/sys", "/dev"}) {
    if (is_below(target, folder)) {
      return refuse(what + " at '" + mount.target + "'; choose a place outside of /proc, /sys and /dev");
    }
  }
  for (const std::string& hidden : all_hidden) {
    if (is_below(real, hidden)) return refuse(what + ": it belongs to a master or an agent; mount another folder");
  }
  if (request.rights.owns_agent) return checked;
  const auto allows = [&](const AllowedMount& allowed) {
    return is_below(real, allowed.prefix) && (allowed.writable || !mount.writable);
  };
  if (std::ranges::any_of(options_.mounts, allows)) return checked;
  return refuse(what + (mount.writable ? " for writing" : "") +
                " on this agent; it must be started with --allow-mount " + mount.source +
                (mount.writable ? ":rw" : ""));
}

Result<supervision::Confinement> Walls::confine(const WallRequest& request) {
  TRY(check(request));
  supervision::Confinement confinement;
  confinement.hidden = options_.hidden;
  const Result<std::vector<std::string>> others = options_.others();
  // As root it runs tasks under unix users that may read none of them anyway.
  if (!others && !options_.is_root && !request.rights.owns_agent) {
    return refuse("its list of data folders to hide from tasks is damaged (" + others.error().message +
                  "), so it accepts only jobs of the user it runs for; restart all masters and agents of its account");
  }
  if (others) confinement.hidden.insert(confinement.hidden.end(), others->begin(), others->end());
  confinement.emptied = emptied_;
  confinement.shown = options_.shown;
  confinement.shown_private = shown_private_;
  for (const cluster::Mount& mount : request.mounts) {
    TRY_ASSIGN(checked, check_mount(request, mount, confinement.hidden));
    confinement.mounts.push_back(std::move(checked));
  }
  confinement.mounts_as_agent = request.rights.owns_agent;  // it is the agent's user, who may reach all of it anyway
  TRY(choose_user(request, confinement));
  std::vector<std::string> pythons = split(request.python);  // the first of them that the agent has is used
  if (fs::path(request.program).filename().string().starts_with("python")) pythons.push_back(request.program);
  for (const std::string& python : pythons) {
    if (request.rights.owns_agent && python.starts_with('/')) TRY(show_python(python, confinement));
  }
  for (const std::int32_t slot : request.slots) {
    const auto at = static_cast<std::size_t>(slot);
    if (at >= options_.device_nodes.size() || options_.device_nodes[at].empty()) continue;
    confinement.devices.push_back(options_.device_nodes[at]);
  }
  if (!confinement.devices.empty()) {
    confinement.devices.insert(confinement.devices.end(), options_.shared_nodes.begin(), options_.shared_nodes.end());
  }
  return confinement;
}

Result<void> Walls::show_python(const std::string& python, supervision::Confinement& confinement) const {
  for (const std::string& folder : folders_of_python(python)) {
    for (const std::string& hidden : confinement.hidden) {
      if (!is_below(folder, hidden)) continue;
      return refuse("'" + python + "' is in a folder of a master or an agent; choose another interpreter");
    }
    if (holds_home(folder, emptied_)) continue;
    const bool is_private = confinement.user && is_for_root_only(folder);
    if (is_private && !has_interpreter(folder)) continue;
    (is_private ? confinement.shown_private : confinement.shown).push_back(folder);
    if (!confinement.user) continue;
    if (const auto closed = closed_folder_above(folder)) confinement.emptied.push_back(*closed);
  }
  return {};
}

Result<void> Walls::choose_user(const WallRequest& request, supervision::Confinement& confinement) {
  // Without a mount namespace another user could not reach the folder of its task.
  const bool stays = !options_.is_root || !options_.has_namespaces || request.run_as_root;
  if (stays) {
    if (request.rights.owns_agent) confinement.home = real_home(std::getenv("HOME"));
    return {};
  }
  const std::string& name = request.rights.unix_user;
  if (!name.empty()) {
    const std::optional<Account> account = find_account(name);
    if (!account) {
      return refuse("it has no account '" + name + "', which the record of user '" + request.owner +
                    "' names; make that account, or change it with cadre user set " + request.owner + " --unix-user");
    }
    if (account->user.uid == 0) {
      return refuse("account '" + name + "' is root; name another in the record of user '" + request.owner +
                    "', or let an admin use run_as_root");
    }
    confinement.user = account->user;
    confinement.home = real_path(account->home);
    if (confinement.home == "/") confinement.home.clear();
    return {};
  }
  TRY_ASSIGN(uid, uids_.uid_of(request.owner));
  confinement.user = supervision::UnixUser{uid, uid, {}, request.owner};
  return name_user(confinement);
}

/// Programs ask for the name of their user, and some do not start without.
Result<void> Walls::name_user(supervision::Confinement& confinement) {
  supervision::UnixUser& user = *confinement.user;
  const std::string number = std::to_string(user.uid);
  const std::string folder = options_.data + "/names";
  confinement.passwd = folder + "/" + number + ".passwd";
  confinement.group = folder + "/" + number + ".group";
  if (const auto written = names_.find(user.uid); written != names_.end()) {
    user.name = written->second;
    return {};
  }
  if (has_entry(text_of("/etc/passwd"), user.name)) user.name = "cadre-" + user.name;
  TRY(loop::make_folder(folder));
  TRY(write_with_line("/etc/passwd", confinement.passwd,
                      user.name + ":x:" + number + ":" + number + ":cadre user:/tmp:/bin/sh"));
  TRY(write_with_line("/etc/group", confinement.group, user.name + ":x:" + number + ":"));
  names_[user.uid] = user.name;
  return {};
}

std::string Walls::runtime_of(cluster::JobId job) const {
  return options_.data + "/runtime/" + std::to_string(job.value);
}

Result<std::string> Walls::make_runtime(cluster::JobId job, const supervision::Confinement& confinement) const {
  std::string folder = runtime_of(job);
  TRY(loop::make_folder(folder));
  if (!confinement.user) return folder;
  const auto uid = static_cast<uid_t>(confinement.user->uid);
  if (::chown(folder.c_str(), uid, static_cast<gid_t>(confinement.user->gid)) != 0) return loop::system_failure(folder);
  return folder;
}

}  // namespace cadre::agent
