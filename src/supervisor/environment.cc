#include "supervisor/environment.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "supervisor/descriptor.h"

namespace cadre::supervisor {

namespace {

std::string own_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

/// The PATH of this process, and then the folder of its program, beside which `cadre` stands: tasks may call it.
std::string path_of_tasks() {
  std::string path = own_or("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  std::array<char, PATH_MAX> program{};
  const ssize_t size = ::readlink("/proc/self/exe", program.data(), program.size());
  return size > 0 ? path + ":" + parent_of(std::string(program.data(), static_cast<std::size_t>(size))) : path;
}

/// What only cadre sets: who the task is, and which devices are its own.
bool is_reserved(const std::string& name) { return name.starts_with("CADRE_") || name == "CUDA_VISIBLE_DEVICES"; }

/// Puts an interpreter or a virtual environment first.
Result<void> prefer_one(std::string python, std::map<std::string, std::string>& variables) {
  while (python.size() > 1 && python.ends_with('/')) python.pop_back();
  struct stat found {};
  if (::stat(python.c_str(), &found) != 0) {
    return Failure(system_error("python '" + python + "' cannot be used on this agent", errno));
  }
  const bool is_folder = S_ISDIR(found.st_mode);
  const std::string home = is_folder ? python : parent_of(parent_of(python));
  const std::string bin = is_folder ? python + "/bin" : parent_of(python);
  variables["PATH"] = bin + ":" + variables["PATH"];
  if (::access((home + "/pyvenv.cfg").c_str(), F_OK) == 0) variables["VIRTUAL_ENV"] = home;
  return {};
}

/// The first that is there.
Result<void> prefer_python(const std::string& pythons, std::map<std::string, std::string>& variables) {
  Result<void> preferred;
  for (const std::string& python : alternatives(pythons)) {
    Result<void> tried = prefer_one(python, variables);
    if (tried) return {};
    if (preferred) preferred = std::move(tried);  // the first is what the user has chosen
  }
  return preferred;
}

}  // namespace

Result<std::map<std::string, std::string>> environment_of(const cluster::supervision::Launch& launch,
                                                          const Places& places) {
  const cluster::supervision::Confinement& confinement = launch.confinement;
  std::string user = own_or("USER", ::geteuid() == 0 ? "root" : "nobody");
  if (confinement.user && !confinement.user->name.empty()) user = confinement.user->name;
  const bool has_no_home = confinement.user || !places.runtime.empty();
  std::string home = confinement.home;
  if (home.empty()) home = has_no_home ? places.work : own_or("HOME", "/");
  std::map<std::string, std::string> variables{
      {"PATH", path_of_tasks()}, {"HOME", home},         {"LANG", own_or("LANG", "C.UTF-8")}, {"USER", user},
      {"LOGNAME", user},         {"TMPDIR", places.tmp},
  };
  if (!places.runtime.empty()) variables["XDG_RUNTIME_DIR"] = places.runtime;
  for (const auto* set : {&launch.variables, &launch.command.variables}) {
    for (const auto& [name, value] : *set) variables[name] = value;
  }
  for (const auto& [name, value] : launch.variables) {
    if (is_reserved(name)) variables[name] = value;
    // The package cadre is found also by tasks that name folders of their own.
    if (name == "PYTHONPATH" && !variables[name].empty() && variables[name] != value) variables[name] += ":" + value;
  }
  if (!launch.command.python.empty()) TRY(prefer_python(launch.command.python, variables));
  variables["CADRE_SOCKET"] = places.socket;
  return variables;
}

std::vector<std::string> alternatives(const std::string& python) {
  std::vector<std::string> paths;
  std::istringstream text(python);
  for (std::string path; std::getline(text, path, ':');) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

std::vector<std::string> assignments(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> list;
  list.reserve(variables.size());
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

}  // namespace cadre::supervisor
